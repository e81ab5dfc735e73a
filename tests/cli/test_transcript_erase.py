"""`firsthand transcript erase`."""

from __future__ import annotations

import re
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
    assert re.sub(r"; (\d+ \w+ ago|\d{4}-\d\d-\d\d);", ";", result.stdout).splitlines() == [
        "tr/s-a.jsonl: session s-a",
        "  user alice; 221 B; SECRET-A",
        "tr/s-sub.jsonl: session s-sub",
        "  user alice; 441 B; SECRET-A",
        "Erased 2 sessions from tr.",
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


def test_a_file_that_cannot_be_read_is_told_of_and_the_others_go(run: Run, folder: Path) -> None:
    (folder / "broken.jsonl").symlink_to("/proc/self/mem")
    result = run("transcript", "erase", "--user", "alice", "tr", "--yes")
    assert (result.exit_code, result.stderr) == (
        1,
        "firsthand: tr/broken.jsonl: Input/output error; it is not erased, whoever's it is\n",
    )
    assert result.stdout.endswith("Erased 2 sessions from tr.\n")
    assert not list(folder.glob("s-*"))


def test_a_file_that_cannot_be_erased_is_told_of_and_the_others_go(run: Run, folder: Path, place: Path) -> None:
    (folder / "s-a.jsonl").rename(place / "elsewhere")
    (folder / "s-a.jsonl").symlink_to("../elsewhere")
    result = run("transcript", "erase", "--user", "alice", "tr", "--yes")
    assert (result.exit_code, result.stderr) == (
        1,
        "firsthand: tr/s-a.jsonl: Too many levels of symbolic links; it is not erased\n",
    )
    assert result.stdout.endswith("Erased 1 session from tr.\n")
    assert not (folder / "s-sub.jsonl").exists()


def test_a_mended_copy_goes_too_and_what_else_is_called_after_the_file_is_named(run: Run, folder: Path) -> None:
    (folder / "s-a.jsonl.repaired").write_bytes((folder / "s-a.jsonl").read_bytes())
    for name in ("s-a.html", "s-a.jsonl.bak", "s-ab.html"):
        (folder / name).write_text("SECRET-A")
    result = run("transcript", "erase", "--session", "s-a", "tr", "--yes")
    assert result.stdout.endswith("Erased 2 sessions in 3 files from tr.\n")
    said = "is called after an erased file and stays: look at it, and remove it by hand"
    assert result.stderr == f"firsthand: tr/s-a.html {said}\nfirsthand: tr/s-a.jsonl.bak {said}\n"
    assert sorted(path.name for path in folder.glob("s-*")) == ["s-a.html", "s-a.jsonl.bak", "s-ab.html"]


def test_a_session_of_several_users_is_listed_with_all_of_them(run: Run, folder: Path) -> None:
    mixed = [record(uuid, None, "user", [text("hi")], sessionId="m", userId=uuid) for uuid in ("zoe", "mallory")]
    write(folder / "m.jsonl", mixed)
    assert "user mallory, zoe; " in run("transcript", "erase", "--user", "mallory", "tr").stdout


def test_the_folder_of_a_project_goes_with_its_last_session(run: Run, folder: Path) -> None:
    assert run("transcript", "erase", "--user", "bob", "tr", "--yes").exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["s-a.jsonl", "s-sub.jsonl"]


def test_without_an_answer_the_error_has_a_line_of_its_own(run: Run, folder: Path) -> None:
    lines = run("transcript", "erase", "--user", "bob", "tr").stderr.splitlines()
    assert lines[-1] == "firsthand: nothing was erased, since nobody answered; --yes does not ask"
