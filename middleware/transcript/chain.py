"""Finds the conversation in a transcript: the branch from its root to its last leaf.

Rules: hooks-and-transcripts 3.5 with D12 (gaps are bridged) and D13 (one uuid on two records). Nothing recurses.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from ..errors import TranscriptError
from ..records import ASSISTANT, SYSTEM, TOOL_RESULT, USER, Record
from .flaws import Flaw, joins, unknown_in
from .fragments import dated, merged

__all__ = ["Chain", "Head", "walk"]

_STANDS, _KNOWN, _JOINS = 1, 2, 4
_PLAIN = dict.fromkeys((USER, ASSISTANT, TOOL_RESULT, SYSTEM), _STANDS | _KNOWN | _JOINS)


def walk(records: Iterable[object]) -> tuple[list[Record], list[Flaw]]:
    """Return the active branch, root first, and the flaws met on the way.

    The leaf is the physically last record of the conversation that has no child in it. A missing parent is
    bridged to the physically previous record, a cycle is cut, fragments of one uuid are merged, repetitions
    dropped. Records of an unknown type link the chain and are left out of it. No record given is changed.
    Raises `TranscriptError` when records of several sessions are mixed.
    """
    flaws: list[Flaw] = []
    held: list[Any] = list(records)
    chain = Chain(held.__getitem__, flaws.append)
    heads: list[Head] = []
    for record in held:
        if isinstance(record, dict) and isinstance(record.get("uuid"), str) and isinstance(record.get("type"), str):
            heads.append(Head.of(record))
        else:
            chain.extend(heads)
            chain.leave_out()
            heads = []
    chain.extend(heads)
    for position, record in enumerate(held):
        unknown = unknown_in(record) if chain.stands(position) else None
        if unknown is not None:
            flaws.append(Flaw(name="unknown_record_or_part", detail=f"record {position + 1}: {unknown}"))
    return [chain.record(position) for position in chain.branch()], flaws


class Head(msgspec.Struct, gc=False):
    """What the chain has to know of a record; only `uuid` and `type` are sure to be strings."""

    uuid: str
    type: str
    parentUuid: Any = None
    subtype: Any = None
    sessionId: Any = None

    @classmethod
    def of(cls, record: Record) -> Head:
        """Take it from a whole record."""
        get = record.get
        return cls(record["uuid"], record["type"], get("parentUuid"), get("subtype"), get("sessionId"))


class Chain:
    """The tree of a file's records, without the records: one is asked for again when it is needed.

    Records are counted from 0 in file order; `fetch` gives the record at a position. Kept of one are its uuid and
    a few bytes. A run is a stretch of records each of which is the child of the one before it, as nearly all are.
    `_above` holds the position of the parent of each run's first record, None for a root; a parent that was not
    read before its child is in `_unresolved` under the name that it is called by.
    """

    def __init__(
        self, fetch: Callable[[int], Record], on_flaw: Callable[[Flaw], None], place: str = "one transcript"
    ) -> None:
        self._fetch = fetch
        self._place = place
        self._on_flaw = on_flaw
        self._by_uuid: dict[str, int] = {}
        self._last: str | None = None
        self._flags = bytearray()
        self._runs: list[int] = []
        self._above: dict[int, int | None] = {}
        self._unresolved: dict[int, object] = {}
        self._parents: set[int] = set()
        self._beside: list[int] = []
        self._session: str | None = None
        self._seen: dict[str, set[bytes]] = {}
        self._variants: dict[tuple[str, str], int] = {}
        self._numbers: dict[str, int] = {}
        self._fragments: dict[int, list[int]] = {}
        self._renamed: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._flags)

    def extend(self, heads: Iterable[Head]) -> None:
        """Put the next records on their places. Raises `TranscriptError` for a second session."""
        by_uuid, flags = self._by_uuid, self._flags
        last, position = self._last, len(self._flags)
        for head in heads:
            uuid, parent = head.uuid, head.parentUuid
            if head.sessionId != self._session:
                self._belongs(head.sessionId)
            subtype = head.subtype
            flag = _PLAIN.get(head.type, _STANDS) if subtype is None else _flag(head.type, subtype)
            if by_uuid.setdefault(uuid, position) != position:
                flag *= self._is_variant(uuid, parent, position)
                if flag:
                    self._begin(position, parent, flag)
                last = None
            elif last is not None and parent == last:
                if flag & _JOINS and not flags[-1] & _JOINS:
                    self._beside.append(position - 1)
                last = uuid
            else:
                self._begin(position, parent, flag)
                last = uuid
            flags.append(flag)
            position += 1
        self._last = last

    def leave_out(self) -> None:
        """Count something that is no record."""
        self._on_flaw(
            Flaw(name="invalid_record", detail=f"record {len(self._flags) + 1} has no uuid and type; left out")
        )
        self._flags.append(0)
        self._last = None

    def stands(self, position: int) -> bool:
        """False for what is no record, and for one that only repeats or completes an earlier one."""
        return bool(self._flags[position])

    def branch(self) -> list[int]:
        """The positions of the active branch, root first, records of an unknown type left out."""
        leaf = self._leaf()
        path = itertools.chain.from_iterable(self._climb(leaf) if leaf is not None else ())
        return [position for position in path if self._flags[position] & _KNOWN]

    def record(self, position: int) -> Record:
        """The record at a position of the branch, whole, under the uuid that it has there."""
        record = self._fetch(position)
        if position in self._renamed:
            record = {**record, "uuid": self._renamed[position]}
        if position in self._fragments:
            record = merged(record, map(self._fetch, self._fragments[position]))
        return dated(record)

    def is_whole(self, position: int) -> bool:
        """True for a record that `record` gives as it was read, but for a timestamp that is none."""
        return position not in self._renamed and position not in self._fragments

    def _belongs(self, session: object) -> None:
        if not isinstance(session, str):
            return
        if self._session is not None:
            both = " and ".join(sorted((self._session, session)))
            raise TranscriptError(f"{self._place} holds records of the sessions {both}; split it by sessionId")
        self._session = session

    def _begin(self, position: int, parent: object, flag: int) -> None:
        """Begin a run with a record whose parent is not the one before it."""
        above = self._by_uuid.get(parent) if isinstance(parent, str) else None
        self._runs.append(position)
        self._above[position] = above
        if above is None and parent is not None:
            self._unresolved[position] = parent
        if above is not None and above != position and flag & _JOINS:
            self._is_parent(above)

    def _is_parent(self, position: int) -> None:
        self._parents.add(position)
        self._beside.append(position)

    def _is_variant(self, uuid: str, parent: object, position: int) -> bool:
        """True when a record with a uuid that is taken stands for itself, under a uuid of its own (D13)."""
        original = self._by_uuid[uuid]
        if uuid not in self._seen:
            self._seen[uuid] = {_digest(self._fetch(original))}
        digest = _digest(self._fetch(position))
        if digest in self._seen[uuid]:
            return False
        self._seen[uuid].add(digest)
        key = (uuid, repr(parent))
        whole = original if repr(self._fetch(original).get("parentUuid")) == key[1] else self._variants.get(key)
        if whole is not None:
            self._fragments.setdefault(whole, []).append(position)
            return False
        renamed = self._renamed[position] = self._free(uuid)
        self._variants[key] = self._by_uuid[renamed] = position
        detail = f"record {position + 1} has the uuid {uuid} of another one; kept as {renamed}"
        self._on_flaw(Flaw(name="invalid_record", detail=detail))
        return True

    def _free(self, uuid: str) -> str:
        """A name like a uuid that no record has."""
        number = self._numbers.get(uuid, 2)
        while f"{uuid}#{number}" in self._by_uuid:
            number += 1
        self._numbers[uuid] = number + 1
        return f"{uuid}#{number}"

    def _leaf(self) -> int | None:
        """The physically last record of the conversation that is no parent in it; in a cycle simply the last."""
        for position, parent in self._unresolved.items():
            above = self._by_uuid.get(parent) if isinstance(parent, str) else None
            if above is not None:
                self._above[position] = above
                if self._flags[position] & _JOINS:
                    self._is_parent(above)
        for position in self._beside:
            # A record beside the conversation is a link when a conversation record hangs from it.
            above = position
            while above is not None and not self._flags[above] & _JOINS:
                above = self._above.get(above, above - 1)
                if above in self._parents:
                    break
                if above is not None:
                    self._parents.add(above)
        wanted = _JOINS if any(flag & _JOINS for flag in self._flags) else _STANDS
        last: int | None = None
        for position in range(len(self._flags) - 1, -1, -1):
            if self._flags[position] & wanted:
                last = position if last is None else last
                if not self._has_child(position):
                    return position
        return last

    def _has_child(self, position: int) -> bool:
        below = position + 1
        if position in self._parents:
            return True
        return below < len(self._flags) and below not in self._above and bool(self._flags[below] & _JOINS)

    def _climb(self, leaf: int) -> list[range]:
        """The runs, or the ends of them, from the root to the leaf."""
        path: list[range] = []
        on_path = bytearray(len(self._flags))
        node: int | None = leaf
        while node is not None:
            begin = self._runs[bisect_right(self._runs, node) - 1]
            met = on_path.rfind(1, begin, node)
            if met >= 0:
                self._cut(met + 1)
                path.append(range(met + 1, node + 1))
                break
            path.append(range(begin, node + 1))
            on_path[begin : node + 1] = b"\1" * (node + 1 - begin)
            node = self._above[begin]
            if node is not None and on_path[node]:
                self._cut(begin)
                if node != begin:
                    break
                # A record that names itself says nothing of what was before it: that is a gap.
                node = self._previous(begin, on_path)
            if node is None and begin in self._unresolved:
                detail = f"the parent {self._unresolved[begin]!r} is missing"
                self._on_flaw(Flaw(name="history_gap", detail=detail))
                node = self._previous(begin, on_path)
        path.reverse()
        return path

    def _cut(self, position: int) -> None:
        record = self._fetch(position)
        detail = f"the parent {record.get('parentUuid')!r} is below its own child; cut"
        if record.get("parentUuid") == record["uuid"]:
            detail = f"the record {record['uuid']} is its own parent"
        self._on_flaw(Flaw(name="parent_cycle", detail=detail))

    def _previous(self, node: int, on_path: bytearray) -> int | None:
        for position in range(node - 1, -1, -1):
            if self._flags[position] & _JOINS and not on_path[position]:
                return position
        return None


def _flag(kind: str, subtype: object) -> int:
    known, is_in_chain = joins(kind, subtype)
    return _STANDS | known * _KNOWN | is_in_chain * _JOINS


def _digest(record: Record) -> bytes:
    try:
        text = json.dumps(record, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        text = f"#{id(record)}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
