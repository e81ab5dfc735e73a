"""Strings, numbers and containers of the caller's own classes, and what is nested deeply: sent, recorded, exported."""

from __future__ import annotations

import enum
import json
from collections import OrderedDict, UserDict
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from middleware import Middleware, Settings
from middleware.plain import cut, exact
from middleware.testing import Captured, LocalModel, capture
from tests.gemini import Gemini

CONTEXT = "<qwen:user-prompt-submit-context>\nx\n</qwen:user-prompt-submit-context>"


class Said(str): ...


class Number(int): ...


class Share(float): ...


class Fields(dict[str, Any]): ...


class Items(list[Any]): ...


class Role(str, enum.Enum):  # noqa: UP042
    USER = "user"


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"a": found}
    return found


def app_of(captured: Captured) -> Middleware:
    given = Settings(transcripts=captured.transcripts, capture_content="SPAN_ONLY")
    return Middleware(given, hooks=[lambda payload: "x"], **captured.providers)


def ask_openai(app: Middleware, model: LocalModel, messages: Any) -> None:
    app.wrap(model.openai()).chat.completions.create(model="m", messages=messages)


def ask_anthropic(app: Middleware, model: LocalModel, messages: Any) -> None:
    app.wrap(model.anthropic()).messages.create(model="m", max_tokens=9, messages=messages)


def ask_function(app: Middleware, model: LocalModel, messages: Any) -> None:
    def ask(messages: Any) -> None:
        model.requests.append({"messages": json.loads(json.dumps(messages))})

    app.wrap_call(ask)(messages)


ASKING = [ask_openai, ask_anthropic, ask_function]


@pytest.mark.parametrize("ask", ASKING)
@pytest.mark.parametrize(("role", "text"), [("user", Said("hi")), (Said("user"), "hi"), (Role.USER, Said("hi"))])
def test_a_text_of_a_class_of_its_own_is_sent_recorded_and_exported(
    ask: Callable[..., None], role: str, text: str
) -> None:
    with capture() as captured, app_of(captured) as app:
        ask(app, captured.model, [{"role": role, "content": text}])
    assert [part["text"] for part in captured.requests[0]["messages"][0]["content"]] == ["hi", CONTEXT]
    assert captured.records[0]["message"]["parts"] == [{"text": "hi"}, {"text": CONTEXT}]
    assert captured.records[0]["systemPayload"]["displayText"] == "hi"
    (span,) = captured.spans_named("chat")
    assert json.loads(str(dict(span.attributes or {})["gen_ai.input.messages"])) == [
        {"role": "user", "parts": [{"type": "text", "content": "hi"}]}
    ]


def test_so_is_a_google_text() -> None:
    model = Gemini("fine")
    with capture() as captured, app_of(captured) as app:
        app.wrap(model.client()).models.generate_content(model="m", contents=Said("hi"))
    assert [part["text"] for part in model.contents()[0][0]["parts"]] == ["hi", CONTEXT]
    assert captured.records[0]["message"]["parts"] == [{"text": "hi"}, {"text": CONTEXT}]


def test_a_tools_result_and_arguments_and_a_files_address_may_be_of_such_a_class() -> None:
    tool = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": Said("z")}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": Said("found")}]},
    ]
    address = {"type": "image_url", "image_url": {"url": Said("https://h/y.png")}}
    with capture() as captured, app_of(captured) as app:
        ask_anthropic(app, captured.model, tool)
        ask_openai(app, captured.model, [{"role": "user", "content": [{"type": "text", "text": "x"}, address]}])
    exported = [
        json.loads(str((span.attributes or {})["gen_ai.input.messages"])) for span in captured.spans_named("chat")
    ]
    assert exported[0][1]["parts"] == [{"type": "tool_call", "id": "t", "name": "f", "arguments": '{"a":"z"}'}]
    assert exported[0][2]["parts"] == [{"type": "tool_call_response", "id": "t", "response": "found"}]
    assert exported[1][0]["parts"][1] == {"type": "uri", "uri": "https://h/y.png"}
    said = {record["type"]: record["message"]["parts"][:2] for record in captured.records}
    answer = {"id": "t", "name": "f", "response": {"output": "found"}}
    assert said["tool_result"][0] == {"functionResponse": answer}
    assert said["user"] == [{"text": "x"}, {"fileData": {"fileUri": "https://h/y.png"}}]


def test_a_part_of_unknown_kind_keeps_its_values_whatever_their_classes() -> None:
    part = {
        "type": "z",
        "values": Items([Said("a"), Number(5), Share(1.5), Role.USER, MappingProxyType({"k": Said("v")})]),
        "fields": Fields({Said("b"): UserDict(c=OrderedDict(d="e"))}),
    }
    with capture() as captured, app_of(captured) as app:
        app.wrap_call(lambda messages: None)([{"role": "user", "content": [{"type": "text", "text": "x"}, part]}])
    assert captured.records[0]["message"]["parts"][1] == {
        "type": "z",
        "values": ["a", 5, 1.5, "user", {"k": "v"}],
        "fields": {"b": {"c": {"d": "e"}}},
    }


@pytest.mark.parametrize("ask", ASKING)
def test_a_part_that_is_nested_too_deeply_for_a_record_is_sent_whole(ask: Callable[..., None]) -> None:
    part = {"type": "z", "d": nested(230)}
    with capture() as captured, app_of(captured) as app:
        ask(app, captured.model, [{"role": "user", "content": [{"type": "text", "text": "x"}, part]}])
    assert captured.requests[0]["messages"][0]["content"][1] == part
    found = captured.records[0]["message"]["parts"][1]["d"]
    for _ in range(98):
        found = found["a"]
    assert found == {"a": "<nested too deeply>"}


def test_arguments_of_a_tool_that_no_encoder_takes_are_written_as_far_as_they_go() -> None:
    given = {"a": "half \ud800", "deep": nested(3000)}
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": given}]},
        {"role": "user", "content": "go on"},
    ]
    with capture() as captured, app_of(captured) as app:

        def ask(messages: Any) -> dict[str, Any]:
            called = {"function": {"name": "f", "arguments": given}}
            return {"message": {"role": "assistant", "content": "", "tool_calls": [called]}}

        app.wrap_call(ask)(messages)
    arguments = captured.records[1]["message"]["parts"][0]["functionCall"]["args"]
    assert arguments["a"] == "half \ufffd" and "<nested too deeply>" in json.dumps(arguments)


def test_what_contains_itself_is_cut_where_it_does() -> None:
    ring: dict[str, Any] = {"name": "x"}
    ring["twice"] = [ring, ring]
    assert cut(ring) == {"name": "x", "twice": ["<nested too deeply>", "<nested too deeply>"]}
    shared = {"a": 1}
    assert cut({"one": shared, "two": shared}) == {"one": {"a": 1}, "two": {"a": 1}}


@pytest.mark.parametrize(
    ("given", "expected"), [(Said("a"), "a"), (Number(5), 5), (Share(1.5), 1.5), (UserDict(a=1), {"a": 1})]
)
def test_exact_gives_pythons_own_type(given: object, expected: object) -> None:
    found = exact(given)
    assert (found, type(found)) == (expected, type(expected))


def test_exact_refuses_what_json_has_not() -> None:
    with pytest.raises(TypeError, match="JSON cannot hold object"):
        exact(object())
