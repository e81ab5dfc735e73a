"""Resuming a session: what was sent, what was seen, and whose it is, told by its transcript."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Session, Settings, TranscriptError
from middleware.testing import Answer, LocalModel, ToolCall
from tests.pace import open_descriptors, settled_descriptors

TAG = "<qwen:user-prompt-submit-context>\nbranch=main\n</qwen:user-prompt-submit-context>"
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]


def app_of(folder: Path, **settings: Any) -> Middleware:
    return Middleware(Settings(transcripts=str(folder), **settings), hooks=[lambda hook_input: "branch=main"])


def ask(client: Any, messages: list[dict[str, Any]]) -> Any:
    answer = client.chat.completions.create(model="m", messages=messages, tools=TOOLS).choices[0].message
    messages.append(answer.model_dump(exclude_none=True))
    return answer


def talked(folder: Path, **who: Any) -> tuple[LocalModel, list[dict[str, Any]]]:
    """One question, one tool call, one answer, in session `s`."""
    model = LocalModel(Answer(text="", calls=(ToolCall(id="c1", name="look"),)), "it is red")
    messages: list[dict[str, Any]] = [{"role": "user", "content": "why is CI red?"}]
    with app_of(folder) as app:
        client = app.wrap(model.openai(), session=app.open("s", **who))
        ask(client, messages)
        messages.append({"role": "tool", "tool_call_id": "c1", "content": "1 failed"})
        ask(client, messages)
    return model, messages


def test_the_history_is_what_the_model_was_sent_and_the_screen_what_the_person_saw(tmp_path: Path) -> None:
    talked(tmp_path)
    with app_of(tmp_path) as app, app.session("s", resume=True) as session:
        history, shown = session.history(), session.shown()
    assert history == [
        {"role": "user", "parts": [{"text": "why is CI red?"}, {"text": TAG}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "look", "args": {}}}]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "c1", "name": "look", "response": {"output": "1 failed"}}},
                {"text": TAG},
            ],
        },
        {"role": "model", "parts": [{"text": "it is red"}]},
    ]
    assert [(row.type, row.text) for row in shown] == [
        ("user", "why is CI red?"),
        ("tool_call", "{}"),
        ("tool_result", "1 failed"),
        ("assistant", "it is red"),
    ]


def test_a_resumed_session_goes_on_with_the_bytes_that_were_sent(tmp_path: Path) -> None:
    first, messages = talked(tmp_path)
    second = LocalModel("thanks")
    with app_of(tmp_path) as app, app.session("s", resume=True):
        ask(app.wrap(second.openai()), [*messages, {"role": "user", "content": "and now?"}])
    before, after = first.requests[-1]["messages"], second.requests[0]["messages"]
    assert after[: len(before)] == before
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]
    assert len(lines) == 6


def test_the_stored_messages_go_out_with_the_bytes_that_were_sent(tmp_path: Path) -> None:
    first, _ = talked(tmp_path)
    second = LocalModel("thanks")
    with app_of(tmp_path) as app, app.session("s", resume=True) as session:
        ask(app.wrap(second.openai()), [*session.messages(), {"role": "user", "content": "and now?"}])
    # Whether an assistant message without words says so is the program's own.
    before = [{"content": None, **message} for message in first.requests[-1]["messages"]]
    after = second.requests[0]["messages"]
    assert after[: len(before)] == before
    assert after[len(before)] == {"role": "assistant", "content": "it is red"}
    assert [part["text"] for part in after[-1]["content"]] == ["and now?", TAG]


def test_the_stored_messages_of_an_anthropic_client_go_out_with_the_bytes_that_were_sent(tmp_path: Path) -> None:
    model = LocalModel(Answer(text="let me see", calls=(ToolCall(id="c1", name="look"),)), "it is red", "thanks")
    messages: list[Any] = [{"role": "user", "content": "why is CI red?"}]
    with app_of(tmp_path) as app:
        client = app.wrap(model.anthropic(), session=app.open("s"))
        answer = client.messages.create(model="m", max_tokens=9, messages=messages)
        result = {"type": "tool_result", "tool_use_id": "c1", "content": "1 failed"}
        messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": [result]}]
        client.messages.create(model="m", max_tokens=9, messages=messages)
    with app_of(tmp_path) as app, app.session("s", resume=True) as session:
        stored: list[Any] = session.messages("anthropic")
        client = app.wrap(model.anthropic())
        client.messages.create(model="m", max_tokens=9, messages=[*stored, {"role": "user", "content": "and now?"}])
    before, after = model.requests[1]["messages"], model.requests[2]["messages"]
    assert after[: len(before)] == before


def test_a_system_message_that_hooks_added_to_is_added_to_once_after_resuming(tmp_path: Path) -> None:
    model = LocalModel()
    for _ in range(2):
        with app_of(tmp_path) as app:
            app.hook("SessionStart", lambda hook_input: "rules of the house")
            with app.session("s", resume=True) as session:
                ask(app.wrap(model.openai()), [*session.messages(), {"role": "user", "content": "hi"}])
    assert [json.dumps(request["messages"]).count("rules of the house") for request in model.requests] == [1, 1]


def test_messages_have_one_of_two_shapes(tmp_path: Path) -> None:
    talked(tmp_path)
    shape: Any = "google"
    with pytest.raises(ValueError, match="'google' is no shape of messages; openai or anthropic"):
        Session.resume(tmp_path / "s.jsonl").messages(shape)


def test_a_transcript_anywhere_is_resumed_and_written_on(tmp_path: Path) -> None:
    first, messages = talked(tmp_path / "t", user="alice")
    moved = tmp_path / "elsewhere" / "old.jsonl"
    moved.parent.mkdir()
    shutil.move(tmp_path / "t" / "s.jsonl", moved)
    session, second = Session.resume(moved), LocalModel("thanks")
    assert (session.id, session.user, session.transcript_path) == ("s", "alice", str(moved))
    with app_of(tmp_path / "t") as app:
        ask(app.wrap(second.openai(), session=session), [*messages, {"role": "user", "content": "and now?"}])
    before, after = first.requests[-1]["messages"], second.requests[0]["messages"]
    assert after[: len(before)] == before
    assert [entry["parts"][0].get("text") for entry in session.history()[-2:]] == ["and now?", "thanks"]
    assert list((tmp_path / "t").iterdir()) == []


def test_compression_rewind_and_a_message_in_the_middle_of_a_turn_are_applied(tmp_path: Path) -> None:
    def line(uuid: str, parent: str | None, kind: str, text: str = "", **fields: Any) -> str:
        said = (
            {"message": {"role": "model" if kind == "assistant" else "user", "parts": [{"text": text}]}} if text else {}
        )
        return json.dumps({"uuid": uuid, "parentUuid": parent, "sessionId": "q", "type": kind, **said, **fields}) + "\n"

    summary = [{"role": "user", "parts": [{"text": "summary"}]}]
    path = tmp_path / "q.jsonl"
    path.write_text(
        line("1", None, "user", "long ago")
        + line("2", "1", "system", subtype="chat_compression", systemPayload={"compressedHistory": summary})
        + line("3", "2", "user", "wrong turn")
        + line("4", "3", "assistant", "forgotten")
        + line("5", "2", "system", subtype="rewind", systemPayload={"truncatedCount": 1})
        + line("6", "5", "user", "right turn")
        + line("7", "6", "user", "wait", subtype="mid_turn_user_message", systemPayload={"displayText": "wait"})
        + line("8", "7", "assistant", "done")
    )
    session = Session.resume(path)
    assert session.history() == [
        *summary,
        {"role": "user", "parts": [{"text": "right turn"}, {"text": "wait"}]},
        {"role": "model", "parts": [{"text": "done"}]},
    ]
    assert [(row.type, row.text) for row in session.shown()] == [
        ("user", "long ago"),
        ("system", "the conversation up to here was compressed"),
        ("user", "right turn"),
        ("user", "wait"),
        ("assistant", "done"),
    ]


def test_the_ledger_knows_the_turns_of_a_resumed_session_at_once(tmp_path: Path) -> None:
    talked(tmp_path)
    assert [entry.block.hook for entry in Session.resume(tmp_path / "s.jsonl").ledger] == ["branch=main", "branch=main"]


def test_every_record_says_whose_session_it_is(tmp_path: Path) -> None:
    talked(tmp_path, user="alice")
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert [line["userId"] for line in lines] == ["alice"] * 4


def test_another_user_cannot_resume_a_session_and_its_own_can_afterwards(tmp_path: Path) -> None:
    talked(tmp_path, user="alice")
    with app_of(tmp_path) as app:
        with pytest.raises(ValueError, match="session 's' is of another user than 'bob'; open another one for them"):
            app.open("s", user="bob", resume=True)
        assert app.open("s", user="alice", resume=True).user == "alice"
    with pytest.raises(ValueError, match="is of another user than 'bob'"):
        Session.resume(tmp_path / "s.jsonl", user="bob")


def users_in(path: Path) -> list[str | None]:
    return [json.loads(line).get("userId") for line in path.read_text().splitlines()]


def test_another_user_cannot_open_a_session_of_an_earlier_process_either(tmp_path: Path) -> None:
    talked(tmp_path, user="zoe")
    with app_of(tmp_path) as app:
        with pytest.raises(
            ValueError, match="session 's' is of another user than 'mallory'; open another one for them"
        ):
            app.open("s", user="mallory")
        with pytest.raises(ValueError, match="another user than 'mallory'"), app.session("s", user="mallory"):
            pass
        assert app.open("s", user="zoe").user == "zoe"
    with app_of(tmp_path, user="mallory") as app, pytest.raises(ValueError, match="another user than 'mallory'"):
        app.open("s")


def test_without_a_user_a_session_is_of_the_user_that_its_transcript_names(tmp_path: Path) -> None:
    _, messages = talked(tmp_path, user="zoe")
    with app_of(tmp_path) as app:
        session = app.open("s")
        ask(app.wrap(LocalModel("thanks").openai(), session=session), [*messages, {"role": "user", "content": "more"}])
    assert session.user == "zoe"
    assert users_in(tmp_path / "s.jsonl") == ["zoe"] * 6


def test_a_session_that_another_process_began_meanwhile_for_another_user_sends_and_writes_nothing(
    tmp_path: Path,
) -> None:
    model = LocalModel()
    with app_of(tmp_path) as app:
        late = app.open("s", user="mallory")
        client = app.wrap(model.openai(), session=late)
        talked(tmp_path, user="zoe")
        for _ in range(2):
            with pytest.raises(ValueError, match="session 's' is of another user than 'mallory'"):
                ask(client, [{"role": "user", "content": "hi"}])
        own = app.open("s", user="zoe")
        ask(app.wrap(model.openai(), session=own), [{"role": "user", "content": "hi"}])
        assert (own.user, late.user, len(model.requests)) == ("zoe", "mallory", 1)
    assert users_in(tmp_path / "s.jsonl") == ["zoe"] * 6


def test_a_session_that_names_its_user_late_is_that_users_from_then_on(tmp_path: Path) -> None:
    talked(tmp_path)
    with app_of(tmp_path) as app:
        client = app.wrap(LocalModel().openai(), session=app.open("s", user="zoe"))
        ask(client, [{"role": "user", "content": "hi"}])
    with app_of(tmp_path) as app, pytest.raises(ValueError, match="session 's' is of another user than 'mallory'"):
        app.open("s", user="mallory")
    assert users_in(tmp_path / "s.jsonl") == [None, None, None, None, "zoe", "zoe"]


def test_a_session_does_not_change_hands_after_its_first_turn() -> None:
    with Middleware(hooks=[lambda hook_input: "branch=main"]) as app:
        session = app.open("s", user="zoe")
        client = app.wrap(LocalModel().openai(), session=session)
        ask(client, [{"role": "user", "content": "hi"}])
        session.user = "mallory"
        with pytest.raises(ValueError, match="session 's' is of another user than 'mallory'"):
            ask(client, [{"role": "user", "content": "hi"}])


def test_a_session_without_a_transcript_is_begun(tmp_path: Path) -> None:
    with app_of(tmp_path) as app, app.session("new", resume=True) as session:
        assert (session.history(), session.shown()) == ([], [])


def test_resuming_needs_transcripts_an_id_and_a_file(tmp_path: Path) -> None:
    with Middleware() as app:
        with pytest.raises(TranscriptError, match="session 's' keeps no transcript; set transcripts to a folder"):
            app.open("s", resume=True)
        with pytest.raises(TypeError, match="resume needs the id of the session"):
            app.open(resume=True)
    with pytest.raises(FileNotFoundError):
        Session.resume(tmp_path / "none.jsonl")


def test_a_file_of_another_program_is_not_written_into(tmp_path: Path) -> None:
    path = tmp_path / "claude.jsonl"
    said = {
        "type": "user",
        "uuid": "u",
        "parentUuid": None,
        "sessionId": "c",
        "isSidechain": False,
        "userType": "external",
    }
    path.write_text(json.dumps({**said, "message": {"role": "user", "content": "hi"}, "version": "2.0.0"}) + "\n")
    with pytest.raises(
        TranscriptError, match="is a session of Claude Code, which goes on in its own files; bring it over"
    ):
        Session.resume(path)
    (tmp_path / "page.html").write_text("<html>")
    with pytest.raises(TranscriptError, match="is not a transcript: no line of it is a JSON object"):
        Session.resume(tmp_path / "page.html")


def test_a_resumed_session_that_is_let_go_syncs_and_closes_its_file(tmp_path: Path) -> None:
    talked(tmp_path)
    open_before = settled_descriptors()
    session = Session.resume(tmp_path / "s.jsonl")
    assert session.history()
    del session
    assert open_descriptors() == open_before


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}\n{"b": 2}\n',
        'import json\n\nprint({"a": 1})\n',
        '{"resourceSpans": []}\n',
        '{"uuid": "1", "type": "user", "mess',
        '{"uuid": "1", "type": "no such type"}\n',
    ],
    ids=["objects", "a program", "telemetry", "torn", "a type that nobody knows"],
)
def test_a_file_without_a_record_is_not_resumed(tmp_path: Path, text: str) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(text)
    with pytest.raises(TranscriptError) as refused:
        Session.resume(path)
    said = f"{path} is not a transcript: no line of it is a record; name a .jsonl transcript"
    assert (str(refused.value), path.read_text()) == (said, text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1}\n', "is not a transcript: no line of it is a record; name a .jsonl transcript"),
        ("import json\n", "is not a transcript: no line of it is a JSON object; name a .jsonl transcript"),
        (
            '{"uuid": "1", "type": "user", "sessionId": "other", "message": {"parts": [{"text": "hi"}]}}\n',
            "it holds the session 'other'; move it out of the way",
        ),
    ],
)
def test_a_session_writes_into_no_file_that_is_not_its_own_transcript(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, why: str
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(text)
    with app_of(tmp_path) as app:
        session = app.open("s")
        for _ in range(2):
            ask(app.wrap(LocalModel().openai(), session=session), [{"role": "user", "content": "hi"}])
    assert path.read_text() == text
    assert str(session.transcript_error).endswith(why)
    said = f"firsthand: transcript {path} cannot be written: {session.transcript_error}; the conversation goes on"
    assert [record.message for record in caplog.records] == [f"{said} without it"]
    with app_of(tmp_path, strict=True) as app, pytest.raises(TranscriptError, match="cannot be written"):
        ask(app.wrap(LocalModel().openai(), session=app.open("s")), [{"role": "user", "content": "hi"}])


def test_a_resumed_file_is_written_on_without_the_setting_transcripts(tmp_path: Path) -> None:
    talked(tmp_path)
    path = tmp_path / "s.jsonl"
    with Middleware() as app:
        client = app.wrap(LocalModel("thanks").openai(), session=Session.resume(path))
        ask(client, [{"role": "user", "content": "and now?"}])
    assert [json.loads(line)["message"]["parts"] for line in path.read_text().splitlines()[-2:]] == [
        [{"text": "and now?"}],
        [{"text": "thanks"}],
    ]


def test_a_durability_that_is_none_and_a_gemini_file_say_what_to_do(tmp_path: Path) -> None:
    talked(tmp_path)
    durability: Any = "x"
    with pytest.raises(ValueError, match="'x' is no durability; one of os, group, record"):
        Session.resume(tmp_path / "s.jsonl", durability=durability)
    path = tmp_path / "session.json"
    path.write_text('{"sessionId": "g", "projectHash": "h", "messages": []}')
    with pytest.raises(TranscriptError, match=r"is a session of Gemini CLI, which goes on in its own files$"):
        Session.resume(path)


def test_a_lost_record_is_warned_of_once_with_its_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    talked(tmp_path)
    path = tmp_path / "s.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], *lines[2:]]))
    lost = json.loads(lines[1])["uuid"]
    session = Session.resume(path)
    assert [message["role"] for message in session.messages()] == ["user", "tool", "user", "assistant"]
    session.messages("anthropic")
    [warning] = [record.message for record in caplog.records]
    assert warning == (
        f"firsthand: records of transcript {path} are lost (line 2: the parent {lost!r} is missing); "
        "its messages go on across the gap, and a provider refuses tool results without their calls"
    )
