"""Anthropic's tool runner: one turn of the user, one of tool results, whoever keeps the history."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic import beta_async_tool, beta_tool

from middleware import Middleware, Settings
from middleware.testing import Answer, Captured, LocalModel, ToolCall, capture

from .conftest import TAGGED

CALL = ToolCall(id="c1", name="look", arguments={"at": 1})
SCRIPT = (Answer(text="Looking.", calls=(CALL,)), "It is noon.")
GIVEN: dict[str, Any] = {"model": "local", "max_tokens": 9, "messages": [{"role": "user", "content": "count"}]}
ASKED = {"role": "user", "content": [{"type": "text", "text": "count"}, TAGGED]}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "seen 1"}
REPLY = [
    {"text": "Looking.", "type": "text"},
    {"id": "c1", "input": {"at": 1}, "name": "look", "type": "tool_use"},
]


@beta_tool
def look(at: int) -> str:
    """Look at a place."""
    return f"seen {at}"


@beta_async_tool(name="look")
async def look_later(at: int) -> str:
    """Look at a place."""
    return f"seen {at}"


def done(client: Any, **options: Any) -> str:
    """Run the loop of a client of either colour to its end, and close the client; what was said last."""
    if not hasattr(client, "__aexit__"):
        with client:
            return str(client.beta.messages.tool_runner(**GIVEN, tools=[look], **options).until_done().content[0].text)

    async def run() -> str:
        async with client:
            runner = client.beta.messages.tool_runner(**GIVEN, tools=[look_later], **options)
            return str((await runner.until_done()).content[0].text)

    return asyncio.run(run())


@pytest.fixture
def captured() -> Iterator[Captured]:
    with capture(*SCRIPT) as found:
        yield found


@pytest.fixture
def prompts() -> list[str]:
    """What the hook was told."""
    return []


@pytest.fixture
def app(captured: Captured, prompts: list[str]) -> Iterator[Middleware]:
    def hook(given: Any) -> str:
        prompts.append(given["prompt"])
        return "branch=main"

    with Middleware(Settings(transcripts=captured.transcripts), hooks=[hook], **captured.providers) as made:
        yield made


HOW = {
    "value": {},
    "stream": {"stream": True},
    "eager": {"stream": True, "run_tools_eagerly": True},
}


@pytest.mark.parametrize("kind", ["anthropic", "async_anthropic"])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("keeper", ["provider", "client"])
def test_the_prompt_and_the_results_are_a_turn_each_of_one_conversation(
    captured: Captured, app: Middleware, prompts: list[str], kind: str, how: str, keeper: str
) -> None:
    options = {**HOW[how], **({"thread": False} if keeper == "client" else {})}
    plain = LocalModel(*SCRIPT)
    assert done(getattr(plain, kind)(), **options) == "It is noon."
    assert done(app.wrap(getattr(captured.model, kind)()), **options) == "It is noon."

    first, second = captured.requests
    assert first["messages"] == [ASKED]
    results = {"role": "user", "content": [RESULT, TAGGED]}
    if keeper == "provider":
        assert second["messages"] == [results]
        assert (first["thread"], second["thread"]) == (
            {"type": "create"},
            {"type": "continue", "previous_message_id": "msg_1"},
        )
    else:
        assert second["messages"] == [ASKED, {"role": "assistant", "content": REPLY}, results]
    assert [without_messages(body) for body in captured.requests] == [without_messages(body) for body in plain.requests]
    assert [told(given) for given in captured.model.headers] == [told(given) for given in plain.headers]

    assert prompts == ["count", ""]
    chats = [dict(span.attributes or {}) for span in captured.spans_named("chat")]
    assert [chat["firsthand.turn.origin"] for chat in chats] == ["user_query", "tool_result"]
    assert [chat["gen_ai.response.finish_reasons"] for chat in chats] == [("tool_use",), ("end_turn",)]
    previous = [chat.get("gen_ai.request.previous_response.id") for chat in chats]
    assert previous == [None, "msg_1" if keeper == "provider" else None]
    assert "branch=main" not in captured.exported()

    (transcript,) = Path(captured.transcripts).glob("*.jsonl")
    records = [json.loads(line) for line in transcript.read_text().splitlines()]
    assert [record["type"] for record in records] == ["user", "assistant", "tool_result", "assistant"]
    assert [record["parentUuid"] for record in records] == [None, *(record["uuid"] for record in records[:-1])]
    assert records[0]["systemPayload"] == {"displayText": "count", "hookContext": "branch=main"}
    call = {"functionCall": {"id": "c1", "name": "look", "args": {"at": 1}}}
    assert records[1]["message"]["parts"] == [{"text": "Looking."}, call]
    answered = records[2]["message"]["parts"][0]["functionResponse"]
    assert (answered["name"], answered["response"]) == ("look", {"output": "seen 1"})
    assert records[3]["message"]["parts"] == [{"text": "It is noon."}]


def without_messages(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "messages"}


def told(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in ("content-length", "traceparent")}


def test_a_loop_that_is_left_early_has_told_of_the_request_that_it_made(captured: Captured, app: Middleware) -> None:
    with app.wrap(captured.model.anthropic()) as client:
        runner = client.beta.messages.tool_runner(**GIVEN, tools=[look], stream=True)
        for stream in runner:
            next(iter(stream))
            break
        runner.close()
    assert len(captured.requests) == 1
    (chat,) = captured.spans_named("chat")
    assert (chat.attributes or {})["firsthand.turn.outcome"] == "cancelled"


def test_a_request_that_is_sent_again_without_a_thread_is_a_retry(
    captured: Captured, app: Middleware, prompts: list[str]
) -> None:
    details = {"error_code": "thread_unsupported_request", "unsupported": ["tools"]}
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "no threads", "details": details}}

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(400, json=error) if b'"thread"' in request.content else captured.model._answer(request)

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    with app.session("talk-1"):
        assert done(app.wrap(captured.model.anthropic(http_client=http))) == "It is noon."
    assert [len(body["messages"]) for body in captured.requests] == [1, 3]
    assert prompts == ["count", ""]
    chats = [dict(span.attributes or {}) for span in captured.spans_named("chat")]
    assert [chat["firsthand.turn.origin"] for chat in chats] == ["user_query", "retry", "tool_result"]
    assert chats[0]["error.type"] == "400"
    types = [record["type"] for record in captured.records]
    assert types == ["user", "assistant", "tool_result", "assistant"]


@pytest.mark.parametrize("kind", ["anthropic", "async_anthropic"])
def test_a_message_thread_is_one_conversation(captured: Captured, app: Middleware, kind: str) -> None:
    captured.model._script[:] = ["one", "two"]
    fields: dict[str, Any] = {"model": "local", "max_tokens": 9}

    async def colour(client: Any) -> None:
        async with client:
            thread = client.beta.messages.thread(**fields)
            await thread.send({"role": "user", "content": "count"})
            async with thread.stream({"role": "user", "content": "on"}) as stream:
                await stream.until_done()

    client: Any = app.wrap(getattr(captured.model, kind)())
    if kind == "anthropic":
        with client:
            thread = client.beta.messages.thread(**fields)
            thread.send({"role": "user", "content": "count"})
            with thread.stream({"role": "user", "content": "on"}) as stream:
                stream.until_done()
    else:
        asyncio.run(colour(client))
    on = {"role": "user", "content": [{"type": "text", "text": "on"}, TAGGED]}
    assert [body["messages"] for body in captured.requests] == [[ASKED], [on]]
    (transcript,) = Path(captured.transcripts).glob("*.jsonl")
    records = [json.loads(line) for line in transcript.read_text().splitlines()]
    assert [record["message"]["parts"][0]["text"] for record in records] == ["count", "one", "on", "two"]
