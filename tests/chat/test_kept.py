"""The chat's files: several chats at once, kills, and what may be read by whom."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from middleware.chat import Chat, State
from middleware.chat.terminal import kept
from middleware.chat.terminal.files import Files
from middleware.chat.terminal.kept import Kept


def texts(path: Path, most: int = 1_000) -> list[str]:
    return list(Kept(path, most=most).read().values())


def sent(chat: Chat, *texts: str) -> None:
    for text in texts:
        chat.composer.clear()
        chat.composer.type(text)
        chat.submit()
        chat.finish()


def entries(chat: Chat) -> list[str]:
    return [entry.text for entry in chat.history.entries]


def opened(folder: Path) -> tuple[Files, Chat]:
    files = Files(folder)
    return files, files.chat(local=(), prompts=())


def test_what_is_written_is_read_again_in_order_and_what_was_taken_back_is_not(tmp_path: Path) -> None:
    file = Kept(tmp_path / "a.jsonl", most=10)
    one, two = file.write(new=["one", "two\nlines \ud800 ü"])
    assert file.read() == {one: "one", two: "two\nlines \ud800 ü"}
    file.write(new=["three"], gone=[one])
    assert texts(tmp_path / "a.jsonl") == ["two\nlines \ud800 ü", "three"]
    assert b"one" not in (tmp_path / "a.jsonl").read_bytes()


def test_a_file_and_its_folder_are_for_their_owner_only(tmp_path: Path) -> None:
    Kept(tmp_path / "made" / "a.jsonl", most=10).write(new=["x"])
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"made": 0o700, "a.jsonl": 0o600, "lock": 0o600}


@pytest.mark.parametrize(
    "torn", [b'{"id": "x", "te', b"\x00\x00\x00", b"[1]\n", b'{"id": 3, "text": []}\n', b'\xff\xfe{"id"', b"{}\n\n"]
)
def test_a_line_that_is_no_record_is_passed_over_and_takes_no_other_with_it(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "a.jsonl"
    Kept(path, most=10).write(new=["before"])
    with path.open("ab") as file:
        file.write(torn)
    Kept(path, most=10).write(new=["after"])
    assert texts(path) == ["before", "after"]
    assert path.read_bytes().count(torn) == 1


def test_a_link_in_the_files_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("theirs\n")
    (tmp_path / "a.jsonl").symlink_to(tmp_path / "theirs")
    with pytest.raises(OSError):
        Kept(tmp_path / "a.jsonl", most=10).write(new=["x"])
    assert (tmp_path / "theirs").read_text() == "theirs\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_the_files_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "texts")
    assert Kept(tmp_path / "texts", most=9).read() == {}
    with pytest.raises(OSError):
        Kept(tmp_path / "texts", most=9).write(new=["a"])


def test_a_file_that_gets_too_long_keeps_its_newest_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_MOST_BYTES", 1_000)
    path = tmp_path / "a.jsonl"
    for number in range(100):
        Kept(path, most=1_000).write(new=[f"text {number}"])
        assert path.stat().st_size <= 1_000
    assert texts(path)[-3:] == ["text 97", "text 98", "text 99"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    Kept(path, most=1_000).write(new=["x" * 5_000])
    assert texts(path) == ["x" * 5_000]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.jsonl", "lock"]


def test_only_the_newest_texts_are_read(tmp_path: Path) -> None:
    Kept(tmp_path / "a.jsonl", most=2).write(new=["1", "2", "3"])
    assert texts(tmp_path / "a.jsonl", most=2) == ["2", "3"]


WRITER = """
import sys
from pathlib import Path
from middleware.chat.terminal import kept
kept._MOST_BYTES = int(sys.argv[3])
for number in range(100):
    kept.Kept(Path(sys.argv[1]), most=10_000).write(new=[sys.argv[2] + str(number) + "x" * 3_000])
