"""Taking turns back: where the conversation goes on, and what is not lost by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Settings, TranscriptError
from middleware.testing import Answer, LocalModel, ToolCall
from middleware.transcript import load
from middleware.transcript.checking import faults_in
from middleware.transcript.located import read_located
from middleware.transcript.rewinding import cut_before

from .records import record as rec


def app_of(folder: Path) -> Middleware:
    return Middleware(Settings(transcripts=str(folder)), hooks=[lambda payload: "branch=main"])


def ask(client: Any, messages: list[dict[str, Any]], text: str) -> None:
    messages.append({"role": "user", "content": text})
    answer = client.chat.completions.create(model="m", messages=messages).choices[0].message
    messages.append({"role": "assistant", "content": answer.content})


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "s.jsonl").read_text().splitlines()]


def test_a_turn_that_is_taken_back_is_not_in_the_resumed_conversation_and_stays_in_the_file(tmp_path: Path) -> None:
    model, messages = LocalModel("a1", "a2", "a3"), list[dict[str, Any]]()
    with app_of(tmp_path) as app:
        session = app.open("s")
        client = app.wrap(model.openai(), session=session)
        ask(client, messages, "one")
        ask(client, messages, "two")
        assert session.asked is not None
        assert session.rewind(session.asked) == "two"
        ask(client, messages[:2], "three")
    with app_of(tmp_path) as app, app.session("s", resume=True) as again:
        assert [row.text for row in again.shown()] == ["one", "a1", "three", "a3"]
        assert [message["role"] for message in again.messages()] == ["user", "assistant"] * 2
    lines = lines_of(tmp_path)
    rewind = lines[4]
    assert [line["type"] for line in lines] == ["user", "assistant", "user", "assistant", "system", "user", "assistant"]
    assert (rewind["subtype"], rewind["systemPayload"]) == ("rewind", {"truncatedCount": 2})
    assert rewind["parentUuid"] == lines[1]["uuid"]
    assert lines[5]["parentUuid"] == rewind["uuid"]
    assert faults_in(read_located(tmp_path / "s.jsonl")) == []


def test_after_a_rewind_and_nothing_else_a_resumed_session_shows_the_rewound_branch(tmp_path: Path) -> None:
    model = LocalModel("a1", "a2")
    with app_of(tmp_path) as app:
        session = app.open("s")
        client, messages = app.wrap(model.openai(), session=session), list[dict[str, Any]]()
        ask(client, messages, "one")
        ask(client, messages, "two")
        first = session.shown()[0].uuid
        assert session.rewind(first) == "one"
        assert session.shown() == []
    with app_of(tmp_path) as app, app.session("s", resume=True) as again:
        assert (again.shown(), again.messages(), again.asked) == ([], [], None)


def test_the_sticky_block_of_a_turn_before_the_rewind_goes_out_with_the_same_bytes(tmp_path: Path) -> None:
    model, messages = LocalModel("a1", "a2", "a3"), list[dict[str, Any]]()
    with app_of(tmp_path) as app:
        session = app.open("s")
        client = app.wrap(model.openai(), session=session)
        ask(client, messages, "one")
        ask(client, messages, "two")
        session.rewind(str(session.asked))
        ask(client, messages[:2], "two")
    assert model.requests[2]["messages"] == model.requests[1]["messages"]


def test_a_tool_loop_goes_with_the_turn_that_began_it(tmp_path: Path) -> None:
    model = LocalModel("a1", Answer(calls=(ToolCall(id="c1", name="look"),)), "a2")
    with app_of(tmp_path) as app:
        session = app.open("s")
        client, messages = app.wrap(model.openai(), session=session), list[dict[str, Any]]()
        ask(client, messages, "one")
        ask(client, messages, "two")
        call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        messages[-1] = {"role": "assistant", "content": None, "tool_calls": [call]}
        messages.append({"role": "tool", "tool_call_id": "c1", "content": "red"})
        create: Any = client.chat.completions.create
        create(model="m", messages=messages)
        assert session.rewind(str(session.asked)) == "two"
        assert [row.text for row in session.shown()] == ["one", "a1"]
    assert lines_of(tmp_path)[-1]["systemPayload"] == {"truncatedCount": 4}


def test_what_was_read_for_the_turn_goes_with_it() -> None:
    branch = [
        rec("a", None, "user"),
        rec("b", "a", "system", subtype="at_command", systemPayload={"filesRead": ["x"], "userText": "see @x"}),
        rec("c", "b", "user"),
    ]
    assert cut_before(branch, "c").parent == "a"


@pytest.mark.parametrize("subtype", ["mid_turn_user_message", "notification", "cron", "goal_runtime"])
def test_what_is_no_turn_of_the_persons_cannot_be_gone_back_to(subtype: str) -> None:
    with pytest.raises(ValueError, match="no turn of this conversation begins with the record 'b'"):
        cut_before([rec("a", None, "user"), rec("b", "a", "user", subtype=subtype)], "b")


def test_a_turn_on_a_dead_branch_cannot_be_gone_back_to(tmp_path: Path) -> None:
    model = LocalModel("a1", "a2")
    with app_of(tmp_path) as app:
        session = app.open("s")
        ask(app.wrap(model.openai(), session=session), [], "one")
        gone = str(session.asked)
        session.rewind(gone)
        with pytest.raises(ValueError, match="no turn of this conversation"):
            session.rewind(gone)
    assert len(lines_of(tmp_path)) == 3
    assert [record["type"] for record in load(tmp_path / "s.jsonl")] == ["system"]


def test_without_a_transcript_there_is_nothing_to_rewind() -> None:
    with Middleware() as app, pytest.raises(TranscriptError, match="keeps no transcript; set transcripts to a folder"):
        app.open("s").rewind("u")


def test_a_tool_result_that_goes_out_together_with_the_next_question_is_in_the_transcript(tmp_path: Path) -> None:
    model = LocalModel(Answer(calls=(ToolCall(id="c1", name="look"),)), "a2")
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    with app_of(tmp_path) as app:
        session = app.open("s")
        client, messages = app.wrap(model.openai(), session=session), list[dict[str, Any]]()
        ask(client, messages, "one")
        messages[-1] = {"role": "assistant", "content": None, "tool_calls": [call]}
        messages.append({"role": "tool", "tool_call_id": "c1", "content": "cancelled"})
        ask(client, messages, "two")
        ask(client, messages, "three")
        kept = session.messages()
    assert [line["type"] for line in lines_of(tmp_path)] == [
        *("user", "assistant", "tool_result", "user", "assistant", "user", "assistant")
    ]
    assert kept[2] == {"role": "tool", "tool_call_id": "c1", "content": "cancelled"}
