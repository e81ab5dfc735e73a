"""All that was sent to the model, exported and written, as values to assert on."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from .answers import Json, Scripted
from .model import LocalModel

__all__ = ["Captured", "capture"]


class Captured:
    """What was sent to the model and what was exported, as `capture` gives it; it grows as calls are made.

    `providers` are the arguments of `Middleware` that make it export to here; `transcripts` is a folder for the
    setting of that name, which goes when the block ends.
    """

    def __init__(self, model: LocalModel, transcripts: str = "") -> None:
        self.model = model
        self.transcripts = transcripts
        self._records: list[Json] | None = None
        self._spans, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self._logs: Any = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
        tracers, meters, loggers = TracerProvider(), MeterProvider([self._reader]), LoggerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        loggers.add_log_record_processor(SimpleLogRecordProcessor(self._logs))
        self.providers: Json = {
            "tracer_provider": tracers,
            "meter_provider": meters,
            "logger_provider": loggers,
        }

    @property
    def requests(self) -> list[Json]:
        """The decoded request bodies that the model received, oldest first."""
        return self.model.requests

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """The spans that have ended, in that order."""
        return self._spans.get_finished_spans()

    def spans_named(self, name: str) -> list[ReadableSpan]:
        """The ended spans whose name is `name`, or starts with it and a blank: `chat` finds `chat gpt-5`."""
        return [span for span in self.spans if span.name == name or span.name.startswith(f"{name} ")]

    @property
    def events(self) -> tuple[ReadableLogRecord, ...]:
        """The log events, oldest first."""
        found: tuple[ReadableLogRecord, ...] = self._logs.get_finished_logs()
        return found

    @property
    def metrics(self) -> dict[str, list[Any]]:
        """The data points of every metric so far, by its name."""
        data = self._reader.get_metrics_data()
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics] if data else []
        return {metric.name: list(metric.data.data_points) for scope in scopes for metric in scope.metrics}

    @property
    def records(self) -> list[Json]:
        """The records of all transcripts in `transcripts`, each file's in order; after the block those of its end."""
        if self._records is not None:
            return self._records
        files = sorted(Path(self.transcripts).rglob("*.jsonl")) if self.transcripts else []
        return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]

    def exported(self) -> str:
        """All that was exported as one JSON text, to search: names, attributes, statuses, events, metrics.

        Raises RuntimeError when the model was asked and nothing was exported: a text that is not in it would prove
        nothing.
        """
        data = self._reader.get_metrics_data()
        items: list[Any] = [*self.spans, *self.events, *([data] if data else [])]
        if self.requests and not items:
            raise RuntimeError(
                f"the model was asked {len(self.requests)} times and nothing was exported to capture(): "
                "pass **captured.providers to Middleware, wrap the client with it, and read streams to their end"
            )
        return json.dumps([json.loads(item.to_json()) for item in items], ensure_ascii=False)


@contextlib.contextmanager
def capture(*script: Scripted | Sequence[Scripted], **options: Any) -> Iterator[Captured]:
    """Capture in the block: a `LocalModel` made of the arguments, and providers that keep what is exported.

    `with capture("one", "two")` and `capture(["one", "two"])` script two answers.

    The providers are shut down at its end; what was captured stays.
    """
    with tempfile.TemporaryDirectory(prefix="firsthand-") as folder:
        captured = Captured(LocalModel(*script, **options), folder)
        try:
            yield captured
        finally:
            for provider in captured.providers.values():
                provider.shutdown()
            captured._records = captured.records
