"""The OTLP providers: exporters by protocol, batches bounded by count and by bytes, losses counted, forks survived."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar

from opentelemetry.metrics import Counter, get_meter
from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord, ReadWriteLogRecord
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from ..errors import SettingsError
from ..forked import renew_in_child
from . import names
from .processes import Own, Reader

__all__ = ["Providers", "Waiting", "providers"]

Signal: TypeAlias = Literal["traces", "metrics", "logs"]

_CLASSES: Final = {
    "traces": ("trace_exporter", "OTLPSpanExporter"),
    "metrics": ("metric_exporter", "OTLPMetricExporter"),
    "logs": ("_log_exporter", "OTLPLogExporter"),
}
_PACKAGES: Final = {"http/protobuf": "http", "grpc": "grpc"}
_QUEUE: Final = 2048
_QUEUE_BYTES: Final = 64 * 1024 * 1024
_REQUEST_BYTES: Final = 3 * 1024 * 1024
"""A gRPC server takes 4 MiB by default, and one request that is too large is lost as a whole."""

_ITEM_BYTES: Final = 2048
"""What an item takes besides its texts."""

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Providers:
    """The providers that were made; None for a signal that was not wanted."""

    traces: TracerProvider | None
    metrics: MeterProvider | None
    logs: LoggerProvider | None

    def shutdown(self) -> None:
        """Flush and stop them; metrics last, so that the losses of the others are still told."""
        for provider in (self.traces, self.logs, self.metrics):
            if provider is not None:
                provider.shutdown()


def providers(
    *,
    service_name: str | None = None,
    protocol: str | None = None,
    traces: bool = True,
    metrics: bool = True,
    logs: bool = True,
) -> Providers:
    """Make OTLP providers for the wanted signals; see `configure` for the variables and errors."""
    resource = Resource.create({SERVICE_NAME: service_name} if service_name else None)
    wanted: dict[Signal, bool] = {"traces": traces, "metrics": metrics, "logs": logs}
    exporters = {signal: _exporter(signal, protocol) for signal, asked in wanted.items() if asked}
    meter_provider = None
    if metric_exporter := exporters.get("metrics"):
        reader = Reader(_Metrics(metric_exporter))
        meter_provider = MeterProvider([reader], resource=resource)
        reader.begin()
    # Where the metrics are the application's, that is where losses are told.
    dropped = get_meter(names.SCOPE, meter_provider=meter_provider).create_counter(
        names.METRIC_DROPPED, unit="{item}", description="Spans and log records that could not be exported."
    )
    tracer_provider = None
    if span_exporter := exporters.get("traces"):
        tracer_provider = TracerProvider(resource=resource)
        tracer_provider.add_span_processor(Spans(span_exporter, Waiting("traces", dropped, _limit("BSP"))))
    logger_provider = None
    if log_exporter := exporters.get("logs"):
        logger_provider = LoggerProvider(resource=resource)
        logger_provider.add_log_record_processor(Logs(log_exporter, Waiting("logs", dropped, _limit("BLRP"))))
    return Providers(traces=tracer_provider, metrics=meter_provider, logs=logger_provider)


def _exporter(signal: Signal, protocol: str | None) -> Callable[[], Any] | None:
    """What makes the exporter of a signal; it imports its package now, and None where nothing is wanted."""
    kind = os.environ.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip().lower() or "otlp"
    if kind == "none":
        return None
    if kind != "otlp":
        raise SettingsError(f"OTEL_{signal.upper()}_EXPORTER: {kind!r} is neither otlp nor none")
    said = (
        protocol
        or os.environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", "").strip()
        or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "").strip()
        or "http/protobuf"
    )
    package = _PACKAGES.get(said)
    if package is None:
        raise SettingsError(f"OTLP protocol for {signal}: {said!r} is neither http/protobuf nor grpc")
    module, name = _CLASSES[signal]
    made: Callable[[], Any] = getattr(
        importlib.import_module(f"opentelemetry.exporter.otlp.proto.{package}.{module}"), name
    )
    return made


def _limit(prefix: str) -> int:
    said = os.environ.get(f"OTEL_{prefix}_MAX_QUEUE_SIZE", "").strip()
    return int(said) if said.isdecimal() and int(said) > 0 else _QUEUE


class Waiting:
    """How much waits for export, in items and in bytes of text; what does not fit is dropped and counted.

    The SDK bounds its queue by items only, and an item with content may have 200 kB. What is being sent counts
    until it is: a server that hangs holds a batch for as long as the exporter tries.
    """

    def __init__(self, signal: str, dropped: Counter | None, items: int, size: int = _QUEUE_BYTES) -> None:
        self._labels = {names.LABEL_SIGNAL: signal}
        self._dropped = dropped
        self._most_items = items
        self._most_bytes = size
        self.renew()
        renew_in_child(self)

    def renew(self) -> None:
        """Start with nothing waiting: what waited in a parent is the parent's to export."""
        self._items = 0
        self._bytes = 0
        self._lock = threading.Lock()

    def admit(self, size: int) -> bool:
        """Take room for one item; False, and counted, when there is none."""
        with self._lock:
            fits = self._items < self._most_items and self._bytes + size <= self._most_bytes
            if fits:
                self._items += 1
                self._bytes += size
        if not fits:
            self.lost(1)
        return fits

    def release(self, items: int, size: int) -> None:
        """Give the room back once a batch was sent or lost."""
        with self._lock:
            self._items = max(0, self._items - items)
            self._bytes = max(0, self._bytes - size)

    def lost(self, items: int) -> None:
        """Count items that nobody will receive."""
        if self._dropped is not None:
            self._dropped.add(items, self._labels)


