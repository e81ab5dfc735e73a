"""Telemetry cannot break a call."""

from __future__ import annotations

import asyncio
import logging

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, SamplingResult, StaticSampler

from middleware.telemetry import Options, Signals, guard

from .taps import Tap, call, reply, request, settle, turn


class Broken(StaticSampler):
    def __init__(self, error: BaseException) -> None:
        super().__init__(ALWAYS_ON.should_sample(None, 0, "").decision)
        self.error = error

    def should_sample(self, *args: object, **kwargs: object) -> SamplingResult:
        raise self.error


def broken(error: BaseException) -> Signals:
    return Signals(Options(), tracer_provider=TracerProvider(sampler=Broken(error), shutdown_on_exit=False))


def whole(signals: Signals) -> None:
    asked = request()
    trace = turn(signals, asked)
    trace.start_hook(event="E", type="command", label="x").finish(outcome="ok", success=True, duration_ms=1)
    trace.start_recall(store_id="s", remote=False).finish(outcome="ok", duration_s=1)
    with trace.current():
        trace.first_chunk()
    settle(trace, asked, answer=reply())


def test_a_failing_sdk_breaks_no_call_and_is_said_once_without_content(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(guard, "strict", False)
    with caplog.at_level(logging.WARNING):
        whole(broken(ValueError("CANARY-7f3a")))
        whole(broken(ValueError("CANARY-7f3a")))
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == len(set(messages)) == 4
    assert "CANARY" not in caplog.text
    assert messages[0].startswith("telemetry: TurnTrace._start failed with ValueError")


def test_it_is_loud_when_strict() -> None:
    with pytest.raises(ValueError, match="loud"):
        whole(broken(ValueError("loud")))


def test_a_cancel_is_never_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "strict", False)
    with pytest.raises(asyncio.CancelledError):
        whole(broken(asyncio.CancelledError()))


def test_a_failure_while_settling_still_ends_both_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "strict", False)
    tap = Tap()
    call(tap, answer=object())  # type: ignore[arg-type]
    assert sorted(span.name for span in tap.spans) == ["chat gpt-5", "firsthand.turn"]
