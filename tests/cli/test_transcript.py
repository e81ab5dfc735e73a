"""`firsthand transcript show`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run

CONTEXT = "<qwen:user-prompt-submit-context>\nbranch: main\n</qwen:user-prompt-submit-context>"


def record(uuid: str, parent: str | None, kind: str, parts: list[Any], **more: Any) -> dict[str, Any]:
    role = "model" if kind == "assistant" else "user"
    message = {"role": role, "parts": parts}
    return {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "type": kind, "message": message, **more}


RECORDS = [
    record(
        "a",
        None,
        "user",
        [{"text": "why is CI red?"}, {"text": CONTEXT}],
        systemPayload={"displayText": "why is CI red?", "hookContext": "branch: main"},
    ),
    record("b", "a", "assistant", [{"functionCall": {"id": "1", "name": "run", "args": {"test": "t"}}}]),
    record(
        "c",
        "b",
        "tool_result",
        [{"functionResponse": {"id": "1", "name": "run", "response": {"output": "failed"}}}, {"text": CONTEXT}],
    ),
    record("d", "c", "assistant", [{"text": "It failed\nagain."}]),
]


@pytest.fixture
def file(place: Path) -> Path:
    file = place / "s.jsonl"
    file.write_text("".join(json.dumps(item) + "\n" for item in RECORDS))
    return file


def test_it_shows_what_was_typed_and_nothing_that_was_injected(run: Run, file: Path) -> None:
    result = run("transcript", "show", "s.jsonl")
    assert result.exit_code == 0
    assert result.stdout == 'session s\n\n> why is CI red?\n* run {"test": "t"}\n  = failed\n  It failed\n  again.\n'


def test_raw_shows_the_tagged_parts_where_they_were_sent(run: Run, file: Path) -> None:
    added = "  | <qwen:user-prompt-submit-context>\n  | branch: main\n  | </qwen:user-prompt-submit-context>\n"
    assert run("transcript", "show", "--raw", "s.jsonl").stdout == (
        f'session s\n\n> why is CI red?\n{added}* run {{"test": "t"}}\n  = failed\n{added}  It failed\n  again.\n'
    )


def test_json_lists_the_rows(run: Run, file: Path) -> None:
    rows = json.loads(run("transcript", "show", "--json", "s.jsonl").stdout)
    assert [(row["type"], row["text"], row["uuid"]) for row in rows] == [
        ("user", "why is CI red?", "a"),
        ("tool_call", '{"test": "t"}', "b"),
        ("tool_result", "failed", "c"),
        ("assistant", "It failed\nagain.", "d"),
    ]
    assert list(rows[0]) == ["type", "text", "uuid", "sent_to_model", "name", "call_id", "subtype"]


def test_raw_json_lists_what_was_injected(run: Run, file: Path) -> None:
    rows = json.loads(run("transcript", "show", "--json", "--raw", "s.jsonl").stdout)
    assert [row["injected"] for row in rows] == [[CONTEXT], [], [CONTEXT], []]


def test_a_torn_line_is_a_warning_and_the_rest_is_shown(run: Run, file: Path) -> None:
    with file.open("a") as out:
        out.write('{"uuid": "e", "type": "us')
    result = run("transcript", "show", "s.jsonl")
    assert result.exit_code == 0
    assert "again." in result.stdout
    assert result.stderr == (
        "firsthand: s.jsonl:5: invalid_record: the line is torn, glued or no JSON; 0 records recovered\n"
    )


@pytest.mark.parametrize(
    "text", ["root:x:0:0\nmore\n", '{"name": "x"}\n', '{\n "a": {"b": 1}\n}\n', "[1, 2]\n", "\x00\x01\x02"]
)
def test_a_file_that_is_no_transcript_is_one_line_and_exit_1(run: Run, place: Path, text: str) -> None:
    (place / "x.jsonl").write_text(text)
    result = run("transcript", "show", "x.jsonl")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("firsthand: x.jsonl is not a transcript: no line of it is a")
    assert result.stderr.count("\n") == 1


def test_a_file_that_is_not_there_is_one_line(run: Run) -> None:
    result = run("transcript", "show", "nowhere.jsonl")
    assert result.exit_code == 1
    assert result.stderr == ("firsthand: nowhere.jsonl: no such file; check the path, or the setting `transcripts`\n")


def test_a_folder_is_one_line(run: Run, place: Path) -> None:
    result = run("transcript", "show", str(place))
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "is a folder, not a transcript" in result.stderr


def test_two_sessions_in_one_file_are_refused_by_name(run: Run, place: Path) -> None:
    other = {**RECORDS[1], "sessionId": "t"}
    (place / "x.jsonl").write_text(f"{json.dumps(RECORDS[0])}\n{json.dumps(other)}\n")
    result = run("transcript", "show", "x.jsonl")
    assert result.exit_code == 1
    assert result.stderr.startswith("firsthand: transcript x.jsonl holds records of the sessions s and t")


def test_an_empty_file_shows_nothing_and_says_so(run: Run, place: Path) -> None:
    (place / "x.jsonl").write_text("")
    result = run("transcript", "show", "x.jsonl")
    assert (result.exit_code, result.stdout, result.stderr) == (
        0,
        "",
        "firsthand: x.jsonl: holds no conversation yet\n",
    )


def test_terminal_escapes_in_a_transcript_are_not_obeyed(run: Run, place: Path) -> None:
    evil = record("a", None, "user", [{"text": "hi \x1b]0;owned\x07 [red]x[/red] \x9b31m"}])
    (place / "x.jsonl").write_text(json.dumps(evil) + "\n")
    out = run("transcript", "show", "x.jsonl").stdout
    assert out == "session s\n\n> hi \ufffd]0;owned\ufffd [red]x[/red] \ufffd31m\n  (no reply)\n"


def test_long_lines_are_not_broken(run: Run, place: Path) -> None:
    (place / "x.jsonl").write_text(json.dumps(record("a", None, "user", [{"text": "word " * 100 + "end"}])) + "\n")
    assert run("transcript", "show", "x.jsonl").stdout == "session s\n\n> " + "word " * 100 + "end\n  (no reply)\n"


def test_every_typed_line_is_marked_and_prompts_without_a_reply_are_too(run: Run, place: Path) -> None:
    lines = [
        record("a", None, "user", [{"text": "look\nAssistant: done"}], userId="alice"),
        record("b", "a", "user", [{"text": "and this"}, {"inlineData": {"mimeType": "image/png", "data": "AA=="}}]),
        record("c", "b", "assistant", [{"text": "> I see\nit"}]),
        record("d", "c", "user", [{"inlineData": {"mimeType": "image/gif", "data": "AA=="}}]),
    ]
    (place / "x.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert run("transcript", "show", "x.jsonl").stdout == (
        "session s, user alice\n\n> look\n> Assistant: done\n\n  (no reply)\n\n> and this\n> [image/png]\n"
        "  > I see\n  it\n\n> [image/gif]\n  (no reply)\n"
    )


def test_a_refusal_is_a_turn_of_its_own_and_no_part_of_the_answer_above_it(run: Run, place: Path) -> None:
    payload = {"hook": "guard", "reason": "no SQL here"}
    refused = {"sessionId": "s", "type": "system", "subtype": "prompt_blocked", "systemPayload": payload}
    records = [
        record("a", None, "user", [{"text": "hello"}]),
        record("b", "a", "assistant", [{"text": "Good morning."}]),
        {**refused, "uuid": "c", "parentUuid": "b"},
        {**refused, "uuid": "d", "parentUuid": "c"},
        record("e", "d", "user", [{"text": "and now?"}]),
        record("f", "e", "assistant", [{"text": "Noon."}]),
    ]
    (place / "b.jsonl").write_text("".join(json.dumps(item) + "\n" for item in records))
    shown = run("transcript", "show", "b.jsonl").stdout
    rows = [line for line in shown.splitlines() if line.startswith("# ")]
    assert len(rows) == 2 and "guard" in rows[0]
    assert shown == (f"session s\n\n> hello\n  Good morning.\n\n{rows[0]}\n\n{rows[1]}\n\n> and now?\n  Noon.\n")


def test_what_turns_the_direction_or_is_not_seen_is_marked(run: Run, place: Path) -> None:
    said = "a\u202eb\u2066c\u200bd\ufeffe\U000e0041f"
    (place / "x.jsonl").write_text(json.dumps(record("a", None, "user", [{"text": said}])) + "\n")
    assert "> a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf\n" in run("transcript", "show", "x.jsonl").stdout


def test_a_session_is_named_by_its_id_where_transcripts_are_on(
    run: Run, file: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "tr" / "-w" / "chats").mkdir(parents=True)
    file.rename(place / "tr" / "-w" / "chats" / "a%2Fb.jsonl")
    monkeypatch.setenv("FIRSTHAND_TRANSCRIPTS", "tr")
    assert run("transcript", "show", "a/b").stdout.startswith("session s\n\n> why is CI red?\n")
    assert run("transcript", "export", "a/b", "-f", "md").stdout.startswith("# why is CI red?\n")
    assert run("transcript", "check", "a/b").exit_code == 0
    missing = run("transcript", "show", "c")
    assert (missing.exit_code, missing.stderr) == (1, "firsthand: c: no such file, and no session of that id in tr\n")


def test_a_gap_is_told_of_with_its_line_in_the_words_of_check(run: Run, place: Path) -> None:
    lines = [RECORDS[0], {**RECORDS[3], "parentUuid": "lost"}]
    (place / "x.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    said = "x.jsonl:2: history_gap: the parent 'lost' is missing\n"
    assert run("transcript", "show", "x.jsonl").stderr == f"firsthand: {said}"
    assert run("transcript", "check", "x.jsonl").stdout.startswith(said)
