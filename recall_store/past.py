"""A memory with its history as one line of JSON, out and in. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from .base import Change, Record
from .errors import RecordError
from .rows import from_json, to_json

EVENTS = frozenset({"added", "updated", "deleted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRecord(Record):
    """A memory that brings along what happened to it elsewhere, oldest first."""

    history: tuple[Change, ...] = ()


def to_line(record: Record, changes: Sequence[Change]) -> str:
    """`record` as JSON, with its `history`. An event without `record` left the memory as it is now; one whose `record`
    is null left words that were forgotten."""
    line = to_json(record)
    if not changes:
        return line
    history = json.dumps([_event(change, record) for change in changes], ensure_ascii=False, separators=(",", ":"))
    return f'{line[:-1]},"history":{history}}}'


def from_line(line: str | bytes) -> Record:
    """The memory that `to_line` gave, a PastRecord if it has a history. Raises RecordError, without a word of it."""
    if not (('"history"' in line) if isinstance(line, str) else (b'"history"' in line)):
        return from_json(line)
    try:
        fields = json.loads(line)
        history = fields.pop("history", [])
        if not isinstance(history, list):
            raise TypeError
        record = from_json(json.dumps(fields))
        changes = tuple(_change(event, record) for event in history)
    except RecordError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError, OverflowError):
        raise RecordError(
            f"not a memory as JSON; `history` is a list of objects with event ({', '.join(sorted(EVENTS))}), at, record"
        ) from None
    values = {name: getattr(record, name) for name in Record.__dataclass_fields__}
    return PastRecord(**values, history=changes)


def _event(change: Change, now: Record) -> dict[str, Any]:
    event: dict[str, Any] = {"event": change.event, "at": change.at.astimezone(UTC).isoformat()}
    if change.record is None and change.event != "deleted":
        event["record"] = None
    elif change.record is not None and change.record != now:
        event["record"] = json.loads(to_json(change.record))
    return event


def _change(event: dict[str, Any], now: Record) -> Change:
    at = datetime.fromisoformat(event["at"])
    if event["event"] not in EVENTS or at.utcoffset() is None or set(event) - {"event", "at", "record"}:
        raise ValueError
    record = None if event["event"] == "deleted" else now
    if "record" in event:
        record = None if event["record"] is None else from_json(json.dumps(event["record"]))
    if record is not None and (record.id != now.id or event["event"] == "deleted"):
        raise ValueError
    return Change(event=event["event"], at=at.astimezone(UTC), record=record)
