"""Every way to spell one model call, for both SDKs and both colours: each returns the text that the caller got."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pydantic

MESSAGES: Any = [{"role": "user", "content": "count"}]
OPENAI: Any = {"model": "local", "messages": MESSAGES}
ANTHROPIC: Any = {"model": "local", "max_tokens": 9, "messages": MESSAGES}
JSON = '{"n": 3}'
"""What the model of `captured` says by default."""


class Count(pydantic.BaseModel):
    n: int


def texts_of(kind: str, chunk: Any) -> str:
    """The text in a chunk of a raw stream."""
    if kind == "openai":
        return (chunk.choices[0].delta.content or "") if chunk.choices else ""
    return getattr(getattr(chunk, "delta", None), "text", None) or ""


def from_lines(kind: str, lines: list[str]) -> str:
    """The text in the lines of an event stream."""
    found = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    if kind == "openai":
        return "".join(choice["delta"].get("content") or "" for item in found for choice in item["choices"])
    return "".join(item.get("delta", {}).get("text", "") for item in found)


def said(kind: str, value: Any) -> str:
    """The text of a value; of one that was parsed into a `Count`, that one as JSON again."""
    if kind == "openai":
        return str(value.choices[0].message.content)
    return "".join(block.text for block in value.content)


def resource(kind: str, client: Any) -> Any:
    return client.chat.completions if kind == "openai" else client.messages


def body(kind: str) -> dict[str, Any]:
    return dict(OPENAI if kind == "openai" else ANTHROPIC)


def structured(kind: str) -> dict[str, Any]:
    return {"response_format": Count} if kind == "openai" else {"output_format": Count}


def parsed(kind: str, value: Any) -> str:
    found = value.choices[0].message.parsed if kind == "openai" else value.parsed_output
    assert found == Count(n=3)
    return JSON


def create(kind: str, client: Any) -> str:
    return said(kind, resource(kind, client).create(**body(kind)))


def stream(kind: str, client: Any) -> str:
    return "".join(texts_of(kind, chunk) for chunk in resource(kind, client).create(**body(kind), stream=True))


def stream_in_with(kind: str, client: Any) -> str:
    with resource(kind, client).create(**body(kind), stream=True) as chunks:
        return "".join(texts_of(kind, chunk) for chunk in chunks)


def manager(kind: str, client: Any) -> str:
    with resource(kind, client).stream(**body(kind)) as events:
        if kind == "openai":
            return said(kind, events.get_final_completion())
        return "".join(events.text_stream)


def parse(kind: str, client: Any) -> str:
    return parsed(kind, resource(kind, client).parse(**body(kind), **structured(kind)))


def raw_value(kind: str, client: Any) -> str:
    response = resource(kind, client).with_raw_response.create(**body(kind))
    assert response.status_code == 200
    return said(kind, response.parse())


def raw_parse(kind: str, client: Any) -> str:
    return parsed(kind, resource(kind, client).with_raw_response.parse(**body(kind), **structured(kind)).parse())


def raw_stream(kind: str, client: Any) -> str:
    response = resource(kind, client).with_raw_response.create(**body(kind), stream=True)
    return "".join(texts_of(kind, chunk) for chunk in response.parse())


def streaming_value(kind: str, client: Any) -> str:
    with resource(kind, client).with_streaming_response.create(**body(kind)) as response:
        return said(kind, response.parse())


def streaming_parse(kind: str, client: Any) -> str:
    with resource(kind, client).with_streaming_response.create(**body(kind), stream=True) as response:
        return "".join(texts_of(kind, chunk) for chunk in response.parse())


def streaming_lines(kind: str, client: Any) -> str:
    with resource(kind, client).with_streaming_response.create(**body(kind), stream=True) as response:
        return from_lines(kind, list(response.iter_lines()))


def streaming_bytes(kind: str, client: Any) -> str:
    with resource(kind, client).with_streaming_response.create(**body(kind), stream=True) as response:
        return from_lines(kind, b"".join(response.iter_bytes()).decode().split("\n"))


def streaming_read(kind: str, client: Any) -> str:
    with resource(kind, client).with_streaming_response.create(**body(kind), stream=True) as response:
        return from_lines(kind, response.read().decode().split("\n"))


def with_options(kind: str, client: Any) -> str:
    return create(kind, client.with_options(timeout=7).copy(max_retries=1))


def beta(kind: str, client: Any) -> str:
    if kind == "openai":
        return parsed(kind, client.beta.chat.completions.parse(**body(kind), response_format=Count))
    return said(kind, client.beta.messages.create(**body(kind)))


def one_shot(kind: str, client: Any) -> str:
    """One-shot messages, one-shot content and sentinels of the SDK."""
    sdk: Any = openai if kind == "openai" else anthropic
    content: Iterator[Any] = iter([{"type": "text", "text": "count"}])
    given = {**body(kind), "messages": iter([{"role": "user", "content": content}])}
    return said(kind, resource(kind, client).create(**given, timeout=sdk.NOT_GIVEN, tools=sdk.omit))


SYNC: dict[str, Callable[[str, Any], str]] = {
    function.__name__: function
    for function in (
        create, stream, stream_in_with, manager, parse, raw_value, raw_parse, raw_stream, streaming_value,
        streaming_parse, streaming_lines, streaming_bytes, streaming_read, with_options, beta, one_shot,
    )
}  # fmt: skip


async def acreate(kind: str, client: Any) -> str:
    return said(kind, await resource(kind, client).create(**body(kind)))


async def astream(kind: str, client: Any) -> str:
    chunks = await resource(kind, client).create(**body(kind), stream=True)
    return "".join([texts_of(kind, chunk) async for chunk in chunks])


async def astream_in_with(kind: str, client: Any) -> str:
    async with await resource(kind, client).create(**body(kind), stream=True) as chunks:
        return "".join([texts_of(kind, chunk) async for chunk in chunks])


async def amanager(kind: str, client: Any) -> str:
    async with resource(kind, client).stream(**body(kind)) as events:
        if kind == "openai":
            return said(kind, await events.get_final_completion())
        return "".join([text async for text in events.text_stream])


async def aparse(kind: str, client: Any) -> str:
    return parsed(kind, await resource(kind, client).parse(**body(kind), **structured(kind)))


async def araw_value(kind: str, client: Any) -> str:
    response = await resource(kind, client).with_raw_response.create(**body(kind))
    value = response.parse()
    return said(kind, await value if hasattr(value, "__await__") else value)


async def araw_stream(kind: str, client: Any) -> str:
    response = await resource(kind, client).with_raw_response.create(**body(kind), stream=True)
    chunks = response.parse()
    chunks = await chunks if hasattr(chunks, "__await__") else chunks
    return "".join([texts_of(kind, chunk) async for chunk in chunks])


async def astreaming_value(kind: str, client: Any) -> str:
    async with resource(kind, client).with_streaming_response.create(**body(kind)) as response:
        return said(kind, await response.parse())


async def astreaming_parse(kind: str, client: Any) -> str:
    async with resource(kind, client).with_streaming_response.create(**body(kind), stream=True) as response:
        return "".join([texts_of(kind, chunk) async for chunk in await response.parse()])


async def astreaming_lines(kind: str, client: Any) -> str:
    async with resource(kind, client).with_streaming_response.create(**body(kind), stream=True) as response:
        return from_lines(kind, [line async for line in response.iter_lines()])


async def astreaming_read(kind: str, client: Any) -> str:
    async with resource(kind, client).with_streaming_response.create(**body(kind), stream=True) as response:
        return from_lines(kind, (await response.read()).decode().split("\n"))


async def awith_options(kind: str, client: Any) -> str:
    return await acreate(kind, client.with_options(timeout=7).copy(max_retries=1))


ASYNC: dict[str, Callable[[str, Any], Any]] = {
    function.__name__: function
    for function in (
        acreate, astream, astream_in_with, amanager, aparse, araw_value, araw_stream, astreaming_value,
        astreaming_parse, astreaming_lines, astreaming_read, awith_options,
    )
}  # fmt: skip
