"""Reads turns back from the file, as they were put together: to add to them, or to count them again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Final, TypeVar

import msgspec

from .bundle import Bundle, Written
from .facts import Call, HookCall, Recall, TurnEnd

__all__ = ["PARTS", "TURN_COLUMNS", "bundles_of", "pieces"]

TURN_COLUMNS: Final = (
    "trace_id", "span_id", "started", "duration", "outcome", "origin", "session", "user", "service", "model",
    "provider", "error_type", "injection_count", "injection_chars", "injection_sources", "truncated", "suspected",
    "calls", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "first_chunk", "hooks",
    "hooks_failed", "recalls", "matches", "recall_outcome", "file", "position", "line", "uuid", "preview",
    "typed_chars", "added_chars", "written",
)  # fmt: skip

PARTS: Final[tuple[tuple[str, type[Call] | type[HookCall] | type[Recall]], ...]] = (
    ("calls", Call),
    ("hook_calls", HookCall),
    ("recalls", Recall),
)
_DURATION: Final = 2 + TURN_COLUMNS.index("duration")
_end = itemgetter(*(2 + TURN_COLUMNS.index(name) for name in TurnEnd._fields))
_written = msgspec.json.Decoder(Written).decode
_AT_ONCE: Final = 500
_T = TypeVar("_T")


def bundles_of(connection: sqlite3.Connection, keys: Iterable[bytes]) -> dict[bytes, Bundle]:
    """The turns that are there already, by key, as they were put together."""
    found: dict[int, Bundle] = {}
    columns = f"id, key, {', '.join(TURN_COLUMNS)}"
    for some in pieces(list(keys)):
        marks = ",".join("?" * len(some))
        for row in connection.execute(f"SELECT {columns} FROM turns WHERE key IN ({marks})", some):  # noqa: S608
            # Only a turn's own span knows how long the turn took.
            end = TurnEnd._make(_end(row)) if row[_DURATION] is not None else None
            written = _written(row[-1]) if row[-1] else None
            found[row[0]] = Bundle(id=row[0], key=row[1], end=end, written=written)
    for numbers in pieces(list(found)):
        marks = ",".join("?" * len(numbers))
        for table, kind in PARTS:
            names = ", ".join(kind._fields)
            sql = f"SELECT turn, {names} FROM {table} WHERE turn IN ({marks}) ORDER BY id"  # noqa: S608
            for row in connection.execute(sql, numbers):
                found[row[0]].add(kind(*row[1:]))
    return {bundle.key: bundle for bundle in found.values()}


def pieces(items: list[_T]) -> Iterator[list[_T]]:
    """A list in parts that fit into one statement's parameters."""
    for at in range(0, len(items), _AT_ONCE):
        yield items[at : at + _AT_ONCE]
