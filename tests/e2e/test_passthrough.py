"""What wrapping must not change: types, other paths, the caller's client and objects, the SDK's exceptions."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import anthropic
import openai
import pytest

from middleware import HookBlocked, Middleware, Settings
from middleware.testing import Answer, Captured, Failure, LocalModel, ToolCall, capture

from .conftest import TAGGED, closed
from .spellings import MESSAGES, body, create, resource

CLASSES: dict[str, type] = {
    "openai": openai.OpenAI,
    "async_openai": openai.AsyncOpenAI,
    "anthropic": anthropic.Anthropic,
    "async_anthropic": anthropic.AsyncAnthropic,
}
SDKS = ("openai", "anthropic")


@pytest.mark.parametrize("kind", CLASSES)
def test_a_wrapped_client_is_of_the_same_class_through_every_copy(app: Middleware, kind: str) -> None:
    client = app.wrap(getattr(LocalModel(), kind)())
    for made in (client, client.copy(), client.with_options(timeout=3), app.wrap(client)):
        assert isinstance(made, CLASSES[kind])
        assert (type(made).__name__, type(made).__module__) == (CLASSES[kind].__name__, CLASSES[kind].__module__)


@pytest.mark.parametrize("sdk", SDKS)
def test_a_copy_of_a_wrapped_client_is_wrapped_once(captured: Captured, app: Middleware, sdk: str) -> None:
    with getattr(captured.model, sdk)() as client:
        create(sdk, app.wrap(app.wrap(client).with_options(max_retries=2)).copy())
    assert captured.requests[0]["messages"][0]["content"] == [{"type": "text", "text": "count"}, TAGGED]
    assert len(captured.spans_named("chat")) == 1


@pytest.mark.parametrize("sdk", SDKS)
def test_the_callers_own_client_is_untouched(captured: Captured, app: Middleware, sdk: str) -> None:
    with getattr(captured.model, sdk)() as client:
        before = {name: id(value) for name, value in vars(client).items()}
        wrapped = app.wrap(client)
        create(sdk, wrapped)
        assert type(client) is CLASSES[sdk]
        assert {name: id(value) for name, value in vars(client).items()} == before
        assert wrapped._client is client._client
        create(sdk, client)
    assert captured.requests[1]["messages"] == MESSAGES
    assert len(captured.spans_named("chat")) == 1


@pytest.mark.parametrize("sdk", SDKS)
def test_the_callers_messages_are_untouched(captured: Captured, app: Middleware, sdk: str) -> None:
    given = {**body(sdk), "messages": [{"role": "user", "content": [{"type": "text", "text": "count"}]}]}
    before = copy.deepcopy(given)
    with getattr(captured.model, sdk)() as client:
        resource(sdk, app.wrap(client)).create(**given)
    assert given == before


def test_other_paths_of_openai_pass_through_untouched(app: Middleware, captured: Captured) -> None:
    vector = {"object": "embedding", "index": 0, "embedding": [0.5]}
    answers = {
        "/embeddings": {
            "object": "list",
            "data": [vector],
            "model": "m",
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        },
        "/models": {"object": "list", "data": []},
        "/moderations": {"id": "x", "model": "m", "results": []},
    }
    model = LocalModel(paths=answers)
    with model.openai() as client:
        wrapped = app.wrap(client)
        assert wrapped.embeddings.create(model="m", input="count", encoding_format="float").data[0].embedding == [0.5]
        assert list(wrapped.models.list()) == []
        assert wrapped.moderations.create(input="count").results == []
    assert model.requests == [
        {"input": "count", "model": "m", "encoding_format": "float"},
        {},
        {"input": "count"},
    ]
    assert [span.name for span in captured.spans] == ["embeddings m"]


def test_other_paths_of_anthropic_pass_through_untouched(app: Middleware, captured: Captured) -> None:
    model = LocalModel(paths={"/v1/messages/count_tokens": {"input_tokens": 7}})
    messages: Any = [{"role": "user", "content": "count"}]
    with model.anthropic() as client:
        assert app.wrap(client).messages.count_tokens(model="m", messages=messages).input_tokens == 7
    assert model.requests == [{"messages": MESSAGES, "model": "m"}]
    assert captured.spans == ()


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("status", [400, 401, 404, 422, 429, 500, 503])
def test_an_error_of_the_server_is_the_sdks_own(app: Middleware, kind: str, status: int) -> None:
    said = []
    sdk = kind.removeprefix("async_")
    for wrapping in (False, True):
        client = getattr(LocalModel(default=Failure(status=status, message="no, sorry")), kind)()
        called = app.wrap(client) if wrapping else client
        with pytest.raises(Exception) as caught:
            made = resource(sdk, called).create(**body(sdk))
            if kind.startswith("async"):
                asyncio.run(made)
        error: Any = caught.value
        assert (error.status_code, error.__cause__) == (status, None)
        said.append((type(error), str(error), error.args, error.body))
        closed(client)
    assert said[0] == said[1]


@pytest.mark.parametrize("sdk", SDKS)
def test_a_wrong_argument_fails_as_it_does_unwrapped(app: Middleware, sdk: str) -> None:
    with LocalModel().openai() if sdk == "openai" else LocalModel().anthropic() as client:
        said = []
        for called in (client, app.wrap(client)):
            with pytest.raises(TypeError) as error:
                resource(sdk, called).create(**body(sdk), no_such_argument=1)
            said.append(str(error.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("kind", CLASSES)
def test_a_blocked_prompt_raises_and_is_not_sent(kind: str) -> None:
    with capture() as captured:
        blocking = [lambda given: {"decision": "block", "reason": "no secrets"}]
        app = Middleware(Settings(), hooks=blocking, **captured.providers)
        client = getattr(captured.model, kind)()
        sdk = kind.removeprefix("async_")
        with pytest.raises(HookBlocked) as error:
            made = resource(sdk, app.wrap(client)).create(**body(sdk))
            if kind.startswith("async"):
                asyncio.run(made)
        assert (error.value.reason, error.value.prompt) == ("no secrets", "count")
        assert captured.requests == []
        assert captured.spans_named("chat") == []
        (turn,) = captured.spans_named("firsthand.turn")
        assert turn.attributes is not None and turn.attributes["firsthand.turn.outcome"] == "blocked"
        closed(client)


@pytest.mark.parametrize("sdk", SDKS)
def test_a_bypassed_call_is_sent_as_it_is(captured: Captured, app: Middleware, sdk: str) -> None:
    with getattr(captured.model, sdk)() as client, app.bypass():
        create(sdk, app.wrap(client))
    assert captured.requests[0]["messages"] == MESSAGES
    assert [span.name.partition(" ")[0] for span in captured.spans] == ["chat"]


@pytest.mark.parametrize("sdk", SDKS)
def test_a_tool_loop_sends_each_request_as_a_prefix_of_the_next(sdk: str, app: Middleware) -> None:
    call = ToolCall(id="c1", name="look", arguments={"at": 1})
    model = LocalModel(Answer(calls=(call,)), "I looked.")
    with getattr(model, sdk)() as client:
        calls = resource(sdk, app.wrap(client))
        first = calls.create(**body(sdk))
        if sdk == "openai":
            result: Any = {"role": "tool", "tool_call_id": "c1", "content": "seen"}
            said: Any = first.choices[0].message
        else:
            result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "seen"}]}
            said = {"role": "assistant", "content": first.content}
        calls.create(**{**body(sdk), "messages": [*MESSAGES, said, result]})
    one, two = [request["messages"] for request in model.requests]
    assert two[: len(one)] == one
    if sdk == "openai":
        assert two[2:] == [result, {"role": "user", "content": [TAGGED]}]
    else:
        assert two[2:] == [{"role": "user", "content": [*result["content"], TAGGED]}]


@pytest.mark.parametrize("sdk", SDKS)
def test_a_retry_of_the_sdk_is_one_call_with_the_same_body(sdk: str, captured: Captured, app: Middleware) -> None:
    model = LocalModel(Failure(status=503), "fine")
    with getattr(model, sdk)(max_retries=1) as client:
        create(sdk, app.wrap(client))
    assert model.requests[0] == model.requests[1]
    assert model.requests[0]["messages"][0]["content"][-1] == TAGGED
    assert len(captured.spans_named("chat")) == 1


@pytest.mark.parametrize("sdk", SDKS)
def test_a_hook_that_calls_the_wrapped_client_passes_straight_through(sdk: str) -> None:
    clients: list[Any] = []
    with capture("a title", "an answer") as captured, getattr(captured.model, sdk)() as client:
        app = Middleware(Settings(), hooks=[lambda given: create(sdk, clients[0])], **captured.providers)
        clients.append(app.wrap(client))
        assert create(sdk, clients[0]) == "an answer"
        assert captured.requests[0]["messages"] == MESSAGES
        assert "a title" in captured.requests[1]["messages"][0]["content"][-1]["text"]
        assert len(captured.spans_named("chat")) == 1


def test_the_text_of_a_raw_stream_of_openai_is_a_string_as_unwrapped(captured: Captured, app: Middleware) -> None:
    with captured.model.openai() as client:
        response = app.wrap(client).chat.completions.with_raw_response.create(**body("openai"), stream=True)
        response.http_response.read()
        assert response.text.startswith("data: {")
    (chat,) = captured.spans_named("chat")
    assert (chat.attributes or {})["firsthand.turn.outcome"] == "sent"
