"""Google's SDK, wrapped: contents of every kind, and where in them the block goes."""

from __future__ import annotations

import asyncio
import copy
from collections import deque

import pytest
from google.genai import types

from middleware import Middleware, wrap
from tests.gemini import IMAGE, Gemini, answer, context, gathered, texts, user
from tests.test_prefix import counting_hook


@pytest.fixture
def model():
    return Gemini()


@pytest.fixture
def client(model):
    return wrap(model.client(), hooks=[counting_hook()])


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
