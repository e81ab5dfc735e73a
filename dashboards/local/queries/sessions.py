"""The list of sessions, and what there is to choose from in filters."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any, Final, get_args

from ..prices import NO_PRICES, Prices
from .rows import NS, conditions, holds, seconds
from .values import EVERYTHING, Filter, Tokens
from .views import Page, SessionSort, SessionSummary, Status

__all__ = ["models", "sessions", "status"]

_ORDER: Final[Mapping[str, str]] = {
    "last": "last",
    "first": "first",
    "session": "session",
    "turns": "turns",
    "blocked": "blocked",
    "failed": "failed",
    "tokens": "coalesce(input_tokens, 0) + coalesce(output_tokens, 0)",
    "duration": "duration",
    "added": "added_chars",
}
assert set(_ORDER) == set(get_args(SessionSort))  # noqa: S101 - one list, in two places


def sessions(
    connection: sqlite3.Connection,
    where: Filter = EVERYTHING,
    *,
    search: str = "",
    outcome: str | None = None,
    sort: SessionSort = "last",
    descending: bool = True,
    limit: int = 50,
    offset: int = 0,
    prices: Prices = NO_PRICES,
) -> Page:
    """Sessions that have a turn which the filter lets through, as `SessionSummary`; only such turns are counted.

    `search` looks, without regard to case, in ids, users and how prompts begin; `outcome` keeps the sessions that have
    a turn of that outcome. The turns of no session are one row, "". `title` is of the first turn that has one.
    """
    said, values = conditions(where)
    said.append("outcome IS NOT NULL")
    if search:
        session, user, preview = (
            holds("session", search),
            holds("user", search),
            holds("preview", " ".join(search.split())),
        )
        said.append(
            f"({session[0]} OR {user[0]} OR coalesce(session, '') IN"  # noqa: S608
            f" (SELECT DISTINCT coalesce(session, '') FROM turns WHERE {preview[0]}))"
        )
        values += [session[1], user[1], preview[1]]
    grouped = f"""SELECT session, max(user) AS user,
            min(started) AS first, max(started) AS last,
            count(*) AS turns, sum(outcome = 'blocked') AS blocked, sum(outcome = 'error') AS failed,
            sum(hooks_failed) AS hooks_failed, avg(duration) AS duration,
            sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
            sum(cache_read_tokens) AS cache_read_tokens, sum(cache_write_tokens) AS cache_write_tokens,
            sum(typed_chars) AS typed_chars, sum(added_chars) AS added_chars
            FROM turns WHERE {" AND ".join(said)} GROUP BY session"""  # noqa: S608
    if outcome is not None:
        grouped += " HAVING sum(outcome = ?) > 0"
        values.append(outcome)
    direction = "DESC" if descending else "ASC"
    # Grouped once, for the page and for how many there are.
    rows = connection.execute(
        f"""SELECT *, (SELECT preview FROM turns WHERE turns.session IS found.session AND preview IS NOT NULL
              ORDER BY started LIMIT 1) AS title
            FROM (SELECT *, count(*) OVER () AS total FROM ({grouped})
              ORDER BY {_ORDER[sort]} {direction}, session LIMIT ? OFFSET ?) AS found""",  # noqa: S608
        (*values, limit, offset),
    ).fetchall()
    if rows or not offset:
        total = rows[0]["total"] if rows else 0
    else:
        total = connection.execute(f"SELECT count(*) FROM ({grouped})", values).fetchone()[0]  # noqa: S608
    return Page(
        items=tuple(_summary(row, connection, where, prices) for row in rows), total=total, offset=offset, limit=limit
    )


def models(connection: sqlite3.Connection) -> tuple[str, ...]:
    """The models that any turn or call was of, the most used first; "" (none) is left out."""
    rows = connection.execute(
        """SELECT model, sum(count) FROM cells WHERE width = 86400 AND series IN ('turn', 'call') AND model != ''
             GROUP BY model HAVING sum(count) > 0 ORDER BY 2 DESC, 1"""
    )
    return tuple(row[0] for row in rows)


def status(connection: sqlite3.Connection) -> Status:
    """What is in the file; cheap enough to be asked every second."""
    turns, oldest, newest = connection.execute(
        """SELECT (SELECT count(*) FROM turns WHERE outcome IS NOT NULL),
             (SELECT min(started) FROM turns), (SELECT max(started) FROM turns)"""
    ).fetchone()
    dropped: dict[str, int] = {}
    for signal, total in connection.execute(
        """SELECT json_extract(attributes, '$.signal'), sum(total) FROM metrics JOIN metric_sums ON metric = metrics.id
             WHERE name = 'firsthand.export.dropped' GROUP BY 1"""
    ):
        dropped[str(signal)] = round(total)
    pages, page_size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    return Status(
        turns=turns,
        sessions=_distinct_sessions(connection),
        spans=_rows(connection, "spans"),
        transcripts=_rows(connection, "files"),
        bytes=pages * page_size,
        newest=seconds(newest),
        oldest=seconds(oldest),
        dropped=dropped,
    )


def _rows(connection: sqlite3.Connection, table: str) -> int:
    """How many rows a table has; exact unless some were forgotten from its middle."""
    first, last = connection.execute(f"SELECT (SELECT min(id) FROM {table}), (SELECT max(id) FROM {table})").fetchone()  # noqa: S608
    return 0 if last is None else int(last - first + 1)


def _distinct_sessions(connection: sqlite3.Connection) -> int:
    """Skips from session to session in the index, instead of reading every turn."""
    row = connection.execute(
        """WITH RECURSIVE found (session) AS (
             SELECT min(session) FROM turns
             UNION ALL SELECT (SELECT min(session) FROM turns WHERE session > found.session) FROM found
               WHERE found.session IS NOT NULL)
           SELECT count(session) FROM found"""
    ).fetchone()
    return int(row[0])


def _summary(row: sqlite3.Row, connection: sqlite3.Connection, where: Filter, prices: Prices) -> SessionSummary:
    parts = _by_model(row["session"] or "", connection, where)
    return SessionSummary(
        session=row["session"] or "",
        title=row["title"],
        user=row["user"],
        first=row["first"] / NS,
        last=row["last"] / NS,
        turns=row["turns"],
        blocked=row["blocked"],
        failed=row["failed"],
        hooks_failed=row["hooks_failed"],
        models=tuple(sorted(part[0] for part in parts if part[0])),
        duration=None if row["duration"] is None else row["duration"] / NS,
        tokens=Tokens(
            input=row["input_tokens"],
            output=row["output_tokens"],
            cache_read=row["cache_read_tokens"],
            cache_write=row["cache_write_tokens"],
        ),
        cost=_cost(parts, prices),
        typed_chars=row["typed_chars"],
        added_chars=row["added_chars"],
    )


def _by_model(session: str, connection: sqlite3.Connection, where: Filter) -> list[Any]:
    """The session's models with the sums of their tokens."""
    said, values = conditions(Filter(start=where.start, end=where.end, model=where.model, session=session))
    return connection.execute(
        f"""SELECT model, sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens)
              FROM turns WHERE {" AND ".join(said)} AND outcome IS NOT NULL GROUP BY model""",  # noqa: S608
        values,
    ).fetchall()


def _cost(parts: list[Any], prices: Prices) -> float | None:
    """The sum over the session's models; None when no turn of it has a known cost."""
    found = []
    for model, given, made, cache_read, cache_write in parts if prices else ():
        cost = prices.cost(model, input=given, output=made, cache_read=cache_read, cache_write=cache_write)
        if cost is not None:
            found.append(cost)
    return sum(found) if found else None
