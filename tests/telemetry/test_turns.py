"""The turn and chat spans: what they carry, how they end."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest
from opentelemetry import trace as api
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode

from middleware.errors import HookBlocked
from middleware.injection import Memory, block_of
from middleware.parts import Reply, Usage
from middleware.provenance import Origin
from middleware.telemetry import Options, Signals

from .taps import Tap, call, reply, request, settle, text, turn


def test_a_turn_is_two_spans_parent_and_child() -> None:
    tap = Tap()
    call(tap)
    outer, chat = tap.span("firsthand.turn"), tap.span("chat gpt-5")
    assert (outer.kind, chat.kind) == (SpanKind.INTERNAL, SpanKind.CLIENT)
    assert outer.parent is None
    assert chat.parent is not None and outer.context is not None
    assert chat.parent.span_id == outer.context.span_id


def test_the_chat_span_carries_request_and_response_by_their_conventional_names() -> None:
    tap = Tap()
    options = {
        "temperature": 0.2,
        "max_tokens": 100,
        "stop_sequences": ["a", "b"],
        "choice.count": 1,
        "output.type": "json",
        "something": "hello",
    }
    call(tap, request(stream=True, options=options))
    assert dict(tap.attributes("chat gpt-5")) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5",
        "server.address": "api.test",
        "server.port": 443,
        "gen_ai.request.stream": True,
        "gen_ai.request.temperature": 0.2,
        "gen_ai.request.max_tokens": 100,
        "gen_ai.request.stop_sequences": ("a", "b"),
        "gen_ai.output.type": "json",
        "gen_ai.response.id": "resp-1",
        "gen_ai.response.model": "gpt-5-2025",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 25,
        "gen_ai.usage.output_tokens": 7,
        "firsthand.turn.origin": "user_query",
        "firsthand.turn.outcome": "sent",
    }


def test_usage_that_the_provider_did_not_give_is_absent_and_never_0() -> None:
    tap = Tap()
    call(tap, answer=Reply(usage=Usage()))
    assert [name for name in tap.attributes("chat gpt-5") if "usage" in name] == []
    assert tap.points("gen_ai.client.token.usage") == []


def test_a_zero_that_the_provider_gave_is_exported() -> None:
    tap = Tap()
    call(tap, answer=Reply(usage=Usage(input_tokens=3, cache_read_tokens=0, cache_write_tokens=1, reasoning_tokens=2)))
    found = tap.attributes("chat gpt-5")
    assert found["gen_ai.usage.cache_read.input_tokens"] == 0
    assert found["gen_ai.usage.cache_write.input_tokens"] == 1
    assert found["gen_ai.usage.reasoning.output_tokens"] == 2


def test_a_named_session_is_on_both_spans_from_any_thread() -> None:
    tap = Tap()
    asked = request()
    work = lambda: settle(turn(tap.signals, asked, conversation_id="s1"), asked, answer=reply())  # noqa: E731
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert tap.attributes("chat gpt-5")["gen_ai.conversation.id"] == "s1"
    assert tap.attributes("firsthand.turn")["gen_ai.conversation.id"] == "s1"


def test_no_conversation_id_is_invented() -> None:
    tap = Tap()
    call(tap)
    assert "gen_ai.conversation.id" not in tap.attributes("chat gpt-5")


def test_the_ambient_span_is_the_turns_parent() -> None:
    tap = Tap()
    with tap.tracers.get_tracer("app").start_as_current_span("app") as app:
        call(tap)
    parent = tap.span("firsthand.turn").parent
    assert parent is not None and parent.span_id == app.get_span_context().span_id


def test_the_ids_are_the_turns_in_hexadecimal() -> None:
    tap = Tap()
    trace = tap.signals.start_turn(conversation_id=None, origin=Origin.CRON)
    settle(trace, None)
    context = tap.span("firsthand.turn").context
    assert context is not None
    assert trace.ids == (f"{context.trace_id:032x}", f"{context.span_id:016x}")


def test_without_a_provider_nothing_has_an_id_and_nothing_fails() -> None:
    asked = request()
    trace = turn(Signals(Options(), tracer_provider=api.NoOpTracerProvider()), asked)
    with trace.current():
        trace.first_chunk()
    settle(trace, asked, answer=reply())
    assert trace.ids == (None, None)


def test_the_chat_span_is_current_in_the_with_only() -> None:
    tap = Tap()
    trace = turn(tap.signals, request())
    before = api.get_current_span()
    with trace.current():
        assert getattr(api.get_current_span(), "name", None) == "chat gpt-5"
    assert api.get_current_span() is before
    settle(trace, None)


def test_a_stream_settled_in_another_task_logs_no_failed_detach(caplog: pytest.LogCaptureFixture) -> None:
    tap = Tap()

    async def abandoned() -> None:
        trace = turn(tap.signals, request())
        with trace.current():
            await asyncio.sleep(0)
        await asyncio.create_task(asyncio.to_thread(settle, trace, None, outcome="cancelled", ended_early=True))

    asyncio.run(abandoned())
    assert len(tap.spans) == 2
    assert caplog.records == []


def test_settling_twice_counts_once() -> None:
    tap = Tap()
    trace = turn(tap.signals, request())
    settle(trace, None, outcome="error", error=ValueError("x"))
    settle(trace, None, outcome="sent", answer=reply())
    assert len(tap.spans) == 2
    assert tap.span("chat gpt-5").status.status_code is StatusCode.ERROR
    assert tap.points("firsthand.turn.count")[0].value == 1


def test_an_error_is_a_status_without_description_and_a_class_name() -> None:
    tap = Tap()
    call(tap, outcome="error", error=ConnectionResetError("CANARY-7f3a"))
    chat = tap.span("chat gpt-5")
    assert (chat.status.status_code, chat.status.description) == (StatusCode.ERROR, None)
    assert tap.attributes("chat gpt-5")["error.type"] == "ConnectionResetError"
    assert tap.attributes("chat gpt-5")["gen_ai.response.finish_reasons"] == ("error",)
    assert chat.events == ()
    assert "CANARY" not in tap.everything()


def test_an_http_error_is_its_status_code() -> None:
    tap = Tap()
    call(tap, outcome="error", error=Refused(429))
    assert tap.attributes("firsthand.turn")["error.type"] == "429"


def test_a_cancel_is_an_error_with_the_full_class_name() -> None:
    tap = Tap()
    call(tap, outcome="cancelled", error=asyncio.CancelledError())
    assert tap.attributes("chat gpt-5")["error.type"] == "asyncio.exceptions.CancelledError"
    assert tap.attributes("chat gpt-5")["firsthand.turn.outcome"] == "cancelled"
    assert tap.span("chat gpt-5").status.status_code is StatusCode.ERROR


def test_a_stream_left_early_keeps_its_partial_output_and_says_error() -> None:
    tap = Tap(Options(capture="SPAN_ONLY"))
    call(tap, answer=Reply(messages=(text("assistant", "half of it"),)), outcome="cancelled", ended_early=True)
    assert tap.attributes("chat gpt-5")["gen_ai.response.finish_reasons"] == ("error",)
    assert tap.content("chat gpt-5", "gen_ai.output.messages")[0]["parts"][0]["content"] == "half of it"
    assert tap.span("chat gpt-5").status.status_code is StatusCode.UNSET


def test_a_blocked_turn_is_one_span_with_its_outcome_and_no_prompt() -> None:
    tap = Tap(Options(capture="SPAN_AND_EVENT"))
    trace = tap.signals.start_turn(conversation_id=None, origin=Origin.USER_QUERY)
    blocked = HookBlocked(hook="guard", reason="CANARY-7f3a", prompt="CANARY-7f3a")
    settle(trace, request(text("user", "CANARY-7f3a")), outcome="blocked", error=blocked)
    assert [span.name for span in tap.spans] == ["firsthand.turn"]
    assert tap.attributes("firsthand.turn")["firsthand.turn.outcome"] == "blocked"
    assert tap.span("firsthand.turn").status.status_code is StatusCode.UNSET
    assert "CANARY" not in tap.everything()


def test_the_first_chunk_is_timed_once() -> None:
    tap = Tap()
    trace = turn(tap.signals, request(stream=True))
    trace.first_chunk()
    trace.first_chunk()
    settle(trace, None, answer=reply())
    assert 0 <= tap.attributes("chat gpt-5")["gen_ai.response.time_to_first_chunk"] < 1
    assert tap.points("gen_ai.client.operation.time_to_first_chunk")[0].count == 1


def test_injection_is_metadata_over_all_blocks() -> None:
    tap = Tap()
    old = block_of("remember the milk", (Memory(id="m1", text="likes tea", score=0.5),))
    new = block_of("x" * 20, max_context_chars=10)
    call(tap, request(text("user", "a"), text("assistant", "b"), text("user", "c")), block=new, blocks={0: old, 2: new})
    for name in ("chat gpt-5", "firsthand.turn"):
        found = tap.attributes(name)
        assert found["firsthand.injection.count"] == 3
        assert found["firsthand.injection.chars"] == old.chars + new.chars
        assert found["firsthand.injection.sources"] == ("memory", "hook")
        assert found["firsthand.injection.truncated"] is True


def test_a_turn_without_injection_says_nothing_about_it() -> None:
    tap = Tap()
    call(tap)
    assert [name for name in tap.attributes("chat gpt-5") if "injection" in name] == []


@pytest.mark.parametrize("error", [400, 413, 422])
def test_a_refused_request_with_an_injection_is_suspected(error: int, caplog: pytest.LogCaptureFixture) -> None:
    tap = Tap()
    with caplog.at_level(logging.WARNING, "middleware.telemetry"):
        call(tap, outcome="error", error=Refused(error), block=block_of("CANARY-7f3a"))
    assert tap.attributes("chat gpt-5")["firsthand.injection.suspected"] is True
    assert len(caplog.records) == (error == 413) and "CANARY" not in caplog.text


def test_a_refused_request_without_an_injection_is_not_suspected(caplog: pytest.LogCaptureFixture) -> None:
    tap = Tap()
    call(tap, outcome="error", error=Refused(400))
    assert "firsthand.injection.suspected" not in tap.attributes("chat gpt-5")
    assert caplog.records == []


def test_a_context_length_error_is_suspected_by_its_code() -> None:
    tap = Tap()
    error = Refused(500)
    error.code = "context_length_exceeded"
    call(tap, outcome="error", error=error, block=block_of("x"))
    assert tap.attributes("chat gpt-5")["firsthand.injection.suspected"] is True


def test_a_sampled_out_turn_exports_no_span_and_still_counts() -> None:
    tap = Tap(Options(capture="SPAN_ONLY"), sampler=ALWAYS_OFF)
    call(tap)
    assert tap.spans == ()
    assert tap.points("firsthand.turn.count")[0].value == 1


def test_samplers_see_the_chat_spans_attributes_at_its_start() -> None:
    tap = Tap()
    trace = turn(tap.signals, request(options={"seed": 1}))
    with trace.current():
        attributes = getattr(api.get_current_span(), "attributes", {})
    assert attributes["gen_ai.provider.name"] == "openai"
    assert attributes["gen_ai.request.seed"] == 1
    settle(trace, None)


def test_a_class_in_an_option_is_its_name_and_a_mapping_is_nothing() -> None:
    tap = Tap()
    call(tap, request(options={"output.type": Refused, "reasoning.level": {"effort": "high"}}))
    assert tap.attributes("chat gpt-5")["gen_ai.output.type"] == "Refused"
    assert "gen_ai.request.reasoning.level" not in tap.attributes("chat gpt-5")


class Refused(Exception):
    code: str | None = None

    def __init__(self, status_code: int) -> None:
        super().__init__("the prompt was CANARY-7f3a")
        self.status_code = status_code
