"""A caller's own message beside its record, where the record's parts do not give it back.

The parts of a record are the reference's: of an image's detail, a document's title or whether a text came as a
string or as a list they say nothing. What they do not say is kept under `wire`, a key that the reference passes over:
`sdk` whose shape it has, `message` as it came, without our parts; `media`, the parts that a message is known again
by; `arguments` of tool calls, as they were written. A long string that the parts hold is not kept twice: a reference
stands for it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ..parts import Message, Part
from ..plain import clean_tree, cut, finite
from ..records import WIRE_KEY, is_text_part

__all__ = ["arguments_in", "given_call", "given_message", "given_result", "media_in", "message_in"]

Wire: TypeAlias = dict[str, Any]

_SHAPES = ("openai", "anthropic")
_SHORT = 64
_REF, _BYTES = "firsthand:part", "firsthand:bytes"
_PLAIN_RESULT = {"openai": {"role", "tool_call_id", "content"}, "anthropic": {"type", "tool_use_id", "content"}}


class _Unkept(Exception):
    """A value of the caller's that JSON cannot hold."""


def given_message(message: Message, parts: Sequence[Any], shape: str) -> Wire | None:
    """What to keep of a user's message that is recorded as `parts`; None where those say it all."""
    raw: Any = message.raw
    if type(raw) is dict and len(raw) == 2 and type(raw.get("content")) is str and raw["content"]:
        return None
    others = [part.raw for part in message.parts if part.kind in ("media", "other")]
    kept: Wire = {"media": others} if others else {}
    sent = _unechoed(raw, message) if shape in _SHAPES else None
    if sent is not None:
        kept["message"] = sent
    return _wire(kept, parts, shape) if kept else None


def given_result(part: Part, message: Message, parts: Sequence[Any], shape: str) -> Wire | None:
    """What to keep of a tool's result and what was said beside it in the record; None where `parts` say it all."""
    if shape not in _SHAPES:
        return None
    raws = [part.raw] if shape == "openai" else [held.raw for held in message.parts]
    results = [raw for raw in raws if _is_plain_result(raw, shape)]
    if len(results) + sum(_is_plain_text(raw) for raw in raws) == len(raws):
        return None
    sent = _unechoed(raws[0], message) if shape == "openai" else {"role": "user", "content": raws}
    return _wire({"message": sent}, parts, shape) if sent is not None else None


def given_call(message: Message, parts: Sequence[Any], shape: str) -> Wire | None:
    """What to keep of a reply: its media, and arguments that are not written as we would write them."""
    kept: Wire = {}
    others = [part.raw for part in message.parts if part.kind in ("media", "other")]
    if others:
        kept["media"] = others
    if shape == "openai":
        texts = [part.text for part in message.parts if part.kind == "tool_call"]
        if not all(map(_is_usual, texts)):
            kept["arguments"] = texts
    return _wire(kept, parts, shape) if kept else None


def message_in(entry: Mapping[str, Any], parts: Sequence[Any], shape: str) -> dict[str, Any] | None:
    """The message that is kept beside a record with these parts, in this shape; None for none."""
    wire = entry.get(WIRE_KEY)
    if not isinstance(wire, Mapping) or wire.get("sdk") != shape or not isinstance(wire.get("message"), Mapping):
        return None
    found = _restored(finite(wire["message"]), parts, str.__str__)
    return found if isinstance(found, dict) and isinstance(found.get("content"), (str, list, type(None))) else None


def media_in(record: Mapping[str, Any], parts: Sequence[Any]) -> list[Any]:
    """The media parts that are kept beside a record, as they were sent."""
    wire = record.get(WIRE_KEY)
    held = wire.get("media") if isinstance(wire, Mapping) else None
    found = [_restored(raw, parts) for raw in held] if isinstance(held, list) else []
    return [] if None in found else found


def arguments_in(entry: Mapping[str, Any]) -> list[str]:
    """The arguments of the calls of a record as they were written; none where they are written as usual."""
    wire = entry.get(WIRE_KEY)
    held = wire.get("arguments") if isinstance(wire, Mapping) else None
    return held if isinstance(held, list) and all(isinstance(text, str) for text in held) else []


