"""The tools of the chat: they read, only in the folder, and answer whatever a model asks."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middleware.chat.tools import SCHEMAS, Toolbox


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    (folder / "src" / "b.py").write_text("def Two():\n    return 2\n")
    (folder / "src" / "deep" / "c.py").write_text("x = 'two'\n")
    (folder / ".env").write_text("TOKEN=two\n")
    (folder / ".git" / "config").write_text("two\n")
    (folder / "image.bin").write_bytes(b"\0\1two")
    (tmp_path / "outside.txt").write_text("two\n")
    return folder


def asked(folder: Path, name: str, **arguments: Any) -> tuple[str, bool]:
    answered = Toolbox(folder).run(name, json.dumps(arguments))
    return answered.text, answered.failed


def test_every_schema_is_of_a_tool_that_there_is(folder: Path) -> None:
    names = [schema["function"]["name"] for schema in SCHEMAS]
    assert names == ["read_file", "list_files", "search"]
    for name in names:
        assert "there is no tool" not in asked(folder, name)[0]


def test_a_file_is_read_whole_or_in_part(folder: Path) -> None:
    assert asked(folder, "read_file", path="a.txt") == ("one\ntwo\nthree\n", False)
    assert asked(folder, "read_file", path="a.txt", first_line=2, lines=1) == ("two\n\n[lines 2 to 2 of 3]", False)
    assert asked(folder, "read_file", path=str(folder / "a.txt"))[0] == "one\ntwo\nthree\n"


def test_files_are_listed_in_order_without_hidden_ones(folder: Path) -> None:
    assert asked(folder, "list_files") == ("a.txt\nimage.bin\nsrc/b.py\nsrc/deep/c.py", False)
    assert asked(folder, "list_files", path="src", pattern="*.py") == ("src/b.py\nsrc/deep/c.py", False)
    assert asked(folder, "list_files", pattern="*.md") == ("no files", False)


def test_a_search_is_literal_and_says_where(folder: Path) -> None:
    assert asked(folder, "search", text="TWO") == (
        "a.txt:2: two\nsrc/b.py:1: def Two():\nsrc/deep/c.py:1: x = 'two'",
        False,
    )
    assert asked(folder, "search", text="two", pattern="*.txt") == ("a.txt:2: two", False)
    assert asked(folder, "search", text="two", path="src/b.py") == ("src/b.py:1: def Two():", False)
    assert asked(folder, "search", text="t.o") == ("no line holds that", False)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("../outside.txt", "../outside.txt is outside of the working folder"),
        ("/etc/passwd", "/etc/passwd is outside of the working folder"),
        ("src/../../outside.txt", "src/../../outside.txt is outside of the working folder"),
        (".env", ".env is hidden: only the person can send it, by mentioning it with @"),
        ("src/../.git/config", "src/../.git/config is hidden: only the person can send it, by mentioning it with @"),
        ("none.txt", "there is no none.txt"),
        ("src", "src is no text file, or longer than 10,000,000 bytes"),
        ("image.bin", "image.bin is no text file, or longer than 10,000,000 bytes"),
        ("", "path is missing"),
        (7, "path is to be a string"),
    ],
)
def test_what_may_not_or_cannot_be_read_is_refused(folder: Path, path: object, said: str) -> None:
    assert asked(folder, "read_file", path=path) == (said, True)


@pytest.mark.skipif(sys.platform == "win32", reason="links and named pipes of Unix")
def test_links_that_lead_out_and_what_is_no_file_are_refused(folder: Path) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "outside.txt")
    (folder / "up").symlink_to(folder.parent)
    (folder / "env").symlink_to(folder / ".env")
    os.mkfifo(folder / "pipe")
    assert asked(folder, "read_file", path="link.txt") == ("link.txt is outside of the working folder", True)
    assert asked(folder, "read_file", path="up/outside.txt")[1]
    assert asked(folder, "list_files", path="up")[1]
    assert asked(folder, "read_file", path="env")[0].startswith("env is hidden")
    assert asked(folder, "read_file", path="pipe") == ("pipe is no regular file", True)
    assert asked(folder, "list_files")[0] == "a.txt\nimage.bin\nsrc/b.py\nsrc/deep/c.py"
    assert "outside" not in asked(folder, "search", text="two")[0]


def test_a_folder_that_is_a_link_itself_is_the_folder(folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    assert asked(link, "read_file", path="a.txt") == ("one\ntwo\nthree\n", False)
    assert asked(link, "search", text="two", pattern="a.*") == ("a.txt:2: two", False)


def test_much_is_cut_and_says_so(folder: Path) -> None:
    (folder / "long.txt").write_text("x" * 70_000)
    (folder / "lines.txt").write_text("y\n" * 3_000)
    text, _ = asked(folder, "read_file", path="long.txt")
    assert text == "x" * 60_000 + "\n[cut after 60,000 characters; ask for fewer lines]"
    assert asked(folder, "read_file", path="lines.txt")[0].endswith("y\n\n[lines 1 to 2000 of 3000]")
    hits = asked(folder, "search", text="y", path="lines.txt")[0].split("\n")
    assert (len(hits), hits[-1]) == (201, "[there may be more; name a folder or a pattern]")
    assert len(asked(folder, "search", text="xxx")[0]) < 500


def test_a_search_that_is_stopped_ends(folder: Path) -> None:
    toolbox = Toolbox(folder)
    toolbox.stop.set()
    assert toolbox.run("search", '{"text": "two"}').text == "no line holds that"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("rm", "{}", "there is no tool rm; there are read_file, list_files, search"),
        ("read_file", "[1]", "the arguments are no JSON object"),
        ("read_file", '{"path": ', "the arguments cannot be read: Expecting value: line 1 column 10 (char 9)"),
        ("read_file", '{"path": "a.txt", "lines": -1}', "lines is to be a number from 1 on"),
        ("read_file", '{"path": "a.txt", "first_line": 9}', "a.txt has 3 lines"),
        ("list_files", '{"path": "a.txt"}', "a.txt is no folder"),
        ("search", '{"text": "  "}', "the text to look for is blank"),
        ("search", "", "the text to look for is blank"),
    ],
)
def test_arguments_that_make_no_sense_are_answered(folder: Path, name: str, arguments: str, said: str) -> None:
    answered = Toolbox(folder).run(name, arguments)
    assert (answered.text, answered.failed) == (said, True)


PARTS = st.sampled_from(["..", ".", "/", "src", "up", ".env", "outside.txt", "~", "a.txt", "\0", "*", "//", "\udc80"])


@settings(max_examples=300, deadline=None)
@given(parts=st.lists(PARTS, max_size=6), name=st.sampled_from(["read_file", "list_files", "search"]))
def test_no_path_gets_at_what_is_outside_or_hidden(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], name: str
) -> None:
    place = tmp_path_factory.getbasetemp() / "searched"
    work = place / "work"
    if not work.exists():
        (work / "src").mkdir(parents=True)
        (work / "a.txt").write_text("harmless")
        (work / ".env").write_text("CANARY")
        (place / "outside.txt").write_text("CANARY")
        (work / "up").symlink_to(place)
    answered = Toolbox(work).run(name, json.dumps({"path": "/".join(parts), "text": "canary"}))
    assert "CANARY" not in answered.text
    assert "outside.txt" not in answered.text or answered.failed
