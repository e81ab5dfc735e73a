"""`firsthand recall forget`: what it says before and after, and what is in no file any more."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from middleware.cli import firsthand

from .conftest import Run

STORE = ("--store", "sqlite:///m.db", "--namespace", "ada")


def bytes_of(place: Path) -> bytes:
    return b"".join(path.read_bytes() for path in place.rglob("*") if path.is_file())


def test_words_of_an_earlier_version_are_in_no_file_and_no_export(run: Run, place: Path) -> None:
    run("recall", "add", "quuxword is the first", "--id", "h1", *STORE)
    run("recall", "add", "replaced now", "--id", "h1", *STORE)
    assert b"quuxword" in bytes_of(place)
    result = run("recall", "forget", "quuxword", "--yes", *STORE)
    assert (result.exit_code, result.stdout) == (0, "Forgot 1 earlier version of 1 memory that stays.\n")
    assert b"quuxword" not in bytes_of(place)
    assert "quuxword" not in run("recall", "export", *STORE).stdout
    assert "replaced now" in run("recall", "list", *STORE).stdout
    assert "(its words are gone)" in run("recall", "history", "h1", *STORE).stdout


def test_memories_and_earlier_versions_are_counted_apart(run: Run) -> None:
    for text, id_ in (("tea first", "a"), ("tea second", "a"), ("none", "a"), ("tea", "b"), ("no", "b"), ("tea", "c")):
        run("recall", "add", text, "--id", id_, *STORE)
    assert run("recall", "forget", "tea", "--yes", *STORE).stdout == (
        "Forgot 1 memory of ada and 3 earlier versions of 2 memories that stay.\n"
    )


def test_what_would_be_forgotten_is_counted_and_shown_before_the_question(run: Run) -> None:
    for number in range(7):
        run("recall", "add", f"tea of the kind {number} {'x' * 120}", "--id", f"m{number}", *STORE)
    result = CliRunner().invoke(firsthand, ["recall", "forget", "tea", *STORE], input="n\n")
    lines = result.stderr.splitlines()
    assert len([line for line in lines if line.startswith("  m") and "tea of the kind" in line]) == 5
    assert "  and 2 more" in lines
    assert "Forget 7 memories of ada? There is no way back [y/N]: " in result.stderr
    assert (result.exit_code, lines[-1]) == (1, "firsthand: nothing was forgotten")
    agreed = CliRunner().invoke(firsthand, ["recall", "forget", "tea", *STORE], input="y\n")
    assert agreed.stdout == "Forgot 7 memories of ada.\n"


def test_words_that_nothing_holds_are_said_and_nobody_is_asked(run: Run) -> None:
    run("recall", "add", "I like tea", *STORE)
    result = run("recall", "forget", "green", "coffee", *STORE)
    assert (result.exit_code, result.stdout) == (0, "Nothing of ada holds all of: green coffee\n")
    assert run("recall", "forget", "--all", "-n", "bob", *STORE[:2]).stdout == "Nothing is remembered of bob.\n"


def test_ids_that_are_not_there_are_named(run: Run) -> None:
    run("recall", "add", "I like tea", "--id", "m1", *STORE)
    for more in ((), ("--yes",)):
        result = run("recall", "forget", "--id", "nosuch", *more, *STORE)
        assert (result.exit_code, result.stderr) == (
            1,
            "firsthand: ada has no memory of the id nosuch; `firsthand recall list` prints ids\n",
        )
    result = run("recall", "forget", "--id", "m1", "--id", "nosuch", "--yes", *STORE)
    assert (result.exit_code, result.stdout) == (0, "Forgot 1 memory of ada.\n")
    assert result.stderr == "firsthand: ada has no memory of the id nosuch\n"
