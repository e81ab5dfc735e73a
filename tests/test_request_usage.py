"""`request_usage`: streams of chat.completions say their token counts, and the caller sees the stream it asked for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from middleware import Middleware, Settings
from middleware.testing import Answer, Captured, capture

MESSAGES: Any = [{"role": "user", "content": "count to three"}]
INPUT, OUTPUT = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"


def streamed(captured: Captured, settings: Settings, *, colour: bool = False, **how: Any) -> list[Any]:
    """The chunks that a caller gets."""
    app = Middleware(settings, **captured.providers)

    async def gathered() -> list[Any]:
        async with captured.model.async_openai() as plain:
            stream = await app.wrap(plain).chat.completions.create(model="local", messages=MESSAGES, stream=True, **how)
            return [chunk async for chunk in stream]

    if colour:
        return asyncio.run(gathered())
    with captured.model.openai() as plain:
        return list(app.wrap(plain).chat.completions.create(model="local", messages=MESSAGES, stream=True, **how))


@pytest.mark.parametrize("colour", [False, True], ids=["sync", "async"])
def test_counts_are_asked_for_and_the_caller_gets_no_chunk_more(colour: bool) -> None:
    with capture(Answer(text="one two three", input_tokens=7, output_tokens=3)) as captured:
        chunks = streamed(captured, Settings(request_usage=True), colour=colour)
    assert captured.requests[0]["stream_options"] == {"include_usage": True}
    assert [chunk for chunk in chunks if not chunk.choices] == []
    (span,) = captured.spans_named("chat local")
    found = dict(span.attributes or {})
    assert (found[INPUT], found[OUTPUT]) == (7, 3)


def test_nothing_is_asked_for_unless_the_setting_says_so() -> None:
    with capture(Answer(text="one")) as captured:
        streamed(captured, Settings())
    assert "stream_options" not in captured.requests[0]
    (span,) = captured.spans_named("chat local")
    assert INPUT not in dict(span.attributes or {})


@pytest.mark.parametrize("asked", [True, False])
def test_a_caller_that_decided_gets_what_it_decided_on(asked: bool) -> None:
    with capture(Answer(text="one")) as captured:
        chunks = streamed(captured, Settings(request_usage=True), stream_options={"include_usage": asked})
    assert captured.requests[0]["stream_options"] == {"include_usage": asked}
    assert len([chunk for chunk in chunks if not chunk.choices]) == int(asked)


def test_other_stream_options_stay() -> None:
    with capture(Answer(text="one")) as captured:
        given = {"include_obfuscation": False}
        streamed(captured, Settings(request_usage=True), stream_options=given)
    assert captured.requests[0]["stream_options"] == {"include_obfuscation": False, "include_usage": True}
    assert given == {"include_obfuscation": False}


def test_a_value_and_a_bypassed_stream_go_out_as_they_came() -> None:
    with capture(Answer(text="one"), Answer(text="two")) as captured:
        app = Middleware(Settings(request_usage=True), **captured.providers)
        with captured.model.openai() as plain:
            client = app.wrap(plain)
            client.chat.completions.create(model="local", messages=MESSAGES)
            with app.bypass():
                list(client.chat.completions.create(model="local", messages=MESSAGES, stream=True))
    assert ["stream_options" in request for request in captured.requests] == [False, False]
