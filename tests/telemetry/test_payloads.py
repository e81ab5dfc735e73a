"""Payloads at their worst, through real clients: the JSON parses, the call goes on, the wire is as it was."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any

import openai
import pydantic
import pytest

from middleware import Middleware
from middleware.testing import Answer, Captured, Failure, ToolCall, capture
from recall_store import Record, open_store

JSON = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions")
PNG = bytes(range(256)) * 4096
URL = "data:image/png;base64," + base64.b64encode(PNG).decode()


class Asked:
    """One call through a wrapped client with content on spans and events."""

    def __init__(self, captured: Captured, app: Middleware) -> None:
        self.captured, self.app = captured, app

    def openai(self, messages: Any, **more: Any) -> Any:
        with self.captured.model.openai() as client:
            return self.app.wrap(client).chat.completions.create(model="m", messages=messages, **more)

    def anthropic(self, messages: Any, **more: Any) -> Any:
        with self.captured.model.anthropic() as client:
            return self.app.wrap(client).messages.create(model="m", max_tokens=9, messages=messages, **more)

    def content(self, name: str = "gen_ai.input.messages") -> Any:
        """The attribute, parsed; every other JSON attribute, and the event's, parse as well."""
        (span,) = self.captured.spans_named("chat")
        found: Any = dict(span.attributes or {})
        (event,) = [e for e in self.captured.events if e.log_record.event_name != "firsthand.hook_call"]
        for holder in (found, event.log_record.attributes or {}):
            for key in JSON:
                if key in holder:
                    assert len(str(holder[key])) < 200_000
                    json.loads(str(holder[key]))
        self.captured.exported().encode()
        return json.loads(found[name])


@pytest.fixture
def asked(request: pytest.FixtureRequest) -> Iterator[Asked]:
    script = getattr(request, "param", "fine")
    with capture(script) as captured:
        hooks = [lambda payload: "branch=main"]
        with Middleware.from_settings(hooks=hooks, capture_content="SPAN_AND_EVENT", **captured.providers) as app:
            yield Asked(captured, app)


def user(content: Any) -> Any:
    return {"role": "user", "content": content}


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
@pytest.mark.parametrize(
    "text", ['"\\' * 5_000_000, "漢" * 1_000_000, "\x00\x1f\u2028" * 400_000], ids=["q", "cjk", "ctl"]
)
def test_a_prompt_of_megabytes_is_cut_on_the_span_and_whole_on_the_wire(asked: Asked, sdk: str, text: str) -> None:
    getattr(asked, sdk)([user(text)])
    kept = asked.content()[0]["parts"][0]["content"]
    assert kept.endswith(f" [cut: 65536 of {len(text)} characters kept]")
    assert asked.captured.requests[0]["messages"][0]["content"][0]["text"] == text


@pytest.mark.parametrize("times", [1, 6])
def test_megabytes_of_image_are_a_blob_and_the_text_beside_them_is_kept(asked: Asked, times: int) -> None:
    asked.openai(
        [user([{"type": "text", "text": "what?"}, *[{"type": "image_url", "image_url": {"url": URL}}] * times])]
    )
    blob = {"type": "blob", "size": 1_048_576, "sha256": hashlib.sha256(PNG).hexdigest(), "mime_type": "image/png"}
    assert asked.content() == [{"role": "user", "parts": [{"type": "text", "content": "what?"}, *[blob] * times]}]


@pytest.mark.parametrize(
    ("raw", "size"),
    [("data:image/png;base64,====%%%", 0), ("data:image/png;base64,abc", 3), ("data:,", 0), ("data:no comma", 13)],
)
def test_a_data_url_that_is_no_base64_is_a_blob_all_the_same(asked: Asked, raw: str, size: int) -> None:
    asked.openai([user([{"type": "image_url", "image_url": {"url": raw}}])])
    (part,) = asked.content()[0]["parts"]
    assert (part["type"], part["size"]) == ("blob", size)


def test_lone_surrogates_are_replaced_and_nothing_else_is_lost(asked: Asked) -> None:
    messages = [{"role": "system", "content": "s\ud800"}, user("x\ud83ey")]
    with pytest.raises(UnicodeEncodeError):
        asked.openai(messages)  # The SDK cannot send it; that is the caller's to see.
    assert asked.content()[0]["parts"][0]["content"] == "x\ufffdy"
    assert asked.content("gen_ai.system_instructions")[0]["content"] == "s\ufffd"


@pytest.mark.parametrize("asked", [Answer(text="x\ud83ey")], indirect=True)
def test_a_lone_surrogate_in_an_answer_reaches_the_caller_as_it_came(asked: Asked) -> None:
    assert asked.openai([user("hi")]).choices[0].message.content == "x\ud83ey"
    assert asked.content("gen_ai.output.messages")[0]["parts"][0]["content"] == "x\ufffdy"


def test_a_memory_with_a_lone_surrogate_costs_no_call(tmp_path: Any) -> None:
    store = f"sqlite:///{tmp_path}/m.db"
    with open_store(store, embedder="hash") as memories:
        memories.upsert(namespace="ann", records=[Record(text="the runner is \udc8f big", id="m1")])
    with capture("fine") as captured, captured.model.openai() as client:
        given: Any = {"store": store, "user": "ann", "recall_timeout": 30.0, "capture_injected": True}
        with Middleware.from_settings(**given, **captured.providers) as app:
            answer = app.wrap(client).chat.completions.create(model="m", messages=[user("which runner is big?")])
        assert answer.choices[0].message.content == "fine"
        assert "the runner is \ufffd big" in captured.requests[0]["messages"][0]["content"][1]["text"]
        captured.exported().encode()


