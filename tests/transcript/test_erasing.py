"""Erasing: what is to go leaves no byte in the folder, and nothing else goes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Settings
from middleware.testing import LocalModel
from middleware.transcript import TranscriptFolder, erasable, erase, read


def line(session: str, text: str, **fields: Any) -> str:
    record = {"uuid": f"{session}-{text}", "parentUuid": None, "sessionId": session, "type": "user", "text": text}
    return json.dumps({**record, **fields}) + "\n"


def bytes_on_disk(folder: Path) -> bytes:
    """Every name and every byte of every file in a folder, whatever it is called."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return b"".join(str(path).encode() + path.read_bytes() for path in files)


def speak(folder: Path, session: str, user: str, text: str, **settings: Any) -> None:
    model = LocalModel(f"an answer to {text}")
    with Middleware(Settings(transcripts=str(folder), **settings), hooks=[lambda given: f"context of {text}"]) as app:
        client = app.wrap(model.openai(), session=app.open(session, user=user))
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])


@pytest.mark.parametrize("layout", ["plain", "qwen"])
def test_nothing_of_a_user_is_left_and_all_of_the_others(tmp_path: Path, layout: str) -> None:
    speak(tmp_path, "s1", "alice", "ALICE-ONE", layout=layout)
    speak(tmp_path, "s2", "bob", "BOB-ONE", layout=layout)
    speak(tmp_path, "s3", "alice", "ALICE-TWO", layout=layout)
    before = bytes_on_disk(tmp_path)
    assert (before.count(b"ALICE"), before.count(b"BOB")) == (10, 5)
    gone = erase(tmp_path, user="alice")
    assert [file.sessions for file in gone] == [{"s1"}, {"s3"}]
    after = bytes_on_disk(tmp_path)
    assert (after.count(b"ALICE"), after.count(b"alice"), after.count(b"BOB")) == (0, 0, 5)


def test_a_session_goes_with_those_that_it_opened(tmp_path: Path) -> None:
    parent = {"type": "system", "subtype": "parent_session"}
    (tmp_path / "a.jsonl").write_text(line("a", "SECRET"))
    (tmp_path / "b.jsonl").write_text(line("b", "SECRET", systemPayload={"parentSessionId": "a"}, **parent))
    (tmp_path / "c.jsonl").write_text(line("c", "SECRET", systemPayload={"parentSessionId": "b"}, **parent))
    (tmp_path / "d.jsonl").write_text(line("d", "kept"))
    erase(tmp_path, session="a")
    assert [path.name for path in tmp_path.iterdir()] == ["d.jsonl"]


def test_a_copy_under_another_name_and_what_a_kill_left_go_too(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(line("a", "SECRET"))
    (tmp_path / "a.repaired.jsonl").write_text(line("a", "SECRET"))
    (tmp_path / ".a.jsonl.x1y2.new").write_text(line("a", "SECRET"))
    erase(tmp_path, session="a")
    assert list(tmp_path.iterdir()) == []


def test_of_a_file_with_two_sessions_only_the_lines_of_one_go_and_none_that_may_be_of_it(tmp_path: Path) -> None:
    kept = [line("b", "kept one"), line("b", "kept two")]
    glued = line("a", "SECRET").rstrip() + line("b", "kept too late")
    (tmp_path / "mixed.jsonl").write_text(kept[0] + line("a", "SECRET") + '{"uuid":"a-SECRET' + "\n" + glued + kept[1])
    [file] = erase(tmp_path, session="a")
    assert (sorted(file.sessions), sorted(file.others)) == (["a"], ["b"])
    assert (tmp_path / "mixed.jsonl").read_text() == "".join(kept)
    assert b"SECRET" not in bytes_on_disk(tmp_path)
    assert (tmp_path / "mixed.jsonl").stat().st_mode & 0o777 == 0o600


def test_sessions_go_that_were_last_written_before_a_time(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text(line("old", "x", timestamp="2025-01-01T00:00:00.000Z"))
    (tmp_path / "new.jsonl").write_text(
        line("new", "x", timestamp="2025-01-01T00:00:00.000Z") + line("new", "y", timestamp="2026-01-01T00:00:00.000Z")
    )
    (tmp_path / "undated.jsonl").write_text(line("undated", "x"))
    os.utime(tmp_path / "undated.jsonl", (0, 0))
    (tmp_path / "data.jsonl").write_text('{"a": 1}\n')
    os.utime(tmp_path / "data.jsonl", (0, 0))
    erase(tmp_path, before=datetime(2025, 6, 1, tzinfo=UTC))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.jsonl", "new.jsonl"]


def test_all_that_is_given_has_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text(line("1", "x", userId="alice", timestamp="2025-01-01T00:00:00Z"))
    (tmp_path / "2.jsonl").write_text(line("2", "x", userId="alice", timestamp="2026-01-01T00:00:00Z"))
    (tmp_path / "3.jsonl").write_text(line("3", "x", userId="bob", timestamp="2025-01-01T00:00:00Z"))
    found = erasable(tmp_path, user="alice", before=datetime(2025, 6, 1, tzinfo=UTC))
    assert [file.path.name for file in found] == ["1.jsonl"]
    assert len(list(tmp_path.iterdir())) == 3


def test_a_transcript_that_was_cut_in_its_first_record_goes_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a%2Fb.jsonl").write_text('{"uuid":"1","text":"SECRET')
    erase(tmp_path, session="a/b")
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_goes_on_with_an_erased_session_begins_a_file_without_it(tmp_path: Path) -> None:
    folder = TranscriptFolder(tmp_path, durability="group")
    writer = folder.writer("s")
    writer.append(json.loads(line("s", "SECRET")))
    erase(tmp_path, session="s")
    with writer.exclusive():
        writer.append({**json.loads(line("s", "after")), "parentUuid": writer.tail})
    folder.close()
    assert [(record["text"], record["parentUuid"]) for record in read(tmp_path / "s.jsonl").records] == [
        ("after", None)
    ]
    assert b"SECRET" not in bytes_on_disk(tmp_path)


def test_a_file_that_is_being_written_is_waited_for(tmp_path: Path) -> None:
    folder = TranscriptFolder(tmp_path, durability="os")
    writer = folder.writer("s")
    with writer.exclusive():
        writer.append(json.loads(line("s", "SECRET")))
        erasing = threading.Thread(target=erase, args=(tmp_path,), kwargs={"session": "s"})
        erasing.start()
        erasing.join(0.2)
        assert erasing.is_alive()
        writer.append(json.loads(line("s", "SECRET too")))
    erasing.join(60)
    folder.close()
    assert list(tmp_path.iterdir()) == []


def test_the_erasure_of_a_folder_that_two_processes_write_to_loses_no_other_record(tmp_path: Path) -> None:
    code = (
        "import sys, json; from pathlib import Path; from middleware.transcript import TranscriptFolder\n"
        "folder = TranscriptFolder(Path(sys.argv[1]), durability='os')\n"
        "for number in range(300):\n"
        "    for session in ('gone', 'kept'):\n"
        "        writer = folder.writer(session)\n"
        "        with writer.exclusive():\n"
        "            writer.append({'uuid': f'{session}{number}', 'parentUuid': writer.tail, 'sessionId': session,"
        " 'type': 'user'})\n"
    )
    children = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "one")]) for _ in range(2)]
    while any(child.poll() is None for child in children):
        if (tmp_path / "one" / "kept.jsonl").exists():
            erase(tmp_path / "one", session="gone")
    assert [child.returncode for child in children] == [0, 0]
    erase(tmp_path / "one", session="gone")
    assert len(read(tmp_path / "one" / "kept.jsonl").records) == 600
    assert b"gone" not in bytes_on_disk(tmp_path)


