"""The history of a model, rebuilt from records exactly as it was sent (hooks-and-transcripts 3.6, D5, D8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ..parts import clean
from ..records import ASSISTANT, SYSTEM, TOOL_RESULT, USER, WIRE_KEY, Record, clean_tree, parts_of
from .projection import joined, payload_of

__all__ = ["replay", "replay_wired"]

_NOT_REPLAYED = ("realtime_message", "code_mode_tool_result")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[Any]).decode


def replay(records: Iterable[Mapping[str, Any]]) -> list[Record]:
    """Rebuild the model's history exactly as it was sent, tagged parts included, as `{"role", "parts"}` (3.6).

    Only invalid Unicode is replaced (D5). The result shares nothing with the records.
    """
    history = []
    for entry in replay_wired(records):
        if entry.pop(WIRE_KEY, None) is None or entry["parts"]:
            history.append(entry)
    return history


def replay_wired(records: Iterable[Mapping[str, Any]]) -> list[Record]:
    """As `replay`, with what is kept of the caller's own message beside each entry, under `WIRE_KEY`.

    A message that said nothing is there too where its own form is kept.
    """
    history: list[Record] = []
    for record in records:
        kind, subtype = record.get("type"), record.get("subtype")
        if kind == SYSTEM and subtype == "chat_compression":
            compressed = payload_of(record).get("compressedHistory")
            if not isinstance(compressed, list):
                return []
            history = [clean_tree(entry) for entry in compressed if isinstance(entry, dict)]
        elif kind == SYSTEM and subtype == "slash_command":
            _drop_local_command(history, payload_of(record))
        elif kind in (USER, ASSISTANT, TOOL_RESULT) and subtype not in _NOT_REPLAYED:
            parts, wire = _own(parts_of(record)), record.get(WIRE_KEY)
            if not parts and wire is None:
                continue
            role = "model" if kind == ASSISTANT else "user"
            if subtype == "mid_turn_user_message" and history and history[-1].get("role") == "user":
                history[-1]["parts"] = [*parts_of(history[-1]), *parts]
                history[-1].pop(WIRE_KEY, None)
            else:
                history.append({"role": role, "parts": parts})
                if wire is not None:
                    history[-1][WIRE_KEY] = wire
    return history


def _own(parts: list[Any]) -> list[Any]:
    """A copy of parts with invalid Unicode replaced (D5), at the price of writing and reading them."""
    try:
        written = _encode(parts)
    except (UnicodeEncodeError, TypeError, ValueError, OverflowError, RecursionError):
        return clean_tree(parts)  # type: ignore[no-any-return]
    # A NUL is to be replaced; a NaN is written as null.
    if b"\\u0000" in written or b"null" in written:
        return clean_tree(parts)  # type: ignore[no-any-return]
    return _decode(written)


def _drop_local_command(history: list[Record], payload: Mapping[str, Any]) -> None:
    command = payload.get("rawCommand")
    if payload.get("phase") != "result" or payload.get("sentToModel") is not False or not isinstance(command, str):
        return
    if history and history[-1].get("role") == "user" and joined(parts_of(history[-1])) == clean(command):
        history.pop()
