"""The OTLP providers: exporters by protocol, batches bounded by count and by bytes, losses counted."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from opentelemetry.metrics import Counter
from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord, ReadWriteLogRecord
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from ..errors import SettingsError
from . import names

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
    dropped: Counter | None = None
    if metric_exporter := exporters.get("metrics"):
        reader = PeriodicExportingMetricReader(metric_exporter)
        meter_provider = MeterProvider([reader], resource=resource)
        dropped = meter_provider.get_meter(names.SCOPE).create_counter(
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


def _exporter(signal: Signal, protocol: str | None) -> Any:
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
    return getattr(importlib.import_module(f"opentelemetry.exporter.otlp.proto.{package}.{module}"), name)()


def _limit(prefix: str) -> int:
    said = os.environ.get(f"OTEL_{prefix}_MAX_QUEUE_SIZE", "").strip()
    return int(said) if said.isdecimal() and int(said) > 0 else _QUEUE


class Waiting:
    """How much waits for export, in items and in bytes of text; what does not fit is dropped and counted.

    The SDK bounds its queue by items only, and an item with content may have 200 kB.
    """

    def __init__(self, signal: str, dropped: Counter | None, items: int, size: int = _QUEUE_BYTES) -> None:
        self._labels = {names.LABEL_SIGNAL: signal}
        self._dropped = dropped
        self._most_items = items
        self._most_bytes = size
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
        """Give the room back once a batch has left the queue."""
        with self._lock:
            self._items = max(0, self._items - items)
            self._bytes = max(0, self._bytes - size)

    def lost(self, items: int) -> None:
        """Count items that nobody will receive."""
        if self._dropped is not None:
            self._dropped.add(items, self._labels)


def _size(attributes: Mapping[str, Any] | None) -> int:
    return sum(len(value) for value in (attributes or {}).values() if isinstance(value, str))


class _SpanExporter(SpanExporter):
    def __init__(self, inner: SpanExporter, waiting: Waiting) -> None:
        self._inner = inner
        self._waiting = waiting

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self._waiting.release(len(spans), sum(_size(span.attributes) for span in spans))
        try:
            result = self._inner.export(spans)
        except Exception:
            self._waiting.lost(len(spans))
            raise
        if result is not SpanExportResult.SUCCESS:
            self._waiting.lost(len(spans))
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


class _LogExporter(LogRecordExporter):
    def __init__(self, inner: LogRecordExporter, waiting: Waiting) -> None:
        self._inner = inner
        self._waiting = waiting

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        self._waiting.release(len(batch), sum(_size(item.log_record.attributes) for item in batch))
        try:
            result = self._inner.export(batch)
        except Exception:
            self._waiting.lost(len(batch))
            raise
        if result is not LogRecordExportResult.SUCCESS:
            self._waiting.lost(len(batch))
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


class Spans(BatchSpanProcessor):
    """The SDK's batches of spans, with room asked for first."""

    def __init__(self, exporter: SpanExporter, waiting: Waiting) -> None:
        self._waiting = waiting
        super().__init__(_SpanExporter(exporter, waiting))

    def on_end(self, span: ReadableSpan) -> None:
        context = span.context
        if context is not None and context.trace_flags.sampled and self._waiting.admit(_size(span.attributes)):
            super().on_end(span)


class Logs(BatchLogRecordProcessor):
    """The SDK's batches of log records, with room asked for first."""

    def __init__(self, exporter: LogRecordExporter, waiting: Waiting) -> None:
        self._waiting = waiting
        super().__init__(_LogExporter(exporter, waiting))

    def on_emit(self, log_record: ReadWriteLogRecord) -> None:
        if self._waiting.admit(_size(log_record.log_record.attributes)):
            super().on_emit(log_record)
