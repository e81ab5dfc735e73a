"""The names in a folder, without what nobody wrote by hand."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from middleware.chat.nearby import names_in


def made(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return folder


def test_the_nearest_come_first_and_folders_end_in_a_slash(tmp_path: Path) -> None:
    made(tmp_path, "b.txt", "a/deep/er.txt", "a/x.txt", "my notes.txt")
    assert names_in(tmp_path) == ("a/", "b.txt", "my notes.txt", "a/deep/", "a/x.txt", "a/deep/er.txt")


def test_version_control_packages_and_caches_are_left_out(tmp_path: Path) -> None:
    made(tmp_path, ".git/config", "node_modules/x/y.js", ".venv/bin/z", "a/__pycache__/m.pyc", "a/m.py", ".env")
    assert names_in(tmp_path) == (".env", "a/", "a/m.py")


def test_what_gitignore_files_say_is_left_out_and_the_nearest_wins(tmp_path: Path) -> None:
    made(tmp_path, "build/x.o", "a/b.log", "a/kept.log", "c.log", "a/build", "top.txt", "a/top.txt")
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n/top.txt\n")
    (tmp_path / "a" / ".gitignore").write_text("!kept.log\n")
    assert names_in(tmp_path) == (".gitignore", "a/", "a/.gitignore", "a/build", "a/kept.log", "a/top.txt")


def test_a_gitignore_that_is_no_text_hides_nothing(tmp_path: Path) -> None:
    made(tmp_path, "a.txt")
    (tmp_path / ".gitignore").write_bytes(b"\xff\xfe\x00[\n")
    assert "a.txt" in names_in(tmp_path)


def test_a_big_tree_is_read_up_to_a_bound_with_what_is_near_in_it(tmp_path: Path) -> None:
    made(tmp_path, *(f"{folder}/{number}" for folder in "abc" for number in range(40)))
    names = names_in(tmp_path, most=50)
    assert len(names) == 50
    assert names[:3] == ("a/", "b/", "c/")


def test_a_link_to_a_folder_is_named_and_not_followed(tmp_path: Path) -> None:
    made(tmp_path, "a/x.txt")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert names_in(tmp_path) == ("a/", "loop", "a/x.txt")


def test_a_folder_that_is_not_there_has_no_names(tmp_path: Path) -> None:
    assert names_in(tmp_path / "none") == ()


@pytest.mark.skipif(sys.platform == "win32", reason="no such names there")
def test_names_that_are_no_utf8_or_have_line_ends_or_escapes_in_them_are_left_out(tmp_path: Path) -> None:
    made(tmp_path, "two\nlines", "a\r.txt", "\x1b[2Ja.txt", "a\u2028b.txt", "a.txt", "\U0001f469\u200d\U0001f4bb.txt")
    made(tmp_path, os.fsdecode(b"\xff.txt"))
    assert names_in(tmp_path) == ("a.txt", "\U0001f469\u200d\U0001f4bb.txt")


def test_without_the_package_for_it_no_gitignore_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pathspec", None)
    made(tmp_path, "a.log")
    (tmp_path / ".gitignore").write_text("*.log\n")
    assert names_in(tmp_path) == (".gitignore", "a.log")
