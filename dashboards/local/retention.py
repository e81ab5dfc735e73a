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
_TABLES: Final = (
    ("spans", "started"),
    ("calls", "started"),
    ("hook_calls", "started"),
    ("recalls", "started"),
    ("turns", "started"),
    ("logs", "at"),
)
_NS: Final = 1_000_000_000


def forget_old(connection: sqlite3.Connection, before: int, *, pages: int = 0) -> int:
    """Remove what began before `before` (ns since 1970), and give all of its room back, or so many pages of it.

    Returns how many rows went.

    Counts go by the stretch, once the whole of it is older: a day's count outlives its first hour.
    """
    gone = 0
    for table, column in _TABLES:
        while True:
            sql = f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE {column} < ? LIMIT {_AT_ONCE})"  # noqa: S608
            count = connection.execute(sql, (before,)).rowcount
            gone += count
            if count < _AT_ONCE:
                break
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
