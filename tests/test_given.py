"""A message comes back from its transcript as the caller gave it, and is known again by another process."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from openai import InternalServerError

from middleware import Middleware, Settings
from middleware.testing import Answer, Failure, LocalModel, ToolCall
from middleware.transcript import load
from middleware.transcript.checking import faults_in
from middleware.transcript.export import written
from middleware.transcript.given import message_in
from middleware.transcript.located import read_located
from middleware.transcript.search import hits_in
from middleware.transcript.unfolded import unfold

TAG = {"type": "text", "text": "<qwen:user-prompt-submit-context>\nCTX\n</qwen:user-prompt-submit-context>"}
HI = {"type": "text", "text": "hi"}
DATA = "iVBORw0KGgo" * 40
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}", "detail": "high"}}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}

OPENAI: list[Any] = [
    "hi",
    "",
    [HI],
    [HI, HI],
    [{"type": "text", "text": "  "}, HI],
    [HI, IMAGE],
    [HI, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}],
    [HI, {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}}],
    [HI, {"type": "file", "file": {"file_id": "file-1"}}],
    [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}],
]
ANTHROPIC: list[Any] = [
    "hi",
    [HI],
    [HI, PICTURE],
    [HI, {"type": "image", "source": {"type": "file", "file_id": "f"}}],
    [{"type": "document", "title": "T", "source": {"type": "text", "media_type": "text/plain", "data": "hello"}}, HI],
    [{"type": "document", "source": {"type": "url", "url": "https://x/y.pdf"}}],
    [{"type": "search_result", "source": "s", "title": "t", "content": [HI]}],
]
MESSAGES = [*(("openai", content) for content in OPENAI), *(("anthropic", content) for content in ANTHROPIC)]
CALLED = Answer(calls=(ToolCall(id="c1", name="f", arguments={"a": 1}),))
RESULTS: list[Any] = [
    [{"type": "tool_result", "tool_use_id": "c1", "content": "out"}],
    [{"type": "tool_result", "tool_use_id": "c1"}],
    [{"type": "tool_result", "tool_use_id": "c1", "content": "boom", "is_error": True}],
    [{"type": "tool_result", "tool_use_id": "c1", "content": [HI, PICTURE]}],
    [{"type": "tool_result", "tool_use_id": "c1", "content": "out"}, {"type": "text", "text": "PLEASE STOP NOW"}],
]


def app_of(folder: Path, *hooks: Any) -> Middleware:
    return Middleware(Settings(transcripts=str(folder)), hooks=list(hooks))


def say(app: Middleware, model: LocalModel, sdk: str, messages: list[Any]) -> Any:
    with app.session("s"):
        if sdk == "openai":
            return app.wrap(model.openai()).chat.completions.create(model="m", messages=messages)
        return app.wrap(model.anthropic()).messages.create(model="m", max_tokens=9, messages=messages)


def sent(model: LocalModel) -> list[list[dict[str, Any]]]:
    return [request["messages"] for request in model.requests]


@pytest.mark.parametrize("hooks", [(), (lambda hook_input: "CTX",)], ids=["no hooks", "hooks"])
@pytest.mark.parametrize(
    ("sdk", "content"),
    MESSAGES,
)
def test_a_message_comes_back_as_it_was_sent(tmp_path: Path, sdk: Any, content: Any, hooks: Any) -> None:
    model = LocalModel("r1")
    with app_of(tmp_path, *hooks) as app:
        say(app, model, sdk, [{"role": "user", "content": content}])
        with app.session("s", resume=True) as session:
            assert session.messages(sdk)[:1] == sent(model)[0]
    assert faults_in(read_located(tmp_path / "s.jsonl")) == []


@pytest.mark.parametrize("content", RESULTS)
def test_a_tool_result_of_anthropic_comes_back_as_it_was_sent(tmp_path: Path, content: Any) -> None:
    model = LocalModel(CALLED, "done")
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]}
    asked = {"role": "user", "content": "hi"}
    with app_of(tmp_path) as app:
        say(app, model, "anthropic", [asked])
        say(app, model, "anthropic", [asked, call, {"role": "user", "content": content}])
        with app.session("s", resume=True) as session:
            assert session.messages("anthropic")[:3] == sent(model)[1]


def test_a_name_and_a_list_of_texts_of_openai_come_back(tmp_path: Path) -> None:
    model = LocalModel(CALLED, "done")
    asked = {"role": "user", "name": "bob", "content": "hi"}
    result = {"role": "tool", "tool_call_id": "c1", "content": [HI, {"type": "text", "text": "there"}]}
    with app_of(tmp_path) as app:
        call = say(app, model, "openai", [asked]).choices[0].message.model_dump(exclude_none=True)
        say(app, model, "openai", [asked, call, result])
        with app.session("s", resume=True) as session:
            messages = session.messages()
    assert (messages[0], messages[2]) == (asked, result)


def test_arguments_come_back_as_the_model_wrote_them(tmp_path: Path) -> None:
    from middleware.parts import Message, Part
    from middleware.transcript.given import given_call
    from middleware.transcript.wire import openai_request

    message = Message(role="assistant", parts=(Part(kind="tool_call", id="c", name="f", text='{"a":1}'),))
    parts = [{"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}}]
    record = {
        "uuid": "u",
        "type": "assistant",
        "message": {"parts": parts},
        "wire": given_call(message, parts, "openai"),
    }
    calls = openai_request([record])["messages"][0]["tool_calls"]
    assert calls == [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}]


@pytest.mark.parametrize(
    ("sdk", "content"),
    MESSAGES,
)
def test_another_worker_sends_a_message_with_the_context_that_it_had(tmp_path: Path, sdk: str, content: Any) -> None:
    model = LocalModel("r", "r", "r", "r")
    messages: list[Any] = [{"role": "user", "content": content}]
    heard = iter(["CTX", "another", "third", "fourth"])
    workers = [app_of(tmp_path, lambda hook_input: next(heard)) for _ in range(2)]
    for turn in range(4):
        say(workers[turn % 2], model, sdk, messages)
        messages += [{"role": "assistant", "content": "r"}, {"role": "user", "content": f"q{turn}"}]
    for worker in workers:
        worker.close()
    first = [request[0] for request in sent(model)]
    assert TAG in first[0]["content"]
    assert first == [first[0]] * 4


def test_what_a_record_holds_is_not_kept_twice(tmp_path: Path) -> None:
    with app_of(tmp_path) as app:
        say(app, LocalModel("r"), "openai", [{"role": "user", "content": [HI, IMAGE]}])
    record = next(iter(load(tmp_path / "s.jsonl")))
    assert json.dumps(record).count(DATA) == 1
    assert message_in(record, record["message"]["parts"], "openai") == {"role": "user", "content": [HI, IMAGE]}
    assert message_in(record, record["message"]["parts"][:1], "openai") is None
    assert message_in(record, record["message"]["parts"], "anthropic") is None


def test_a_plain_text_is_kept_once(tmp_path: Path) -> None:
    with app_of(tmp_path) as app:
        say(app, LocalModel("r"), "openai", [{"role": "user", "content": "hi"}])
    assert all("wire" not in record for record in load(tmp_path / "s.jsonl"))


ODD: list[Any] = [None, 9, "x", [], {}]


@pytest.mark.parametrize(
    "wire",
    [
        *[5, [], {}, {"sdk": "openai"}, {"sdk": "openai", "message": 5}, {"sdk": "openai", "message": {"content": 5}}],
        *({"sdk": "openai", "message": {"content": [{"firsthand:part": held}]}} for held in ODD),
        {"sdk": "openai", "message": {"content": {"firsthand:bytes": 5}}, "media": 7, "arguments": [5]},
    ],
)
def test_what_somebody_else_wrote_there_does_no_harm(wire: Any) -> None:
    from middleware.transcript.wire import anthropic_request, openai_request

    record = {"uuid": "u", "type": "user", "message": {"parts": [{"text": "hi"}]}, "wire": wire}
    assert openai_request([record]) == {"messages": [{"role": "user", "content": "hi"}]}
    assert anthropic_request([record]) == {"messages": [{"role": "user", "content": "hi"}]}


def test_what_is_said_beside_a_tool_result_is_shown_found_and_exported(tmp_path: Path) -> None:
    model = LocalModel(CALLED, "done")
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]}
    asked = {"role": "user", "content": "hi"}
    with app_of(tmp_path, lambda hook_input: "CTX") as app:
        say(app, model, "anthropic", [asked])
        say(app, model, "anthropic", [asked, call, {"role": "user", "content": RESULTS[-1]}])
        with app.session("s", resume=True) as session:
            shown = [(row.type, row.text) for row in session.shown()]
    assert shown[2:] == [("tool_result", "out"), ("user", "PLEASE STOP NOW"), ("assistant", "done")]
    path = tmp_path / "s.jsonl"
    assert [hit.text for hit in hits_in(path, re.compile("STOP|CTX"))] == ["PLEASE STOP NOW"]
    assert b"> PLEASE STOP NOW" in b"".join(written(load(path), "md"))
    unfolded = [(item.shown.text, [added.text for added in item.injected]) for item in unfold(load(path)) if item.shown]
    assert unfolded[2:4] == [("out", []), ("PLEASE STOP NOW", ["CTX"])]


def test_a_turn_that_failed_is_a_retry_after_a_restart(tmp_path: Path) -> None:
    model = LocalModel(Failure(status=500), "r", "r")
    heard = iter(["CTX", "another", "third"])
    asked: list[Any] = [{"role": "user", "content": "one"}]
    with app_of(tmp_path, lambda hook_input: next(heard)) as app, pytest.raises(InternalServerError):
        say(app, model, "openai", asked)
    with app_of(tmp_path, lambda hook_input: next(heard)) as app:
        say(app, model, "openai", asked)
        say(app, model, "openai", [*asked, {"role": "assistant", "content": "r"}, *asked])
        with app.session("s", resume=True) as session:
            assert [row.text for row in session.shown()] == ["one", "r", "one", "r"]
    first, again, second = sent(model)
    assert first == again == second[:1]
    assert first[0]["content"][1] == TAG
    assert "another" in second[2]["content"][1]["text"]


class Said:
    """A message of a class of somebody's own, with an image that is one, too."""

    role = "user"

    def __init__(self, content: Any) -> None:
        self.content = content


