"""For the process that is itself the dashboard: OpenTelemetry exporters that hand OTLP bytes to the ingest.

They encode as the OTLP exporters do, and what they hand over is decoded as what comes over the wire: there is no second
way into the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

# Where the OTLP exporters have it from: there is no other name for it.
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, MetricsData
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from .errors import DashboardError
from .ingest import Ingest
from .otlp import Signal

__all__ = ["LogIngester", "MetricIngester", "SpanIngester"]

_SECONDS = 10.0


class SpanIngester(SpanExporter):
    """Exports spans into a dashboard of this process; the ingest is its owner's to close."""

    def __init__(self, ingest: Ingest) -> None:
        self._ingest = ingest

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Have them written, and wait until they are."""
        arrived = _arrived(self._ingest, "traces", encode_spans(spans))
        return SpanExportResult.SUCCESS if arrived else SpanExportResult.FAILURE

    def shutdown(self) -> None:
        """Nothing waits here."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """True: nothing waits here."""
        return True


class LogIngester(LogRecordExporter):
    """Exports log events into a dashboard of this process."""

    def __init__(self, ingest: Ingest) -> None:
        self._ingest = ingest

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        """Have them written, and wait until they are."""
        arrived = _arrived(self._ingest, "logs", encode_logs(batch))
        return LogRecordExportResult.SUCCESS if arrived else LogRecordExportResult.FAILURE

    def shutdown(self) -> None:
        """Nothing waits here."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """True: nothing waits here."""
        return True


class MetricIngester(MetricExporter):
    """Exports metrics into a dashboard of this process."""

    def __init__(self, ingest: Ingest) -> None:
        super().__init__()
        self._ingest = ingest

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **more: Any) -> MetricExportResult:
        """Have them written, and wait until they are."""
        arrived = _arrived(self._ingest, "metrics", encode_metrics(metrics_data))
        return MetricExportResult.SUCCESS if arrived else MetricExportResult.FAILURE

    def shutdown(self, timeout_millis: float = 30_000, **more: Any) -> None:
        """Nothing waits here."""

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """True: nothing waits here."""
        return True


def _arrived(ingest: Ingest, signal: Signal, request: Any) -> bool:
    try:
        ingest.receive(signal, request.SerializeToString())[1].result(_SECONDS)
    except (DashboardError, TimeoutError, sqlite3.Error):
        return False
    return True
