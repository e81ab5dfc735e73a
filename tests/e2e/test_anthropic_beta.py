"""Anthropic's beta messages, and what a request holds beside words: all of it goes out as it came."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from middleware import Middleware
from middleware.testing import Captured, LocalModel

from .conftest import HOOK, TAGGED
from .spellings import ANTHROPIC, JSON, MESSAGES, Count

BETAS = ["context-1m-2025-08-07", "interleaved-thinking-2025-05-14"]
FIELDS: dict[str, Any] = {**ANTHROPIC, "betas": BETAS}
COUNTED = {"/v1/messages/count_tokens": {"input_tokens": 7}}


def create(client: Any) -> str:
    return str(client.beta.messages.create(**FIELDS).content[0].text)


def stream(client: Any) -> str:
    chunks = client.beta.messages.create(**FIELDS, stream=True)
    return "".join(chunk.delta.text for chunk in chunks if chunk.type == "content_block_delta")


def manager(client: Any) -> str:
    with client.beta.messages.stream(**FIELDS) as events:
        return "".join(events.text_stream)


def parse(client: Any) -> str:
    said = client.beta.messages.parse(**FIELDS, output_format=Count)
    assert said.parsed_output == Count(n=3)
    return str(said.content[0].text)


def parse_stream(client: Any) -> str:
    with client.beta.messages.stream(**FIELDS, output_format=Count) as events:
        said = events.get_final_message()
    assert said.parsed_output == Count(n=3)
    return str(said.content[0].text)


def raw(client: Any) -> str:
    return str(client.beta.messages.with_raw_response.create(**FIELDS).parse().content[0].text)


def streaming(client: Any) -> str:
    with client.beta.messages.with_streaming_response.create(**FIELDS) as response:
        return str(response.parse().content[0].text)


async def acreate(client: Any) -> str:
    return str((await client.beta.messages.create(**FIELDS)).content[0].text)


async def astream(client: Any) -> str:
    chunks = await client.beta.messages.create(**FIELDS, stream=True)
    return "".join([chunk.delta.text async for chunk in chunks if chunk.type == "content_block_delta"])


async def amanager(client: Any) -> str:
    async with client.beta.messages.stream(**FIELDS) as events:
        return "".join([text async for text in events.text_stream])


async def aparse(client: Any) -> str:
    said = await client.beta.messages.parse(**FIELDS, output_format=Count)
    assert said.parsed_output == Count(n=3)
    return str(said.content[0].text)


def said(spelling: Callable[[Any], Any], client: Any) -> str:
    """Call and close the client, of either colour."""
    if not asyncio.iscoroutinefunction(spelling):
        with client:
            return str(spelling(client))

    async def main() -> str:
        async with client:
            return str(await spelling(client))

    return asyncio.run(main())


SPELLINGS = [create, stream, manager, parse, parse_stream, raw, streaming, acreate, astream, amanager, aparse]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_beta_call_sends_its_betas_and_the_tagged_part_alone_more(
    captured: Captured, app: Middleware, spelling: Callable[[Any], Any]
) -> None:
    kind = "async_anthropic" if asyncio.iscoroutinefunction(spelling) else "anthropic"
    plain = LocalModel(default=JSON)
    assert said(spelling, getattr(plain, kind)()) == JSON
    assert said(spelling, app.wrap(getattr(captured.model, kind)())) == JSON
    (without,), (sent,) = plain.requests, captured.requests
    assert without["messages"] == MESSAGES
    assert sent == {**without, "messages": [{"role": "user", "content": [{"type": "text", "text": "count"}, TAGGED]}]}
    own = ("content-length", "traceparent")
    one, two = [
        {name: value for name, value in model.headers[0].items() if name not in own}
        for model in (plain, captured.model)
    ]
    assert one == two
    assert two["anthropic-beta"] == "context-1m-2025-08-07,interleaved-thinking-2025-05-14"
    (chat,) = captured.spans_named("chat")
    told = dict(chat.attributes or {})
    assert told["gen_ai.response.finish_reasons"] == ("end_turn",)
    assert told.get("gen_ai.output.type") == ("json" if "parse" in spelling.__name__ else None)
    assert "branch=main" not in captured.exported()


def test_what_a_call_asks_for_is_told_of(captured: Captured, app: Middleware) -> None:
    schema = {"type": "object", "properties": {"secret": {"type": "string"}}}
    config: Any = {"effort": "high", "format": {"type": "json_schema", "schema": schema}}
    with app.wrap(captured.model.anthropic()) as client:
        client.messages.create(**ANTHROPIC, output_config=config)
    (chat,) = captured.spans_named("chat")
    told = dict(chat.attributes or {})
    assert (told["gen_ai.request.reasoning.level"], told["gen_ai.output.type"]) == ("high", "json")
    assert "secret" not in captured.exported()


@pytest.mark.parametrize("kind", ["anthropic", "async_anthropic"])
def test_tokens_are_counted_of_what_the_caller_gave(captured: Captured, app: Middleware, kind: str) -> None:
    model = LocalModel(paths=COUNTED)

    def counted(client: Any) -> int:
        return int(client.beta.messages.count_tokens(model="m", messages=MESSAGES, betas=BETAS).input_tokens)

    async def later(client: Any) -> int:
        async with client:
            plain = await client.messages.count_tokens(model="m", messages=MESSAGES)
            beta = await client.beta.messages.count_tokens(model="m", messages=MESSAGES, betas=BETAS)
            return int(plain.input_tokens + beta.input_tokens)

    if kind == "anthropic":
        with app.wrap(model.anthropic()) as client:
            assert counted(client) == 7
    else:
        assert asyncio.run(later(app.wrap(model.async_anthropic()))) == 14
    assert [body for body in model.requests if HOOK in json.dumps(body)] == []
    assert captured.spans == ()


CACHED = {"type": "ephemeral", "ttl": "1h"}
BLOCKS: dict[str, Any] = {
    "model": "local",
    "max_tokens": 9,
    "cache_control": {"type": "ephemeral"},
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "system": [{"type": "text", "text": "be brief", "cache_control": CACHED}],
    "tools": [{"name": "look", "input_schema": {"type": "object"}, "cache_control": CACHED}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "count", "cache_control": CACHED}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm\u00e9\u2026", "signature": "c2ln+/="},
                {"type": "redacted_thinking", "data": "b3BhcXVl"},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"b": 1, "a": [1.50, None]}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "seen", "cache_control": CACHED}],
        },
    ],
}
ADDED = b"," + json.dumps(TAGGED, separators=(",", ":")).encode()


@pytest.mark.parametrize("beta", [False, True])
@pytest.mark.parametrize("streamed", [False, True])
def test_cache_marks_and_thinking_go_out_byte_for_byte(app: Middleware, beta: bool, streamed: bool) -> None:
    bodies: list[bytes] = []
    model = LocalModel()

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(request.content)
        return model._answer(request)

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    with model.anthropic(http_client=http) as plain:
        for client in (plain, app.wrap(plain)):
            made: Any = (client.beta if beta else client).messages.create(**BLOCKS, stream=streamed)
            if streamed:
                list(made)
    without, sent = bodies
    assert sent.count(ADDED) == 1
    assert sent.replace(ADDED, b"") == without
    assert without.count(b'"cache_control"') == 5


def test_a_reply_with_thinking_is_sent_again_as_it_came(app: Middleware) -> None:
    thought = {"type": "thinking", "thinking": "hm\u00e9", "signature": "c2ln+/="}
    hidden = {"type": "redacted_thinking", "data": "b3BhcXVl"}
    reply = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "local",
        "content": [thought, hidden, {"type": "text", "text": "one"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    bodies: list[Any] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return httpx2.Response(200, json=reply)

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    with LocalModel().anthropic(http_client=http) as plain:
        client: Any = app.wrap(plain)
        content = client.messages.create(**ANTHROPIC).content
        history = [*MESSAGES, {"role": "assistant", "content": content}, {"role": "user", "content": "on"}]
        client.messages.create(model="local", max_tokens=9, messages=history)
    first, second = (body["messages"] for body in bodies)
    assert second[0] == first[0]
    assert second[1]["content"] == [thought, hidden, {"type": "text", "text": "one"}]
