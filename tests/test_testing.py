"""The fakes are what they say: a model that answers as scripted, and all that was exported."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import httpx2
import openai
import pytest

from middleware import Middleware, Settings
from middleware.testing import Answer, Failure, LocalModel, ToolCall, capture

HELLO: Any = [{"role": "user", "content": "hello"}]
CALL = ToolCall(id="c1", name="look", arguments={"at": 1})


def test_importing_it_loads_no_sdk_and_no_http_client() -> None:
    code = (
        "import sys, middleware.testing; print(sorted({'openai', 'anthropic', 'httpx2', 'anyio'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_answers_come_in_order_and_then_the_default_for_ever() -> None:
    with LocalModel("one", "two", default="more").openai() as client:
        said = [client.chat.completions.create(model="m", messages=HELLO).choices[0].message.content for _ in range(4)]
    assert said == ["one", "two", "more", "more"]


def test_a_function_answers_from_the_request_body() -> None:
    with LocalModel(default=lambda body: body["messages"][-1]["content"].upper()).anthropic() as client:
        message = client.messages.create(model="m", max_tokens=9, messages=HELLO)
    assert [(block.type, getattr(block, "text", "")) for block in message.content] == [("text", "HELLO")]


def test_tool_calls_are_the_same_as_a_value_and_as_a_stream() -> None:
    answer = Answer(text="I look.", calls=(CALL,))
    with LocalModel(default=answer).openai() as client:
        value = client.chat.completions.create(model="m", messages=HELLO).choices[0]
        with client.chat.completions.stream(model="m", messages=HELLO) as stream:
            streamed = stream.get_final_completion().choices[0]
    for choice in (value, streamed):
        assert (choice.message.content, choice.finish_reason) == ("I look.", "tool_calls")
        (call,) = choice.message.tool_calls or ()
        assert (call.id, getattr(call, "function").name, getattr(call, "function").arguments) == (  # noqa: B009
            "c1",
            "look",
            '{"at": 1}',
        )


def test_tool_calls_of_anthropic_are_the_same_as_a_value_and_as_a_stream() -> None:
    with LocalModel(default=Answer(text="I look.", calls=(CALL,))).anthropic() as client:
        value = client.messages.create(model="m", max_tokens=9, messages=HELLO)
        with client.messages.stream(model="m", max_tokens=9, messages=HELLO) as stream:
            streamed = stream.get_final_message()
    for message in (value, streamed):
        assert [block.model_dump(include={"type", "text", "id", "name", "input"}) for block in message.content] == [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
        ]
        assert (message.stop_reason, message.usage.output_tokens) == ("tool_use", 3)


def test_words_are_streamed_one_a_chunk() -> None:
    with LocalModel("one  two\nthree").openai() as client:
        chunks = list(client.chat.completions.create(model="m", messages=HELLO, stream=True))
    assert [chunk.choices[0].delta.content for chunk in chunks] == ["", "one  ", "two\n", "three", None]


def test_usage_is_streamed_when_it_is_asked_for() -> None:
    options: Any = {"include_usage": True}
    with LocalModel(Answer(text="one", input_tokens=5, output_tokens=1)).openai() as client:
        *_, last = client.chat.completions.create(model="m", messages=HELLO, stream=True, stream_options=options)
    assert last.usage is not None
    assert (last.usage.prompt_tokens, last.usage.completion_tokens, last.usage.total_tokens) == (5, 1, 6)


def test_a_failure_is_an_http_error_with_its_message() -> None:
    model = LocalModel(Failure(status=429, message="slow down"))
    with model.openai() as client, pytest.raises(openai.RateLimitError, match="slow down"):
        client.chat.completions.create(model="m", messages=HELLO)


def test_an_error_breaks_the_stream_after_as_many_events() -> None:
    broken = Answer(text="one two three", error=httpx2.ReadError("broke"), error_after=2)
    with LocalModel(broken).openai() as client:
        stream = client.chat.completions.create(model="m", messages=HELLO, stream=True)
        assert [next(stream).choices[0].delta.content, next(stream).choices[0].delta.content] == ["", "one "]
        with pytest.raises(openai.APIConnectionError):
            next(stream)


def test_other_paths_answer_as_given_and_are_404_otherwise() -> None:
    model = LocalModel(paths={"/models": {"object": "list", "data": []}})
    with model.openai() as client:
        assert list(client.models.list()) == []
        with pytest.raises(openai.NotFoundError, match="no such path: /v1/embeddings"):
            client.embeddings.create(model="m", input="hello", encoding_format="float")
    assert model.paths_asked == ["/v1/models", "/v1/embeddings"]
    assert model.requests == [{}, {"input": "hello", "model": "m", "encoding_format": "float"}]


def test_async_clients_talk_to_the_same_model() -> None:
    model = LocalModel("one", "two")

    async def main() -> list[Any]:
        async with model.async_openai() as first, model.async_anthropic() as second:
            said = [(await first.chat.completions.create(model="m", messages=HELLO)).choices[0].message.content]
            async with second.messages.stream(model="m", max_tokens=9, messages=HELLO) as stream:
                return [*said, await stream.get_final_text()]

    assert asyncio.run(main()) == ["one", "two"]
    assert model.requests == [
        {"messages": HELLO, "model": "m"},
        {"max_tokens": 9, "messages": HELLO, "model": "m", "stream": True},
    ]


def test_capture_gives_requests_spans_events_and_metrics() -> None:
    with capture("fine") as captured, captured.model.openai() as client:
        app = Middleware(Settings(), hooks=[lambda given: "branch=main"], **captured.providers)
        app.wrap(client).chat.completions.create(model="m", messages=HELLO)
    assert captured.requests[0]["messages"][0]["content"][0] == {"type": "text", "text": "hello"}
    assert [span.name for span in captured.spans if span.name[:14] != "firsthand.hook"] == ["chat m", "firsthand.turn"]
    assert [span.name for span in captured.spans_named("chat")] == ["chat m"]
    assert [event.log_record.event_name for event in captured.events] == ["firsthand.hook_call"]
    assert sorted(captured.metrics)[-2:] == ["gen_ai.client.operation.duration", "gen_ai.client.token.usage"]
    assert "firsthand.turn.outcome" in captured.exported()
    assert "hello" not in captured.exported() and "branch=main" not in captured.exported()


def test_nothing_captured_is_an_empty_list() -> None:
    with capture() as captured:
        assert (captured.spans, captured.events, captured.metrics, captured.exported()) == ((), (), {}, "[]")


def test_the_transcript_of_the_block_is_there_in_it_and_after_it() -> None:
    with capture("main is") as captured:
        settings = Settings(transcripts=captured.transcripts)
        app = Middleware(settings, hooks=[lambda _: "branch=main"], **captured.providers)
        with app, captured.model.openai() as plain:
            app.wrap(plain).chat.completions.create(model="m", messages=HELLO)
        assert [record["type"] for record in captured.records] == ["user", "assistant"]
    user, assistant = captured.records
    assert (user["systemPayload"]["displayText"], assistant["message"]["parts"]) == ("hello", [{"text": "main is"}])


def test_a_block_without_transcripts_has_no_records() -> None:
    with capture() as captured:
        assert captured.records == []
    assert captured.records == []


def test_a_list_of_answers_is_given_in_its_order() -> None:
    with capture(["one", "two"], "three") as captured, captured.model.openai() as client:
        said = [client.chat.completions.create(model="m", messages=HELLO).choices[0].message.content for _ in range(4)]
    assert said == ["one", "two", "three", "ok"]


@pytest.mark.parametrize("script", [1, ["a", 1], None, b"a", {"a": "b"}])
def test_what_is_no_answer_is_refused_before_any_request(script: Any) -> None:
    with pytest.raises(TypeError, match="is no answer; give a string, an Answer, a Failure or a function"):
        LocalModel(script)
    with pytest.raises(TypeError, match="is no answer"):
        LocalModel(default=script[1] if isinstance(script, list) else script)


def test_a_function_that_returns_no_answer_is_named() -> None:
    def script(body: Any) -> Any:
        return 5

    with LocalModel(script).openai() as client, pytest.raises(TypeError) as caught:
        client.chat.completions.create(model="m", messages=HELLO)
    assert str(caught.value) == "the function of the script returned 5; return a string, an Answer or a Failure"


def test_requests_of_which_nothing_was_exported_are_not_searched_in_vain() -> None:
    with capture() as captured, captured.model.openai() as client:
        Middleware(Settings()).wrap(client).chat.completions.create(model="m", messages=HELLO)
        with pytest.raises(RuntimeError, match=r"nothing was exported .* pass \*\*captured\.providers to Middleware"):
            captured.exported()


def test_a_path_that_is_given_its_json_wins_over_the_script() -> None:
    with LocalModel(paths={"/responses": {"id": "given"}}).openai() as client:
        assert client.responses.create(model="m", input="hello").id == "given"
