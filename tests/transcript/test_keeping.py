"""Retention: what was not written for longer than it is kept goes, and nothing that is in use or of another kind."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Settings
from middleware.testing import LocalModel
from middleware.transcript import TranscriptFolder, keeping, remove_old

MONTH = timedelta(days=30)
LINE = '{"uuid":"u","parentUuid":null,"sessionId":"s","type":"user","message":{"parts":[{"text":"hi"}]}}\n'


def write(path: Path, *, days_ago: float, text: str = LINE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    then = time.time() - days_ago * 86_400
    os.utime(path, (then, then))
    return path


def soon(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)
    return true()


def keepers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "firsthand-transcript-keep"]


def test_what_is_older_than_it_is_kept_goes_and_what_is_younger_stays(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", days_ago=31)
    write(tmp_path / "young.jsonl", days_ago=29)
    assert remove_old(tmp_path, MONTH) == [old]
    assert [path.name for path in tmp_path.iterdir()] == ["young.jsonl"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("data.jsonl", '{"uuid":"1","type":"image","label":"cat"}\n'),
        ("rows.jsonl", '{"a":1}\n'),
        ("notes.txt", LINE),
        ("below/s.jsonl", LINE),
        ("empty.jsonl", ""),
        ("claude.jsonl", '{"sessionId":"c","type":"user","message":{"role":"user","content":"hi"},"uuid":"c1"}\n'),
        ("gemini.jsonl", '{"sessionId":"g","projectHash":"x","type":"user","uuid":"z","message":"hi"}\n'),
        ("cut.jsonl", '{"uuid":"1","name":"row on'),
    ],
)
def test_what_is_no_transcript_of_the_folder_is_not_ours_to_remove(tmp_path: Path, name: str, text: str) -> None:
    other = write(tmp_path / name, days_ago=900, text=text)
    assert remove_old(tmp_path, MONTH) == []
    assert other.exists()


@pytest.mark.parametrize(
    ("name", "text"), [("s.jsonl", LINE[:60]), (".s.jsonl.x1y2.new", LINE), (".s.jsonl.x.new", "")]
)
def test_a_transcript_that_was_cut_and_what_a_kill_left_of_one_go_too(tmp_path: Path, name: str, text: str) -> None:
    old = write(tmp_path / name, days_ago=31, text=text)
    assert remove_old(tmp_path, MONTH) == [old]


def test_a_link_is_left_alone_and_so_is_what_it_points_to(tmp_path: Path) -> None:
    target = write(tmp_path / "elsewhere" / "s.jsonl", days_ago=900)
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "s.jsonl").symlink_to(target)
    assert remove_old(tmp_path / "t", MONTH) == []
    assert target.exists()


def test_a_file_that_another_process_holds_at_this_moment_stays(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", days_ago=31)
    other = TranscriptFolder(tmp_path, durability="os")
    with other.writer("s").exclusive():
        assert remove_old(tmp_path, MONTH) == []
    other.close()
    assert remove_old(tmp_path, MONTH) == [path]


def test_the_first_session_of_a_folder_has_the_old_ones_removed_in_the_background(tmp_path: Path) -> None:
    old, young = write(tmp_path / "old.jsonl", days_ago=31), write(tmp_path / "young.jsonl", days_ago=1)
    folder = TranscriptFolder(tmp_path, durability="os", keep=MONTH)
    assert old.exists()
    folder.writer("new")
    assert soon(lambda: not old.exists())
    assert young.exists()
    folder.close()
    assert soon(lambda: keepers() == [])


def test_it_is_done_again_after_an_hour_and_a_file_that_is_open_here_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "_EVERY", 0.02)
    folder = TranscriptFolder(tmp_path, durability="os", keep=MONTH)
    used = folder.writer("used")
    used.append({"uuid": "a", "parentUuid": None, "sessionId": "used", "type": "user"})
    write(used.path, days_ago=31, text=used.path.read_text())
    old = write(tmp_path / "old.jsonl", days_ago=31)
    assert soon(lambda: not old.exists())
    time.sleep(0.1)
    assert used.path.exists()
    folder.close()


def test_a_folder_without_keep_has_no_thread_and_a_collected_one_lets_its_thread_go(tmp_path: Path) -> None:
    assert soon(lambda: keepers() == [])
    TranscriptFolder(tmp_path).writer("s")
    assert keepers() == []
    folder = TranscriptFolder(tmp_path, keep=MONTH)
    folder.writer("s")
    assert len(keepers()) == 1
    del folder
    gc.collect()
    assert soon(lambda: keepers() == [])


def test_the_setting_is_acted_on(tmp_path: Path) -> None:
    old, young = write(tmp_path / "old.jsonl", days_ago=31), write(tmp_path / "young.jsonl", days_ago=29)
    model = LocalModel()
    with Middleware(Settings(transcripts=str(tmp_path), keep="30d")) as app:
        client = app.wrap(model.openai(), session=app.open("s"))
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
        assert soon(lambda: not old.exists())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.jsonl", young.name]


def test_an_old_session_that_is_resumed_is_not_removed_under_it(tmp_path: Path) -> None:
    resumed, other = write(tmp_path / "s.jsonl", days_ago=31), write(tmp_path / "other.jsonl", days_ago=31)
    with Middleware(Settings(transcripts=str(tmp_path), keep="30d")) as app:
        session = app.open("s", resume=True)
        assert soon(lambda: not other.exists())
        assert [row.text for row in session.shown()] == ["hi"]
        assert resumed.exists()


def test_in_the_references_layout_other_projects_stay(tmp_path: Path) -> None:
    ours: Any = TranscriptFolder(tmp_path, layout="qwen", cwd="/ours", keep=MONTH)
    old = write(ours.path("old"), days_ago=31)
    theirs = write(tmp_path / "-theirs" / "chats" / "old.jsonl", days_ago=31)
    ours.writer("new")
    assert soon(lambda: not old.exists())
    assert theirs.exists()
    ours.close()
