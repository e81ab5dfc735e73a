"""The local model in the two APIs that are not like chat.completions: OpenAI's responses and Google's contents."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import openai
import pytest
from google.genai import errors, types

from middleware import Middleware
from middleware.testing import Answer, Failure, LocalModel, ToolCall, capture

CALL = ToolCall(id="c1", name="look", arguments={"at": 1})
BOTH = Answer(text="I look.", calls=(CALL,), input_tokens=5, output_tokens=2)


def outputs(response: Any) -> list[Any]:
    """What a response holds, and what it cost."""
    items = [
        item.model_dump(include={"type", "arguments", "name", "call_id"}, exclude_none=True) for item in response.output
    ]
    return [response.output_text, items, response.usage.input_tokens, response.usage.output_tokens]


RESPONSE = [
    "I look.",
    [{"type": "message"}, {"type": "function_call", "name": "look", "call_id": "c1", "arguments": '{"at": 1}'}],
    5,
    2,
]


def test_a_response_is_the_same_as_a_value_and_as_a_stream() -> None:
    with LocalModel(default=BOTH).openai() as client:
        value = client.responses.create(model="m", input="hello")
        with client.responses.stream(model="m", input="hello") as stream:
            streamed = stream.get_final_response()
        kinds = [event.type for event in client.responses.create(model="m", input="hello", stream=True)]
    assert outputs(value) == outputs(streamed) == RESPONSE
    assert kinds == [
        "response.created",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]


def test_an_async_client_has_responses_and_a_failure_is_an_http_error() -> None:
    async def main() -> list[Any]:
        async with LocalModel("one", Failure(status=429, message="slow down")).async_openai() as client:
            said = [(await client.responses.create(model="m", input="hello")).output_text]
            with pytest.raises(openai.RateLimitError, match="slow down"):
                await client.responses.create(model="m", input="hello")
            return said

    assert asyncio.run(main()) == ["one"]


def test_what_is_injected_into_a_response_is_captured() -> None:
    with capture("fine") as captured, captured.model.openai() as client:
        app = Middleware(hooks=[lambda given: "branch=main"], **captured.providers)
        assert app.wrap(client).responses.create(model="m", input="hello").output_text == "fine"
    assert "branch=main" in repr(captured.requests) and "branch=main" not in captured.exported()
    [span] = captured.spans_named("chat")
    assert span.attributes is not None
    assert (span.attributes["gen_ai.response.id"], span.attributes["gen_ai.usage.input_tokens"]) == ("resp_1", 12)


def told(response: Any) -> list[Any]:
    """The parts of a Google response, and what it cost."""
    parts = [part.model_dump(exclude_none=True) for part in response.candidates[0].content.parts]
    usage = response.usage_metadata
    return [parts, response.candidates[0].finish_reason, usage.prompt_token_count, usage.candidates_token_count]


CALLED = {"function_call": {"id": "c1", "name": "look", "args": {"at": 1}}}


def test_googles_client_has_values_and_streams() -> None:
    model = LocalModel(default=BOTH)
    with model.google() as client:
        value = client.models.generate_content(model="m", contents="hello")
        chunks = [told(chunk) for chunk in client.models.generate_content_stream(model="m", contents="hello")]
    assert told(value) == [[{"text": "I look."}, CALLED], types.FinishReason.STOP, 5, 2]
    assert chunks == [
        [[{"text": "I "}], None, 5, None],
        [[{"text": "look."}], None, 5, None],
        [[CALLED], types.FinishReason.STOP, 5, 2],
    ]
    assert model.paths_asked == ["/v1/models/m:generateContent", "/v1/models/m:streamGenerateContent"]
    assert model.requests[0]["contents"] == [{"role": "user", "parts": [{"text": "hello"}]}]


def test_googles_client_is_async_too_and_an_empty_answer_ends_a_stream() -> None:
    async def main() -> list[Any]:
        client = LocalModel("", "one").google()
        stream = await client.aio.models.generate_content_stream(model="m", contents="hello")
        said = [chunk.text async for chunk in stream]
        return [*said, (await client.aio.models.generate_content(model="m", contents="hello")).text]

    assert asyncio.run(main()) == ["", "one"]


def test_googles_failures_and_broken_streams_are_the_sdks_errors() -> None:
    script = (Failure(status=429, message="slow down"), Answer(text="a b", error=httpx2.ReadError("no"), error_after=1))
    with LocalModel(*script).google() as client:
        with pytest.raises(errors.ClientError, match="slow down") as caught:
            client.models.generate_content(model="m", contents="hello")
        stream = client.models.generate_content_stream(model="m", contents="hello")
        assert next(stream).text == "a "
        with pytest.raises(httpx2.ReadError, match="no"):
            next(stream)
    assert caught.value.code == 429


def test_what_is_injected_for_google_is_captured() -> None:
    with capture("fine") as captured:
        app = Middleware(hooks=[lambda given: "branch=main"], **captured.providers)
        with captured.model.google() as client:
            assert app.wrap(client).models.generate_content(model="m", contents="hello").text == "fine"
    assert "branch=main" in repr(captured.requests) and "branch=main" not in captured.exported()
    assert [span.name for span in captured.spans_named("generate_content")] == ["generate_content m"]
