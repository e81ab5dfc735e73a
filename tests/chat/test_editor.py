"""The person's own editor, which is a real program here."""

from __future__ import annotations

import shlex
import sys
import tempfile
from pathlib import Path

import pytest

from middleware.chat.terminal.editor import EditorFailed, edited, editor_of

SCRIPT = """
import os, pathlib, sys
path = pathlib.Path(sys.argv[-1])
modes = [oct(place.stat().st_mode)[-3:] for place in (path, path.parent)]
pathlib.Path({seen!r}).write_text(" ".join([str(path), *modes]))
data = path.read_bytes()
{does}
"""


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Sets $VISUAL to a program that does what it is told with `path` and its `data`."""

    def made(does: str) -> Path:
        script = tmp_path / "an editor.py"
        script.write_text(SCRIPT.format(seen=str(tmp_path / "seen"), does=does))
        monkeypatch.setenv("VISUAL", f"{shlex.quote(sys.executable)} -I {shlex.quote(str(script))}")
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        return tmp_path / "seen"

    return made


@pytest.mark.parametrize(
    ("before", "does", "after"),
    [
        ("draft", "path.write_bytes(data + b' and more\\n')", "draft and more"),
        ("draft\n", "path.write_bytes(data)", "draft\n"),
        ("draft", "pass", "draft"),
        ("", "path.write_bytes('\\ufeffa\\r\\nb\\rü\\r\\n'.encode())", "a\nb\nü"),
        ("\ud800", "path.write_bytes(data + b'!')", "\ud800!"),
        ("draft", "path.write_bytes(b'')", ""),
        (
            "draft",
            "(path.parent / 'new').write_bytes(b'saved anew\\n'); os.replace(path.parent / 'new', path)",
            "saved anew",
        ),
    ],
)
def test_what_is_saved_is_the_text_without_the_newline_that_an_editor_adds(
    editor, before: str, does: str, after: str
) -> None:
    editor(does)
    assert edited(before) == after


def test_the_file_is_its_owners_only_and_gone_afterwards(editor) -> None:
    seen = editor("pass")
    edited("draft")
    path, mode, folder_mode = seen.read_text().split()
    assert (mode, folder_mode) == ("600", "700")
    assert not Path(path).parent.exists()


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("sys.exit(3)", "left with exit code 3; the draft is as it was"),
        ("path.write_bytes(b'\\xff')", "is not UTF-8; the draft is as it was"),
        ("path.unlink()", "No such file or directory"),
    ],
)
def test_an_editor_that_fails_says_so_and_leaves_nothing(editor, does: str, said: str) -> None:
    seen = editor(does)
    with pytest.raises(EditorFailed, match=said):
        edited("draft")
    assert not Path(seen.read_text().split()[0]).parent.exists()


def test_visual_goes_before_editor_and_neither_is_given_to_a_shell() -> None:
    assert editor_of({"VISUAL": "code --wait", "EDITOR": "vi"}) == ["code", "--wait"]
    assert editor_of({"VISUAL": " ", "EDITOR": "vi; rm -rf $HOME"}) == ["vi;", "rm", "-rf", "$HOME"]
    with pytest.raises(EditorFailed, match=r"\$EDITOR cannot be read: No closing quotation"):
        editor_of({"EDITOR": "vi 'x"})


def test_no_editor_at_all_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EditorFailed, match=r"set \$VISUAL or \$EDITOR"):
        editor_of({})


def test_an_editor_that_is_not_there_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "/no/such/editor")
    with pytest.raises(EditorFailed, match="/no/such/editor: No such file or directory; set"):
        edited("draft")
