"""What a half-written command or file may become."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middleware.chat.completing import Word, commands_for, files_for, word_at
from middleware.chat.mentions import mentions

MEANINGS = {"help": "this list", "hooks": "the hooks", "git:commit": "a commit", "review": ""}


def at(text: str) -> tuple[str, str, str] | None:
    """Kind, what is written and what would be replaced, where `|` is the cursor."""
    before, _, after = text.partition("|")
    word = word_at(before + after, len(before))
    return None if word is None else (word.kind, word.written, (before + after)[word.start : word.end])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("/|", ("command", "", "/")),
        ("/he|", ("command", "he", "/he")),
        ("/h|elp", ("command", "h", "/help")),
        (" \n/he|", ("command", "he", "/he")),
        ("/var/log|", ("command", "var/log", "/var/log")),
        ("/help |", None),
        ("see /he|", None),
        ("@|", ("file", "", "@")),
        ("see @no|", ("file", "no", "@no")),
        ("see @n|otes.txt, please", ("file", "n", "@notes.txt,")),
        ("/review @a|", ("file", "a", "@a")),
        ("(@a|)", ("file", "a", "@a)")),
        ("line\n@a|", ("file", "a", "@a")),
        ('@"my no|', ("file", "my no", '@"my no')),
        ('@"my no|tes.txt" and', ("file", "my no", '@"my notes.txt"')),
        (r"@my\ no|", ("file", "my no", r"@my\ no")),
        ('@"done" |', None),
        ("me@example|", None),
        ("@a |", None),
        ("|", None),
        ("plain|", None),
    ],
)
def test_the_word_at_the_cursor(text: str, word: tuple[str, str, str] | None) -> None:
    assert at(text) == word


def test_a_word_is_found_at_the_end_of_a_long_text() -> None:
    text = "x\n" * 5_000_000 + "@no"
    assert word_at(text, len(text)) == Word(kind="file", written="no", start=10_000_000, end=10_000_003)
    assert word_at("@" + "x" * 2_000_000, 2_000_001) is None


@given(st.text(max_size=30), st.integers(0, 30))
def test_any_text_has_a_word_or_none_around_the_cursor(text: str, cursor: int) -> None:
    cursor = min(cursor, len(text))
    word = word_at(text, cursor)
    assert word is None or 0 <= word.start < cursor <= word.end <= len(text)


def test_commands_by_what_they_begin_with_then_by_the_name_behind_a_colon() -> None:
    assert [choice.shown for choice in commands_for("h", MEANINGS)] == ["/help", "/hooks"]
    assert [choice.shown for choice in commands_for("", MEANINGS)] == ["/help", "/hooks", "/git:commit", "/review"]
    assert [(choice.text, choice.meaning) for choice in commands_for("COM", MEANINGS)] == [("/git:commit ", "a commit")]
    assert commands_for("var/log", MEANINGS) == ()


NAMES = (
    "docs/",
    "notes.txt",
    "src/",
    "src/note.py",
    "src/keynote.py",
    "old/n/o.txt",
    ".env",
    "src/.hidden",
    "my notes/",
)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("no", ["notes.txt", "src/note.py", "my notes/", "src/keynote.py", "old/n/o.txt"]),
        ("NOTE", ["notes.txt", "src/note.py", "my notes/", "src/keynote.py"]),
        ("src/", ["src/", "src/note.py", "src/keynote.py"]),
        ("./src/note", ["src/note.py", "src/keynote.py"]),
        ("sknt", ["src/keynote.py"]),
        (".env", [".env"]),
        ("src/.", ["src/.hidden", "src/note.py", "src/keynote.py"]),
        ("zzz", []),
    ],
)
def test_files_by_their_name_then_by_their_path_then_by_their_characters(written: str, shown: list[str]) -> None:
    assert [choice.shown for choice in files_for(written, NAMES)] == shown


def test_nothing_written_gives_what_is_near_and_not_hidden() -> None:
    assert [choice.shown for choice in files_for("", NAMES, most=3)] == ["src/", "docs/", "my notes/"]


def test_what_is_put_in_is_a_mention_and_a_folders_name_stays_open() -> None:
    texts = {choice.shown: choice.text for choice in files_for("", NAMES)}
    assert texts["notes.txt"] == "@notes.txt "
    assert texts["src/"] == "@src/"
    assert texts["my notes/"] == '@"my notes/'


@given(st.text(st.characters(exclude_characters="\n\r/", exclude_categories=["Cc", "Zl", "Zp"]), min_size=1))
def test_the_name_that_is_put_in_is_the_one_that_is_read(name: str) -> None:
    (choice,) = files_for(name, [name])
    assert [mention.paths[0] for mention in mentions(choice.text)] == [name]


def test_a_name_of_one_letter_over_and_over_is_looked_through_in_one_go() -> None:
    assert files_for("a" * 15 + "b", ["a" * 4_000] * 50) == ()
