"""Finds every fault of a transcript, with its line: what reading goes around without saying where."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from ..records import ASSISTANT, TOOL_RESULT, USER, Record
from .flaws import FlawName, joins_chain, unknown_in
from .located import Located

__all__ = ["Fault", "FaultName", "faults_in"]

FaultName: TypeAlias = (
    FlawName
    | Literal["no_transcript", "torn_end", "repeated_record", "mixed_sessions", "bad_timestamp", "orphan_result"]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong in a file: `line` counts from 1, `detail` is one line and quotes no prompt."""

    line: int
    name: FaultName
    detail: str


def faults_in(held: Located) -> list[Fault]:
    """Everything that is wrong with a file, in the order of its lines; a file without faults has none."""
    if not held.records and held.flaws:
        return [Fault(line=1, name="no_transcript", detail="no line of the file is a record")]
    found = [
        *(Fault(line=flaw.line or 0, name=flaw.name, detail=flaw.detail) for flaw in held.flaws),
        *_of_sessions(held),
        *_of_records(held),
        *_of_uuids(held),
        *_of_parents(held),
        *_of_results(held),
    ]
    if held.unended and held.records:
        last = max(held.records[-1][0], *(flaw.line or 0 for flaw in held.flaws), 0)
        detail = "the last line has no newline; the next record would be glued to it"
        found.append(Fault(line=last, name="torn_end", detail=detail))
    return sorted(found, key=lambda fault: fault.line)


def digest(record: Record) -> str:
    """Equal for equal records."""
    try:
        return json.dumps(record, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return f"#{id(record)}"


def _of_sessions(held: Located) -> Iterator[Fault]:
    first: str | None = None
    told: set[str] = set()
    for line, record in held.records:
        session = record.get("sessionId")
        if not isinstance(session, str):
            continue
        first = session if first is None else first
        if session != first and session not in told:
            told.add(session)
            detail = f"a record of session {session} in the transcript of {first}"
            yield Fault(line=line, name="mixed_sessions", detail=detail)


def _of_records(held: Located) -> Iterator[Fault]:
    for line, record in held.records:
        unknown = unknown_in(record)
        if unknown is not None:
            yield Fault(line=line, name="unknown_record_or_part", detail=unknown)
        parent = record.get("parentUuid")
        if parent is not None and not isinstance(parent, str):
            detail = f"parentUuid is a {type(parent).__name__}, not the uuid of a record"
            yield Fault(line=line, name="invalid_record", detail=detail)
        if record["type"] in (USER, ASSISTANT, TOOL_RESULT) and not _has_parts(record):
            yield Fault(line=line, name="invalid_record", detail=f"a {record['type']} record without message.parts")
        stamp = record.get("timestamp")
        if stamp is not None and not is_time(stamp):
            yield Fault(line=line, name="bad_timestamp", detail="the timestamp is no ISO 8601 time; it is left out")


def _of_uuids(held: Located) -> Iterator[Fault]:
    first: dict[str, tuple[int, Record]] = {}
    known: dict[str, set[str]] = {}
    for line, record in held.records:
        uuid = record["uuid"]
        if uuid not in first:
            first[uuid] = (line, record)
            continue
        before, original = first[uuid]
        digests = known.setdefault(uuid, {digest(original)})
        if digest(record) in digests:
            yield Fault(line=line, name="repeated_record", detail=f"the record of line {before} again; left out")
        elif record.get("parentUuid") != original.get("parentUuid"):
            detail = f"another record has the uuid {uuid}, on line {before}; both are kept"
            yield Fault(line=line, name="invalid_record", detail=detail)
        digests.add(digest(record))


def _of_parents(held: Located) -> Iterator[Fault]:
    parents: dict[str, tuple[int, Any]] = {}
    for line, record in held.records:
        parents.setdefault(record["uuid"], (line, record.get("parentUuid")))
    count = Counter(record["uuid"] for _, record in held.records)
    for line, record in held.records:
        parent = record.get("parentUuid")
        if isinstance(parent, str) and parent not in parents and joins_chain(record):
            uuid, _, number = parent.rpartition("#")
            if number.isdecimal() and count[uuid] >= int(number[:9]) > 1:
                # What a session that went on calls one of several records of one uuid, as the reader does.
                continue
            yield Fault(line=line, name="history_gap", detail=f"the parent {parent!r} is missing")
    done: set[str] = set()
    for uuid in parents:
        path: dict[str, None] = {}
        at: Any = uuid
        while isinstance(at, str) and at in parents and at not in done and at not in path:
            path[at] = None
            at = parents[at][1]
        if isinstance(at, str) and at in path:
            line = max(parents[member][0] for member in _from(list(path), at))
            whose = "its own parent" if parents[at][1] == at else "among its own ancestors"
            yield Fault(line=line, name="parent_cycle", detail=f"the record {at} is {whose}")
        done.update(path)


def _of_results(held: Located) -> Iterator[Fault]:
    called = {
        call["id"]
        for _, record in held.records
        for call in _tool_parts(record, "functionCall")
        if isinstance(call.get("id"), str)
    }
    if not called:
        return
    for line, record in held.records:
        for answer in _tool_parts(record, "functionResponse"):
            identity = answer.get("id")
            if isinstance(identity, str) and identity and identity not in called:
                yield Fault(line=line, name="orphan_result", detail=f"a tool result {identity!r} without its call")


def _tool_parts(record: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    message = record.get("message")
    parts = message.get("parts") if isinstance(message, dict) else None
    for part in parts if isinstance(parts, list) else ():
        held = part.get(key) if isinstance(part, dict) else None
        if isinstance(held, dict):
            yield held


def _from(path: list[str], start: str) -> list[str]:
    return path[path.index(start) :]


def _has_parts(record: Mapping[str, Any]) -> bool:
    message = record.get("message")
    return isinstance(message, dict) and isinstance(message.get("parts"), list)


def is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(datetime.fromisoformat(value))
    except ValueError:
        return False
