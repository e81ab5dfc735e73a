"""OTLP in JSON into its protobuf messages, item by item, so that one broken item costs the others nothing.

Protobuf's own JSON reading does the work; OTLP departs from it in writing ids in hexadecimal. Keys that are not known
are passed over, as OTLP demands. The items of a document stay bytes until it is their turn: as Python's objects they
would be ten times as large, all at once.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Message

from .errors import BadRequest
from .otlppieces import MOST
from .signals import Decoded

__all__ = ["pieces"]

_LEVELS: Final = {
    "traces": (("resourceSpans", "resource_spans"), ("scopeSpans", "scope_spans"), ("spans", "spans")),
    "metrics": (("resourceMetrics", "resource_metrics"), ("scopeMetrics", "scope_metrics"), ("metrics", "metrics")),
    "logs": (("resourceLogs", "resource_logs"), ("scopeLogs", "scope_logs"), ("logRecords", "log_records")),
}
_IDS: Final = {
    "traceId": 16, "trace_id": 16, "spanId": 8, "span_id": 8, "parentSpanId": 8, "parent_span_id": 8,
}  # fmt: skip
_MOST_OPENED: Final = 2_000_000
"""Brackets: each may be an object of a hundred bytes."""

_BROKEN: Final = (ParseError, ValueError, TypeError, AttributeError, RecursionError, OverflowError)
_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_list_or_none = msgspec.json.Decoder(list[msgspec.Raw] | None).decode


def pieces(
    signal: str, body: bytes | bytearray, new: Callable[[], Message], *, most_items: int, most_bytes: int, longest: int
) -> Iterator[tuple[Any, Decoded]]:
    """Request messages that together are the body, with what was broken of each. Raises `BadRequest` before the first.

    `new` makes an empty request message. A piece is of so many items, and of so many bytes or of one item, of which one
    of over `longest` bytes is refused.
    """
    document = _document(body)
    if not isinstance(document, Mapping):
        raise BadRequest(f"the body is no OTLP {signal} request: it is no JSON object")
    resources = _listed(document, _LEVELS[signal][0])
    if resources is None:
        raise BadRequest(f"the body is no OTLP request: {_LEVELS[signal][0][0]} is no list")
    return _cut(resources, _LEVELS[signal], new, most_items, most_bytes, longest)


def _cut(
    resources: list[Any],
    levels: tuple[tuple[str, str], ...],
    new: Callable[[], Message],
    most_items: int,
    most_bytes: int,
    longest: int,
) -> Iterator[tuple[Any, Decoded]]:
    outer, middle, inner = levels
    request: Any = new()
    decoded, count, size = Decoded(), 0, 0
    for resource in _objects(resources, outer[0], decoded):
        held = getattr(request, outer[1]).add()
        _merge(resource.get("resource"), held.resource, "resource", decoded)
        for scope in _objects(_listed(resource, middle), middle[0], decoded):
            scoped = getattr(held, middle[1]).add()
            _merge(scope.get("scope"), scoped.scope, "scope", decoded)
            for item in _each(_listed(scope, inner), inner[0], decoded):
                long = memoryview(item).nbytes if isinstance(item, msgspec.Raw) else 0
                if long > longest:
                    decoded.refuse(f"{inner[0]}: one of {long:,} bytes is longer than the {longest:,} that are read")
                    continue
                if count and (count >= most_items or size + long > most_bytes):
                    yield request, decoded
                    said = held.resource, scoped.scope
                    request, decoded, count, size = new(), Decoded(), 0, 0
                    held = getattr(request, outer[1]).add()
                    scoped = getattr(held, middle[1]).add()
                    held.resource.CopyFrom(said[0])
                    scoped.scope.CopyFrom(said[1])
                into = getattr(scoped, inner[1])
                count, size = count + 1, size + long
                if not _merge(item, into.add(), inner[0], decoded):
                    del into[-1]
    yield request, decoded


def _document(body: bytes | bytearray) -> Any:
    if body.count(b"{") + body.count(b"[") > _MOST_OPENED:
        raise BadRequest(f"the body has more than {_MOST_OPENED:,} brackets; send smaller batches", status=413)
    try:
        return _object(body)
    except (msgspec.MsgspecError, RecursionError):
        # It refuses more than JSON does: half a surrogate, NaN, a BOM.
        pass
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is no JSON: {' '.join(str(error).split())[:200]}") from error


def _listed(holder: Mapping[str, Any], names: tuple[str, str]) -> list[Any] | None:
    """A list of what is in it, bytes as they are; None for what is no list."""
    for name in names:
        value = holder.get(name)
        if isinstance(value, msgspec.Raw):
            value = _opened(_list_or_none, value)
        if value is not None:
            return value if isinstance(value, list) else None
    return []


def _opened(decode: Callable[[msgspec.Raw], Any], raw: msgspec.Raw) -> Any:
    """What bytes hold, whose own items stay bytes; "" for what is something else."""
    try:
        return decode(raw)
    except msgspec.MsgspecError:
        return ""


def _each(items: list[Any] | None, name: str, decoded: Decoded) -> Iterator[Any]:
    if items is None:
        decoded.refuse(f"{name} is no list")
    elif len(items) > MOST:
        decoded.refuse(f"{name} has more than {MOST:,} items; send smaller batches", len(items) - MOST)
        yield from items[:MOST]
    else:
        yield from items


def _objects(items: list[Any] | None, name: str, decoded: Decoded) -> Iterator[Mapping[str, Any]]:
    for item in _each(items, name, decoded):
        value = _opened(_object, item) if isinstance(item, msgspec.Raw) else item
        if isinstance(value, dict):
            yield value
        else:
            decoded.refuse(f"{name} holds what is no object")


def _merge(value: Any, message: Any, what: str, decoded: Decoded) -> bool:
    try:
        if isinstance(value, msgspec.Raw):
            value = json.loads(str(memoryview(value), "utf-8"))
        if value is None:
            return True
        ParseDict(_mended(value), message, ignore_unknown_fields=True)
    except _BROKEN as error:
        decoded.refuse(f"{what}: {' '.join(str(error).split())[:160] or type(error).__name__}")
        message.Clear()
        return False
    return True


def _mended(value: Any) -> Any:
    """A copy with ids in base64, as protobuf wants them, and texts that are valid Unicode."""
    if isinstance(value, str):
        return _valid(value)
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {_valid(key): _id(key, item) if key in _IDS else _mended(item) for key, item in value.items()}
    return value


def _id(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} is no text")
    if value and len(value) != 2 * _IDS[name]:
        raise ValueError(f"{name} is not {2 * _IDS[name]} hexadecimal digits")
    return base64.b64encode(bytes.fromhex(value)).decode()


def _valid(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