"""


@pytest.mark.parametrize("most", [8_000_000, 1_300_000], ids=["as it is", "made anew meanwhile"])
def test_programs_that_write_at_once_lose_nothing_of_each_other(tmp_path: Path, most: int) -> None:
    path = tmp_path / "a.jsonl"
    if most < 8_000_000:
        Kept(path, most=10_000).write(new=["old" * 100_000])
    running = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name, str(most)]) for name in "abcd"]
    assert [process.wait(100) for process in running] == [0, 0, 0, 0]
    found = [text.rstrip("x") for text in texts(path, most=10_000) if not text.startswith("old")]
    expected = {f"{name}{number}" for name in "abcd" for number in range(100)}
    if most == 8_000_000:
        assert sorted(found) == sorted(expected)
    else:
        # It was shortened to its newest: those are whole, and each program's last one is there.
        assert set(found) <= expected
        assert len(found) == len(set(found)) > 100
    assert all(json.loads(line) for line in path.read_bytes().splitlines())


def test_two_chats_at_once_keep_the_history_of_both(tmp_path: Path) -> None:
    (files, chat), (other_files, other) = opened(tmp_path), opened(tmp_path)
    sent(chat, "one")
    files.keep(chat)
    sent(other, "two")
    other_files.keep(other)
    sent(chat, "three")
    files.keep(chat)
    assert entries(opened(tmp_path)[1]) == ["one", "two", "three"]


def test_a_text_that_was_cancelled_or_blocked_is_taken_out_of_the_file_and_no_other_with_its_words(
    tmp_path: Path,
) -> None:
    files, chat = opened(tmp_path)
    sent(chat, "same")
    files.keep(chat)
    chat.composer.type("same")
    chat.submit()
    files.keep(chat)
    chat.cancel()
    files.keep(chat)
    assert entries(opened(tmp_path)[1]) == ["same"]


def test_shell_commands_have_a_history_of_their_own(tmp_path: Path) -> None:
    files, chat = opened(tmp_path)
    chat.toggle_shell(True)
    sent(chat, "ls")
    chat.toggle_shell(False)
    sent(chat, "hello")
    files.keep(chat)
    again = opened(tmp_path)[1]
    assert entries(again) == ["hello"]
    assert [entry.text for entry in again.shell_history.entries] == ["ls"]


def test_a_draft_that_was_stashed_comes_back_unattributed_and_is_gone_once_it_was_sent(tmp_path: Path) -> None:
    files, chat = opened(tmp_path)
    chat.composer.type("draft")
    chat.keep()
    files.keep(chat)
    files, chat = opened(tmp_path)
    assert (chat.composer.text, chat.composer.state) == ("draft", State.TAINTED)
    chat.submit()
    files.keep(chat)
    assert opened(tmp_path)[1].composer.text == ""


def test_the_drafts_of_two_chats_are_both_kept(tmp_path: Path) -> None:
    for (files, chat), text in zip([opened(tmp_path), opened(tmp_path)], ["mine", "yours"], strict=True):
        chat.composer.type(text)
        chat.keep()
        files.keep(chat)
    chat = opened(tmp_path)[1]
    assert (chat.composer.text, chat.shelf) == ("yours", ("mine",))


def test_what_was_put_away_is_kept_and_the_send_of_another_text_leaves_it(tmp_path: Path) -> None:
    files, chat = opened(tmp_path)
    chat.composer.type("later")
    chat.put_away()
    files.keep(chat)
    sent(chat, "now")
    files.keep(chat)
    assert opened(tmp_path)[1].composer.text == "later"
    chat.take_out()
    files.keep(chat)
    assert opened(tmp_path)[1].composer.text == "later"
    chat.submit()
    files.keep(chat)
    assert opened(tmp_path)[1].composer.text == ""


def test_nothing_is_written_where_nothing_changed(tmp_path: Path) -> None:
    files, chat = opened(tmp_path)
    files.keep(chat)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="modes do not keep root or Windows out")
def test_a_folder_that_cannot_be_written_is_an_error_and_a_later_one_writes_what_was_missed(tmp_path: Path) -> None:
    files, chat = opened(tmp_path)
    sent(chat, "one")
    tmp_path.chmod(0o500)
    with pytest.raises(OSError):
        files.keep(chat)
    tmp_path.chmod(0o700)
    files.keep(chat)
    assert entries(opened(tmp_path)[1]) == ["one"]
