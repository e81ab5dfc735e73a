"""Metrics: names, labels and buckets."""

from __future__ import annotations

import subprocess
import sys

from middleware.injection import Memory, block_of
from middleware.provenance import Origin

from .taps import Tap, call, request, text


def test_durations_have_buckets_from_10_ms_that_double() -> None:
    tap = Tap()
    call(tap)
    (point,) = tap.points("gen_ai.client.operation.duration")
    assert point.explicit_bounds == tuple(0.01 * 2**k for k in range(14))
    assert dict(point.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.response.model": "gpt-5-2025",
        "server.address": "api.test",
        "server.port": 443,
    }


def test_token_usage_has_one_point_a_type() -> None:
    tap = Tap()
    call(tap)
    found = {point.attributes["gen_ai.token.type"]: point.sum for point in tap.points("gen_ai.client.token.usage")}
    assert found == {"input": 25, "output": 7}
    assert tap.points("gen_ai.client.token.usage")[0].explicit_bounds[:3] == (1, 4, 16)


def test_a_failed_call_has_its_error_type_in_the_duration() -> None:
    tap = Tap()
    call(tap, outcome="error", error=TimeoutError())
    assert tap.points("gen_ai.client.operation.duration")[0].attributes["error.type"] == "TimeoutError"


def test_turns_are_counted_by_origin_and_outcome() -> None:
    tap = Tap()
    call(tap)
    (point,) = tap.points("firsthand.turn.count")
    assert dict(point.attributes) == {"origin": "user_query", "outcome": "sent"}


def test_sizes_are_characters_before_injection_and_injected_by_source() -> None:
    tap = Tap()
    block = block_of("12345", (Memory(id="m", text="tea", score=1.0),))
    call(tap, request(text("user", "hello")), block=block)
    assert tap.points("firsthand.input.size")[0].sum == 5
    found = {point.attributes["source"]: point.sum for point in tap.points("firsthand.injection.size")}
    assert set(found) == {"memory", "hook"}
    assert sum(found.values()) == block.chars


def test_what_was_injected_in_earlier_turns_is_not_counted_again() -> None:
    tap = Tap()
    call(tap, blocks={0: block_of("old")})
    assert tap.points("firsthand.injection.size") == []


def test_no_label_holds_a_session_or_a_hook_name() -> None:
    tap = Tap()
    trace = tap.signals.start_turn(conversation_id="session-1", origin=Origin.CRON)
    trace.start_hook(event="E", type="command", label="hook-1").finish(outcome="ok", success=True, duration_ms=1)
    data = tap.reader.get_metrics_data()
    assert data is not None
    assert "session-1" not in data.to_json() and "hook-1" not in data.to_json()


def test_instruments_are_idle_until_a_meter_provider_is_set() -> None:
    program = """
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from middleware import wrap
from middleware.testing import LocalModel

reader = InMemoryMetricReader()
client = wrap(LocalModel().openai())
for provider in (None, MeterProvider(metric_readers=[reader])):
    if provider is not None:
        metrics.set_meter_provider(provider)
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
(found,) = reader.get_metrics_data().resource_metrics[0].scope_metrics
turns = [metric for metric in found.metrics if metric.name == "firsthand.turn.count"]
print(turns[0].data.data_points[0].value)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
