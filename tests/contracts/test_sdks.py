"""The contract of SDK adapters, over the folder listing: a new file is tested by existing.

An adapter needs an entry in `SHAPES`: its endpoint and its wire shapes. Without one its file fails here.
"""

from __future__ import annotations

import copy
import importlib
import json
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import middleware.sdks as package
from middleware.injection import Block, block_of
from middleware.parts import Message, Request
from middleware.sdks import Endpoint, Placement, materialised
from middleware.testing import Answer, LocalModel, ToolCall
from tests.gemini import Gemini

SDKS = sorted(
    module.name
    for module in pkgutil.iter_modules(package.__path__)
    if hasattr(importlib.import_module(f"middleware.sdks.{module.name}"), "ADAPTER")
)

HOOK = "<qwen:user-prompt-submit-context>\nctx\n</qwen:user-prompt-submit-context>"
BLOCK = block_of("ctx")
PARTS, INLINE, TOOL_PART = Placement(), Placement(placement="inline"), Placement(tool_placement="tool_part")


def _typed(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


@dataclass(frozen=True)
class Shape:
    """One SDK's wire shapes: messages, parts, a tool loop's middle, its endpoint's path, and a call of its client.

    `messages` and `content` are the keys of a body's messages and of a message's parts. `has_strings` says that a
    message's content may be one string, `has_results_apart` that tool results are messages of their own. The model
    that `serve` makes counts `tokens`.
    """

    path: str
    asked: Callable[[str], dict[str, Any]]
    result: Callable[[str, str], dict[str, Any]]
    fields: dict[str, Any]
    image: dict[str, Any]
    call: Callable[[Any, dict[str, Any]], Any]
    said: Callable[[Any], Any]
    messages: str = "messages"
    content: str = "content"
    text: Callable[[str], dict[str, str]] = _typed
    has_strings: bool = True
    has_results_apart: bool = False
    serve: Callable[..., Any] = LocalModel
    tokens: tuple[int, int] = (12, 3)

    def user(self, content: Any, **others: Any) -> dict[str, Any]:
        if isinstance(content, str) and not self.has_strings:
            content = [self.text(content)]
        return {"role": "user", self.content: content, **others}


def _openai_asked(id: str) -> dict[str, Any]:
    call = {"id": id, "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _google_call(model: Gemini, body: dict[str, Any]) -> Any:
    models = model.client().models
    given = {name: value for name, value in body.items() if name != "stream"}
    return models.generate_content_stream(**given) if body.get("stream") else models.generate_content(**given)


SHAPES = {
    "openai": Shape(
        path="/chat/completions",
        asked=_openai_asked,
        result=lambda id, said: {"role": "tool", "tool_call_id": id, "content": said},
        fields={},
        image={"type": "image_url", "image_url": {"url": "https://x.example/a.png"}},
        call=lambda model, body: model.openai().chat.completions.create(**body),
        said=lambda value: value.choices[0].message,
        has_results_apart=True,
    ),
    "anthropic": Shape(
        path="/v1/messages",
        asked=lambda id: {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": id, "name": "look", "input": {"at": 1}}],
        },
        result=lambda id, said: {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": id, "content": said}],
        },
        fields={"max_tokens": 9},
        image={"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}},
        call=lambda model, body: model.anthropic().messages.create(**body),
        said=lambda value: {"role": "assistant", "content": value.content},
    ),
    "google": Shape(
        path="generate_content",
        asked=lambda id: {"role": "model", "parts": [{"function_call": {"id": id, "name": "look", "args": {"at": 1}}}]},
        result=lambda id, said: {
            "role": "user",
            "parts": [{"function_response": {"id": id, "name": "look", "response": {"result": said}}}],
        },
        fields={},
        image={"file_data": {"file_uri": "https://x.example/a.png", "mime_type": "image/png"}},
        call=_google_call,
        said=lambda value: value.candidates[0].content,
        messages="contents",
        content="parts",
        text=lambda said: {"text": said},
        has_strings=False,
        serve=Gemini,
        tokens=(10, 6),
    ),
}


@pytest.fixture(params=SDKS)
def sdk(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def shape(sdk: str) -> Shape:
    return SHAPES[sdk]


@pytest.fixture
def endpoint(sdk: str, shape: Shape) -> Endpoint:
    found = importlib.import_module(f"middleware.sdks.{sdk}").ADAPTER.endpoint(shape.path)
    assert found is not None
    return found


def body_of(shape: Shape, *messages: Any) -> dict[str, Any]:
    return {"model": "local", shape.messages: list(messages), **shape.fields}


def sent(endpoint: Endpoint, body: Any, how: Placement = PARTS, block: Block = BLOCK) -> list[Any]:
    """The messages with `block` in the current one's place."""
    request = endpoint.read(body)
    assert request.current is not None
    written = endpoint.write(body, request, {request.current: block}, how)
    return list(next(written[name] for name in ("messages", "contents") if name in written))


def loop(shape: Shape) -> list[Any]:
    return [shape.user("look"), shape.asked("c1"), shape.result("c1", "seen")]


def words(message: Message) -> list[tuple[str, str, str]]:
    return [(part.kind, part.text, part.id) for part in message.parts]


def test_every_adapter_has_its_shapes_here(sdk: str) -> None:
    assert sdk in SHAPES


def test_reading_tells_roles_words_tools_and_what_the_call_is_about(endpoint: Endpoint, shape: Shape) -> None:
    request = endpoint.read(body_of(shape, *loop(shape)))
    assert [words(message) for message in request.messages] == [
        [("text", "look", "")],
        [("tool_call", '{"at": 1}' if shape.path == "/chat/completions" else '{"at":1}', "c1")],
        [("tool_response", "seen", "c1")],
    ]
    assert (request.current, request.tool_result, request.model, request.stream) == (2, True, "local", False)
    assert request.messages[2].parts[0].name == "look"


@pytest.mark.parametrize("how", [PARTS, INLINE, TOOL_PART])
@pytest.mark.parametrize("case", ["string", "parts", "tools", "empty"])
def test_the_callers_objects_are_never_changed(endpoint: Endpoint, shape: Shape, how: Placement, case: str) -> None:
    messages = {
        "string": [shape.user("hi")],
        "parts": [shape.user([shape.text("hi"), shape.image])],
        "tools": loop(shape),
        "empty": [shape.user("")],
    }[case]
    body = body_of(shape, *messages)
    before = copy.deepcopy(body)
    sent(endpoint, body, how)
    assert body == before


def test_string_content_becomes_two_parts_and_the_first_is_the_callers_string(endpoint: Endpoint, shape: Shape) -> None:
    said = "caf\u00e9 \ud83d <b>&amp;</b>\r\n "
    messages = sent(endpoint, body_of(shape, shape.user(said)))
    assert messages == [shape.user([shape.text(said), shape.text(HOOK)])]
    assert messages[0][shape.content][0]["text"] is said


def test_the_block_is_the_last_part_after_the_callers_own_part_objects(endpoint: Endpoint, shape: Shape) -> None:
    parts = [shape.text("look at"), shape.image, shape.text("and this")]
    (message,) = sent(endpoint, body_of(shape, shape.user(parts)))
    assert message[shape.content] == [*parts, shape.text(HOOK)]
    assert all(new is old for new, old in zip(message[shape.content], parts, strict=False))


def test_memories_stand_before_the_hook_part(endpoint: Endpoint, shape: Shape) -> None:
    block = Block(hook="ctx", memory="tea")
    (message,) = sent(endpoint, body_of(shape, shape.user("hi")), block=block)
    memory = "<firsthand:recalled-memory>\ntea\n</firsthand:recalled-memory>"
    assert message[shape.content] == [shape.text("hi"), shape.text(memory), shape.text(HOOK)]


def test_other_keys_of_a_message_and_of_the_body_stay(endpoint: Endpoint, shape: Shape) -> None:
    body = {**body_of(shape, shape.user("hi", name="ann")), "extra": (marker := object())}
    request = endpoint.read(body)
    written = endpoint.write(body, request, {0: BLOCK}, PARTS)
    assert written["extra"] is marker
    assert written[shape.messages][0]["name"] == "ann"


def test_sentinels_survive_reading_and_writing(endpoint: Endpoint, shape: Shape, sdk: str) -> None:
    if not hasattr(importlib.import_module(sdk), "NOT_GIVEN"):
        pytest.skip("an SDK without sentinels")
    types = importlib.import_module(f"{sdk}._types")
    given = dict.fromkeys(("temperature", "tools", "stop", "stop_sequences", "response_format"), types.NOT_GIVEN)
    body = {**given, **body_of(shape, shape.user("hi")), "top_p": types.omit, "system": types.omit}
    request = endpoint.read(body)
    written = endpoint.write(body, request, {0: BLOCK}, PARTS)
    assert {name: written[name] is value for name, value in body.items() if name != "messages"} == {
        name: True for name in body if name != "messages"
    }
    assert not set(request.options) & {"temperature", "top_p", "stop_sequences", "output.type"}
    assert request.system == ""


def test_one_shot_iterables_are_taken_once_and_sent_whole(endpoint: Endpoint, shape: Shape) -> None:
    if not endpoint.fields:
        pytest.skip("an SDK that refuses one-shot iterables")
    content = (shape.text(word) for word in ("a", "b"))
    body = {**body_of(shape), shape.messages: iter([shape.user(content)])}
    kept = materialised(body, *endpoint.fields)
    assert sent(endpoint, kept) == [shape.user([shape.text("a"), shape.text("b"), shape.text(HOOK)])]


def test_a_body_without_one_shot_iterables_is_not_copied(endpoint: Endpoint, shape: Shape) -> None:
    body = body_of(shape, *loop(shape))
    assert materialised(body, *endpoint.fields) is body


def test_after_tool_results_the_block_is_where_the_sdk_takes_it(endpoint: Endpoint, shape: Shape) -> None:
    asked, call, result = loop(shape)
    own = [result, shape.user([shape.text(HOOK)])]
    joined = [{**result, shape.content: [*result[shape.content], shape.text(HOOK)]}]
    tail = own if shape.has_results_apart else joined
    assert sent(endpoint, body_of(shape, asked, call, result)) == [asked, call, *tail]


def test_tool_part_puts_the_block_into_the_last_result(endpoint: Endpoint, shape: Shape) -> None:
    asked, call, result = loop(shape)
    given = [shape.text("seen")] if shape.has_results_apart else result[shape.content]
    content = [*given, shape.text(HOOK)]
    assert sent(endpoint, body_of(shape, asked, call, result), TOOL_PART) == [
        asked,
        call,
        {**result, shape.content: content},
    ]


def test_inline_keeps_string_content_a_string(endpoint: Endpoint, shape: Shape) -> None:
    if not shape.has_strings:
        pytest.skip("an SDK whose messages are lists of parts")
    assert sent(endpoint, body_of(shape, shape.user("hi")), INLINE) == [shape.user(f"hi\n\n{HOOK}")]


def test_inline_with_a_picture_stays_a_list(endpoint: Endpoint, shape: Shape) -> None:
    parts = [shape.text("hi"), shape.image]
    assert sent(endpoint, body_of(shape, shape.user(parts)), INLINE) == [shape.user([*parts, shape.text(HOOK)])]


def test_empty_content_gets_no_empty_part(endpoint: Endpoint, shape: Shape) -> None:
    (message,) = sent(endpoint, body_of(shape, shape.user("" if shape.has_strings else [])))
    assert message[shape.content] == [shape.text(HOOK)]


@pytest.mark.parametrize("how", [PARTS, TOOL_PART])
def test_an_echo_of_our_parts_is_idempotent(endpoint: Endpoint, shape: Shape, how: Placement) -> None:
    for messages in ([shape.user("hi")], loop(shape)):
        plain = body_of(shape, *messages)
        once = sent(endpoint, plain, how)
        echoed = body_of(shape, *once)
        assert thread(endpoint.read(echoed)) == thread(endpoint.read(plain))
        assert sent(endpoint, echoed, how) == once


def thread(request: Request) -> tuple[Any, ...]:
    said = [message.identity() for message in request.messages if not message.injection]
    return (said, request.pre_injection_text(), request.tool_result)


def test_a_tag_that_the_user_typed_is_the_users(endpoint: Endpoint, shape: Shape) -> None:
    request = endpoint.read(body_of(shape, shape.user(HOOK)))
    assert (request.pre_injection_text(), request.messages[0].injection) == (HOOK, False)


ANSWERS = [
    Answer(text="one two three"),
    Answer(calls=(ToolCall(id="c1", name="look", arguments={"at": 1}), ToolCall(id="c2", name="look"))),
    Answer(text="looking", calls=(ToolCall(id="c1", name="look", arguments={"at": 1}),)),
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_reply_reads_the_same_from_an_object_from_json_and_from_a_stream(
    endpoint: Endpoint, shape: Shape, sdk: str, answer: Answer
) -> None:
    model = shape.serve(answer, answer)
    body = body_of(shape, shape.user("hi"))
    options = {"stream_options": {"include_usage": True}} if sdk == "openai" else {}
    value = shape.call(model, body)
    decoded = json.loads(value.model_dump_json())
    objects, mappings = endpoint.collector(), endpoint.collector()
    for chunk in shape.call(model, {**body, **options, "stream": True}):
        before = chunk.model_dump_json()
        objects.add(chunk)
        mappings.add(json.loads(before))
        assert chunk.model_dump_json() == before
    replies = [endpoint.reply(value), endpoint.reply(decoded), objects.reply(), mappings.reply()]
    identities = [[message.identity() for message in reply.messages] for reply in replies]
    assert identities == [identities[0]] * 4
    assert {reply.finish_reasons for reply in replies} == {replies[0].finish_reasons}
    assert {(reply.usage.input_tokens, reply.usage.output_tokens) for reply in replies} == {shape.tokens}
    loads = [[part.text and json.loads(part.text) for part in reply.messages[0].parts if part.kind == "tool_call"]
             for reply in replies]  # fmt: skip
    assert loads == [[dict(call.arguments) for call in answer.calls]] * 4


def test_a_collector_says_which_chunk_carried_output_first(endpoint: Endpoint, shape: Shape) -> None:
    model = shape.serve("one two")
    collector = endpoint.collector()
    body = {**body_of(shape, shape.user("hi")), "stream": True}
    said = [collector.add(chunk) for chunk in shape.call(model, body)]
    assert said.count(True) == 2 and (said[0] is False or len(said) == 2)


def test_a_reply_that_is_an_sdk_object_can_be_sent_back_as_history(endpoint: Endpoint, shape: Shape) -> None:
    value = shape.call(shape.serve("fine"), body_of(shape, shape.user("hi")))
    said = shape.said(value)
    body = body_of(shape, shape.user("hi"), said, shape.user("more"))
    request = endpoint.read(body)
    assert request.messages[1].identity() == endpoint.reply(value).messages[0].identity()
    assert sent(endpoint, body)[1] is said


def test_other_paths_are_nobodys(sdk: str) -> None:
    adapter = importlib.import_module(f"middleware.sdks.{sdk}").ADAPTER
    others = ("/moderations", "/v1/messages/count_tokens", "/v1/complete", "/")
    assert [adapter.endpoint(path) for path in others] == [None] * 4
