"""The debug log of prompt hooks."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from middleware.hooks.debuglog import append

NOW = datetime(2026, 1, 10, tzinfo=UTC)


def requests(path):
    return [json.loads(line)["request"] for line in path.read_text().splitlines()]


def test_a_full_log_is_put_aside_and_neither_file_is_over_a_megabyte(tmp_path):
    for i in range(5):
        append(tmp_path / "log", f"{i}" * 500_000)
    assert [text[0] for text in requests(tmp_path / "log")] == ["4"]
    assert [text[0] for text in requests(tmp_path / "log.1")] == ["2", "3"]
    assert all(path.stat().st_size <= 1 << 20 for path in tmp_path.iterdir())


@pytest.mark.parametrize("character", ["x", "\x01", "\N{GRINNING FACE}"])
def test_a_question_over_a_megabyte_is_cut_and_says_so(tmp_path, character):
    append(tmp_path / "log", character * 2_000_000)
    assert (tmp_path / "log").stat().st_size <= 1 << 20
    (text,) = requests(tmp_path / "log")
    assert text.endswith("\n... [cut, 1868928 more characters]")


def test_a_log_that_is_written_every_day_holds_nothing_older_than_a_week(tmp_path):
    for day in range(20):
        append(tmp_path / "log", str(day), now=NOW + timedelta(days=day))
    assert requests(tmp_path / "log") == ["12", "13", "14", "15", "16", "17", "18", "19"]


def test_what_was_put_aside_ages_too(tmp_path):
    append(tmp_path / "log", "a" * 600_000, now=NOW)
    append(tmp_path / "log", "b" * 600_000, now=NOW + timedelta(days=1))
    assert (tmp_path / "log.1").exists()
    append(tmp_path / "log", "c", now=NOW + timedelta(days=7, hours=1))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log"]


def test_a_log_that_others_could_read_is_made_private(tmp_path):
    (tmp_path / "log").touch(0o644)
    append(tmp_path / "log", "a")
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


def linked(folder):
    (folder / "mine").write_text("")
    (folder / "log").symlink_to(folder / "mine")


def hard_linked(folder):
    (folder / "mine").write_text("")
    (folder / "log").hardlink_to(folder / "mine")


def something_else(folder):
    (folder / "mine").write_text("")
    (folder / "log").write_text("my notes")


def piped(folder):
    (folder / "mine").write_text("")
    os.mkfifo(folder / "log")


@pytest.mark.parametrize("made", [linked, hard_linked, something_else, piped])
def test_what_is_no_log_is_not_written_to(tmp_path, made):
    made(tmp_path)
    with pytest.raises(OSError):
        append(tmp_path / "log", "secret")
    assert (tmp_path / "mine").read_text() == ""
    assert not (tmp_path / "log").is_file() or "secret" not in (tmp_path / "log").read_text()


def test_programs_that_write_at_once_lose_nothing(tmp_path):
    code = (
        "import sys; from pathlib import Path; from middleware.hooks.debuglog import append\n"
        "for i in range(60): append(Path(sys.argv[1]), sys.argv[2] + 'x' * 9000)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, tmp_path / "log", name]) for name in "abc"]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    said = [text[0] for path in tmp_path.iterdir() for text in requests(path)]
    assert sorted(said) == ["a"] * 60 + ["b"] * 60 + ["c"] * 60
