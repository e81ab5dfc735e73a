"""Spans of a decoded trace request."""

from __future__ import annotations

from typing import Any

from .otlpvalues import FIRST_TIME, LAST_TIME, attributes_of, name_of, resource_of
from .signals import Decoded, Span

__all__ = ["read"]

_ERROR = 2
_MOST_EVENTS = 128
_NO_TRACE, _NO_SPAN = bytes(16), bytes(8)


def read(request: Any, decoded: Decoded) -> None:
    """Put the spans of an `ExportTraceServiceRequest` into `decoded`."""
    for held in request.resource_spans:
        service, _ = resource_of(held.resource)
        for scoped in held.scope_spans:
            scope = name_of(scoped.scope.name)
            for span in scoped.spans:
                trace_id, span_id, parent = span.trace_id, span.span_id, span.parent_span_id
                if len(trace_id) != 16 or trace_id == _NO_TRACE:
                    decoded.refuse(f"span {name_of(span.name)[:60]!r}: its trace id is not 16 bytes, or all zero")
                    continue
                if len(span_id) != 8 or span_id == _NO_SPAN:
                    decoded.refuse(f"span {name_of(span.name)[:60]!r}: its span id is not 8 bytes, or all zero")
                    continue
                started, ended = span.start_time_unix_nano, span.end_time_unix_nano
                if not FIRST_TIME <= started < LAST_TIME or ended > LAST_TIME:
                    decoded.refuse(f"span {name_of(span.name)[:60]!r}: it starts or ends at no time of this century")
                    continue
                decoded.spans.append(
                    Span(
                        trace_id,
                        span_id,
                        parent if len(parent) == 8 and parent != _NO_SPAN else None,
                        name_of(span.name),
                        span.kind,
                        started,
                        max(0, ended - started),
                        span.status.code == _ERROR,
                        service,
                        scope,
                        attributes_of(span.attributes),
                        tuple(map(_event, span.events[:_MOST_EVENTS])) if span.events else (),
                    )
                )


def _event(event: Any) -> dict[str, Any]:
    return {
        "name": name_of(event.name),
        "at": min(event.time_unix_nano, LAST_TIME),
        "attributes": attributes_of(event.attributes),
    }
