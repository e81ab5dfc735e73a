"""Writes a batch into the file: what is new of it, once, with the counts that it changes."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from .bundle import Bundle, Written, count_call
from .errors import DashboardError, DatabaseError
from .facts import Call, HookCall, Recall, TurnEnd, fact_of
from .measures import write_points
from .signals import Attributes, Log, Point, Refused, Span
from .stored import PARTS, TURN_COLUMNS, bundles_of, pieces
from .tally import Tally

__all__ = ["Batch", "is_of_the_file", "write", "write_turns", "write_what_can_be"]


class Batch(msgspec.Struct):
    """What is written together."""

    spans: list[Span] = []
    logs: list[Log] = []
    points: list[Point] = []
    turns: list[tuple[bytes, Written]] = []

    def __len__(self) -> int:
        return len(self.spans) + len(self.logs) + len(self.points) + len(self.turns)

    def halves(self) -> tuple[Batch, Batch]:
        """Two batches, each with less than this one, which holds two items at least."""
        left = len(self) // 2
        first, second = Batch(), Batch()
        for name in self.__struct_fields__:
            items = getattr(self, name)
            setattr(first, name, items[:left])
            setattr(second, name, items[left:])
            left = max(0, left - len(items))
        return first, second


def write(connection: sqlite3.Connection, batch: Batch) -> int:
    """Write what is new of a batch, inside the caller's transaction; how many spans were.

    What was written before is passed over, so that a client that never heard our answer may send it again.
    """
    tally = Tally(connection)
    spans = _unseen(connection, batch.spans)
    bundles: dict[bytes, Bundle] = {}
    lone: list[Call | HookCall | Recall] = []
    for span in spans:
        found = fact_of(span)
        if found is None:
            continue
        key, fact = found
        if key is None:
            if not isinstance(fact, TurnEnd):
                lone.append(fact)
            continue
        if (bundle := bundles.get(key)) is None:
            bundle = bundles[key] = Bundle(key=key)
        bundle.add(fact)
    for key, written in batch.turns:
        if (bundle := bundles.get(key)) is None:
            bundle = bundles[key] = Bundle(key=key)
        bundle.write(written)
    _insert_spans(connection, spans)
    _write_bundles(connection, bundles, tally)
    _insert_parts(connection, [(None, fact) for fact in lone])
    for fact in lone:
        if isinstance(fact, Call):
            count_call(fact, tally.cells, 1, model=fact.model or "", counted=False)
    tally.write()
    _insert_logs(connection, batch.logs)
    write_points(connection, batch.points)
    return len(spans)


def write_what_can_be(connection: sqlite3.Connection, batch: Batch, refused: Refused) -> None:
    """Write a batch of which something cannot be written, but for that, inside the caller's transaction.

    What cannot be is counted in `refused`. Raises what is the file's own failure and no item's (`is_of_the_file`).
    """
    connection.execute("SAVEPOINT some")
    try:
        write(connection, batch)
    except Exception as error:
        if is_of_the_file(error):
            raise
        connection.execute("ROLLBACK TO some")
        if len(batch) > 1:
            for half in batch.halves():
                write_what_can_be(connection, half, refused)
        else:
            why = _line(error) if isinstance(error, DashboardError) else f"{type(error).__name__}: {_line(error)}"
            refused.refuse(f"{_named(batch)} cannot be stored: {why}")
    connection.execute("RELEASE some")


def is_of_the_file(error: BaseException) -> bool:
    """Whether a write failed for what the file or its disk is, locked, full, damaged: what was sent may be right."""
    own = (sqlite3.OperationalError, sqlite3.InternalError, DatabaseError, OSError, MemoryError)
    return isinstance(error, own) or type(error) is sqlite3.DatabaseError


def _named(batch: Batch) -> str:
    for name, items in (("span", batch.spans), ("log record", batch.logs), ("metric", batch.points)):
        for item in items:
            return f"{name} {(item.event if isinstance(item, Log) else item.name)[:60]!r}"
    return "a turn"


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:160]


def write_turns(connection: sqlite3.Connection, bundles: Iterable[Bundle]) -> None:
    """Write the rows of turns, each of which has its id."""
    columns = ("id", "key", *TURN_COLUMNS)
    updates = ", ".join(f"{name} = excluded.{name}" for name in TURN_COLUMNS)
    marks = ",".join("?" * len(columns))
    connection.executemany(
        f"INSERT INTO turns ({', '.join(columns)}) VALUES ({marks}) ON CONFLICT (id) DO UPDATE SET {updates}",  # noqa: S608
        [(bundle.id, bundle.key, *bundle.row()) for bundle in bundles],
    )


def _write_bundles(connection: sqlite3.Connection, bundles: dict[bytes, Bundle], tally: Tally) -> None:
    if not bundles:
        return
    there = bundles_of(connection, bundles)
    number = connection.execute("SELECT coalesce(max(id), 0) FROM turns").fetchone()[0]
    parts: list[tuple[int | None, Call | HookCall | Recall]] = []
    for key, new in bundles.items():
        fresh: list[Call | HookCall | Recall] = [*new.calls, *new.hooks, *new.recalls]
        old = there.get(key)
        if old is None:
            number += 1
            new.id = number
        else:
            tally.add(old, -1)
            if new.end is not None:
                old.end = new.end
            # A copy of a transcript says nothing new of a turn.
            if new.written is not None and (old.written is None or old.written.file == new.written.file):
                old.write(new.written)
            for fact in fresh:
                old.add(fact)
            bundles[key] = new = old
        tally.add(new, 1)
        parts += [(new.id, fact) for fact in fresh]
    write_turns(connection, bundles.values())
    _insert_parts(connection, parts)


def _insert_parts(connection: sqlite3.Connection, parts: Sequence[tuple[int | None, Call | HookCall | Recall]]) -> None:
    for table, kind in PARTS:
        rows = [(turn, *fact) for turn, fact in parts if type(fact) is kind]
        if rows:
            marks = ",".join("?" * (len(kind._fields) + 1))
            connection.executemany(
                f"INSERT INTO {table} (turn, {', '.join(kind._fields)}) VALUES ({marks})",  # noqa: S608
                rows,
            )


def _unseen(connection: sqlite3.Connection, spans: Sequence[Span]) -> list[Span]:
    """The spans that are not there yet, each once."""
    seen: set[tuple[bytes, bytes]] = set()
    for some in pieces(list({span.trace_id for span in spans})):
        marks = ",".join("?" * len(some))
        sql = f"SELECT trace_id, span_id FROM spans WHERE trace_id IN ({marks})"  # noqa: S608
        seen.update(map(tuple, connection.execute(sql, some)))
    new = []
    for span in spans:
        ids = (span.trace_id, span.span_id)
        if ids not in seen:
            seen.add(ids)
            new.append(span)
    return new


def _insert_spans(connection: sqlite3.Connection, spans: Sequence[Span]) -> None:
    connection.executemany(
        """INSERT INTO spans (trace_id, span_id, parent_id, name, kind, started, duration, failed, service, scope,
             attributes, events) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)""",
        [(*span[:10], _json(span.attributes), _json(span.events) if span.events else None) for span in spans],
    )


def _insert_logs(connection: sqlite3.Connection, logs: Sequence[Log]) -> None:
    rows = []
    for log in logs:
        attributes = _json(log.attributes)
        said = repr((*log[:7], attributes)).encode("utf-8", "replace")
        digest = hashlib.blake2b(said, digest_size=16).digest()
        rows.append((digest, *log[:7], attributes))
    connection.executemany(
        """INSERT INTO logs (digest, at, trace_id, span_id, event, severity, service, body, attributes)
             VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (digest) DO NOTHING""",
        rows,
    )


_encode = msgspec.json.Encoder().encode


def _json(value: Attributes | Sequence[Any]) -> str:
    try:
        return _encode(value).decode()
    except (msgspec.EncodeError, UnicodeEncodeError, ValueError):
        return json.dumps(value)
