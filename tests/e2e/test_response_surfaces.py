"""OpenAI's Responses API beside `create`: parse, stream, retrieve, the beta resource, and what passes through."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from middleware import Middleware
from middleware.testing import Captured
from tests.test_responses import Model

from .conftest import HOOK
from .spellings import JSON, Count

TAGGED = {"type": "input_text", "text": HOOK}
ASKED = {"role": "user", "content": [{"type": "input_text", "text": "count"}, TAGGED]}
RESULT = {"type": "function_call_output", "call_id": "call1", "output": "noon"}


class Server:
    """Answers as `model` does; keeps method, path and body of every request."""

    def __init__(self, model: type = Model, *, tools: bool = False) -> None:
        self.requests: list[tuple[str, str, Any]] = []
        self._model: Any = model(tools=tools, text=JSON)

    def client(self, *, is_async: bool = False) -> Any:
        given: dict[str, Any] = {"api_key": "k", "base_url": "http://llm.invalid/v1", "max_retries": 0}
        if is_async:
            later = httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer_later))
            return openai.AsyncOpenAI(http_client=later, **given)
        return openai.OpenAI(http_client=httpx2.Client(transport=httpx2.MockTransport(self._answer)), **given)

    def bodies(self) -> list[Any]:
        return [body for _, _, body in self.requests]

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.raw_path.decode()
        self.requests.append((request.method, path, json.loads(request.content or b"null")))
        if request.method == "POST" and path.partition("?")[0] == "/v1/responses":
            made: httpx2.Response = self._model(request)
            return made
        if path.partition("?")[0].endswith("/input_tokens"):
            return httpx2.Response(200, json={"object": "response.input_tokens", "input_tokens": 7})
        kept = self._model.response(1, wants_tool=False)
        if "stream=true" in path:
            events = "".join(f"data: {json.dumps(event)}\n\n" for event in self._model.events(kept))
            return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=events)
        return httpx2.Response(200, json=kept)

    async def _answer_later(self, request: httpx2.Request) -> httpx2.Response:
        return self._answer(request)


async def value(client: Any) -> str:
    return str((await client.responses.create(model="m", input="count")).output_text)


async def stream(client: Any) -> str:
    *_, last = [event async for event in await client.responses.create(model="m", input="count", stream=True)]
    return str(last.response.output_text)


async def manager(client: Any) -> str:
    async with client.responses.stream(model="m", input="count") as events:
        return str((await events.get_final_response()).output_text)


async def parse(client: Any) -> str:
    said = await client.responses.parse(model="m", input="count", text_format=Count)
    assert said.output_parsed == Count(n=3)
    return str(said.output_text)


async def raw(client: Any) -> str:
    return str((await client.responses.with_raw_response.create(model="m", input="count")).parse().output_text)


async def streaming(client: Any) -> str:
    async with client.responses.with_streaming_response.create(model="m", input="count") as response:
        return str((await response.parse()).output_text)


@pytest.mark.parametrize("spelling", [value, stream, manager, parse, raw, streaming])
def test_an_async_response_sends_the_tagged_part_alone_more(
    app: Middleware, captured: Captured, spelling: Callable[[Any], Any]
) -> None:
    server = Server()

    async def main() -> list[str]:
        async with server.client(is_async=True) as plain:
            return [await spelling(plain), await spelling(app.wrap(plain))]

    assert asyncio.run(main()) == [JSON, JSON]
    without, sent = server.bodies()
    assert without["input"] == "count"
    assert sent == {**without, "input": [ASKED]}
    (chat,) = captured.spans_named("chat")
    told = dict(chat.attributes or {})
    assert told["gen_ai.response.finish_reasons"] == ("stop",)
    assert told.get("gen_ai.output.type") == ("json" if spelling is parse else None)
    assert "branch=main" not in captured.exported()


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_beta_response_is_a_turn_as_well(
    app: Middleware, captured: Captured, tmp_path: Path, streamed: bool, is_async: bool
) -> None:
    server = Server()
    given: dict[str, Any] = {"model": "m", "input": "count", "stream": streamed}

    async def later() -> None:
        async with app.wrap(server.client(is_async=True)) as client:
            made = await client.beta.responses.create(**given)
            _ = [event async for event in made] if streamed else None

    if is_async:
        asyncio.run(later())
    else:
        with app.wrap(server.client()) as client:
            made = client.beta.responses.create(**given)
            _ = list(made) if streamed else None
    assert server.requests == [
        ("POST", "/v1/responses?beta=true", {"model": "m", "input": [ASKED], "stream": streamed}),
    ]
    (chat,) = captured.spans_named("chat")
    assert (chat.attributes or {})["gen_ai.response.finish_reasons"] == ("stop",)
    (transcript,) = (tmp_path / "transcripts").glob("*.jsonl")
    assert [json.loads(line)["type"] for line in transcript.read_text().splitlines()] == ["user", "assistant"]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
def test_the_output_of_a_call_after_a_previous_response_is_a_tool_result_of_its_conversation(
    app: Middleware, captured: Captured, tmp_path: Path, streamed: bool, is_async: bool
) -> None:
    server = Server(tools=True)
    first: dict[str, Any] = {"model": "m", "input": "count"}
    second: dict[str, Any] = {"model": "m", "input": [RESULT], "previous_response_id": "resp1", "stream": streamed}

    async def later() -> None:
        async with app.wrap(server.client(is_async=True)) as client:
            await client.responses.create(**first)
            made = await client.responses.create(**second)
            _ = [event async for event in made] if streamed else None

    if is_async:
        asyncio.run(later())
    else:
        with app.wrap(server.client()) as client:
            client.responses.create(**first)
            made = client.responses.create(**second)
            _ = list(made) if streamed else None
    assert [body["input"] for body in server.bodies()] == [[ASKED], [RESULT, {"role": "user", "content": [TAGGED]}]]
    assert server.bodies()[1]["previous_response_id"] == "resp1"
    chats = [dict(span.attributes or {}) for span in captured.spans_named("chat")]
    assert [chat["firsthand.turn.origin"] for chat in chats] == ["user_query", "tool_result"]
    assert [chat.get("gen_ai.request.previous_response.id") for chat in chats] == [None, "resp1"]
    assert [chat["gen_ai.response.finish_reasons"] for chat in chats] == [("tool_calls",), ("stop",)]
    (transcript,) = (tmp_path / "transcripts").glob("*.jsonl")
    types = [json.loads(line)["type"] for line in transcript.read_text().splitlines()]
    assert types == ["user", "assistant", "tool_result", "assistant"]


def test_what_is_kept_by_the_provider_is_fetched_as_it_is(app: Middleware, captured: Captured) -> None:
    server = Server()
    with app.wrap(server.client()) as client:
        responses = client.responses
        assert responses.retrieve("resp1").output_text == JSON
        assert [event.type for event in responses.retrieve("resp1", stream=True)][-1] == "response.completed"
        with responses.stream(response_id="resp1", starting_after=2) as events:
            assert events.get_final_response().output_text == JSON
        assert responses.with_raw_response.retrieve("resp1").parse().output_text == JSON
        assert responses.cancel("resp1").output_text == JSON
        assert responses.input_tokens.count(model="m", input="count").input_tokens == 7
        responses.delete("resp1")
    assert [(method, path.partition("?")[0]) for method, path, _ in server.requests] == [
        ("GET", "/v1/responses/resp1"),
        ("GET", "/v1/responses/resp1"),
        ("GET", "/v1/responses/resp1"),
        ("GET", "/v1/responses/resp1"),
        ("POST", "/v1/responses/resp1/cancel"),
        ("POST", "/v1/responses/input_tokens"),
        ("DELETE", "/v1/responses/resp1"),
    ]
    assert server.bodies()[5] == {"model": "m", "input": "count"}
    assert captured.spans == ()


def test_an_async_retrieve_passes_through(app: Middleware, captured: Captured) -> None:
    server = Server()

    async def main() -> list[str]:
        async with app.wrap(server.client(is_async=True)) as client:
            kept = await client.responses.retrieve("resp1")
            events = [event async for event in await client.responses.retrieve("resp1", stream=True)]
            return [kept.output_text, events[-1].response.output_text]

    assert asyncio.run(main()) == [JSON, JSON]
    assert captured.spans == ()
