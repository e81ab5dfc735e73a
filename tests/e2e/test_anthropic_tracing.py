"""Anthropic's own tracing: silent for a wrapped client, through every copy; the trace context is still sent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from anthropic import beta_tool
from opentelemetry.sdk.trace import TracerProvider

from middleware import Middleware
from middleware.testing import Answer, Captured, ToolCall

from .spellings import ANTHROPIC, MESSAGES

CALL = ToolCall(id="c1", name="look", arguments={"at": 1})


@beta_tool
def look(at: int) -> str:
    """Look at a place."""
    return f"seen {at}"


@pytest.fixture
def telling(captured: Captured) -> dict[str, Any]:
    """The option that has the SDK trace all that it can, to where our spans go."""
    provider: TracerProvider = captured.providers["tracer_provider"]
    return {"tracer_provider": provider, "traces": {"enabled": True, "content_mode": "content"}}


def create(client: Any) -> None:
    client.messages.create(**ANTHROPIC)


def stream(client: Any) -> None:
    list(client.messages.create(**ANTHROPIC, stream=True))


def manager(client: Any) -> None:
    with client.messages.stream(**ANTHROPIC) as events:
        events.until_done()


def raw(client: Any) -> None:
    client.messages.with_raw_response.create(**ANTHROPIC).parse()


def beta(client: Any) -> None:
    client.beta.messages.create(**ANTHROPIC)


def copied(client: Any) -> None:
    create(client.copy().with_options(timeout=3))


def labelled(client: Any) -> None:
    """As the SDK's documentation names a conversation."""
    create(client.with_options(open_telemetry={**client.open_telemetry, "conversation_id": "talk-1"}))


def spans(captured: Captured) -> list[str]:
    return [span.name for span in captured.spans if not span.name.startswith("firsthand.")]


@pytest.mark.parametrize("spelling", [create, stream, manager, raw, beta, copied, labelled])
def test_a_call_has_our_span_alone(captured: Captured, app: Middleware, telling: Any, spelling: Any) -> None:
    with captured.model.anthropic(open_telemetry=telling) as plain:
        spelling(app.wrap(plain))
        assert spans(captured) == ["chat local"]
        assert "branch=main" not in captured.exported()
        spelling(plain)
    assert len(spans(captured)) == 2


def test_a_copy_that_is_told_to_trace_stays_silent(captured: Captured, app: Middleware, telling: Any) -> None:
    with captured.model.anthropic() as plain:
        create(app.wrap(plain).with_options(open_telemetry=telling))
        create(app.wrap(plain).copy(open_telemetry=telling).copy())
    assert spans(captured) == ["chat local", "chat local"]
    assert "branch=main" not in captured.exported()


def test_an_async_copy_that_is_told_to_trace_stays_silent(captured: Captured, app: Middleware, telling: Any) -> None:
    async def main() -> None:
        async with app.wrap(captured.model.async_anthropic(open_telemetry=telling)) as client:
            await client.with_options(open_telemetry=telling).messages.create(**ANTHROPIC)

    asyncio.run(main())
    assert spans(captured) == ["chat local"]
    assert "branch=main" not in captured.exported()


def test_a_tool_loop_has_a_span_a_request_and_none_of_the_sdk(
    captured: Captured, app: Middleware, telling: Any
) -> None:
    captured.model._script[:] = [Answer(calls=(CALL,)), "It is noon."]
    with captured.model.anthropic(open_telemetry=telling) as plain:
        app.wrap(plain).beta.messages.tool_runner(**ANTHROPIC, tools=[look]).until_done()
    assert spans(captured) == ["chat local", "chat local"]
    assert "branch=main" not in captured.exported()


def test_the_trace_context_that_is_sent_is_the_span_of_the_request(captured: Captured, app: Middleware) -> None:
    captured.model._script[:] = [Answer(calls=(CALL,)), "It is noon."]
    with captured.model.anthropic() as plain:
        app.wrap(plain).beta.messages.tool_runner(**ANTHROPIC, tools=[look]).until_done()
        app.wrap(plain).copy().messages.create(**ANTHROPIC)
    sent = [headers["traceparent"].split("-")[1:3] for headers in captured.model.headers]
    contexts = [span.context for span in captured.spans_named("chat")]
    assert sent == [[f"{context.trace_id:032x}", f"{context.span_id:016x}"] for context in contexts if context]


def test_with_propagation_off_no_trace_context_is_sent(captured: Captured, app: Middleware) -> None:
    with captured.model.anthropic(open_telemetry={"propagation": False}) as plain:
        create(app.wrap(plain))
        create(app.wrap(plain).copy())
    assert ["traceparent" in headers for headers in captured.model.headers] == [False, False]


def test_the_callers_own_trace_header_is_sent_as_it_is(captured: Captured, app: Middleware) -> None:
    own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with captured.model.anthropic() as plain:
        app.wrap(plain).messages.create(
            model="local", max_tokens=9, messages=MESSAGES, extra_headers={"traceparent": own}
        )
    assert captured.model.headers[0]["traceparent"] == own
