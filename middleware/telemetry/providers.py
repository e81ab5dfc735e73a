"""The OTLP providers: exporters by protocol, batches bounded by count and by bytes, losses counted, forks survived."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from opentelemetry.metrics import get_meter
from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord, ReadWriteLogRecord
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from ..errors import SettingsError
from . import names
from .attempts import attempts, hold_back
from .processes import Own, Reader
from .waiting import Losses, Waiting, sent, size_of

__all__ = ["Providers", "Waiting", "providers"]

_log = logging.getLogger("firsthand")

Signal: TypeAlias = Literal["traces", "metrics", "logs"]

_CLASSES: Final = {
    "traces": ("trace_exporter", "OTLPSpanExporter"),
    "metrics": ("metric_exporter", "OTLPMetricExporter"),
    "logs": ("_log_exporter", "OTLPLogExporter"),
}
_PACKAGES: Final = {"http/protobuf": "http", "grpc": "grpc"}
_QUEUE: Final = 2048
_USUAL: Final = {"http": "http://localhost:4318", "grpc": "http://localhost:4317"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Providers:
    """The providers that were made; None for a signal that was not wanted.

    They are not shut down with the program: `configure` sees to that, within a time of its own. `endpoints` are the
    servers that they send to, `losses` what did not arrive there.
    """

    traces: TracerProvider | None
    metrics: MeterProvider | None
    logs: LoggerProvider | None
    endpoints: tuple[str, ...] = ()
    losses: Losses = field(default_factory=Losses)

    def shutdown(self) -> None:
        """Flush and stop them, to be called once; metrics last, so that the losses of the others are still told."""
        for provider in (self.traces, self.logs, self.metrics):
            try:
                if provider is not None:
                    provider.shutdown()
            except Exception as error:  # noqa: BLE001 - an exporter may raise anything, and the next one goes on
                self.losses.add(1)
                _log.warning("telemetry: an exporter could not be shut down: %s", error)


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
    packages = {signal: _package(signal, protocol) for signal, asked in wanted.items() if asked and _is_on(signal)}
    endpoints = dict.fromkeys(_endpoint(signal, package) for signal, package in packages.items())
    exporters = {signal: _exporter(signal, package) for signal, package in packages.items()}
    losses = Losses()
    meter_provider = None
    if metric_exporter := exporters.get("metrics"):
        reader = Reader(_Metrics(metric_exporter, losses))
        meter_provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        reader.begin()
    # Where the metrics are the application's, that is where losses are told.
    dropped = get_meter(names.SCOPE, meter_provider=meter_provider).create_counter(
        names.METRIC_DROPPED, unit="{item}", description="Spans and log records that could not be exported."
    )
    tracer_provider = None
    if span_exporter := exporters.get("traces"):
        tracer_provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        waiting = Waiting("traces", dropped, _limit("BSP"), losses=losses)
        tracer_provider.add_span_processor(Spans(span_exporter, waiting))
    logger_provider = None
    if log_exporter := exporters.get("logs"):
        logger_provider = LoggerProvider(resource=resource, shutdown_on_exit=False)
        waiting = Waiting("logs", dropped, _limit("BLRP"), losses=losses)
        logger_provider.add_log_record_processor(Logs(log_exporter, waiting))
    return Providers(
        traces=tracer_provider,
        metrics=meter_provider,
        logs=logger_provider,
        endpoints=tuple(endpoints),
        losses=losses,
    )


def _is_on(signal: Signal) -> bool:
    kind = os.environ.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip().lower() or "otlp"
    if kind not in ("otlp", "none"):
        raise SettingsError(f"OTEL_{signal.upper()}_EXPORTER: {kind!r} is neither otlp nor none")
    return kind == "otlp"


def _package(signal: Signal, protocol: str | None) -> str:
    said = (
        protocol
        or os.environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", "").strip()
        or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "").strip()
        or "http/protobuf"
    )
    package = _PACKAGES.get(said)
    if package is None:
        raise SettingsError(f"OTLP protocol for {signal}: {said!r} is neither http/protobuf nor grpc")
    return package


def _endpoint(signal: Signal, package: str) -> str:
    """The server that a signal goes to, without a login or a path. Raises `SettingsError` for none over HTTP.

    For gRPC an address of any form is right: `host:port`, `unix:path`, `dns:///name`.
    """
    for variable in (f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        if said := os.environ.get(variable, ""):
            break
    else:
        return _USUAL[package]
    shown = said.rpartition("@")[2]
    try:
        parts = urlsplit(said)
        server = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if is_url:
        return server
    if package == "grpc":
        return shown
    wanted = f"http://{shown}" if "://" not in said else _USUAL["http"]
    raise SettingsError(f"{variable} is {shown!r}, which is no URL of a server; write it as {wanted}")


def _exporter(signal: Signal, package: str) -> Callable[[], Any]:
    """What makes the exporter of a signal; it imports its package now."""
    module, name = _CLASSES[signal]
    place = f"opentelemetry.exporter.otlp.proto.{package}"
    made: Callable[[], Any] = getattr(importlib.import_module(f"{place}.{module}"), name)
    hold_back(f"{place}.exporter" if package == "grpc" else f"{place}.{module}")
    return made


def _limit(prefix: str) -> int:
    said = os.environ.get(f"OTEL_{prefix}_MAX_QUEUE_SIZE", "").strip()
    return int(said) if said.isdecimal() and int(said) > 0 else _QUEUE


def _size_of_span(span: ReadableSpan) -> int:
    return size_of(span.attributes)


def _size_of_record(item: ReadableLogRecord) -> int:
    return size_of(item.log_record.attributes)


class _SpanExporter(SpanExporter):
    def __init__(self, make: Callable[[], SpanExporter], waiting: Waiting) -> None:
        self._own = Own(make)
        self._waiting = waiting

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        def export(part: Sequence[ReadableSpan]) -> bool:
            with self._own.exporting, attempts():
                return self._own.exporter.export(part) is SpanExportResult.SUCCESS

        done = sent(spans, _size_of_span, self._waiting, export)
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
            with self._own.exporting, attempts():
                return self._own.exporter.export(part) is LogRecordExportResult.SUCCESS

        done = sent(batch, _size_of_record, self._waiting, export)
        return LogRecordExportResult.SUCCESS if done else LogRecordExportResult.FAILURE

    def shutdown(self) -> None:
        self._own.exporter.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._own.exporter.force_flush(timeout_millis)


class _Metrics(MetricExporter):
    """The metric exporter of this process; the SDK asks it for its preferences by these names."""

    def __init__(self, make: Callable[[], MetricExporter], losses: Losses) -> None:
        self._own = Own(make)
        self._losses = losses
        first = self._own.exporter
        super().__init__(first._preferred_temporality, first._preferred_aggregation)

    def export(self, metrics_data: Any, timeout_millis: float = 10_000, **more: Any) -> MetricExportResult:
        with self._own.exporting, attempts():
            try:
                result = self._own.exporter.export(metrics_data, timeout_millis, **more)
            except Exception:
                self._losses.add(1)
                raise
        if result is not MetricExportResult.SUCCESS:
            self._losses.add(1)
        return result

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
        if context is not None and context.trace_flags.sampled and self._waiting.admit(size_of(span.attributes)):
            super().on_end(span)


class Logs(BatchLogRecordProcessor):
    """The SDK's batches of log records, with room asked for first."""

    def __init__(self, make: Callable[[], LogRecordExporter], waiting: Waiting) -> None:
        self._waiting = waiting
        super().__init__(_LogExporter(make, waiting))

    def on_emit(self, log_record: ReadWriteLogRecord) -> None:
        if self._waiting.admit(size_of(log_record.log_record.attributes)):
            super().on_emit(log_record)
