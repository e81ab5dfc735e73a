"""Makes a transcript without faults out of one that has some, and says what was lost on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..records import Record, clean_tree
from ..resume import display
from .chain import walk
from .checking import digest, is_time
from .flaws import joins_chain
from .located import Located

__all__ = ["Repaired", "repair"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """The records of the new file, and for each thing that was changed or lost one line that says so."""

    records: tuple[Record, ...]
    notes: tuple[str, ...] = ()


def repair(held: Located) -> Repaired:
    """Mend a transcript: a resumed screen shows the same of the old file and the new one.

    Branches that were left are kept where that is so with them too. Raises `TranscriptError` where sessions are mixed.
    """
    branch = held.branch()
    notes = [f"line {flaw.line}: {_lost(flaw.detail)}" for flaw in held.flaws]
    records = _once(held, notes)
    mended = _chained(records, notes)
    if display(walk(mended)[0]) != display(branch):
        kept = {record["uuid"] for record in branch}
        left = sum(record["uuid"] not in kept for record in mended)
        notes.append(f"{left} records beside the live branch are left out: they cannot be put in order without it")
        mended = _in_line(branch)
    return Repaired(records=tuple([_readable(record, notes) for record in mended]), notes=tuple(notes))


def _lost(detail: str) -> str:
    return f"lost, but for what could be read of it: {detail}"


def _once(held: Located, notes: list[str]) -> list[Record]:
    """Every record once; two that share a uuid, and are no pieces of one, get one each."""
    out: list[Record] = []
    seen: dict[str, tuple[set[str], Any]] = {}
    taken = {record["uuid"] for _, record in held.records}
    for line, record in held.records:
        uuid = record["uuid"]
        known = seen.get(uuid)
        if known is None:
            seen[uuid] = ({digest(record)}, record.get("parentUuid"))
        elif digest(record) in known[0]:
            notes.append(f"line {line}: a record that is there already; left out")
            continue
        elif record.get("parentUuid") != known[1]:
            new = _free(uuid, taken)
            taken.add(new)
            notes.append(f"line {line}: the uuid {uuid} is another record's; it has {new} now")
            record = {**record, "uuid": new}
        else:
            known[0].add(digest(record))
        out.append(record)
    return out


def _free(uuid: str, taken: set[str]) -> str:
    number = 2
    while f"{uuid}#{number}" in taken:
        number += 1
    return f"{uuid}#{number}"


def _chained(records: list[Record], notes: list[str]) -> list[Record]:
    """The records with a parent that is there: the one before in the file where theirs is missing or below them."""
    parents: dict[str, Any] = {record["uuid"]: record.get("parentUuid") for record in reversed(records)}
    out: list[Record] = []
    moved: dict[str, str | None] = {}
    previous: str | None = None
    for record in records:
        uuid, parent = record["uuid"], record.get("parentUuid")
        if uuid in moved:
            # Another piece of a record that has a new parent.
            out.append({**record, "parentUuid": moved[uuid]})
            continue
        known = isinstance(parent, str) and parent in parents
        if parent is not None and (not known or _is_above(uuid, parent, parents)):
            new = previous if previous is not None and not _is_above(uuid, previous, parents) else None
            notes.append(f"record {uuid}: its parent {parent!r} is {'below it' if known else 'missing'}; now {new!r}")
            parents[uuid] = moved[uuid] = new
            record = {**record, "parentUuid": new}
        out.append(record)
        if joins_chain(record):
            previous = uuid
    return out


def _is_above(uuid: str, start: Any, parents: Mapping[str, Any]) -> bool:
    """True when `uuid` is `start` or one of its ancestors."""
    seen: set[str] = set()
    at = start
    while isinstance(at, str) and at in parents and at not in seen:
        if at == uuid:
            return True
        seen.add(at)
        at = parents[at]
    return False


def _in_line(branch: list[Record]) -> list[Record]:
    parent: str | None = None
    out: list[Record] = []
    for record in branch:
        out.append({**record, "parentUuid": parent})
        parent = record["uuid"]
    return out


def _readable(record: Record, notes: list[str]) -> Record:
    """A record whose message and timestamp are of the form that they should have."""
    record = clean_tree(record)
    if "timestamp" in record and not is_time(record["timestamp"]):
        notes.append(f"record {record['uuid']}: its timestamp is no time; left out")
        del record["timestamp"]
    if record["type"] in ("user", "assistant", "tool_result"):
        message = record.get("message")
        if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
            notes.append(f"record {record['uuid']}: its message had no list of parts")
        if not isinstance(message, dict):
            record["message"] = {"role": "model" if record["type"] == "assistant" else "user", "parts": []}
        elif not isinstance(message.get("parts"), list):
            held = message.get("content", message.get("parts"))
            parts = held if isinstance(held, list) else [{"text": held}] if isinstance(held, str) else []
            record["message"] = {**message, "parts": parts}
    return record
