"""OTLP in JSON into its protobuf messages, item by item, so that one broken item costs the others nothing.

Protobuf's own JSON reading does the work; OTLP departs from it in writing ids in hexadecimal. Keys that are not known
are passed over, as OTLP demands.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.json_format import ParseDict, ParseError

from .errors import BadRequest
from .signals import Decoded

__all__ = ["parse"]

_LEVELS: Final = {
    "traces": (("resourceSpans", "resource_spans"), ("scopeSpans", "scope_spans"), ("spans", "spans")),
    "metrics": (("resourceMetrics", "resource_metrics"), ("scopeMetrics", "scope_metrics"), ("metrics", "metrics")),
    "logs": (("resourceLogs", "resource_logs"), ("scopeLogs", "scope_logs"), ("logRecords", "log_records")),
}
_IDS: Final = {
    "traceId": 16, "trace_id": 16, "spanId": 8, "span_id": 8, "parentSpanId": 8, "parent_span_id": 8,
}  # fmt: skip
_BROKEN: Final = (ParseError, ValueError, TypeError, AttributeError, RecursionError, OverflowError)


def parse(signal: str, body: bytes, request: Any, decoded: Decoded) -> None:
    """Fill a request message from JSON; broken items go to `decoded`. Raises `BadRequest` for another document."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is no JSON: {' '.join(str(error).split())[:200]}") from error
    outer, middle, inner = _LEVELS[signal]
    if not isinstance(document, dict):
        raise BadRequest(f"the body is no OTLP {signal} request: it is no JSON object")
    for resource in _objects(document, outer, decoded, must=True):
        held = getattr(request, outer[1]).add()
        _merge(resource.get("resource"), held.resource, "resource", decoded)
        for scope in _objects(resource, middle, decoded):
            scoped = getattr(held, middle[1]).add()
            _merge(scope.get("scope"), scoped.scope, "scope", decoded)
            for item in _objects(scope, inner, decoded):
                into = getattr(scoped, inner[1])
                if not _merge(item, into.add(), inner[0], decoded):
                    del into[-1]


def _objects(
    holder: dict[str, Any], names: tuple[str, str], decoded: Decoded, *, must: bool = False
) -> Iterator[dict[str, Any]]:
    value: Any = next((holder[name] for name in names if holder.get(name) is not None), [])
    if not isinstance(value, list):
        if must:
            raise BadRequest(f"the body is no OTLP request: {names[0]} is no list")
        decoded.refuse(f"{names[0]} is no list")
        return
    for item in value:
        if isinstance(item, dict):
            yield item
        else:
            decoded.refuse(f"{names[0]} holds what is no object")


def _merge(value: Any, message: Any, what: str, decoded: Decoded) -> bool:
    if value is None:
        return True
    try:
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
