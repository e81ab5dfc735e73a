"""Google's SDK, wrapped: turns of many requests, by automatic function calling and in chats."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json

import pytest
from google.genai import types

from middleware import Middleware, wrap
from middleware.testing import capture
from tests.gemini import IMAGE, TAG, Gemini, answer, calling, clock, context, gathered, texts, user
from tests.test_prefix import bytes_of, counting_hook

PLAIN = {"automatic_function_calling": {"disable": True}}


@pytest.fixture
def model():
    return Gemini()


@pytest.fixture
def client(model):
    return wrap(model.client(), hooks=[counting_hook()])


def talk(model, client, history, colour=None):
    """Ten turns with a function called by hand in each."""
    config = types.GenerateContentConfig(tools=[clock], **PLAIN)
    for number in range(10):
        model.script += [calling(number=number), f"answer {number}"]
        history.append(user(f"question {number}"))
        while True:
            sent = copy.deepcopy(history)
            reply = client.models.generate_content(model="g", contents=history, config=config)
            reply = asyncio.run(reply) if colour else reply
            assert history == sent
            history.append(reply.candidates[0].content)
            if not reply.function_calls:
                break
            history.append(answer(number))


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("session_id", [None, "conversation-1"])
def test_each_request_of_ten_tool_turns_is_a_prefix_of_the_next(ids, session_id, tmp_path):
    model, history = Gemini(ids=ids), []
    with Middleware.from_settings(hooks=[counting_hook()], transcripts=tmp_path) as app:
        talk(model, app.wrap(model.client(), session=app.open(session_id) if session_id else None), history)
    assert_prefixes(model, 20)
    assert [text for c in model.contents()[-1] for text in texts(c) if text and TAG in text] == [
        context(number) for number in range(1, 21)
    ]
    assert TAG not in repr(history)


def test_each_request_of_the_async_client_is_a_prefix_of_the_next(model):
    history = []
    talk(model, wrap(model.client(), hooks=[counting_hook()]).aio, history, colour="async")
    assert_prefixes(model, 20)


def assert_prefixes(model, count):
    assert len(model.requests) == count
    for before, after in itertools.pairwise(model.contents()):
        assert bytes_of(after)[: len(before)] == bytes_of(before)


@pytest.mark.parametrize("in_full", [True, False])
@pytest.mark.parametrize("stream", [False, True])
def test_automatic_function_calling_is_one_turn_and_its_history_is_the_callers(model, in_full, stream, tmp_path):
    hooks, history = counting_hook(), []
    with capture() as seen:
        app = Middleware.from_settings(hooks=[hooks], transcripts=tmp_path, **seen.providers)
        models = app.wrap(model.client()).models
        for number in range(3):
            model.script += [calling(number=number), f"answer {number}"]
            history.append(user(f"question {number}"))
            given = {"model": "g", "contents": history, "config": {"tools": [clock]}}
            if stream:
                *_, reply = models.generate_content_stream(**given)
            else:
                reply = models.generate_content(**given)
            calls = reply.automatic_function_calling_history
            assert calls[: len(history)] == history and all(x is y for x, y in zip(calls, history, strict=False))
            history = [
                *(calls if in_full else history),
                types.Content(role="model", parts=[types.Part(text=reply.text)]),
            ]
            if stream:
                history[-1].parts[0].text = f"answer {number}"
        spans = seen.spans_named("generate_content")
        app.close()
    assert TAG not in repr(history)
    assert len(model.requests) == 6 and len(spans) == len(seen.spans_named("firsthand.turn")) == 3
    assert len(seen.spans_named("firsthand.hook")) == 3
    assert [dict(span.attributes)["gen_ai.usage.input_tokens"] for span in spans] == [20] * 3
    injected = [[text for c in request for text in texts(c) if text and TAG in text] for request in model.contents()]
    assert injected == [[context(n) for n in range(1, turn + 1)] for turn in (1, 1, 2, 2, 3, 3)]
    if in_full:
        assert_prefixes(model, 6)
    (path,) = tmp_path.iterdir()
    kinds = [json.loads(line)["type"] for line in path.read_text().splitlines()]
    assert kinds == ["user", "assistant", "tool_result", "assistant"] * 3


@pytest.mark.parametrize("stream", [False, True])
def test_a_chat_with_functions_is_one_turn_a_message_and_its_history_has_nothing_of_ours(model, stream):
    with capture() as seen:
        app = Middleware.from_settings(hooks=[counting_hook()], **seen.providers)
        chat = app.wrap(model.client()).chats.create(model="g", config={"tools": [clock]})
        for number in range(3):
            model.script += [calling(number=number), f"answer is {number}"]
            if stream:
                assert "".join(c.text or "" for c in chat.send_message_stream(f"q{number}")) == f"answer is {number}"
            else:
                assert chat.send_message([f"q{number}", IMAGE]).text == f"answer is {number}"
    assert_prefixes(model, 6)
    assert len(seen.spans_named("generate_content")) == len(seen.spans_named("firsthand.hook")) == 3
    assert TAG not in repr(chat.get_history()) and TAG in repr(model.contents()[-1][0])
    assert [content.parts[0].text for content in chat.get_history(curated=True) if content.role == "user"][::2] == [
        "q0", "q1", "q2"
    ]  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
def test_an_async_chat_with_functions_is_one_turn_a_message(model, stream):
    async def talk():
        chat = wrap(model.client(), hooks=[counting_hook()]).aio.chats.create(model="g", config={"tools": [clock]})
        for number in range(3):
            model.script += [calling(number=number), f"answer is {number}"]
            if stream:
                said = [text or "" for text in await gathered(chat.send_message_stream(f"q{number}"))]
                assert "".join(said) == f"answer is {number}"
            else:
                assert (await chat.send_message(f"q{number}")).text == f"answer is {number}"
        return chat.get_history()

    assert TAG not in repr(asyncio.run(talk()))
    assert_prefixes(model, 6)


def test_a_chat_refuses_what_the_sdk_refuses(model, client):
    with pytest.raises(ValueError, match="Message must be a valid part type"):
        client.chats.create(model="g").send_message(7)
    with pytest.raises(TypeError):
        client.models.generate_content("g", "hi")
    with pytest.raises(ValueError, match="contents are required"):
        client.models.generate_content(model="g", contents=[])
    assert model.requests == []


def test_what_the_sdk_refuses_when_a_stream_is_made_is_refused_there(client):
    async def make():
        with pytest.raises(ValueError, match="temperature"):
            await client.aio.models.generate_content_stream(model="g", contents="hi", config={"temperature": "hot"})
        with pytest.raises(ValueError, match="valid part type"):
            await client.aio.chats.create(model="g").send_message_stream(7)

    asyncio.run(make())