@pytest.mark.parametrize(
    "content", ["hi", [HI], [HI, Said("an image")], [HI, {"type": "image_url", "image_url": Said("")}]]
)
def test_a_message_of_any_class_is_sent_and_recorded(tmp_path: Path, content: Any) -> None:
    with app_of(tmp_path) as app, app.session("s") as session:
        ask: Any = app.wrap_call(lambda messages: {"choices": [{"message": {"role": "assistant", "content": "r"}}]})
        assert ask(messages=[Said(content)])["choices"]
        assert session.transcript_error is None
        assert [row.text for row in session.shown()] == ["hi", "r"]


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
@pytest.mark.parametrize("content", ["hi", [HI], [HI, {"type": "text", "text": " you"}]])
def test_what_was_sent_inline_goes_out_again_with_the_same_bytes(tmp_path: Path, sdk: Any, content: Any) -> None:
    model = LocalModel("r1", "r2")
    inline = Settings(transcripts=str(tmp_path), placement="inline")
    with Middleware(inline, hooks=[lambda hook_input: "CTX"]) as app:
        say(app, model, sdk, [{"role": "user", "content": content}])
        with app.session("s", resume=True) as session:
            stored = session.messages(sdk)
        say(app, model, sdk, [*stored, {"role": "user", "content": "more"}])
    assert sent(model)[1][0] == sent(model)[0][0]
    assert sent(model)[1][2]["content"] == f"more\n\n{TAG['text']}"
