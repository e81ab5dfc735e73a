"""`firsthand transcript list`, `stats`, `search` and `check`."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from middleware.cli.transcript_list import age

from ..transcript.records import HOOK, TALK, record, text, write
from .conftest import Run


@pytest.fixture
def folder(place: Path) -> Path:
    """A folder with a session of each layout, the plain one used last."""
    injected_first = record("x", None, "user", [text("tidy up"), text(HOOK)], sessionId="t")
    older = write(place / "tr" / "-shop" / "chats" / "t.jsonl", [injected_first])
    os.utime(older, (1_000_000_000, 1_000_000_000))
    write(place / "tr" / "s.jsonl", TALK)
    return place / "tr"


def test_list_has_both_layouts_the_last_used_first_by_what_was_typed(run: Run, folder: Path) -> None:
    rows = json.loads(run("transcript", "list", "tr", "--json").stdout)
    assert [(row["session_id"], row["first_prompt"], row["turns"], row["path"]) for row in rows] == [
        ("s", "why is CI red?", 1, "tr/s.jsonl"),
        ("t", "tidy up", 1, "tr/-shop/chats/t.jsonl"),
    ]


def test_list_is_a_table_with_age_and_size(run: Run, folder: Path) -> None:
    lines = run("transcript", "list", "tr").stdout.splitlines()
    assert lines[0].split() == ["used", "turns", "size", "first", "prompt", "file"]
    assert lines[1].split() == ["0", "seconds", "ago", "1", "1.5", "kB", "why", "is", "CI", "red?", "tr/s.jsonl"]
    assert lines[2].startswith("2001-09-09")
    assert "main" not in "".join(lines)


def test_the_folder_of_the_settings_is_the_default(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRSTHAND_TRANSCRIPTS", "tr")
    for command in (("list", "--json"), ("stats", "--json"), ("search", "red", "--json"), ("check", "--json")):
        assert run("transcript", *command).exit_code == 0


@pytest.mark.parametrize("command", [("list",), ("stats",), ("search", "x"), ("check",)])
def test_without_a_folder_one_line_says_where_to_name_it(run: Run, command: tuple[str, ...]) -> None:
    result = run("transcript", *command)
    assert result.exit_code == 2
    assert result.stderr == (
        "firsthand: no folder: name one, or set `transcripts` in firsthand.toml or FIRSTHAND_TRANSCRIPTS"
        f" (see `firsthand transcript {command[0]} --help`)\n"
    )


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        (("list",), "folder"),
        (("stats",), "file or folder"),
        (("search", "x"), "file or folder"),
        (("check",), "file or folder"),
    ],
)
def test_a_folder_that_is_not_there_is_one_line(run: Run, command: tuple[str, ...], wanted: str) -> None:
    result = run("transcript", *command, "nowhere")
    assert (result.exit_code, result.stderr) == (
        1,
        f"firsthand: nowhere: no such {wanted}; check the path, or the setting `transcripts`\n",
    )


def test_an_empty_folder_says_so(run: Run, place: Path) -> None:
    (place / "tr").mkdir()
    assert run("transcript", "list", "tr").stderr == "No transcripts in tr.\n"
    assert run("transcript", "check", "tr").stdout == "no transcripts in tr\n"
    result = run("transcript", "stats", "tr")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "firsthand: no transcripts in tr\n")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 seconds ago"),
        (61, "1 minute ago"),
        (7200, "2 hours ago"),
        (86400 * 3, "3 days ago"),
        (86400 * 15, "2 weeks ago"),
        (86400 * 400, "2025-10-26"),
    ],
)
def test_an_age_is_said_in_the_largest_unit_that_fits(seconds: int, said: str) -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert age(now - timedelta(seconds=seconds), now) == said


def test_search_names_file_line_and_row_and_marks_the_hit(run: Run, folder: Path) -> None:
    result = run("transcript", "search", "-i", "FAIL", "tr")
    assert (result.exit_code, result.stdout) == (
        0,
        "tr/s.jsonl:3: tool result run failed\ntr/s.jsonl:4: assistant It failed.\n",
    )


def test_search_finds_nothing_that_was_injected_and_says_so_by_its_exit_code(run: Run, folder: Path) -> None:
    result = run("transcript", "search", "branch: main", "tr")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Nothing that was said in tr matches.\n"


def test_search_lists_hits_with_their_places_for_programs(run: Run, folder: Path) -> None:
    rows = json.loads(run("transcript", "search", "tidy", "tr", "--json", "--type", "user").stdout)
    assert rows == [
        {
            "file": "tr/-shop/chats/t.jsonl",
            "line": 1,
            "uuid": "x",
            "type": "user",
            "name": "",
            "text": "tidy up",
            "spans": [[0, 4]],
        }
    ]
    nothing = run("transcript", "search", "zzz", "tr", "--json")
    assert (nothing.exit_code, nothing.stdout) == (1, "[]\n")


def test_a_pattern_that_is_none_is_a_usage_error_unless_it_is_plain_text(run: Run, folder: Path) -> None:
    result = run("transcript", "search", "red?(", "tr")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "-F searches for it as it is" in result.stderr
    assert run("transcript", "search", "-F", "red?", "tr").exit_code == 0


def test_a_long_line_is_cut_around_its_hit(run: Run, place: Path) -> None:
    write(place / "s.jsonl", [record("a", None, "user", [text("x" * 5000 + "needle" + "y" * 5000)])])
    line = run("transcript", "search", "needle", "s.jsonl").stdout
    assert line == f"s.jsonl:1: user …{'x' * 100}needle{'y' * 200}…\n"


def test_escapes_in_what_is_found_are_not_obeyed(run: Run, place: Path) -> None:
    write(place / "s.jsonl", [record("a", None, "user", [text("needle \x1b]0;owned\x07")])])
    assert run("transcript", "search", "needle", "s.jsonl").stdout == "s.jsonl:1: user needle \ufffd]0;owned\ufffd\n"


def test_stats_tell_how_much_was_injected(run: Run, folder: Path) -> None:
    figures = json.loads(run("transcript", "stats", "tr", "--json").stdout)
    assert (figures["sessions"], figures["turns"], figures["replies"], figures["tool_calls"]) == (2, 2, 2, 1)
    assert figures["tokens"] == {"m": {"input": 32, "output": 3, "cached": 2}}
    assert figures["injected_parts"] == {"hook": 3, "memory": 1}
    assert figures["share"] == 0.9229
    out = run("transcript", "stats", "tr").stdout
    assert "2 prompts, 2 replies, 1 tool call " in out
    assert "92.3% of what was sent" in out


def test_check_of_a_sound_folder_says_how_many_files_it_read(run: Run, folder: Path) -> None:
    result = run("transcript", "check", "tr")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "no faults in 2 files\n", "")


def test_check_names_every_fault_with_its_line_and_fails(run: Run, folder: Path) -> None:
    with (folder / "s.jsonl").open("a") as out:
        out.write('{"uuid": "e", "type": "us\n[1]\n')
    result = run("transcript", "check", "tr")
    assert result.exit_code == 1
    assert result.stdout == (
        "tr/s.jsonl:5: invalid_record: the line is torn, glued or no JSON; 0 records recovered\n"
        "tr/s.jsonl:6: invalid_record: a JSON array where a record belongs\n"
        "2 faults in 1 of 2 files\n"
    )
    assert result.stderr == ""
    rows = json.loads(run("transcript", "check", "tr", "--json").stdout)
    assert [(row["file"], row["line"], row["name"]) for row in rows] == [
        ("tr/s.jsonl", 5, "invalid_record"),
        ("tr/s.jsonl", 6, "invalid_record"),
    ]


def test_repair_writes_a_copy_beside_the_file_once_and_leaves_it_as_it_was(run: Run, folder: Path) -> None:
    broken = (folder / "s.jsonl").read_bytes()[:-20]
    (folder / "s.jsonl").write_bytes(broken)
    result = run("transcript", "check", "--repair", "tr/s.jsonl")
    assert result.exit_code == 1
    assert "  wrote tr/s.jsonl.repaired: 3 records\n  line 4: the line is torn" in result.stdout
    assert (folder / "s.jsonl").read_bytes() == broken
    assert oct((folder / "s.jsonl.repaired").stat().st_mode)[-3:] == "600"
    assert run("transcript", "check", "tr/s.jsonl.repaired").exit_code == 0
    again = run("transcript", "check", "--repair", "tr/s.jsonl")
    assert again.exit_code == 1
    assert again.stderr.startswith(
        "firsthand: tr/s.jsonl.repaired is there already, from an earlier repair; look at it, then move or remove it\n"
    )


def test_a_mended_copy_counts_for_nothing_until_it_takes_its_originals_place(run: Run, folder: Path) -> None:
    (folder / "s.jsonl").write_bytes((folder / "s.jsonl").read_bytes()[:-20])
    before = json.loads(run("transcript", "stats", "tr", "--json").stdout)
    run("transcript", "check", "--repair", "tr")
    assert json.loads(run("transcript", "stats", "tr", "--json").stdout) == before
    assert len(json.loads(run("transcript", "list", "tr", "--json").stdout)) == 2
    assert len(run("transcript", "search", "why is CI", "tr").stdout.splitlines()) == 1
    (folder / "s.jsonl.repaired").replace(folder / "s.jsonl")
    assert run("transcript", "check", "tr").exit_code == 0


@pytest.mark.parametrize("columns", ["40", "80"])
def test_a_path_is_neither_cut_nor_broken_and_a_session_is_one_line(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    name = "4fc7293a-c822-4e8b-abfa-157c95415c49.jsonl"
    write(place / "tr" / name, [record("a", None, "user", [text("日本語 " * 40)], userId="zoe")])
    lines = run("transcript", "list", "tr").stdout.splitlines()
    assert [line.split()[-1] for line in lines] == ["file", f"tr/{name}"]
    assert lines[0].split()[:4] == ["used", "turns", "size", "user"]
    assert " zoe   日本語 日本語" in lines[1]
    assert "…  tr/" in lines[1]


def test_list_tells_of_what_it_leaves_out_and_fails_for_what_it_cannot_read(run: Run, folder: Path) -> None:
    (folder / "x.jsonl").write_text('{"a": 1}\n')
    result = run("transcript", "list", "tr", "--json")
    assert (result.exit_code, result.stderr) == (0, "firsthand: tr/x.jsonl is no transcript; left out\n")
    (folder / "y.jsonl").symlink_to("/proc/self/mem")
    result = run("transcript", "list", "tr", "--json")
    assert (result.exit_code, len(json.loads(result.stdout))) == (1, 2)
    assert result.stderr.splitlines()[1] == "firsthand: tr/y.jsonl: Input/output error"


def test_a_pattern_that_would_take_for_ever_is_given_up(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("middleware.cli.transcript_search._PATIENCE", 0.2)
    write(place / "s.jsonl", [record("a", None, "user", [text("a" * 60 + "!")])])
    result = run("transcript", "search", "(a+)+$", "s.jsonl")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert result.stderr.startswith("firsthand: the pattern takes too long in s.jsonl; make it simpler")
