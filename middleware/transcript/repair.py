"""Makes a transcript without faults out of one that has some, and says what was lost on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..records import Record, clean_tree, parts_of
from ..resume import display, replay
from .chain import walk
from .checking import digest, is_time
from .flaws import joins_chain
from .located import Located
from .reader import KEPT, REPLACED

__all__ = ["Repaired", "repair"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """The records of the new file, and for each thing that was changed or lost one line that says so."""

    records: tuple[Record, ...]
    notes: tuple[str, ...] = ()


def repair(held: Located) -> Repaired:
    """Mend a transcript: a resumed screen shows, and a model gets, the same of the old file and the new one.

    Branches that were left are kept where that is so with them too. Raises `TranscriptError` where sessions are mixed.
    """
    branch = held.branch()
    notes = [f"line {flaw.line}: {_told(flaw.detail)}" for flaw in held.flaws]
    records = _once(held, notes)
    lines = {record["uuid"]: f"line {line}: " for line, record in reversed(held.records)}
    mended = [_readable(record, lines, notes) for record in _chained(records, lines, notes)]
    if not _says_the_same(mended, branch):
        kept = {record["uuid"] for record in branch}
        left = sum(record["uuid"] not in kept for record in mended)
        beside = "1 record beside the live branch is" if left == 1 else f"{left} records beside the live branch are"
        notes.append(f"{beside} left out: with them a resumed screen or a model would get something else")
        mended = [_readable(record, lines, []) for record in _in_line(branch)]
    return Repaired(records=tuple(mended), notes=tuple(notes))


def _says_the_same(mended: list[Record], branch: list[Record]) -> bool:
    """True when a screen and a model get the same of the mended records as of the branch."""
    again = walk(mended)[0]
    return display(again) == display(branch) and replay(again) == replay(branch)


def _told(detail: str) -> str:
    return detail if detail.endswith((KEPT, REPLACED)) else f"{detail}; what else it held is lost"


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


def _chained(records: list[Record], lines: Mapping[str, str], notes: list[str]) -> list[Record]:
    """The records with a parent that is there: the one before in the file where theirs is missing or below them."""
    trees = _Trees(records)
    out: list[Record] = []
    moved: dict[str, str | None] = {}
    previous: str | None = None
    for record in records:
        uuid, parent = record["uuid"], record.get("parentUuid")
        if uuid in moved:
            # Another piece of a record that has a new parent.
            out.append({**record, "parentUuid": moved[uuid]})
            continue
        why = trees.fault_of(uuid, parent)
        if why:
            new = moved[uuid] = trees.hang(uuid, previous)
            fault = "it is its own parent" if parent == uuid else f"its parent {parent!r} is {why}"
            now = "it has none now" if new is None else f"it follows {new} now"
            notes.append(f"{lines.get(uuid, '')}record {uuid}: {fault}; {now}")
            record = {**record, "parentUuid": new}
        out.append(record)
        if joins_chain(record):
            previous = uuid
    return out


class _Trees:
    """What hangs together: each tree of the records ends in a root, in a parent that is missing, or in a cycle."""

    def __init__(self, records: list[Record]) -> None:
        self._parents: dict[str, Any] = {record["uuid"]: record.get("parentUuid") for record in reversed(records)}
        self._joined = {uuid: uuid for uuid in self._parents}
        self._in_cycle: dict[str, int] = {}
        self._cut: set[int] = set()
        done: set[str] = set()
        for number, uuid in enumerate(self._parents):
            path: dict[str, None] = {}
            at: Any = uuid
            while self._is_there(at) and at not in done and at not in path:
                path[at] = None
                above = self._parents[at]
                if self._is_there(above):
                    self._joined[self._tree(at)] = self._tree(above)
                at = above
            if self._is_there(at) and at in path:
                members = list(path)
                self._in_cycle |= dict.fromkeys(members[members.index(at) :], number)
            done.update(path)

    def fault_of(self, uuid: str, parent: Any) -> str:
        """What is wrong with the parent of a record, "" for nothing."""
        if parent is not None and not self._is_there(parent):
            return "missing"
        cycle = self._in_cycle.get(uuid)
        return "below it" if cycle is not None and cycle not in self._cut else ""

    def hang(self, uuid: str, previous: str | None) -> str | None:
        """Cut a record from its parent, and hang it from the one before unless that is below it; say from what."""
        if uuid in self._in_cycle:
            self._cut.add(self._in_cycle[uuid])
        if previous is None or self._tree(previous) == self._tree(uuid):
            return None
        self._joined[self._tree(uuid)] = self._tree(previous)
        return previous

    def _is_there(self, uuid: Any) -> bool:
        return isinstance(uuid, str) and uuid in self._parents

    def _tree(self, uuid: str) -> str:
        joined = self._joined
        while joined[uuid] != uuid:
            joined[uuid] = uuid = joined[joined[uuid]]
        return uuid


def _in_line(branch: list[Record]) -> list[Record]:
    parent: str | None = None
    out: list[Record] = []
    for record in branch:
        out.append({**record, "parentUuid": parent})
        parent = record["uuid"]
    return out


def _readable(record: Record, lines: Mapping[str, str], notes: list[str]) -> Record:
    """A record whose message and timestamp are of the form that they should have."""
    record = clean_tree(record)
    if "timestamp" in record and not is_time(record["timestamp"]):
        notes.append(f"{lines.get(record['uuid'], '')}record {record['uuid']}: its timestamp is no time; left out")
        del record["timestamp"]
    message = record.get("message")
    if record["type"] not in ("user", "assistant", "tool_result"):
        return record
    if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
        notes.append(f"{lines.get(record['uuid'], '')}record {record['uuid']}: its message had no list of parts")
        held = message if isinstance(message, dict) else {"role": "model" if record["type"] == "assistant" else "user"}
        record["message"] = {**held, "parts": parts_of(record)}
    return record
