"""Google's SDK, wrapped: contents of every kind, automatic function calling, chats, what the caller gets back."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import gc
import itertools
import json
from collections import deque
from typing import Any

import pytest
from google import genai
from google.genai import types

from middleware import HookBlocked, Middleware, UnsupportedClient, wrap
from middleware.hooks.prompt import PromptHook
from middleware.testing import Failure, capture
from tests.gemini import Gemini, calling, texts
from tests.test_prefix import bytes_of, counting_hook

TAG = "qwen:user-prompt-submit-context"
IMAGE = types.Part.from_bytes(data=b"\x89PNG", mime_type="image/png")
PLAIN = {"automatic_function_calling": {"disable": True}}


def context(number):
    return f"<{TAG}>\ncontext &lt;{number}&gt;\n</{TAG}>"


def clock() -> str:
    """The time."""
    return "noon"


def user(*parts):
    return types.Content(
        role="user", parts=[types.Part(text=part) if isinstance(part, str) else part for part in parts]
    )


def answer(number, name="clock"):
    response = types.FunctionResponse(id=f"call-{number}", name=name, response={"result": "noon"})
    return types.Content(role="user", parts=[types.Part(function_response=response)])


@pytest.fixture
def model():
    return Gemini()


@pytest.fixture
def client(model):
    return wrap(model.client(), hooks=[counting_hook()])


async def gathered(stream):
    return [chunk.text async for chunk in await stream]


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


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ("hi", ["hi"]),
        (types.Part(text="hi"), ["hi"]),
        ({"text": "hi"}, ["hi"]),
        (user("hi"), ["hi"]),
        ({"role": "user", "parts": [{"text": "hi"}]}, ["hi"]),
        (["hi", IMAGE], ["hi", None]),
        ([IMAGE, {"text": "hi"}, "there"], [None, "hi", "there"]),
        ([["hi", IMAGE]], ["hi", None]),
        ([user("hi", IMAGE)], ["hi", None]),
        ([types.File(uri="https://x.example/f", mime_type="text/plain"), "hi"], [None, "hi"]),
        ("", []),
        (("hi", IMAGE), ["hi", None]),
        ({"hi"}, ["hi"]),
        ([b"hi", "there"], ["hi", "there"]),
        (deque(["hi", IMAGE]), ["hi", None]),
        ([("hi", IMAGE)], ["hi", None]),
        ({"role": "user", "parts": ({"text": "hi"},)}, ["hi"]),
    ],
)
@pytest.mark.parametrize("placement", ["part", "inline"])
def test_contents_of_every_kind_get_the_block_as_their_last_part(model, contents, said, placement):
    before = copy.deepcopy(contents)
    client = wrap(model.client(), hooks=[counting_hook()], placement=placement)
    client.models.generate_content(model="g", contents=contents)
    inline = [f"hi\n\n{context(1)}"] if placement == "inline" and contents in ("hi", {"hi"}) else None
    assert [texts(content) for content in model.contents()[0]] == [inline or [*said, context(1)]]
    assert contents == before


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "made",
    [
        lambda: iter(["hi", "there"]),
        lambda: [iter(["hi", "there"])],
        lambda: {"role": "user", "parts": iter([{"text": "hi"}, {"text": "there"}])},
        lambda: [{"role": "user", "parts": iter([{"text": "hi"}, {"text": "there"}])}],
        lambda: iter([{"role": "user", "parts": [{"text": "hi"}, {"text": "there"}]}]),
    ],
)
def test_contents_that_can_be_read_once_are_read_and_sent(model, made, stream):
    seen = []
    client = wrap(model.client(), hooks=[lambda payload: seen.append(payload["prompt"]), counting_hook()])
    if stream:
        list(client.models.generate_content_stream(model="g", contents=made()))
        asyncio.run(gathered(client.aio.models.generate_content_stream(model="g", contents=made())))
    else:
        client.models.generate_content(model="g", contents=made())
        asyncio.run(client.aio.models.generate_content(model="g", contents=made()))
    said = [[texts(content) for content in contents] for contents in model.contents()]
    assert said == [[["hi", "there", context(1)]], [["hi", "there", context(2)]]]
    assert seen == ["hithere", "hithere"]


@pytest.mark.parametrize("contents", [5, [5.5], ["hi", 5]])
def test_what_is_no_content_is_refused_in_the_sdks_words(model, client, contents):
    said = []
    for made in (model.client(), client):
        with pytest.raises(ValueError, match="validation error") as caught:
            made.models.generate_content(model="g", contents=contents)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_pictures_are_kept_as_they_are(model, client):
    image = pytest.importorskip("PIL.Image").new("RGB", (1, 1))
    client.models.generate_content(model="g", contents=["look", image])
    assert texts(model.contents()[0][0]) == ["look", None, context(1)]


def test_the_prompt_that_hooks_see_is_the_current_contents_text(model):
    seen = []
    wrap(model.client(), hooks=[seen.append]).models.generate_content(
        model="g", contents=[user("old"), types.Content(role="model", parts=[types.Part(text="yes")]), "a", IMAGE, "b"]
    )
    assert seen[0]["prompt"] == "ab"


def test_session_context_goes_into_the_system_instruction_of_a_copy_of_the_config(model):
    app = Middleware.from_settings()
    app.hook("SessionStart", lambda payload: "ctx")
    block = "<qwen:session-start-context>\nctx\n</qwen:session-start-context>"
    for config in (
        None,
        {"system_instruction": "be brief"},
        {"systemInstruction": "be brief"},
        types.GenerateContentConfig(system_instruction="be brief"),
        types.GenerateContentConfig(system_instruction=["be brief"]),
        types.GenerateContentConfig(system_instruction=user("be brief")),
        types.GenerateContentConfig(system_instruction=types.Part(text="be brief"), temperature=0.5),
    ):
        before = copy.deepcopy(config)
        app.wrap(model.client()).models.generate_content(model="g", contents="hi", config=config)
        given = ["be brief"] if config is not None else []
        assert texts(model.requests[-1]["systemInstruction"]) == [*given, block]
        assert config == before
    assert model.requests[-1]["generationConfig"]["temperature"] == 0.5


def test_a_block_after_function_responses_is_in_the_same_content(model, client):
    call = types.Content(role="model", parts=[types.Part(function_call=types.FunctionCall(id="call-1", name="clock"))])
    client.models.generate_content(model="g", contents=[user("time?"), call, answer(1)])
    assert [content["role"] for content in model.contents()[0]] == ["user", "model", "user"]
    assert texts(model.contents()[0][2]) == [None, context(1)]


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
