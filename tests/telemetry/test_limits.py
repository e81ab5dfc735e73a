"""Content within the lengths at which OpenTelemetry's SDK cuts attributes: JSON always parses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from middleware import Middleware, Settings
from middleware.testing import LocalModel

PROMPT: Any = [{"role": "user", "content": "word " * 400}]
NAMES = ("gen_ai.input.messages", "gen_ai.output.messages")


@pytest.mark.parametrize("length", [50, 300, 1000])
def test_json_on_spans_keeps_to_the_limit_of_the_provider(length: int) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(span_limits=SpanLimits(max_span_attribute_length=length))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    app = Middleware(Settings(capture_content="SPAN_ONLY"), tracer_provider=provider)
    app.wrap(LocalModel("word " * 400).openai()).chat.completions.create(model="m", messages=PROMPT)
    (chat,) = [span for span in exporter.get_finished_spans() if span.name == "chat m"]
    for name in NAMES:
        assert isinstance(json.loads(str((chat.attributes or {})[name])), list)


def test_json_on_events_keeps_to_the_least_limit_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "5000")
    monkeypatch.setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "200")
    spans, logs = InMemorySpanExporter(), InMemoryLogRecordExporter()
    tracers, loggers = TracerProvider(), LoggerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    loggers.add_log_record_processor(SimpleLogRecordProcessor(logs))
    app = Middleware(Settings(capture_content="SPAN_AND_EVENT"), tracer_provider=tracers, logger_provider=loggers)
    app.wrap(LocalModel("word " * 400).openai()).chat.completions.create(model="m", messages=PROMPT)
    (event,) = [found.log_record for found in logs.get_finished_logs()]
    for name in NAMES:
        assert isinstance(json.loads(str((event.attributes or {})[name])), list)