def test_numbers_that_json_does_not_have_are_exported_or_left_out(asked: Asked) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        asked.openai([user("hi")], temperature=math.nan, top_p=math.inf)
    assert asked.content() == [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]


def test_bytes_in_a_message_are_the_sdks_to_refuse(asked: Asked) -> None:
    with pytest.raises(TypeError, match="bytes"):
        asked.anthropic([user([{"type": "image", "source": {"type": "base64", "media_type": "i/p", "data": b"abc"}}])])
    assert asked.content()[0]["parts"][0]["size"] == 3


def deep(levels: int) -> Any:
    value: Any = "end"
    for _ in range(levels):
        value = {"v": [value]}
    return value


@pytest.mark.parametrize("levels", [10, 300])
def test_arguments_nested_deeply_are_kept_or_cut_and_parse(asked: Asked, levels: int) -> None:
    made = {"type": "tool_use", "id": "t1", "name": "f", "input": {"v": deep(levels)}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
    asked.anthropic([user("go"), {"role": "assistant", "content": [made]}, user([result])])
    assert asked.captured.requests[0]["messages"][1]["content"][0]["input"] == {"v": deep(levels)}
    parts = asked.content()[1]["parts"]
    assert (parts[0]["type"], parts[0]["name"]) == ("tool_call", "f")


def test_what_is_nested_too_deeply_for_the_sdk_is_the_sdks_to_refuse(asked: Asked) -> None:
    made = {"type": "tool_use", "id": "t1", "name": "f", "input": {"v": deep(20_000)}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
    with pytest.raises(RecursionError):
        asked.anthropic([user("go"), {"role": "assistant", "content": [made]}, user([result])])


CALLS = tuple(ToolCall(id=f"c{number}", name="f", arguments={"n": number}) for number in range(10_000))


@pytest.mark.parametrize("asked", [Answer(calls=CALLS)], indirect=True)
@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_ten_thousand_tool_calls_there_and_back_stay_bounded(asked: Asked, sdk: str) -> None:
    made = [{"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(10_000)]
    results: list[Any] = [{"role": "tool", "tool_call_id": f"c{n}", "content": "ok"} for n in range(10_000)]
    if sdk == "openai":
        answer = asked.openai([user("go"), {"role": "assistant", "content": None, "tool_calls": made}, *results])
        assert len(answer.choices[0].message.tool_calls) == 10_000
    else:
        uses = [{"type": "tool_use", "id": f"c{n}", "name": "f", "input": {}} for n in range(10_000)]
        back = [{"type": "tool_result", "tool_use_id": f"c{n}", "content": "ok"} for n in range(10_000)]
        assert len(asked.anthropic([user("go"), {"role": "assistant", "content": uses}, user(back)]).content) == 10_000
    assert "cut:" in json.dumps(asked.content("gen_ai.output.messages"), ensure_ascii=False)


def test_a_history_of_20_long_turns_keeps_the_newest_and_the_token_counts(asked: Asked) -> None:
    history = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n:02d}" + "x" * 50_000} for n in range(21)]
    asked.openai(history)
    messages = asked.content()
    assert messages[-1]["parts"][0]["content"].startswith("20x")
    (span,) = asked.captured.spans_named("chat")
    assert dict(span.attributes or {})["gen_ai.usage.input_tokens"] == 12


@pytest.mark.parametrize("asked", ['{"a": 1}'], indirect=True)
def test_a_pydantic_class_as_response_format_is_no_exception_and_no_schema(asked: Asked) -> None:
    class SecretShape(pydantic.BaseModel):
        a: int

    with asked.captured.model.openai() as client:
        said = asked.app.wrap(client).chat.completions.parse(
            model="m", messages=[user("go")], response_format=SecretShape
        )
    assert said.choices[0].message.parsed == SecretShape(a=1)
    (span,) = asked.captured.spans_named("chat")
    assert "properties" not in json.dumps(dict(span.attributes or {}))
    assert dict(span.attributes or {})["gen_ai.output.type"] == "json"


def test_the_sdks_own_objects_as_messages_are_captured(asked: Asked) -> None:
    message = openai.types.chat.ChatCompletionMessage(role="assistant", content="one")
    asked.openai([user("count"), message, user("on")])
    said = [(message["role"], message["parts"][0]["content"]) for message in asked.content()]
    assert said == [("user", "count"), ("assistant", "one"), ("user", "on")]


def test_with_content_off_neither_the_prompt_nor_an_error_that_quotes_it_is_exported() -> None:
    with capture(Failure(status=400, message="you said CANARY-7f3a")) as captured, captured.model.openai() as client:
        app = Middleware.from_settings(hooks=[lambda payload: "CANARY-7f3a"], **captured.providers)
        with pytest.raises(openai.BadRequestError):
            app.wrap(client).chat.completions.create(model="m", messages=[user("CANARY-7f3a")], user="u1")
        assert "CANARY-7f3a" not in captured.exported()
