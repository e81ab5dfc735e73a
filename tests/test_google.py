"""Google's SDK, wrapped: what the caller gets back, what is refused, and what is told of a call."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from typing import Any

import pytest
from google import genai
from google.genai import types

from middleware import HookBlocked, Middleware, UnsupportedClient, wrap
from middleware.hooks.prompt import PromptHook
from middleware.testing import Failure, capture
from tests.gemini import IMAGE, TAG, Gemini, calling, clock, context, texts, user
from tests.test_prefix import counting_hook


@pytest.fixture
def model():
    return Gemini()


@pytest.fixture
def client(model):
    return wrap(model.client(), hooks=[counting_hook()])


def test_the_sibling_is_a_client_with_the_same_connections_and_the_callers_is_untouched(model):
    plain = model.client()
    before = dict(plain.__dict__)
    wrapped = Middleware.from_settings(hooks=[counting_hook()]).wrap(plain)
    assert isinstance(wrapped, genai.Client) and isinstance(wrapped.models, type(plain.models))
    assert isinstance(wrapped.aio.models, type(plain.aio.models)) and isinstance(wrapped.aio, type(plain.aio))
    assert isinstance(wrapped.chats.create(model="g"), genai.chats.Chat)
    assert wrapped._api_client is plain._api_client and plain.__dict__ == before
    plain.models.generate_content(model="g", contents="hi")
    assert "qwen" not in repr(model.requests)


def test_a_client_that_nobody_else_holds_stays_open_and_outlives_its_siblings(model):
    app = Middleware.from_settings()
    wrapped = app.wrap(model.client())
    app.wrap(wrapped)
    gc.collect()
    assert wrapped.models.generate_content(model="g", contents="hi").text == "ok"


def test_a_wrapped_client_is_bound_anew_not_wrapped_twice(model, client):
    again = wrap(client, hooks=[counting_hook()])
    again.models.generate_content(model="g", contents="hi")
    assert texts(model.contents()[0][0]) == ["hi", context(1)]


def test_its_async_half_can_be_wrapped_alone(model):
    half = wrap(model.client().aio, hooks=[counting_hook()])
    assert asyncio.run(half.models.generate_content(model="g", contents="hi")).text == "ok"
    assert texts(model.contents()[0][0]) == ["hi", context(1)]


def test_other_classes_of_the_package_are_refused():
    with pytest.raises(UnsupportedClient, match="openai, anthropic or google"):
        wrap(types.Part(text="hi"))


def test_other_methods_pass_through(model):
    def count(body):
        return Failure(status=418, message="counted")

    model.script.append(count)
    with capture() as seen, pytest.raises(genai.errors.APIError, match="counted"):
        wrapped = Middleware.from_settings(hooks=[counting_hook()], **seen.providers).wrap(model.client())
        wrapped.models.count_tokens(model="g", contents="hi")
    assert seen.spans == () and "qwen" not in repr(model.requests)


def test_attributes_of_a_call(model):
    config = {"max_output_tokens": 9, "temperature": 0.5, "topK": 4, "stop_sequences": ["x"], "candidate_count": 2}
    with capture() as seen:
        client = Middleware.from_settings(capture_content=True, **seen.providers).wrap(model.client())
        client.models.generate_content(model="g", contents="hi", config={**config, "system_instruction": "be brief"})
        (span,) = seen.spans_named("generate_content")
    found = dict(span.attributes)
    assert span.name == "generate_content g"
    assert (
        found
        | {
            "gen_ai.operation.name": "generate_content",
            "gen_ai.provider.name": "gcp.gemini",
            "gen_ai.request.model": "g",
            "gen_ai.request.max_tokens": 9,
            "gen_ai.request.temperature": 0.5,
            "gen_ai.request.top_k": 4,
            "gen_ai.request.stop_sequences": ("x",),
            "gen_ai.request.choice.count": 2,
            "server.address": "gemini.invalid",
            "server.port": 80,
            "gen_ai.response.id": "r1",
            "gen_ai.response.model": "gemini-0-001",
            "gen_ai.response.finish_reasons": ("stop",),
            "gen_ai.usage.input_tokens": 10,
            "gen_ai.usage.output_tokens": 6,
            "gen_ai.usage.cache_read.input_tokens": 3,
            "gen_ai.usage.reasoning.output_tokens": 2,
            "gen_ai.system_instructions": '[{"type":"text","content":"be brief"}]',
        }
        == found
    )


def test_vertex_is_named_as_the_provider(model):
    plain = model.client()
    plain._api_client.vertexai = True
    with capture() as seen, contextlib.suppress(Exception):
        Middleware.from_settings(**seen.providers).wrap(plain).models.generate_content(model="g", contents="hi")
    assert seen.spans_named("generate_content")[0].attributes["gen_ai.provider.name"] == "gcp.vertex_ai"


def test_a_prompt_hook_asks_the_unwrapped_client(model):
    for stream in (False, True):
        model.script += ['{"ok": true, "additionalContext": "asked"}', "fine"]
        with capture() as seen:
            app = Middleware.from_settings(
                hooks=[PromptHook(prompt="Safe? $ARGUMENTS", timeout_ms=9_000)], **seen.providers
            )
            models = app.wrap(model.client()).models
            if stream:
                assert [c.text for c in models.generate_content_stream(model="g", contents="hi")] == ["fine"]
            else:
                assert models.generate_content(model="g", contents="hi").text == "fine"
        assert len(seen.spans_named("generate_content")) == 1
        question, turn = model.requests[-2:]
        assert question["generationConfig"] == {"maxOutputTokens": 500, "temperature": 0}
        assert texts(turn["contents"][0])[1] == f"<{TAG}>\nasked\n</{TAG}>"
    assert model.headers[0]["x-server-timeout"] == "9"


def test_a_blocked_prompt_is_not_sent(model):
    client = wrap(model.client(), hooks=[lambda payload: False])
    with pytest.raises(HookBlocked):
        client.models.generate_content(model="g", contents="hi")
    with pytest.raises(HookBlocked):
        next(client.models.generate_content_stream(model="g", contents="hi"))
    chat = client.chats.create(model="g")
    with pytest.raises(HookBlocked):
        chat.send_message("hi")
    assert model.requests == [] and chat.get_history() == []


@pytest.mark.parametrize("capture_content", ["NO_CONTENT", "SPAN_AND_EVENT"])
def test_a_canary_in_the_context_is_in_nothing_exported(model, capture_content):
    model.script += ["fine", calling(), "done", Failure(status=400, message="too bad"), "streamed"]
    with capture() as seen:
        app = Middleware.from_settings(
            hooks=[lambda payload: "CANARY"], capture_content=capture_content, **seen.providers
        )
        client: Any = app.wrap(model.client())
        reply = client.models.generate_content(model="g", contents="hi")
        history = [user("hi"), reply.candidates[0].content, user("more")]
        client.models.generate_content(model="g", contents=history, config={"tools": [clock]})
        with pytest.raises(genai.errors.ClientError):
            client.models.generate_content(model="g", contents=[IMAGE, "look"])
        for _ in client.chats.create(model="g").send_message_stream("hi"):
            pass
        assert "CANARY" in repr(model.requests) and "CANARY" not in seen.exported()
        assert len(seen.spans_named("generate_content")) == 4
