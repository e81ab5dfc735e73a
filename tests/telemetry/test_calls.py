"""Hook calls and recalls: metadata only, unless content capture is on."""

from __future__ import annotations

import json

import pytest
from opentelemetry import trace as api
from opentelemetry.trace import SpanKind, StatusCode

from middleware.injection import Memory
from middleware.provenance import Origin
from middleware.telemetry import HookTrace, Options, RecallTrace

from .taps import Tap, settle


def hook(tap: Tap, **more: object) -> None:
    trace = tap.signals.start_turn(conversation_id=None, origin=Origin.USER_QUERY)
    call = trace.start_hook(event="UserPromptSubmit", type="command", label="check.sh")
    finish(call, **more)
    settle(trace, None)


def finish(call: HookTrace, **more: object) -> None:
    said: dict[str, object] = {"outcome": "success", "success": True, "duration_ms": 12.5, "exit_code": 0, **more}
    call.finish(**said)  # type: ignore[arg-type]


def recall(tap: Tap, **more: object) -> None:
    trace = tap.signals.start_turn(conversation_id=None, origin=Origin.USER_QUERY)
    call: RecallTrace = trace.start_recall(store_id="postgresql://u:CANARY-7f3a@db/m?x=1", remote=True)
    said: dict[str, object] = {"outcome": "ok", "duration_s": 0.004, **more}
    call.finish(**said)  # type: ignore[arg-type]
    settle(trace, None)


def test_a_hook_call_is_a_child_span_with_metadata() -> None:
    tap = Tap()
    hook(tap, output_chars=40)
    span, outer = tap.span("firsthand.hook check.sh"), tap.span("firsthand.turn")
    assert span.parent is not None and outer.context is not None
    assert span.parent.span_id == outer.context.span_id
    assert dict(span.attributes or {}) == {
        "firsthand.hook.event": "UserPromptSubmit",
        "firsthand.hook.type": "command",
        "firsthand.hook.name": "check.sh",
        "firsthand.hook.outcome": "success",
        "firsthand.hook.success": True,
        "firsthand.hook.duration_ms": 12.5,
        "firsthand.hook.exit_code": 0,
        "firsthand.hook.output_chars": 40,
    }


def test_the_log_event_says_the_same_in_the_spans_context() -> None:
    tap = Tap()
    hook(tap)
    ((name, found),) = tap.events
    assert name == "firsthand.hook_call"
    assert found == tap.attributes("firsthand.hook check.sh")
    context = tap.span("firsthand.hook check.sh").context
    assert context is not None
    assert tap.log_exporter.get_finished_logs()[0].log_record.span_id == context.span_id


def test_a_failed_hooks_error_text_is_not_exported_by_default() -> None:
    tap = Tap()
    hook(tap, outcome="error", success=False, exit_code=1, error="CANARY-7f3a")
    assert "CANARY" not in tap.everything()
    assert tap.span("firsthand.hook check.sh").status.status_code is StatusCode.ERROR
    assert tap.attributes("firsthand.hook check.sh")["firsthand.hook.exit_code"] == 1


@pytest.mark.parametrize(("mode", "on_span", "on_event"), [("SPAN_ONLY", True, False), ("EVENT_ONLY", False, True)])
def test_with_content_capture_the_error_text_goes_where_content_goes(mode: str, on_span: bool, on_event: bool) -> None:
    tap = Tap(Options(capture=mode))  # type: ignore[arg-type]
    hook(tap, outcome="error", success=False, error="it broke")
    assert ("firsthand.hook.error" in tap.attributes("firsthand.hook check.sh")) is on_span
    assert ("firsthand.hook.error" in tap.events[0][1]) is on_event


def test_capture_of_injected_text_alone_exports_no_hook_error() -> None:
    tap = Tap(Options(capture_injected=True))
    hook(tap, success=False, error="CANARY-7f3a")
    assert "CANARY" not in tap.everything()


def test_a_hooks_duration_is_a_metric_in_seconds() -> None:
    tap = Tap()
    hook(tap)
    (point,) = tap.points("firsthand.hook.duration")
    assert (point.sum, point.count) == (0.0125, 1)
    assert dict(point.attributes) == {"event": "UserPromptSubmit", "type": "command", "outcome": "success"}
    assert point.explicit_bounds[0] == 0.0005


def test_a_long_label_is_cut() -> None:
    tap = Tap()
    trace = tap.signals.start_turn(conversation_id=None, origin=Origin.USER_QUERY)
    finish(trace.start_hook(event="E", type="command", label="x" * 1000))
    settle(trace, None)
    assert tap.spans[0].name == "firsthand.hook " + "x" * 128


def test_finishing_a_hook_twice_is_one_span() -> None:
    tap = Tap()
    trace = tap.signals.start_turn(conversation_id=None, origin=Origin.USER_QUERY)
    call = trace.start_hook(event="E", type="command", label="x")
    finish(call)
    finish(call)
    assert len(tap.spans) == 1
    settle(trace, None)


def test_a_hooks_span_is_current_in_its_with() -> None:
    tap = Tap()
    trace = tap.signals.start_turn(conversation_id=None, origin=Origin.USER_QUERY)
    call = trace.start_hook(event="E", type="function", label="f")
    with call.current():
        assert getattr(api.get_current_span(), "name", None) == "firsthand.hook f"
    finish(call)
    settle(trace, None)


def test_a_recall_is_metadata_and_its_store_has_no_password() -> None:
    tap = Tap()
    recall(tap, matches=(Memory(id="m1", text="CANARY-7f3a", score=0.5),), query="CANARY-7f3a")
    assert tap.span("search_memory").kind is SpanKind.CLIENT
    assert dict(tap.attributes("search_memory")) == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.memory.store.id": "postgresql://db/m",
        "gen_ai.memory.record.count": 1,
        "firsthand.recall.found": 1,
        "firsthand.recall.outcome": "ok",
    }
    assert "CANARY" not in tap.everything()


def test_with_content_capture_a_recall_has_its_query_and_ids_and_scores_but_no_memory() -> None:
    tap = Tap(Options(capture="SPAN_ONLY"))
    recall(tap, matches=(Memory(id="m1", text="CANARY-7f3a", score=0.5),), query="tea?")
    assert tap.attributes("search_memory")["gen_ai.memory.query.text"] == "tea?"
    assert json.loads(tap.attributes("search_memory")["gen_ai.memory.records"]) == [{"id": "m1", "score": 0.5}]
    assert "CANARY" not in tap.everything()


def test_a_recall_of_what_the_request_holds_already_found_it_and_sends_nothing() -> None:
    tap = Tap()
    recall(tap, matches=(), found=2)
    said = tap.attributes("search_memory")
    assert (said["gen_ai.memory.record.count"], said["firsthand.recall.found"]) == (0, 2)
    [point] = tap.points("firsthand.recall.matches")
    assert (point.count, point.sum) == (1, 2)


def test_a_failed_recall_says_its_type_and_never_its_message() -> None:
    tap = Tap()
    recall(tap, outcome="error", error=OSError("CANARY-7f3a"))
    assert tap.attributes("search_memory")["error.type"] == "OSError"
    assert "firsthand.recall.found" not in tap.attributes("search_memory")
    assert "CANARY" not in tap.everything()
    assert dict(tap.points("firsthand.recall.duration")[0].attributes) == {"outcome": "error"}
    assert tap.points("firsthand.recall.matches") == []


def test_a_late_recall_is_a_timeout() -> None:
    tap = Tap()
    recall(tap, outcome="timeout")
    assert tap.attributes("search_memory")["error.type"] == "timeout"