def test_erasing_everything_by_saying_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing says what to erase: give a session, a user or a time"):
        erase(tmp_path)
    with pytest.raises(ValueError, match="2025-01-01T00:00:00 has no time zone; give one"):
        erase(tmp_path, before=datetime(2025, 1, 1))


FOREIGN = {
    "data.jsonl": '{"uuid":"1","name":"row one"}\n{"uuid":"2","name":"row"}\n',
    "typed.jsonl": '{"uuid":"1","type":"widget","sessionId":"q"}\n',
    "users.jsonl": '{"uuid":"1","type":"user","name":"row","userId":"alice"}\n',
    "claude.jsonl": (
        '{"parentUuid":null,"sessionId":"c","version":"2.0.0","type":"user","userId":"alice",'
        '"message":{"role":"user","content":"hi"},"uuid":"c1","timestamp":"2020-01-01T00:00:00.000Z"}\n'
    ),
    "gemini.jsonl": '{"sessionId":"g","projectHash":"x","type":"user","uuid":"z","userId":"alice","message":"hi"}\n',
    "empty.jsonl": "",
    "cut.jsonl": '{"uuid":"1","name":"row on',
    "blank.jsonl": "\n\n",
}


@pytest.mark.parametrize("given", [{"before": datetime(2040, 1, 1, tzinfo=UTC)}, {"user": "alice"}])
def test_what_is_no_transcript_is_never_erased(tmp_path: Path, given: Any) -> None:
    for name, text in FOREIGN.items():
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / "ours.jsonl").write_text(line("ours", "x", userId="alice"))
    assert [file.path.name for file in erase(tmp_path, **given)] == ["ours.jsonl"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FOREIGN)


def test_a_transcript_whose_only_line_is_cut_goes_with_its_user_and_its_time(tmp_path: Path) -> None:
    speak(tmp_path, "s", "alice", "ALICE-ONE")
    whole = (tmp_path / "s.jsonl").read_bytes()
    for given in ({"user": "alice"}, {"before": datetime(2040, 1, 1, tzinfo=UTC)}, {"session": "s"}):
        (tmp_path / "s.jsonl").write_bytes(whole[: whole.index(b"ALICE-ONE") + 5])
        assert erasable(tmp_path, user="bob") == []
        erase(tmp_path, **given)
        assert list(tmp_path.iterdir()) == []


def test_what_a_kill_left_of_a_file_goes_with_the_session_and_its_user(tmp_path: Path) -> None:
    for given in ({"user": "alice"}, {"session": "a/b"}):
        (tmp_path / "a%2Fb.jsonl").write_text(line("a/b", "x", userId="alice"))
        (tmp_path / ".a%2Fb.jsonl.x1y2.new").write_text('"text":"SECRET"}\n')
        erase(tmp_path, **given)  # type: ignore[arg-type]
        assert list(tmp_path.iterdir()) == []
