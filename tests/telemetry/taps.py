"""What telemetry's tests share: a process's exports in memory, and small requests and replies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import Sampler

from middleware.injection import Block
from middleware.parts import Message, Part, Reply, Request, Role, Usage
from middleware.provenance import Origin
from middleware.telemetry import Options, Signals, TurnTrace
from middleware.turn import Outcome


@dataclass
class Tap:
    """Signals into memory; `span(name)`, `events` and `points(metric)` read what was exported."""

    options: Options = field(default_factory=Options)
    sampler: Sampler | None = None

    def __post_init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider(sampler=self.sampler, shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.log_exporter = InMemoryLogRecordExporter()
        self.loggers = LoggerProvider(shutdown_on_exit=False)
        self.loggers.add_log_record_processor(SimpleLogRecordProcessor(self.log_exporter))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.signals = Signals(
            self.options, tracer_provider=self.tracers, meter_provider=self.meters, logger_provider=self.loggers
        )

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self.exporter.get_finished_spans()

    def span(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def attributes(self, name: str) -> Mapping[str, Any]:
        return self.span(name).attributes or {}

    def content(self, name: str, attribute: str) -> Any:
        return json.loads(self.attributes(name)[attribute])

    @property
    def events(self) -> list[tuple[str, Mapping[str, Any]]]:
        records = [item.log_record for item in self.log_exporter.get_finished_logs()]
        return [(record.event_name or "", record.attributes or {}) for record in records]

    def points(self, metric: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        return [
            point
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for found in scope.metrics
            if found.name == metric
            for point in found.data.data_points
        ]

    def everything(self) -> str:
        """All that was exported, as one string to look for canaries in."""
        data = self.reader.get_metrics_data()
        return "\n".join(
            [span.to_json() for span in self.spans]
            + [item.to_json() for item in self.log_exporter.get_finished_logs()]
            + [data.to_json() if data else ""]
        )


def text(role: Role, *texts: str) -> Message:
    return Message(role=role, parts=tuple(Part(kind="text", text=said) for said in texts))


def request(*messages: Message, model: str = "gpt-5", **more: Any) -> Request:
    said = messages or (text("user", "hello"),)
    return Request(messages=said, current=len(said) - 1, tool_result=False, model=model, **more)


def reply(said: str = "hi there", **more: Any) -> Reply:
    return Reply(
        messages=(text("assistant", said),),
        id="resp-1",
        model="gpt-5-2025",
        finish_reasons=("stop",),
        usage=Usage(input_tokens=25, output_tokens=7),
        **more,
    )


def turn(signals: Signals, asked: Request, *, conversation_id: str | None = None) -> TurnTrace:
    trace = signals.start_turn(conversation_id=conversation_id, origin=Origin.USER_QUERY)
    trace.start_call(asked, operation="chat", provider="openai", server_address="api.test", server_port=443)
    return trace


def settle(
    trace: TurnTrace,
    asked: Request | None,
    *,
    outcome: Outcome = "sent",
    answer: Reply | None = None,
    error: BaseException | None = None,
    block: Block | None = None,
    blocks: Mapping[int, Block] | None = None,
    submitted_prompt: str | None = None,
    ended_early: bool = False,
) -> None:
    trace.settle(
        outcome=outcome,
        request=asked,
        reply=answer,
        error=error,
        block=block,
        blocks=blocks if blocks is not None else ({0: block} if block else {}),
        origin=Origin.USER_QUERY,
        submitted_prompt=submitted_prompt,
        ended_early=ended_early,
    )


def call(tap: Tap, asked: Request | None = None, *, answer: Reply | None = None, **more: Any) -> None:
    """One whole turn."""
    asked = asked if asked is not None else request()
    settle(turn(tap.signals, asked), asked, answer=answer if answer is not None else reply(), **more)
