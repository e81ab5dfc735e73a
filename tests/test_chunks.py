"""Chunks of a chat completion are put together alike, whatever way they are read and whoever made them."""

from __future__ import annotations

from typing import Any

import openai
from hypothesis import given
from hypothesis import strategies as st
from openai._models import construct_type
from openai.types.chat import ChatCompletionChunk

from middleware import Middleware
from middleware.sdks.openai.chat import Chat
from middleware.testing import Captured, capture

WORDS = st.none() | st.sampled_from(["", "a", "bc"])
CALL = st.fixed_dictionaries(
    {"index": st.integers(0, 1)},
    optional={"id": st.just("c1"), "function": st.fixed_dictionaries({"name": WORDS, "arguments": WORDS})},
)
DELTA = st.fixed_dictionaries(
    {},
    optional={
        "content": WORDS | st.just(7),
        "refusal": WORDS,
        "reasoning_content": WORDS,
        "tool_calls": st.lists(CALL, max_size=2),
    },
)
CHOICE = st.fixed_dictionaries(
    {"delta": DELTA | st.none()},
    optional={"index": st.integers(0, 1) | st.just("0"), "finish_reason": st.sampled_from([None, "stop"])},
)
USAGE = st.none() | st.just({"prompt_tokens": 3, "completion_tokens": 2})
CHUNK = st.fixed_dictionaries(
    {"id": st.just("c")},
    optional={"choices": st.lists(CHOICE, max_size=2) | st.none(), "usage": USAGE, "model": st.just("m")},
)


@given(st.lists(CHUNK, max_size=6))
def test_the_sdks_chunks_say_what_the_same_json_says(chunks: list[dict[str, Any]]) -> None:
    plain, made = Chat().collector(), Chat().collector()
    for chunk in chunks:
        plain.add(chunk)
        made.add(construct_type(value=chunk, type_=ChatCompletionChunk))
    assert made.reply() == plain.reply()


def test_one_may_leave_a_stream_and_go_on_with_it_in_every_way() -> None:
    with capture("one two three four") as captured, captured.model.openai() as plain:
        stream = wrapped(captured, plain)
        heard = [next(stream)]
        for chunk in stream:
            heard.append(chunk)
            if len(heard) == 3:
                break
        assert captured.spans_named("chat m") == []
        heard += list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in heard if chunk.choices) == "one two three four"
    (span,) = captured.spans_named("chat m")
    assert dict(span.attributes or {})["gen_ai.response.finish_reasons"] == ("stop",)


def wrapped(captured: Captured, plain: openai.OpenAI) -> Any:
    client = Middleware.from_settings(**captured.providers).wrap(plain)
    return client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=True)
