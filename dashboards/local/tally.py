"""Adds turns up: for everybody, and once more for each session that is too large to be added up when somebody looks.

A session of some hundred turns is counted in a moment, from its turns, and costs no room. One of thousands has cells of
its own (`session_cells`), from when it grew large; `counted_sessions` says which those are. Turns of no session are one
of them, "".
"""

from __future__ import annotations

import sqlite3
import zlib
from typing import Any, Final

from .bundle import Bundle, count
from .cells import Cells
from .sketch import dump, load
from .stored import bundles_of, pieces

__all__ = ["LARGE", "Tally", "count_large_sessions", "is_counted"]

LARGE: Final = 1_000
"""Turns; a session of more has cells of its own."""

_EVERYBODY: Final = None
_ONE_IN: Final = 16


class Tally:
    """What a transaction changes in the counts; `write` adds it to those that are there."""

    __slots__ = ("_connection", "_counted", "_looked_at", "cells", "sessions")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._counted = {session for (session,) in connection.execute("SELECT session FROM counted_sessions")}
        self._looked_at: set[str] = set()
        self.cells = Cells()
        self.sessions: dict[str, Cells] = {}

    def add(self, bundle: Bundle, sign: int) -> None:
        """Count a turn (`sign` 1), or take it away as it was (-1)."""
        count(bundle, self.cells, sign)
        session = bundle.session or ""
        if session in self._counted:
            cells = self.sessions.get(session)
            if cells is None:
                cells = self.sessions[session] = Cells()
            count(bundle, cells, sign)
        elif zlib.crc32(bundle.key) % _ONE_IN == 0:
            # Whether it has grown large is asked now and then.
            self._looked_at.add(session)

    def write(self) -> None:
        """Add to the counts, once the turns are written; sessions that have grown large are counted from now on."""
        _add(self._connection, self.cells, _EVERYBODY)
        for session, cells in self.sessions.items():
            _add(self._connection, cells, session)
        for session in self._looked_at:
            sql = f"SELECT 1 FROM turns WHERE {_of(session)} LIMIT 1 OFFSET {LARGE}"  # noqa: S608
            if self._connection.execute(sql, (session,)).fetchone() is not None:
                _count_session(self._connection, session)


def count_large_sessions(connection: sqlite3.Connection) -> None:
    """Count the sessions that are large and are not counted: those that were there before anybody counted them."""
    sql = f"SELECT coalesce(session, '') FROM turns GROUP BY 1 HAVING count(*) > {LARGE}"  # noqa: S608
    counted = {session for (session,) in connection.execute("SELECT session FROM counted_sessions")}
    for (session,) in connection.execute(sql).fetchall():
        if session not in counted:
            _count_session(connection, session)


def is_counted(connection: sqlite3.Connection, session: str) -> bool:
    """Whether a session has cells of its own."""
    found = connection.execute("SELECT 1 FROM counted_sessions WHERE session = ?", (session,)).fetchone()
    return found is not None


def _count_session(connection: sqlite3.Connection, session: str) -> None:
    keys = [key for (key,) in connection.execute(f"SELECT key FROM turns WHERE {_of(session)}", (session,))]  # noqa: S608
    for some in pieces(keys):
        cells = Cells()
        for bundle in bundles_of(connection, some).values():
            count(bundle, cells, 1)
        _add(connection, cells, session)
    connection.execute("INSERT INTO counted_sessions (session) VALUES (?)", (session,))


def _of(session: str) -> str:
    """The condition on a turn of that session, which is the parameter."""
    return "session = ?" if session else "(session IS NULL OR session = ?)"


def _add(connection: sqlite3.Connection, cells: Cells, session: str | None) -> None:
    """Add counts to those that are there, at every width."""
    table, own = ("cells", ()) if session is None else ("session_cells", (session,))
    names = ("session",) * len(own) + ("width", "start", "model", "series", "label")
    held: list[tuple[Any, ...]] = []
    sql = f"SELECT sketch FROM {table} WHERE {' AND '.join(f'{name} = ?' for name in names)}"  # noqa: S608
    for key, cell in cells.widened():
        sketch = cell.sketch
        row = connection.execute(sql, (*own, *key)).fetchone()
        if row is not None and row[0]:
            sketch = load(row[0], dict(sketch))
        held.append((*own, *key, cell.count, cell.total, dump(sketch)))
    columns = (*names, "count", "total", "sketch")
    connection.executemany(
        f"""INSERT INTO {table} ({", ".join(columns)}) VALUES ({",".join("?" * len(columns))})
              ON CONFLICT DO UPDATE SET count = count + excluded.count, total = total + excluded.total,
              sketch = excluded.sketch""",  # noqa: S608
        held,
    )
