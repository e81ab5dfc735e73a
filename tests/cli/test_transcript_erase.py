"""`firsthand transcript erase`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from middleware.cli import firsthand

from ..transcript.records import record, text, write
from .conftest import Run


@pytest.fixture
def folder(place: Path) -> Path:
    """Sessions of alice, of a subagent of hers, and of bob, one of each in each layout."""
    mine = record("a", None, "user", [text("SECRET-A")], sessionId="s-a", userId="alice")
    opened = record("p", None, "system", subtype="parent_session", systemPayload={"parentSessionId": "s-a"})
    write(place / "tr" / "s-a.jsonl", [mine])
    write(place / "tr" / "s-sub.jsonl", [{**opened, "sessionId": "s-sub"}, {**mine, "uuid": "c", "sessionId": "s-sub"}])
    theirs = record("b", None, "user", [text("SECRET-B")], sessionId="s-b", userId="bob")
    write(place / "tr" / "-w" / "chats" / "s-b.jsonl", [{**theirs, "timestamp": "2025-01-01T00:00:00.000Z"}])
    return place / "tr"


def held(folder: Path) -> str:
    """Everything that is in the folder, names included."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return "".join(f"{path.name}\n{path.read_text()}" for path in files)


def test_a_session_goes_with_those_of_its_subagents_and_nothing_of_it_is_left(run: Run, folder: Path) -> None:
    result = run("transcript", "erase", "--session", "s-a", "tr", "--yes")
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["session", "size", "file"],
        ["s-a", "221", "B", "s-a.jsonl"],
        ["s-sub", "441", "B", "s-sub.jsonl"],
        ["Erased", "2", "sessions", "from", "tr."],
    ]
    left = held(folder)
    assert "SECRET-B" in left
    for word in ("SECRET-A", "s-a", "s-sub", "alice"):
        assert word not in left


def test_the_sessions_of_a_user_go(run: Run, folder: Path) -> None:
    assert run("transcript", "erase", "--user", "bob", "tr", "--yes").stdout.endswith("Erased 1 session from tr.\n")
    assert "SECRET-B" not in held(folder)
    assert "SECRET-A" in held(folder)


@pytest.mark.parametrize("when", ["2025-06-01", "2025-06-01T10:00:00+02:00", "52w"])
def test_what_was_last_written_before_a_time_goes(run: Run, folder: Path, when: str) -> None:
    assert run("transcript", "erase", "--before", when, "tr", "--yes").exit_code == 0
    left = held(folder)
    assert ("SECRET-A" in left, "SECRET-B" in left) == (True, False)


def test_what_is_given_has_to_hold_all_together(run: Run, folder: Path) -> None:
    result = run("transcript", "erase", "--user", "alice", "--before", "2025-06-01", "tr", "--yes")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "Nothing in tr is to be erased.\n")


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [("y\n", 0, "? There is no way back [y/N]: "), ("n\n", 1, "nothing was erased"), ("", 1, "--yes does not ask")],
)
def test_it_asks_and_erases_for_a_yes_only(folder: Path, answer: str, code: int, said: str) -> None:
    result = CliRunner().invoke(firsthand, ["transcript", "erase", "--user", "bob", "tr"], input=answer)
    assert result.exit_code == code
    assert said in result.stderr
    assert ("SECRET-B" in held(folder)) == (code == 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tr",), "nothing says what to erase: give --session, --user or --before"),
        (("tr", "--before", "soon"), "--before: 'soon' is no date and no time span; give 2026-11-30 or 90d"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(run: Run, folder: Path, arguments: tuple[str, ...], said: str) -> None:
    result = run("transcript", "erase", *arguments, "--yes")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert said in result.stderr
    assert "SECRET-A" in held(folder)
