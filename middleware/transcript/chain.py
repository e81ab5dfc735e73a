"""Finds the conversation in a transcript: the branch from its root to its last leaf.

Rules: hooks-and-transcripts 3.5 with D12 (gaps are bridged) and D13 (one uuid on two records). Nothing recurses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from ..errors import TranscriptError
from ..records import Record
from .flaws import Flaw, is_known_type, joins_chain, unknown_in

__all__ = ["walk"]


class _Node:
    """A record on its place: `record` is replaced by a copy when a fragment is merged into it."""

    __slots__ = ("in_chain", "known", "owned", "parent", "position", "record")

    def __init__(self, record: Record, position: int) -> None:
        self.record = record
        self.position = position
        self.parent: object = record.get("parentUuid")
        self.known = is_known_type(record)
        self.in_chain = joins_chain(record)
        self.owned = False


def walk(records: Iterable[object]) -> tuple[list[Record], list[Flaw]]:
    """Return the active branch, root first, and the flaws met on the way.

    The leaf is the physically last record of the conversation that has no child in it. A missing parent is
    bridged to the physically previous record, a cycle is cut, fragments of one uuid are merged, repetitions
    dropped. Records of an unknown type link the chain and are left out of it. No record given is changed.
    Raises `TranscriptError` when records of several sessions are mixed.
    """
    flaws: list[Flaw] = []
    nodes, by_uuid = _nodes(records, flaws)
    leaf = _leaf(nodes, by_uuid)
    path = _climb(leaf, nodes, by_uuid, flaws) if leaf is not None else []
    return [_dated(node.record) for node in path if node.known], flaws


def _nodes(records: Iterable[object], flaws: list[Flaw]) -> tuple[list[_Node], dict[str, _Node]]:
    """A node for each record that stands for itself, in file order, and the node of each uuid."""
    nodes: list[_Node] = []
    first: dict[str, _Node] = {}
    repeated: dict[str, set[str]] = {}
    variants: dict[tuple[str, str], _Node] = {}
    sessions: set[str] = set()
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict) or not _is_identified(record):
            flaws.append(Flaw(name="invalid_record", detail=f"record {number} has no uuid and type; left out"))
            continue
        session = record.get("sessionId")
        if isinstance(session, str):
            sessions.add(session)
            if len(sessions) > 1:
                both = " and ".join(sorted(sessions))
                raise TranscriptError(f"one transcript holds records of the sessions {both}; split it by sessionId")
        unknown = unknown_in(record)
        uuid: str = record["uuid"]
        original = first.get(uuid)
        if original is None:
            if unknown is not None:
                flaws.append(Flaw(name="unknown_record_or_part", detail=f"record {number}: {unknown}"))
            first[uuid] = _Node(record, len(nodes))
            nodes.append(first[uuid])
            continue
        if uuid not in repeated:
            repeated[uuid] = {_digest(original.record)}
        digest = _digest(record)
        if digest in repeated[uuid]:
            continue
        repeated[uuid].add(digest)
        key = (uuid, repr(record.get("parentUuid")))
        if repr(original.parent) == key[1]:
            _merge(original, record)
        elif key in variants:
            _merge(variants[key], record)
        else:
            renamed = {**record, "uuid": _free(uuid, first)}
            variants[key] = first[renamed["uuid"]] = _Node(renamed, len(nodes))
            nodes.append(variants[key])
            detail = f"record {number} has the uuid {uuid} of another one; kept as {renamed['uuid']}"
            flaws.append(Flaw(name="invalid_record", detail=detail))
    return nodes, first


def _leaf(nodes: list[_Node], by_uuid: dict[str, _Node]) -> _Node | None:
    """The physically last record of the conversation that is no parent in it; in a cycle simply the last."""
    parents: set[int] = set()
    for node in nodes:
        if node.in_chain:
            # A record beside the conversation is a link when a conversation record hangs from it.
            parent = by_uuid.get(node.parent) if isinstance(node.parent, str) else None
            while parent is not None and parent.position not in parents:
                parents.add(parent.position)
                above = parent.parent
                parent = by_uuid.get(above) if not parent.in_chain and isinstance(above, str) else None
    candidates = [node for node in nodes if node.in_chain] or nodes
    for node in reversed(candidates):
        if node.position not in parents:
            return node
    return candidates[-1] if candidates else None


def _climb(leaf: _Node, nodes: list[_Node], by_uuid: dict[str, _Node], flaws: list[Flaw]) -> list[_Node]:
    path: list[_Node] = []
    on_path: set[int] = set()
    node: _Node | None = leaf
    while node is not None:
        path.append(node)
        on_path.add(node.position)
        if node.parent is None:
            break
        above = by_uuid.get(node.parent) if isinstance(node.parent, str) else None
        if above is None:
            flaws.append(Flaw(name="history_gap", detail=f"the parent {node.parent!r} is missing"))
            above = _previous(node, nodes, on_path)
        elif above.position in on_path:
            flaws.append(Flaw(name="parent_cycle", detail=f"the parent {node.parent!r} is below its own child; cut"))
            break
        node = above
    path.reverse()
    return path


def _previous(node: _Node, nodes: list[_Node], on_path: set[int]) -> _Node | None:
    for position in range(node.position - 1, -1, -1):
        if nodes[position].in_chain and position not in on_path:
            return nodes[position]
    return None


def _merge(node: _Node, fragment: Record) -> None:
    """Add a fragment: parts in file order, last usage, first tool result and model, greatest timestamp."""
    if not node.owned:
        node.record = dict(node.record)
        node.owned = True
        message = node.record.get("message")
        if isinstance(message, dict):
            node.record["message"] = dict(message)
            if isinstance(message.get("parts"), list):
                node.record["message"]["parts"] = list(message["parts"])
    merged = node.record
    message, more = merged.get("message"), fragment.get("message")
    if not isinstance(message, dict):
        if isinstance(more, dict):
            merged["message"] = dict(more)
            if isinstance(more.get("parts"), list):
                merged["message"]["parts"] = list(more["parts"])
    elif isinstance(more, dict) and isinstance(more.get("parts"), list):
        if isinstance(message.get("parts"), list):
            message["parts"] += more["parts"]
        else:
            message["parts"] = list(more["parts"])
    if "usageMetadata" in fragment:
        merged["usageMetadata"] = fragment["usageMetadata"]
    for key, value in fragment.items():
        merged.setdefault(key, value)
    stamps = [str(stamp) for stamp in (merged.get("timestamp"), fragment.get("timestamp")) if _is_time(stamp)]
    if stamps:
        merged["timestamp"] = max(stamps, key=_moment)


def _dated(record: Record) -> Record:
    """The record, without a timestamp that is none."""
    if "timestamp" not in record or _is_time(record["timestamp"]):
        return record
    return {key: value for key, value in record.items() if key != "timestamp"}


def _moment(stamp: str) -> datetime:
    moment = datetime.fromisoformat(stamp)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(datetime.fromisoformat(value))
    except ValueError:
        return False


def _is_identified(record: Record) -> bool:
    return isinstance(record.get("uuid"), str) and isinstance(record.get("type"), str)


def _digest(record: Record) -> str:
    try:
        return json.dumps(record, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return f"#{id(record)}"


def _free(uuid: str, taken: dict[str, _Node]) -> str:
    number = 2
    while f"{uuid}#{number}" in taken:
        number += 1
    return f"{uuid}#{number}"
