"""Which records of a Claude Code session are its conversation, in order.

They form a tree, like ours, but tool calls that ran at once are branches of it that all count. What does not is what
hangs from a prompt that was edited or rewound, or from a reply that was asked for again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .claude_blocks import blocks_of, typed_from

__all__ = ["conversation", "message_id"]


def conversation(objects: Sequence[Any]) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Return the records of the conversation in file order, and how many of what were left out.

    In a file of a subagent alone its records are the conversation.
    """
    left: Counter[str] = Counter()
    held: dict[str, dict[str, Any]] = {}
    for value in objects:
        uuid = value.get("uuid") if isinstance(value, dict) else None
        if not isinstance(value, dict):
            left["lines that hold no JSON object"] += 1
        elif not isinstance(uuid, str):
            left["records beside the conversation"] += 1
        elif uuid in held:
            left["repetitions"] += 1
        else:
            held[uuid] = value
    if any(_speaks(value) and not value.get("isSidechain") for value in held.values()):
        aside = [uuid for uuid, value in held.items() if value.get("isSidechain")]
        left["records of subagents"] += len(aside)
        for uuid in aside:
            del held[uuid]
    kept = _kept(held)
    left["records of abandoned branches"] += len(held) - len(kept)
    return kept, +left


def message_id(value: Mapping[str, Any]) -> str:
    """The id that the lines of one reply share, "" for none."""
    message = value.get("message")
    found = message.get("id") if isinstance(message, Mapping) else None
    return found if isinstance(found, str) else ""


def _kept(held: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    order = list(held)
    leaf = next((uuid for uuid in reversed(order) if _speaks(held[uuid])), None)
    if leaf is None:
        return list(held.values())
    trunk = _trunk(leaf, held, order)
    replies = {message_id(held[uuid]) for uuid in trunk} - {""}
    begins_typed = _is_prompt(held[min(trunk, key=trunk.__getitem__)])
    verdicts: dict[str, bool] = dict.fromkeys(trunk, True)
    for uuid in order:
        path: list[str] = []
        at: str | None = uuid
        while at is not None and at not in verdicts:
            verdicts[at] = True
            path.append(at)
            at = _parent(held[at], held)
        if path:
            below_trunk = at is None or at in trunk
            verdict = _belongs(held[path[-1]], at, replies, begins_typed) if below_trunk else verdicts[str(at)]
            verdicts.update(dict.fromkeys(path, verdict))
    return [held[uuid] for uuid in order if verdicts[uuid]]


def _trunk(leaf: str, held: Mapping[str, dict[str, Any]], order: Sequence[str]) -> dict[str, int]:
    """The ancestors of the last record, each with its place in the file; a missing one is bridged."""
    places = {uuid: place for place, uuid in enumerate(order)}
    trunk: dict[str, int] = {}
    at: str | None = leaf
    while at is not None and at not in trunk:
        trunk[at] = places[at]
        above = _parent(held[at], held)
        if above is None and _names_parent(held[at]):
            above = order[places[at] - 1] if places[at] else None
        at = above
    return trunk


def _belongs(top: Mapping[str, Any], trunk: str | None, replies: set[str], begins_typed: bool) -> bool:
    """Whether a branch counts, by its first record and the record of the trunk that it hangs from, None for none."""
    if _is_prompt(top):
        return trunk is None and not begins_typed
    return top.get("type") != "assistant" or message_id(top) in replies


def _parent(value: Mapping[str, Any], held: Mapping[str, Any]) -> str | None:
    for key in ("parentUuid", "logicalParentUuid"):
        above = value.get(key)
        if isinstance(above, str) and above in held:
            return above
    return None


def _names_parent(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("parentUuid"), str)


def _speaks(value: Mapping[str, Any]) -> bool:
    return value.get("type") in ("user", "assistant") and isinstance(value.get("message"), dict)


def _is_prompt(value: Mapping[str, Any]) -> bool:
    if value.get("type") != "user" or not _speaks(value):
        return False
    blocks = blocks_of(value["message"].get("content"))
    return typed_from(value, blocks).by_hand and not any(block.get("type") == "tool_result" for block in blocks)
