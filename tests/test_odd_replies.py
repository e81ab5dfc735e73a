"""Answers that nobody foresaw: the caller gets what it would have got, and the books are closed once."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest
import wrapt

from middleware import Middleware, Settings
from middleware.sdks.reading import get, place_in, taker, text_in
from middleware.testing import Answer, Captured, capture

ASKED: Any = [{"role": "user", "content": "hi"}]


def chunk(delta: dict[str, Any], finish: str | None = None, **choice: Any) -> bytes:
    body = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish, **choice}],
    }
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def event(**fields: Any) -> bytes:
    return f"event: {fields['type']}\ndata: {json.dumps(fields)}\n\n".encode()


def completion(**more: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "fine"}}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], **more}


class Server:
    """Answers every request with the same bytes."""

    def __init__(self, body: bytes, kind: str = "text/event-stream") -> None:
        self._body, self._kind = body, kind

    def http(self) -> httpx2.Client:
        def answer(request: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(200, headers={"content-type": self._kind}, content=self._body)

        return httpx2.Client(transport=httpx2.MockTransport(answer))

    def openai(self) -> openai.OpenAI:
        return openai.OpenAI(api_key="k", http_client=self.http(), max_retries=0)

    def anthropic(self) -> anthropic.Anthropic:
        return anthropic.Anthropic(api_key="k", http_client=self.http(), max_retries=0)


@pytest.fixture
def captured() -> Iterator[Captured]:
    with capture() as found:
        yield found


def app(captured: Captured, **settings: Any) -> Middleware:
    return Middleware(Settings(**settings), **captured.providers)


def chat_of(captured: Captured) -> dict[str, Any]:
    (span,) = captured.spans_named("chat")
    return {"status": span.status.status_code.name, **(span.attributes or {})}


THOUGHT = {"content": [{"type": "thinking", "thinking": []}]}


@pytest.mark.parametrize(
    "first",
    [
        THOUGHT,
        {"reasoning_content": {"a": 1}},
        {"tool_calls": [{"index": "1", "id": 7, "function": {"name": "look", "arguments": {"at": 1}}}]},
    ],
)
def test_a_stream_of_chat_completions_with_odd_deltas_is_the_callers_and_ends_once(
    captured: Captured, first: dict[str, Any], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    body = chunk(first) + chunk({"content": "Hello"}, "stop", index="0") + b"data: [DONE]\n\n"
    with app(captured, transcripts=str(tmp_path)) as made:
        client = made.wrap(Server(body).openai())
        chunks = list(client.chat.completions.create(model="m", messages=ASKED, stream=True))
    assert len(chunks) == 2
    assert (chat_of(captured)["status"], chat_of(captured)["gen_ai.response.finish_reasons"]) == ("UNSET", ("stop",))
    (file,) = tmp_path.glob("*.jsonl")
    assert [json.loads(line)["type"] for line in file.read_text().splitlines()] == ["user", "assistant"]
    assert caplog.messages == []


def test_arguments_that_come_as_an_object_are_kept_as_json(captured: Captured) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": {"at": 1}}}
    body = chunk({"tool_calls": [call], "content": "so"}) + chunk({}, "tool_calls") + b"data: [DONE]\n\n"
    with app(captured, capture_content="SPAN_ONLY") as made:
        list(made.wrap(Server(body).openai()).chat.completions.create(model="m", messages=ASKED, stream=True))
    (message,) = json.loads(chat_of(captured)["gen_ai.output.messages"])
    assert message["parts"] == [
        {"type": "text", "content": "so"},
        {"type": "tool_call", "id": "c1", "name": "look", "arguments": '{"at":1}'},
    ]


def test_a_block_of_anthropic_whose_text_is_no_string_ends_the_stream_once(captured: Captured) -> None:
    start = {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}}
    body = (
        event(type="message_start", message=start)
        + event(type="content_block_start", index=None, content_block={"type": "text", "text": ["x"]})
        + event(type="content_block_start", index=1, content_block={"type": "text", "text": 5})
        + event(type="message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 3})
        + event(type="message_stop")
    )
    with app(captured) as made:
        client = made.wrap(Server(body).anthropic())
        assert len(list(client.messages.create(model="m", max_tokens=5, messages=ASKED, stream=True))) == 5
    assert chat_of(captured)["gen_ai.response.finish_reasons"] == ("end_turn",)


@pytest.mark.parametrize(
    "odd", [{"id": ["a"]}, {"id": {}}, {"model": 7}, {"usage": {"prompt_tokens": "12", "completion_tokens": 1.5}}]
)
@pytest.mark.parametrize("stored", [False, True])
def test_a_reply_with_fields_of_other_types_reaches_the_caller(
    captured: Captured, odd: dict[str, Any], stored: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(json.dumps(completion(**odd)).encode(), "application/json")
    with app(captured, transcripts=str(tmp_path) if stored else None) as made:
        reply = made.wrap(server.openai()).chat.completions.create(model="m", messages=ASKED)
    assert reply.choices[0].message.content == "fine"
    chat = chat_of(captured)
    assert chat["gen_ai.response.finish_reasons"] == ("stop",)
    assert "gen_ai.usage.input_tokens" not in chat
    assert chat.get("gen_ai.response.id") in (None, "c")
    assert chat.get("gen_ai.response.model") in ("m", "7")
    assert caplog.messages == []


def test_a_reply_nested_deeply_reaches_a_caller_who_wants_it_raw(captured: Captured) -> None:
    server = Server(b'{"id":"r","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "application/json")
    with app(captured) as made:
        raw = made.wrap(server.openai()).chat.completions.with_raw_response.create(model="m", messages=ASKED)
    assert raw.status_code == 200
    assert chat_of(captured)["status"] == "UNSET"


@pytest.mark.parametrize("how", ["read", "http_response", "text"])
def test_an_error_while_a_raw_body_is_read_is_the_calls_error(how: str) -> None:
    with capture(Answer(text="a b c", error=httpx2.ReadError("broke"), error_after=2)) as captured:
        create = app(captured).wrap(captured.model.openai()).chat.completions.with_streaming_response.create
        with pytest.raises(httpx2.ReadError), create(model="m", messages=ASKED, stream=True) as raw:
            {"read": raw.read, "http_response": raw.http_response.read, "text": raw.text}[how]()
        chat = chat_of(captured)
    assert (chat["status"], chat["error.type"], chat["gen_ai.response.finish_reasons"]) == (
        "ERROR",
        "httpx2.ReadError",
        ("error",),
    )


def test_an_error_event_of_anthropic_is_no_status_200(captured: Captured) -> None:
    body = event(type="error", error={"type": "overloaded_error", "message": "busy"})
    client = app(captured).wrap(Server(body).anthropic())
    with pytest.raises(anthropic.APIStatusError):
        list(client.messages.create(model="m", max_tokens=5, messages=ASKED, stream=True))
    assert chat_of(captured)["error.type"] == "anthropic.APIStatusError"


def test_a_response_that_failed_is_an_error_with_the_providers_name_for_it(captured: Captured) -> None:
    response = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": [], "tools": [],
                "parallel_tool_calls": True, "tool_choice": "auto"}  # fmt: skip
    failed = {**response, "status": "failed", "error": {"code": "server_error", "message": "no"}}
    server = Server(json.dumps(failed).encode(), "application/json")
    app(captured).wrap(server.openai()).responses.create(model="m", input="hi")
    chat = chat_of(captured)
    assert (chat["status"], chat["error.type"], chat["gen_ai.response.finish_reasons"]) == (
        "ERROR",
        "server_error",
        ("error",),
    )
    (turn,) = captured.spans_named("firsthand.turn")
    assert (turn.attributes or {})["firsthand.turn.outcome"] == "error"


TOOLS = {
    "openai": [{"type": "function", "function": {"name": "look", "parameters": {"secret": 1}}}],
    "anthropic": [{"name": "look", "description": "secret", "input_schema": {"type": "object"}}],
}


@pytest.mark.parametrize("sdk", TOOLS)
def test_the_names_of_a_requests_tools_are_content(captured: Captured, sdk: str) -> None:
    plain = getattr(captured.model, sdk)()
    client = app(captured, capture_content="SPAN_ONLY").wrap(plain)
    if sdk == "openai":
        client.chat.completions.create(model="m", messages=ASKED, tools=TOOLS[sdk])
    else:
        client.messages.create(model="m", max_tokens=5, messages=ASKED, tools=TOOLS[sdk])
    assert json.loads(chat_of(captured)["gen_ai.tool.definitions"]) == [{"type": "function", "name": "look"}]


class Delegating:
    """A stream that passes on what it does not have."""

    def __init__(self, stream: Iterator[Any]) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[Any]:
        return self._stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def test_a_stream_behind_a_wrapper_that_delegates_is_a_stream(captured: Captured) -> None:
    made = app(captured)
    pieces = [{"choices": [{"delta": {"content": "so"}}]}, {"choices": [{"delta": {}, "finish_reason": "stop"}]}]
    call = made.wrap_call(lambda messages: Delegating(iter(pieces)))
    stream = call(messages=ASKED)
    assert captured.spans_named("chat") == []
    assert list(stream) == pieces
    assert chat_of(captured)["gen_ai.response.finish_reasons"] == ("stop",)


class Fields(dict[str, Any]):
    """A mapping whose fields are attributes."""

    def __getattr__(self, name: str) -> Any:
        if name == "choices":
            return [{"finish_reason": "stop", "message": {"role": "assistant", "content": "x"}}]
        raise AttributeError(name)


@pytest.mark.parametrize("reply", [wrapt.ObjectProxy(completion()), Fields()])
def test_a_reply_that_is_almost_a_dict_is_read(captured: Captured, reply: Any) -> None:
    app(captured).wrap_call(lambda messages: reply)(messages=ASKED)
    assert chat_of(captured)["gen_ai.response.finish_reasons"] == ("stop",)


def test_fields_of_any_kind_of_object_are_taken_as_get_takes_them() -> None:
    class Bare:
        a = 1

    for value in ({"a": 1}, Bare(), wrapt.ObjectProxy({"a": 1}), wrapt.ObjectProxy(Bare())):
        assert (taker(value)(value, "a", None), get(value, "a")) == (1, 1)
        assert taker(value)(value, "b", None) is None


def test_texts_and_places_of_pieces() -> None:
    assert [text_in(value) for value in ("a", None, ["b", {"text": "c"}], {"d": 1}, 5)] == [
        "a",
        "",
        "c",
        '{"d":1}',
        "5",
    ]
    assert [place_in({"index": index}) for index in (2, "3", None, "x", [1])] == [2, 3, 0, 0, 0]


def test_a_reply_that_gives_no_finish_reason_has_none(captured: Captured) -> None:
    app(captured).wrap_call(lambda messages: {"message": {"role": "assistant", "content": "x"}})(messages=ASKED)
    assert "gen_ai.response.finish_reasons" not in chat_of(captured)


def test_a_copy_of_a_stream_is_the_sdks(captured: Captured) -> None:
    stream = app(captured).wrap(captured.model.openai()).chat.completions.create(model="m", messages=ASKED, stream=True)
    assert type(copy.copy(stream)) is openai.Stream
    with pytest.raises(TypeError, match="cannot pickle"):
        copy.deepcopy(stream)
    stream.close()
