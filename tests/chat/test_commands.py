"""Slash commands made of Markdown files."""

from __future__ import annotations

from pathlib import Path

from middleware.chat.commands import Command, load


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_a_file_is_a_command_and_a_folder_a_prefix(tmp_path: Path) -> None:
    found, notices = load([write(tmp_path, review="BODY\n", git__commit="COMMIT")])
    assert found == {
        "git:commit": Command(name="git:commit", description="", body="COMMIT"),
        "review": Command(name="review", description="", body="BODY"),
    }
    assert notices == ()


def test_a_front_matter_describes_and_is_not_sent(tmp_path: Path) -> None:
    found, _ = load([write(tmp_path, a='---\nmodel: x\ndescription: "Look twice"\n---\n\nBODY\n---\nmore\n')])
    assert found["a"] == Command(name="a", description="Look twice", body="BODY\n---\nmore")


def test_a_rule_in_the_text_is_no_front_matter(tmp_path: Path) -> None:
    found, _ = load([write(tmp_path, a="one\n---\ndescription: two\n---\n", b="---\nnever closed")])
    assert [found[name].body for name in "ab"] == ["one\n---\ndescription: two\n---", "---\nnever closed"]


def test_a_later_folder_wins_and_a_missing_one_has_none(tmp_path: Path) -> None:
    mine, ours = write(tmp_path / "mine", a="MINE", b="B"), write(tmp_path / "ours", a="OURS")
    found, _ = load([mine, tmp_path / "none", ours])
    assert {name: command.body for name, command in found.items()} == {"a": "OURS", "b": "B"}


def test_what_cannot_be_a_command_is_told_of_and_the_others_are_read(tmp_path: Path) -> None:
    write(tmp_path, good="G")
    (tmp_path / "two words.md").write_text("x")
    (tmp_path / "binary.md").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "large.md").write_text("x" * 400_001)
    found, notices = load([tmp_path])
    assert list(found) == ["good"]
    assert [notice.split(":")[0].rpartition("/")[2] for notice in notices] == ["binary.md", "large.md", "two words.md"]


def test_line_ends_of_windows_are_newlines(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"---\r\ndescription: d\r\n---\r\none\r\ntwo\r\n")
    assert load([tmp_path])[0]["a"] == Command(name="a", description="d", body="one\ntwo")
