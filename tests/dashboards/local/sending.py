"""Turns, written by hand as OTLP: what the middleware sends, with every value said."""

from __future__ import annotations

from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

NOON = 1_790_000_000
"""A moment on a whole minute: 2026-09-21, in seconds since 1970."""

NOON -= NOON % 86_400 - 43_200
NS = 1_000_000_000


def attributes(into: Any, said: dict[str, Any]) -> None:
    """Add attributes; a value of an odd type is written as its text."""
    for name, value in said.items():
        pair = into.add()
        pair.key = name
        match value:
            case bool():
                pair.value.bool_value = value
            case int():
                pair.value.int_value = value
            case float():
                pair.value.double_value = value
            case list():
                for item in value:
                    pair.value.array_value.values.add().string_value = item
            case _:
                pair.value.string_value = str(value)


class Trace:
    """A trace request that is being put together; `number` of a turn makes its ids."""

    def __init__(self, service: str = "chat") -> None:
        self.request = ExportTraceServiceRequest()
        held = self.request.resource_spans.add()
        attributes(held.resource.attributes, {"service.name": service})
        self._spans = held.scope_spans.add()
        self._spans.scope.name = "firsthand"

    @property
    def body(self) -> bytes:
        return self.request.SerializeToString()

    def span(
        self,
        number: int,
        part: int,
        name: str,
        *,
        at: float = NOON,
        seconds: float = 1.0,
        parent: int | None = 0,
        failed: bool = False,
        **said: Any,
    ) -> Any:
        span = self._spans.spans.add()
        span.trace_id = trace_id(number)
        span.span_id = span_id(number, part)
        if parent is not None:
            span.parent_span_id = span_id(number, parent)
        span.name = name
        span.kind = 1
        span.start_time_unix_nano = int(at) * NS + round(at % 1 * NS)
        span.end_time_unix_nano = span.start_time_unix_nano + round(seconds * NS)
        if failed:
            span.status.code = 2
        attributes(span.attributes, said.get("said", {}))
        return span

    def turn(self, number: int, *, outcome: str = "sent", session: str | None = "s1", **more: Any) -> Trace:
        said = {"firsthand.turn.origin": "user_query", "firsthand.turn.outcome": outcome, **more.pop("said", {})}
        if session is not None:
            said["gen_ai.conversation.id"] = session
        self.span(number, 0, "firsthand.turn", parent=None, said=said, **more)
        return self

    def call(self, number: int, *, model: str = "gpt-5", in_turn: bool = True, **more: Any) -> Trace:
        said = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": model,
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 20,
            "gen_ai.response.finish_reasons": ["stop"],
            **({"firsthand.turn.origin": "user_query"} if in_turn else {}),
            **more.pop("said", {}),
        }
        self.span(number, more.pop("part", 1), f"chat {model}", said=said, **more)
        return self

    def hook(self, number: int, *, outcome: str = "success", name: str = "state", part: int = 2, **more: Any) -> Trace:
        said = {
            "firsthand.hook.event": "UserPromptSubmit",
            "firsthand.hook.type": "command",
            "firsthand.hook.name": name,
            "firsthand.hook.outcome": outcome,
            "firsthand.hook.success": outcome == "success",
            "firsthand.hook.output_chars": 30,
        }
        self.span(number, part, f"firsthand.hook {name}", said=said, **more)
        return self

    def recall(self, number: int, *, matches: int = 2, outcome: str = "ok", part: int = 3, **more: Any) -> Trace:
        said: dict[str, Any] = {
            "gen_ai.operation.name": "search_memory",
            "gen_ai.memory.store.id": "sqlite:///m.db",
            "gen_ai.memory.record.count": matches,
            "firsthand.recall.outcome": outcome,
            **more.pop("said", {}),
        }
        self.span(number, part, "search_memory", said=said, **more)
        return self


def trace_id(number: int) -> bytes:
    return b"\x01" + number.to_bytes(15, "big")


def span_id(number: int, part: int) -> bytes:
    return bytes([part + 1]) + number.to_bytes(7, "big")


def key(number: int) -> str:
    """The key of the turn of that number."""
    return (trace_id(number) + span_id(number, 0)).hex()


def histogram(
    name: str, counts: list[int], bounds: list[float], total: float, *, at: float = NOON, **said: Any
) -> ExportMetricsServiceRequest:
    """A request of one cumulative histogram."""
    request = ExportMetricsServiceRequest()
    held = request.resource_metrics.add()
    attributes(held.resource.attributes, {"service.name": "chat"})
    metric = held.scope_metrics.add().metrics.add()
    metric.name, metric.unit = name, "{char}"
    metric.histogram.aggregation_temporality = 2
    point = metric.histogram.data_points.add()
    point.start_time_unix_nano = (NOON - 3600) * NS
    point.time_unix_nano = round(at * NS)
    point.count, point.sum = sum(counts), total
    point.bucket_counts.extend(counts)
    point.explicit_bounds.extend(bounds)
    attributes(point.attributes, said)
    return request


def log(event: str, *, number: int, at: float = NOON, **said: Any) -> ExportLogsServiceRequest:
    """A request of one log event of a turn's trace."""
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add()
    record.time_unix_nano = round(at * NS)
    record.event_name = event
    record.severity_text = "INFO"
    record.trace_id, record.span_id = trace_id(number), span_id(number, 2)
    attributes(record.attributes, said)
    return request


def framed(tag: int, inner: bytes) -> bytes:
    """A field of protobuf that is length-delimited, from its tag as it is written."""
    size, length = bytearray(), len(inner)
    while length > 127:
        size.append(length & 127 | 128)
        length >>= 7
    return bytes([tag, *size, length]) + inner