def _size(attributes: Mapping[str, Any] | None) -> int:
    """Bytes in memory of the texts; looked up, not counted."""
    return sum(sys.getsizeof(value) for value in (attributes or {}).values() if isinstance(value, str))


def _sent(
    items: Sequence[ItemT], size: Callable[[ItemT], int], waiting: Waiting, export: Callable[[Sequence[ItemT]], bool]
) -> bool:
    """Export in requests of a size that servers take; what is lost is counted."""
    done = True
    for part in _parts(items, size):
        try:
            arrived = export(part)
        except Exception:
            waiting.lost(len(part))
            raise
        finally:
            waiting.release(len(part), sum(map(size, part)))
        if not arrived:
            waiting.lost(len(part))
            done = False
    return done


def _parts(items: Sequence[ItemT], size: Callable[[ItemT], int]) -> Iterator[Sequence[ItemT]]:
    start = total = 0
    for place, item in enumerate(items):
        more = size(item) + _ITEM_BYTES
        if place > start and total + more > _REQUEST_BYTES:
            yield items[start:place]
            start, total = place, 0
        total += more
    yield items[start:]


def _size_of_span(span: ReadableSpan) -> int:
    return _size(span.attributes)


def _size_of_record(item: ReadableLogRecord) -> int:
    return _size(item.log_record.attributes)


class _SpanExporter(SpanExporter):
    def __init__(self, make: Callable[[], SpanExporter], waiting: Waiting) -> None:
        self._own = Own(make)
        self._waiting = waiting

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        def export(part: Sequence[ReadableSpan]) -> bool:
            with self._own.exporting:
                return self._own.exporter.export(part) is SpanExportResult.SUCCESS

        done = _sent(spans, _size_of_span, self._waiting, export)
        return SpanExportResult.SUCCESS if done else SpanExportResult.FAILURE

    def shutdown(self) -> None:
        self._own.exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._own.exporter.force_flush(timeout_millis)


class _LogExporter(LogRecordExporter):
    def __init__(self, make: Callable[[], LogRecordExporter], waiting: Waiting) -> None:
        self._own = Own(make)
        self._waiting = waiting

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        def export(part: Sequence[ReadableLogRecord]) -> bool:
            with self._own.exporting:
                return self._own.exporter.export(part) is LogRecordExportResult.SUCCESS

        done = _sent(batch, _size_of_record, self._waiting, export)
        return LogRecordExportResult.SUCCESS if done else LogRecordExportResult.FAILURE

    def shutdown(self) -> None:
        self._own.exporter.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._own.exporter.force_flush(timeout_millis)


class _Metrics(MetricExporter):
    """The metric exporter of this process; the SDK asks it for its preferences by these names."""

    def __init__(self, make: Callable[[], MetricExporter]) -> None:
        self._own = Own(make)
        first = self._own.exporter
        super().__init__(first._preferred_temporality, first._preferred_aggregation)

    def export(self, metrics_data: Any, timeout_millis: float = 10_000, **more: Any) -> MetricExportResult:
        with self._own.exporting:
            return self._own.exporter.export(metrics_data, timeout_millis, **more)

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        return self._own.exporter.force_flush(timeout_millis)

    def shutdown(self, timeout_millis: float = 30_000, **more: Any) -> None:
        self._own.exporter.shutdown(timeout_millis, **more)


class Spans(BatchSpanProcessor):
    """The SDK's batches of spans, with room asked for first."""

    def __init__(self, make: Callable[[], SpanExporter], waiting: Waiting) -> None:
        self._waiting = waiting
        super().__init__(_SpanExporter(make, waiting))

    def on_end(self, span: ReadableSpan) -> None:
        context = span.context
        if context is not None and context.trace_flags.sampled and self._waiting.admit(_size(span.attributes)):
            super().on_end(span)


class Logs(BatchLogRecordProcessor):
    """The SDK's batches of log records, with room asked for first."""

    def __init__(self, make: Callable[[], LogRecordExporter], waiting: Waiting) -> None:
        self._waiting = waiting
        super().__init__(_LogExporter(make, waiting))

    def on_emit(self, log_record: ReadWriteLogRecord) -> None:
        if self._waiting.admit(_size(log_record.log_record.attributes)):
            super().on_emit(log_record)
