"""What a folder of transcripts says about its sessions."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from middleware.transcript import SessionInfo, list_sessions


def line(uuid: str, parent: str | None, session: str = "s1", **fields: Any) -> str:
    return json.dumps({"uuid": uuid, "parentUuid": parent, "sessionId": session, **fields}) + "\n"


def user(uuid: str, parent: str | None, text: str, **fields: Any) -> str:
    return line(uuid, parent, type="user", message={"role": "user", "parts": [{"text": text}]}, **fields)


def write(path: Path, text: str, modified: int = 1_700_000_000) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (modified, modified))


def test_a_session_is_told_of_by_its_id_first_prompt_turns_size_and_time(tmp_path: Path) -> None:
    text = user("u1", None, "why is CI red?") + line("a1", "u1", type="assistant") + user("u2", "a1", "and now?")
    write(tmp_path / "one.jsonl", text)
    assert list(list_sessions(tmp_path)) == [
        SessionInfo(
            path=tmp_path / "one.jsonl",
            session_id="s1",
            first_prompt="why is CI red?",
            size=len(text),
            modified=datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
            turns=2,
        )
    ]


def test_the_last_written_session_comes_first(tmp_path: Path) -> None:
    for name, modified in (("a", 1_000), ("b", 3_000), ("c", 2_000)):
        write(tmp_path / f"{name}.jsonl", user("u1", None, name), modified)
    assert [info.first_prompt for info in list_sessions(tmp_path)] == ["b", "c", "a"]


def test_the_first_prompt_is_never_injected_text(tmp_path: Path) -> None:
    tag = "<qwen:user-prompt-submit-context>\nsecret\n</qwen:user-prompt-submit-context>"
    parts = [{"text": "typed"}, {"text": tag}]
    note = user("n1", None, "<task-notification>", subtype="notification", systemPayload={"displayText": "Build done"})
    write(tmp_path / "a.jsonl", note + line("u1", "n1", type="user", message={"role": "user", "parts": parts}))
    [info] = list_sessions(tmp_path)
    assert (info.first_prompt, info.turns) == ("typed", 1)


def test_a_rewound_prompt_does_not_count(tmp_path: Path) -> None:
    rewind = line("r1", None, type="system", subtype="rewind", systemPayload={"truncatedCount": 1})
    write(tmp_path / "a.jsonl", user("u1", None, "wrong") + rewind + user("u2", "r1", "right"))
    [info] = list_sessions(tmp_path)
    assert (info.first_prompt, info.turns) == ("right", 1)


def test_a_long_file_is_read_only_as_far_as_its_first_prompt(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    write(path, user("u1", None, "hello"))
    with path.open("ab") as file:
        file.truncate(1 << 40)
    [info] = list_sessions(tmp_path)
    assert (info.first_prompt, info.turns, info.size) == ("hello", None, 1 << 40)


def test_a_first_prompt_behind_a_hundred_kilobytes_is_found(tmp_path: Path) -> None:
    start = line(
        "s0", None, type="system", subtype="session_start_context", systemPayload={"hookContext": "x" * 100_000}
    )
    write(tmp_path / "a.jsonl", start + user("u1", "s0", "hello") + "x" * 300_000)
    [info] = list_sessions(tmp_path)
    assert (info.first_prompt, info.turns) == ("hello", 1)


def test_a_session_without_records_is_named_by_its_file(tmp_path: Path) -> None:
    write(tmp_path / "a%2Fb.jsonl", "")
    [info] = list_sessions(tmp_path)
    assert (info.session_id, info.first_prompt, info.turns) == ("a/b", None, 0)


def test_a_file_of_several_sessions_is_listed_without_turns(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", user("u1", None, "one") + user("u2", "u1", "two").replace("s1", "s2"))
    [info] = list_sessions(tmp_path)
    assert (info.first_prompt, info.turns) == ("one", None)


@pytest.mark.parametrize("place", ["s.jsonl", "chats/s.jsonl", "-work-project/chats/s.jsonl"])
def test_both_layouts_are_found(tmp_path: Path, place: str) -> None:
    write(tmp_path / place, user("u1", None, "hello"))
    assert [info.path for info in list_sessions(tmp_path)] == [tmp_path / place]


def test_what_is_no_transcript_is_left_out(tmp_path: Path) -> None:
    write(tmp_path / "notes.txt", "hello")
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert list(list_sessions(tmp_path)) == []


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(list_sessions(tmp_path / "nowhere"))


def test_turns_are_counted_as_long_as_that_is_little_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = user("u1", None, "one") + user("u2", "u1", "x" * 20_000)
    for name, modified in (("a", 3_000), ("b", 2_000), ("c", 1_000)):
        write(tmp_path / f"{name}.jsonl", long, modified)
    write(tmp_path / "d.jsonl", user("u1", None, "short"), 500)
    monkeypatch.setattr("middleware.transcript.listing._COUNTED", 2 * len(long))
    assert [info.turns for info in list_sessions(tmp_path)] == [2, 2, None, 1]


def test_whose_session_it_is_and_of_which_program_is_told(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", user("u1", None, "one", userId="zoe"))
    told = "<system-reminder>secret</system-reminder>"
    claude = line("u1", None, type="user", message={"role": "user", "content": f"{told}\nwhy?"})
    result = [{"type": "tool_result", "tool_use_id": "1", "content": "red"}]
    write(tmp_path / "b.jsonl", claude + line("u2", "u1", type="user", message={"role": "user", "content": result}), 1)
    assert [(info.user, info.program, info.first_prompt, info.turns) for info in list_sessions(tmp_path)] == [
        ("zoe", None, "one", 1),
        (None, "Claude Code", "why?", 1),
    ]


def test_what_cannot_be_read_and_what_is_no_transcript_is_told_of_and_not_listed(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", user("u1", None, "one"))
    write(tmp_path / "other.jsonl", '{"a": 1}\n')
    write(tmp_path / "program.jsonl", "import json\n")
    (tmp_path / "broken.jsonl").symlink_to("/proc/self/mem")
    unread: list[str] = []
    foreign: list[str] = []
    found = list_sessions(
        tmp_path,
        on_error=lambda path, error: unread.append(path.name),
        on_foreign=lambda path: foreign.append(path.name),
    )
    assert [info.path.name for info in found] == ["a.jsonl"]
    assert (unread, sorted(foreign)) == (["broken.jsonl"], ["other.jsonl", "program.jsonl"])


def test_a_mended_copy_beside_its_original_is_no_session(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", user("u1", None, "one"))
    write(tmp_path / "a.jsonl.repaired", user("u1", None, "one"))
    assert [info.path.name for info in list_sessions(tmp_path)] == ["a.jsonl"]