def _wire(kept: Wire, parts: Sequence[Any], shape: str) -> Wire | None:
    places: dict[str, int] = {}
    for index, part in enumerate(parts):
        text = _long_text(part)
        if text is not None and len(text) > _SHORT:
            places.setdefault(text, index)
    try:
        return {"sdk": shape, **_kept(kept, places)}
    except _Unkept:
        return None


def _kept(value: Mapping[Any, Any], places: Mapping[str, int]) -> dict[str, Any]:
    """A JSON copy of a value of the caller's, with references in place of what the record's parts hold."""

    def leaf(item: Any) -> Any:
        if isinstance(item, str):
            return _reference(str.__str__(item), places)
        if item is None or isinstance(item, (int, float)):
            return item
        if isinstance(item, (bytes, bytearray, memoryview)):
            return {_BYTES: _reference(base64.b64encode(item).decode(), places)}
        return _kept({"": _dumped(item)}, places)[""]

    return cut(value, leaf)


def _dumped(item: Any) -> Any:
    """An object of an SDK as what its identity is made of (`parts.frozen`). Raises `_Unkept` for any other."""
    dump = getattr(item, "model_dump", None)
    if dump is None or isinstance(item, type):
        raise _Unkept
    try:
        return dump(exclude_none=True)
    except Exception:  # noqa: BLE001  (what an object of the caller's says of itself may raise anything)
        raise _Unkept from None


def _reference(text: str, places: Mapping[str, int]) -> Any:
    if len(text) <= _SHORT or not places:
        return text
    if text in places:
        return {_REF: places[text]}
    head, comma, data = text.partition(",")
    if comma and data in places:
        return {_REF: places[data], "after": f"{head},"}
    return text


def _restored(value: Any, parts: Sequence[Any], decode: Callable[[str], Any] = base64.b64decode) -> Any:
    """The value that was kept, with what the references stand for; None when a part that it needs is not there."""
    try:
        return _looked_up(clean_tree(value), parts, decode)
    except (LookupError, TypeError, ValueError, RecursionError):
        return None


def _looked_up(value: Any, parts: Sequence[Any], decode: Callable[[str], Any]) -> Any:
    if isinstance(value, list):
        return [_looked_up(item, parts, decode) for item in value]
    if not isinstance(value, dict):
        return value
    if _BYTES in value:
        return decode(_looked_up(value[_BYTES], parts, decode))
    if _REF in value:
        text = _long_text(parts[value[_REF]])
        if text is None:
            raise LookupError
        return value.get("after", "") + text
    return {key: _looked_up(item, parts, decode) for key, item in value.items()}


def _long_text(part: Any) -> str | None:
    """The string of a record's part that may be long."""
    if not isinstance(part, Mapping):
        return None
    held = part.get("text")
    for key, name in (("inlineData", "data"), ("fileData", "fileUri"), ("functionResponse", "response")):
        inner = part.get(key)
        if isinstance(inner, Mapping):
            held = inner.get(name)
            held = held.get("output") if isinstance(held, Mapping) else held
    return held if isinstance(held, str) else None


def _unechoed(raw: Any, message: Message) -> Any:
    """A wire message without our own parts, which an application sent back; None for what cannot be kept."""
    try:
        held: Any = raw if isinstance(raw, Mapping) else _dumped(raw)
    except _Unkept:
        return None
    if not isinstance(held, Mapping):
        return None
    content = held.get("content")
    if message.echoed and isinstance(content, (list, tuple)):
        return {**held, "content": list(content)[: len(content) - len(message.echoed)]}
    return held


def _is_plain_result(raw: Any, shape: str) -> bool:
    return isinstance(raw, Mapping) and set(raw) == _PLAIN_RESULT[shape] and isinstance(raw["content"], str)


def _is_plain_text(raw: Any) -> bool:
    return isinstance(raw, Mapping) and set(raw) == {"type", "text"} and is_text_part(raw) and bool(raw["text"].strip())


def _is_usual(arguments: str) -> bool:
    try:
        value = json.loads(arguments)
        return isinstance(value, dict) and json.dumps(value, ensure_ascii=False) == arguments
    except (ValueError, RecursionError):
        return False
