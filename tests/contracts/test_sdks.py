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

SDKS = sorted(
    module.name
    for module in pkgutil.iter_modules(package.__path__)
    if hasattr(importlib.import_module(f"middleware.sdks.{module.name}"), "ADAPTER")
)

HOOK = "<qwen:user-prompt-submit-context>\nctx\n</qwen:user-prompt-submit-context>"
BLOCK = block_of("ctx")
PARTS, INLINE, TOOL_PART = Placement(), Placement(placement="inline"), Placement(tool_placement="tool_part")


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


def image(sdk: str) -> dict[str, Any]:
    if sdk == "openai":
        return {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}
    return {"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}}


@dataclass(frozen=True)
class Shape:
    """One SDK's wire shapes: a tool loop's middle messages, its endpoint's path, and a call of its client."""

    path: str
    asked: Callable[[str], dict[str, Any]]
    result: Callable[[str, str], dict[str, Any]]
    fields: dict[str, Any]
    call: Callable[[LocalModel, dict[str, Any]], Any]


def _openai_asked(id: str) -> dict[str, Any]:
    call = {"id": id, "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


SHAPES = {
    "openai": Shape(
        path="/chat/completions",
        asked=_openai_asked,
        result=lambda id, said: {"role": "tool", "tool_call_id": id, "content": said},
        fields={},
        call=lambda model, body: model.openai().chat.completions.create(**body),
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
        call=lambda model, body: model.anthropic().messages.create(**body),
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
    return {"model": "local", "messages": list(messages), **shape.fields}


def sent(endpoint: Endpoint, body: Any, how: Placement = PARTS, block: Block = BLOCK) -> list[Any]:
    """The messages with `block` in the current one's place."""
    request = endpoint.read(body)
    assert request.current is not None
    return list(endpoint.write(body, request, {request.current: block}, how)["messages"])


def loop(shape: Shape) -> list[Any]:
    return [{"role": "user", "content": "look"}, shape.asked("c1"), shape.result("c1", "seen")]


def words(message: Message) -> list[tuple[str, str, str]]:
    return [(part.kind, part.text, part.id) for part in message.parts]


def test_every_adapter_has_its_shapes_here(sdk: str) -> None:
    assert sdk in SHAPES


def test_reading_tells_roles_words_tools_and_what_the_call_is_about(endpoint: Endpoint, shape: Shape) -> None:
    request = endpoint.read(body_of(shape, *loop(shape)))
    assert [words(message) for message in request.messages] == [
        [("text", "look", "")],
        [("tool_call", '{"at":1}' if shape.path == "/v1/messages" else '{"at": 1}', "c1")],
        [("tool_response", "seen", "c1")],
    ]
    assert (request.current, request.tool_result, request.model, request.stream) == (2, True, "local", False)
    assert request.messages[2].parts[0].name == "look"


@pytest.mark.parametrize("how", [PARTS, INLINE, TOOL_PART])
@pytest.mark.parametrize("case", ["string", "parts", "tools", "empty"])
def test_the_callers_objects_are_never_changed(
    endpoint: Endpoint, shape: Shape, sdk: str, how: Placement, case: str
) -> None:
    messages = {
        "string": [{"role": "user", "content": "hi"}],
        "parts": [{"role": "user", "content": [text("hi"), image(sdk)]}],
        "tools": loop(shape),
        "empty": [{"role": "user", "content": ""}],
    }[case]
    body = body_of(shape, *messages)
    before = copy.deepcopy(body)
    sent(endpoint, body, how)
    assert body == before


def test_string_content_becomes_two_parts_and_the_first_is_the_callers_string(endpoint: Endpoint, shape: Shape) -> None:
    said = "caf\u00e9 \ud83d <b>&amp;</b>\r\n "
    messages = sent(endpoint, body_of(shape, {"role": "user", "content": said}))
    assert messages == [{"role": "user", "content": [text(said), text(HOOK)]}]
    assert messages[0]["content"][0]["text"] is said


def test_the_block_is_the_last_part_after_the_callers_own_part_objects(
    endpoint: Endpoint, shape: Shape, sdk: str
) -> None:
    parts = [text("look at"), image(sdk), text("and this")]
    (message,) = sent(endpoint, body_of(shape, {"role": "user", "content": parts}))
    assert message["content"] == [*parts, text(HOOK)]
    assert all(new is old for new, old in zip(message["content"], parts, strict=False))


def test_memories_stand_before_the_hook_part(endpoint: Endpoint, shape: Shape) -> None:
    block = Block(hook="ctx", memory="tea")
    (message,) = sent(endpoint, body_of(shape, {"role": "user", "content": "hi"}), block=block)
    memory = "<firsthand:recalled-memory>\ntea\n</firsthand:recalled-memory>"
    assert message["content"] == [text("hi"), text(memory), text(HOOK)]


def test_other_keys_of_a_message_and_of_the_body_stay(endpoint: Endpoint, shape: Shape) -> None:
    body = {**body_of(shape, {"role": "user", "content": "hi", "name": "ann"}), "extra": (marker := object())}
    request = endpoint.read(body)
    written = endpoint.write(body, request, {0: BLOCK}, PARTS)
    assert written["extra"] is marker
    assert written["messages"][0]["name"] == "ann"


def test_sentinels_survive_reading_and_writing(endpoint: Endpoint, shape: Shape, sdk: str) -> None:
    types = importlib.import_module(f"{sdk}._types")
    given = dict.fromkeys(("temperature", "tools", "stop", "stop_sequences", "response_format"), types.NOT_GIVEN)
    body = {**given, **body_of(shape, {"role": "user", "content": "hi"}), "top_p": types.omit, "system": types.omit}
    request = endpoint.read(body)
    written = endpoint.write(body, request, {0: BLOCK}, PARTS)
    assert {name: written[name] is value for name, value in body.items() if name != "messages"} == {
        name: True for name in body if name != "messages"
    }
    assert not set(request.options) & {"temperature", "top_p", "stop_sequences", "output.type"}
    assert request.system == ""


def test_one_shot_iterables_are_taken_once_and_sent_whole(endpoint: Endpoint, shape: Shape) -> None:
    content = (text(word) for word in ("a", "b"))
    body = {**body_of(shape), "messages": iter([{"role": "user", "content": content}])}
    kept = materialised(body, "messages", "system")
    assert sent(endpoint, kept) == [{"role": "user", "content": [text("a"), text("b"), text(HOOK)]}]


def test_a_body_without_one_shot_iterables_is_not_copied(shape: Shape) -> None:
    body = body_of(shape, *loop(shape))
    assert materialised(body, "messages", "system") is body


def test_after_tool_results_the_block_is_where_the_sdk_takes_it(endpoint: Endpoint, shape: Shape, sdk: str) -> None:
    asked, call, result = loop(shape)
    tail = {
        "openai": [result, {"role": "user", "content": [text(HOOK)]}],
        "anthropic": [{**result, "content": [*result["content"], text(HOOK)]}] if sdk == "anthropic" else [],
    }[sdk]
    assert sent(endpoint, body_of(shape, asked, call, result)) == [asked, call, *tail]


def test_tool_part_puts_the_block_into_the_last_result(endpoint: Endpoint, shape: Shape, sdk: str) -> None:
    asked, call, result = loop(shape)
    content = [text("seen"), text(HOOK)] if sdk == "openai" else [*result["content"], text(HOOK)]
    assert sent(endpoint, body_of(shape, asked, call, result), TOOL_PART) == [
        asked,
        call,
        {**result, "content": content},
    ]


def test_inline_keeps_string_content_a_string(endpoint: Endpoint, shape: Shape) -> None:
    assert sent(endpoint, body_of(shape, {"role": "user", "content": "hi"}), INLINE) == [
        {"role": "user", "content": f"hi\n\n{HOOK}"}
    ]


def test_inline_with_a_picture_stays_a_list(endpoint: Endpoint, shape: Shape, sdk: str) -> None:
    parts = [text("hi"), image(sdk)]
    assert sent(endpoint, body_of(shape, {"role": "user", "content": parts}), INLINE) == [
        {"role": "user", "content": [*parts, text(HOOK)]}
    ]


def test_empty_content_gets_no_empty_part(endpoint: Endpoint, shape: Shape) -> None:
    (message,) = sent(endpoint, body_of(shape, {"role": "user", "content": ""}))
    assert message["content"] == [text(HOOK)]


@pytest.mark.parametrize("how", [PARTS, TOOL_PART])
def test_an_echo_of_our_parts_is_idempotent(endpoint: Endpoint, shape: Shape, how: Placement) -> None:
    for messages in ([{"role": "user", "content": "hi"}], loop(shape)):
        plain = body_of(shape, *messages)
        once = sent(endpoint, plain, how)
        echoed = body_of(shape, *once)
        assert thread(endpoint.read(echoed)) == thread(endpoint.read(plain))
        assert sent(endpoint, echoed, how) == once


def thread(request: Request) -> tuple[Any, ...]:
    said = [message.identity() for message in request.messages if not message.injection]
    return (said, request.pre_injection_text(), request.tool_result)


def test_a_tag_that_the_user_typed_is_the_users(endpoint: Endpoint, shape: Shape) -> None:
    request = endpoint.read(body_of(shape, {"role": "user", "content": HOOK}))
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
    model = LocalModel(answer, answer)
    body = body_of(shape, {"role": "user", "content": "hi"})
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
    assert {(reply.usage.input_tokens, reply.usage.output_tokens) for reply in replies} == {(12, 3)}
    loads = [[part.text and json.loads(part.text) for part in reply.messages[0].parts if part.kind == "tool_call"]
             for reply in replies]  # fmt: skip
    assert loads == [[dict(call.arguments) for call in answer.calls]] * 4


def test_a_collector_says_which_chunk_carried_output_first(endpoint: Endpoint, shape: Shape) -> None:
    model = LocalModel("one two")
    collector = endpoint.collector()
    body = {**body_of(shape, {"role": "user", "content": "hi"}), "stream": True}
    said = [collector.add(chunk) for chunk in shape.call(model, body)]
    assert said.count(True) == 2 and said[0] is False


def test_a_reply_that_is_an_sdk_object_can_be_sent_back_as_history(endpoint: Endpoint, shape: Shape, sdk: str) -> None:
    value = shape.call(LocalModel("fine"), body_of(shape, {"role": "user", "content": "hi"}))
    said: Any = value.choices[0].message if sdk == "openai" else {"role": "assistant", "content": value.content}
    body = body_of(shape, {"role": "user", "content": "hi"}, said, {"role": "user", "content": "more"})
    request = endpoint.read(body)
    assert request.messages[1].identity() == endpoint.reply(value).messages[0].identity()
    assert sent(endpoint, body)[1] is said


def test_other_paths_are_nobodys(sdk: str) -> None:
    adapter = importlib.import_module(f"middleware.sdks.{sdk}").ADAPTER
    others = ("/moderations", "/v1/messages/count_tokens", "/v1/complete", "/")
    assert [adapter.endpoint(path) for path in others] == [None] * 4
