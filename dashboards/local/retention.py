"""Forgetting: what is older than it is kept goes, in small transactions, and its room is given back."""

from __future__ import annotations

import sqlite3
import time
from datetime import timedelta
from pathlib import Path
from typing import Final

from .database import Lock, open_writer, vacuum, words_for_errors

__all__ = ["forget_old", "tidy"]

_AT_ONCE: Final = 5_000
_PARTS: Final = ("calls", "hook_calls", "recalls")
_OLD_TURNS: Final = f"SELECT id FROM turns WHERE started < ? ORDER BY started, id LIMIT {_AT_ONCE}"  # noqa: S608
_NS: Final = 1_000_000_000


def forget_old(connection: sqlite3.Connection, before: int, *, pages: int = 0) -> int:
    """Remove what began before `before` (ns since 1970), and give all of its room back, or so many pages of it.

    Returns how many rows went.

    Counts go by the stretch, once the whole of it is older: a day's count outlives its first hour.
    """
    gone = _in_pieces(connection, "spans", "started < ?", before)
    while True:
        # With their parts, later ones too: a turn's number is given again, and what was left would be the new one's.
        for part in _PARTS:
            gone += connection.execute(f"DELETE FROM {part} WHERE turn IN ({_OLD_TURNS})", (before,)).rowcount  # noqa: S608
        count = connection.execute(f"DELETE FROM turns WHERE id IN ({_OLD_TURNS})", (before,)).rowcount  # noqa: S608
        gone += count
        if count < _AT_ONCE:
            break
    for part in _PARTS:
        gone += _in_pieces(connection, part, "turn IS NULL AND started < ?", before)
    gone += _in_pieces(connection, "logs", "at < ?", before)
    seconds = before // _NS
    for table in ("cells", "session_cells"):
        gone += connection.execute(f"DELETE FROM {table} WHERE start + width <= ?", (seconds,)).rowcount  # noqa: S608
    connection.execute("DELETE FROM counted_sessions WHERE session NOT IN (SELECT session FROM session_cells)")
    gone += connection.execute("DELETE FROM metric_sums WHERE start < ?", (seconds - 60,)).rowcount
    gone += connection.execute(
        "DELETE FROM metrics WHERE at < ? AND id NOT IN (SELECT metric FROM metric_sums)", (before,)
    ).rowcount
    if gone:
        vacuum(connection, pages=pages)
    return gone


def _in_pieces(connection: sqlite3.Connection, table: str, condition: str, before: int) -> int:
    gone = 0
    while True:
        sql = f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE {condition} LIMIT {_AT_ONCE})"  # noqa: S608
        count = connection.execute(sql, (before,)).rowcount
        gone += count
        if count < _AT_ONCE:
            return gone


def tidy(path: Path, keep: timedelta | None = None) -> tuple[int, int]:
    """Forget what is older than it is kept, if that is said, and give all free room back to the disk.

    Returns how many rows went and how many bytes the file is smaller. Raises `DatabaseError`, also while a dashboard
    runs on the file: it would wait, and tell its clients to, for as long as this takes.
    """
    lock = Lock(
        path,
        held="{path} is a running dashboard's; end that one first, or start it with --keep: it then forgets by itself",
    )
    try:
        before = path.stat().st_size
        connection = open_writer(path)
        try:
            with words_for_errors(path):
                gone = forget_old(connection, time.time_ns() - int(keep.total_seconds() * _NS)) if keep else 0
                vacuum(connection)
        finally:
            connection.close()
        return gone, max(0, before - path.stat().st_size)
    finally:
        lock.release()
