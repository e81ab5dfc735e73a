"""Log records of a decoded log request."""

from __future__ import annotations

import json
import time
from typing import Any

from .otlpvalues import FIRST_TIME, LAST_TIME, attributes_of, cut, name_of, resource_of, value_of
from .signals import Decoded, Log

__all__ = ["read"]


def read(request: Any, decoded: Decoded) -> None:
    """Put the records of an `ExportLogsServiceRequest` into `decoded`."""
    for held in request.resource_logs:
        service, _ = resource_of(held.resource)
        for scoped in held.scope_logs:
            for record in scoped.log_records:
                at = record.time_unix_nano or record.observed_time_unix_nano or time.time_ns()
                if not FIRST_TIME <= at < LAST_TIME:
                    decoded.refuse("log record: it is of no time of this century")
                    continue
                attributes = attributes_of(record.attributes)
                # Before events had a field of their own, an attribute named them.
                event = record.event_name or attributes.get("event.name") or ""
                trace_id, span_id = record.trace_id, record.span_id
                decoded.logs.append(
                    Log(
                        at,
                        trace_id if len(trace_id) == 16 and any(trace_id) else None,
                        span_id if len(span_id) == 8 and any(span_id) else None,
                        name_of(event) if isinstance(event, str) else "",
                        name_of(record.severity_text) or _severity(record.severity_number),
                        service,
                        _body(record.body),
                        attributes,
                    )
                )


def _severity(number: int) -> str:
    names = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
    return names[(number - 1) // 4] if 1 <= number <= 24 else ""


def _body(body: Any) -> str | None:
    value = value_of(body)
    if value is None or isinstance(value, str):
        return None if value is None else value.replace("\0", "\ufffd")
    return cut(json.dumps(value))
