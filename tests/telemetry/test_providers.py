"""Our providers: protocols, and what happens when nobody receives."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from middleware.errors import SettingsError
from middleware.telemetry.providers import Spans, Waiting, providers
from tests.pace import no_hang


class Down(SpanExporter):
    def export(self, spans: object) -> SpanExportResult:
        return SpanExportResult.FAILURE


class Keeps(SpanExporter):
    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: object) -> SpanExportResult:
        self.spans.extend(spans)  # type: ignore[call-overload]
        return SpanExportResult.SUCCESS


class Counted:
    """A dropped-counter in memory."""

    def __init__(self) -> None:
        self.reader = InMemoryMetricReader()
        self.provider = MeterProvider([self.reader], shutdown_on_exit=False)
        self.counter = self.provider.get_meter("t").create_counter("firsthand.export.dropped")

    @property
    def by_signal(self) -> dict[str, int]:
        data = self.reader.get_metrics_data()
        points = data.resource_metrics[0].scope_metrics[0].metrics[0].data.data_points if data else ()
        return {point.attributes["signal"]: point.value for point in points}  # type: ignore[index, misc, union-attr]


def test_what_an_exporter_refuses_is_counted() -> None:
    counted = Counted()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Spans(Down, Waiting("traces", counted.counter, 100)))
    provider.get_tracer("t").start_span("x").end()
    provider.force_flush()
    assert counted.by_signal == {"traces": 1}
    provider.shutdown()


def test_the_queue_is_bounded_by_bytes_and_what_does_not_fit_is_counted() -> None:
    counted = Counted()
    kept = Keeps()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Spans(lambda: kept, Waiting("traces", counted.counter, 100, size=1000)))
    for _ in range(5):
        provider.get_tracer("t").start_span("x", attributes={"text": "x" * 400}).end()
    provider.force_flush()
    assert len(kept.spans) == 2
    assert counted.by_signal == {"traces": 3}
    provider.get_tracer("t").start_span("x", attributes={"text": "x" * 400}).end()
    provider.force_flush()
    assert len(kept.spans) == 3
    provider.shutdown()


def test_the_queue_is_bounded_by_items() -> None:
    waiting = Waiting("traces", None, 2)
    assert [waiting.admit(1) for _ in range(3)] == [True, True, False]
    waiting.release(2, 2)
    assert waiting.admit(1)


def test_a_dead_endpoint_costs_the_caller_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    made = providers(metrics=False, logs=False)
    assert made.traces is not None
    with no_hang():
        for _ in range(100):
            made.traces.get_tracer("t").start_span("x").end()
    made.shutdown()


def test_a_signal_can_be_left_out_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for signal in ("TRACES", "METRICS", "LOGS"):
        monkeypatch.setenv(f"OTEL_{signal}_EXPORTER", "none")
    made = providers()
    assert (made.traces, made.metrics, made.logs) == (None, None, None)


def test_an_unknown_protocol_is_an_error_that_names_it() -> None:
    with pytest.raises(SettingsError, match="'http/json' is neither http/protobuf nor grpc"):
        providers(protocol="http/json")


def test_an_unknown_exporter_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    with pytest.raises(SettingsError, match="OTEL_TRACES_EXPORTER: 'zipkin'"):
        providers()


def test_a_batch_goes_out_in_requests_that_a_server_takes_and_a_refused_one_loses_itself_only() -> None:
    sizes: list[int] = []

    class Picky(Keeps):
        def export(self, spans: object) -> SpanExportResult:
            sizes.append(sum(len(str(span.attributes["text"])) for span in spans))  # type: ignore[attr-defined]
            return SpanExportResult.FAILURE if len(sizes) == 1 else super().export(spans)

    counted, picky = Counted(), Picky()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Spans(lambda: picky, Waiting("traces", counted.counter, 100)))
    for _ in range(10):
        provider.get_tracer("t").start_span("x", attributes={"text": "x" * 1_000_000}).end()
    provider.force_flush()
    assert sizes == [3_000_000, 3_000_000, 3_000_000, 1_000_000]
    assert (len(picky.spans), counted.by_signal) == (7, {"traces": 3})
    provider.shutdown()


def test_what_is_being_sent_counts_until_it_has_arrived() -> None:
    waiting = Waiting("traces", None, 100, size=1000)
    room: list[bool] = []

    class Looks(Keeps):
        def export(self, spans: object) -> SpanExportResult:
            room.append(waiting.admit(600))
            return super().export(spans)

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Spans(Looks, waiting))
    provider.get_tracer("t").start_span("x", attributes={"text": "x" * 600}).end()
    provider.force_flush()
    assert (room, waiting.admit(900)) == ([False], True)
    provider.shutdown()


def test_a_text_of_wide_characters_counts_with_its_bytes() -> None:
    kept = Keeps()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Spans(lambda: kept, Waiting("traces", None, 100, size=1000)))
    provider.get_tracer("t").start_span("x", attributes={"text": "\u4e2d" * 600}).end()
    provider.force_flush()
    assert kept.spans == []
    provider.shutdown()


def test_an_exporter_that_raises_loses_its_batch_counted_and_the_next_one_goes_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Raises(Keeps):
        def export(self, spans: object) -> SpanExportResult:
            if not self.spans:
                self.spans.append(spans[0])  # type: ignore[index]
                raise OSError("gone")
            return super().export(spans)

    counted, raises = Counted(), Raises()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Spans(lambda: raises, Waiting("traces", counted.counter, 1)))
    for _ in range(2):
        provider.get_tracer("t").start_span("x").end()
        provider.force_flush()
    assert (len(raises.spans), counted.by_signal) == (2, {"traces": 1})
    provider.shutdown()
