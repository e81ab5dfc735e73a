"""What the model gets for `@file` and `/command`; real files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from middleware.chat import Item
from middleware.chat.commands import Command
from middleware.chat.expand import Expansion, expand


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / "src").mkdir(parents=True)
    (made / "notes.txt").write_text("alpha notes\nsecond line of notes\n")
    (made / "src" / "a.py").write_text("A")
    (made / "src" / "b.py").write_text("B")
    (tmp_path / "secret.txt").write_text("SECRET")
    return made


def expanded(text: str, folder: Path, *, visible: str | None = None) -> Expansion:
    return expand(Item(text=text, visible=text if visible is None else visible), folder=folder)


def block(*files: tuple[str, str]) -> str:
    bodies = "".join(f"\nContent from {name}:\n{body}" for name, body in files)
    return f"\n--- Content from referenced files ---{bodies}\n--- End of content ---"


def test_the_bodies_come_behind_the_text_as_the_reference_writes_them(folder: Path) -> None:
    assert "".join(expanded("HUMAN-4 follow-up question @notes.txt", folder).parts) == (
        "HUMAN-4 follow-up question @notes.txt\n--- Content from referenced files ---\nContent from notes.txt:\n"
        "alpha notes\nsecond line of notes\n\n--- End of content ---"
    )


def test_several_files_come_in_order_and_each_once(folder: Path) -> None:
    found = expanded("@src/b.py @notes.txt, @src/b.py", folder)
    assert found.parts[1] == block(("src/b.py", "B"), ("notes.txt", "alpha notes\nsecond line of notes\n"))
    assert found.notices == ()


def test_a_pattern_names_all_that_it_matches_but_hidden_files(folder: Path) -> None:
    (folder / "src" / ".hidden.py").write_text("H")
    assert expanded("@src/*.py", folder).parts[1] == block(("src/a.py", "A"), ("src/b.py", "B"))
    assert expanded("@**/*.py", folder).parts[1] == block(("src/a.py", "A"), ("src/b.py", "B"))


def test_a_file_whose_name_reads_like_a_pattern_is_that_file(folder: Path) -> None:
    (folder / "[ab].py").write_text("literal")
    assert expanded("@[ab].py", folder).parts[1] == block(("[ab].py", "literal"))


def test_a_folder_is_sent_as_the_names_in_it(folder: Path) -> None:
    assert expanded("@src", folder).parts[1] == block(("src", "a.py\nb.py\n"))


def test_a_text_without_mentions_is_sent_as_it_is(folder: Path) -> None:
    assert expanded("hello me@example.org", folder) == Expansion(parts=("hello me@example.org",))


def test_a_missing_file_stays_text_and_is_told_of(folder: Path) -> None:
    assert expanded("ask @alice", folder) == Expansion(
        parts=("ask @alice",), notices=("@alice: no such file; sent as text",)
    )


@pytest.mark.parametrize("path", ["../secret.txt", "src/../../secret.txt", "link.txt", "{absolute}"])
def test_nothing_outside_of_the_folder_is_read(folder: Path, path: str) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    written = path.format(absolute=folder.parent / "secret.txt")
    found = expanded(f"@{written}", folder)
    assert found == Expansion(parts=(f"@{written}",), notices=(f"@{written}: outside of {folder}, not sent",))


@pytest.mark.parametrize("pattern", ["../*.txt", "link*/../*", "/etc/host*"])
def test_no_pattern_leads_outside(folder: Path, pattern: str) -> None:
    found = expanded(f"@{pattern}", folder)
    assert found.parts == (f"@{pattern}",)
    assert len(found.notices) == 1


def test_a_pattern_through_a_link_that_leads_outside_is_refused(folder: Path) -> None:
    (folder / "up").symlink_to(folder.parent)
    found = expanded("@up/*.txt", folder)
    assert found.parts == ("@up/*.txt",)
    assert found.notices == (f"@up/secret.txt: outside of {folder}, not sent",)


@pytest.mark.parametrize("data", [b"\x00\x01", b"text \xff\xfe", "ü".encode("utf-16")])
def test_a_binary_file_is_told_of_and_not_sent(folder: Path, data: bytes) -> None:
    (folder / "data.bin").write_bytes(data)
    found = expanded("@data.bin", folder)
    assert found == Expansion(
        parts=("@data.bin",), notices=(f"@data.bin: a binary file of {len(data)} bytes, not sent",)
    )


@pytest.mark.parametrize("letter", ["x", "ü", "🌏"])
def test_a_large_file_is_cut_between_characters_and_says_so(folder: Path, letter: str) -> None:
    (folder / "big.txt").write_text(letter * 150_000, encoding="utf-8")
    found = expanded("@big.txt", folder)
    size = f"{150_000 * len(letter.encode()):,}"
    cut = f"{letter * 100_000}\n[cut: the first 100,000 characters of a file of {size} bytes]"
    assert found.parts[1] == block(("big.txt", cut))
    assert found.notices == ("@big.txt: only the first 100,000 characters are sent",)


def test_files_together_are_limited_too(folder: Path) -> None:
    for number in range(6):
        (folder / f"{number}.txt").write_text(str(number) * 90_000)
    found = expanded("@*.txt", folder)
    assert len(found.parts[1]) < 401_000
    assert found.notices == (
        "@4.txt: only the first 40,000 characters are sent",
        "@5.txt: over 400,000 characters of files together, not sent",
        "@notes.txt: over 400,000 characters of files together, not sent",
    )


def test_a_pattern_sends_fifty_files_and_says_how_many_there_are(folder: Path) -> None:
    for number in range(60):
        (folder / f"{number:02}.md").write_text("m")
    found = expanded("@*.md", folder)
    assert found.parts[1].count("Content from ") == 51
    assert found.notices == ("@*.md: the first 50 of 60 files are sent",)


def test_a_byte_order_mark_is_no_text(folder: Path) -> None:
    (folder / "bom.txt").write_bytes(b"\xef\xbb\xbfwords")
    assert expanded("@bom.txt", folder).parts[1] == block(("bom.txt", "words"))


def test_an_image_comes_as_bytes_beside_the_text(folder: Path) -> None:
    (folder / "a.PNG").write_bytes(b"\x89PNG")
    found = expanded("@a.PNG\n\nlook", folder)
    assert (found.parts, found.notices) == (("@a.PNG\n\nlook",), ())
    (image,) = found.images
    assert (image.path, image.media_type, image.data) == ("a.PNG", "image/png", b"\x89PNG")


def test_an_image_that_is_too_large_is_told_of(folder: Path) -> None:
    (folder / "a.png").write_bytes(b"x" * 5_000_001)
    assert expanded("@a.png", folder).notices == ("@a.png: an image over 5,000,000 bytes, not sent",)


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert expanded("@pipe", folder).notices == ("@pipe: no regular file, not sent",)


def test_a_name_that_no_file_can_have_is_text(folder: Path) -> None:
    found = expanded(f"@{'x' * 5000} @a\x00b", folder)
    assert len(found.parts) == 1
    assert len(found.notices) == 2


def test_mentions_are_looked_for_in_what_was_seen_and_not_in_pasted_bodies(folder: Path) -> None:
    assert expanded("@notes.txt", folder, visible="[Pasted Content 1001 chars]").parts == ("@notes.txt",)


def command(body: str) -> dict[str, Command]:
    return {"review": Command(name="review", description="", body=body)}


@pytest.mark.parametrize(
    ("text", "body", "prompt"),
    [
        ("/review", "BODY", "BODY"),
        ("/review  src tests ", "BODY", "BODY\n\nsrc tests"),
        ("/review src", "look at {{args}} now", "look at src now"),
        ("/review src", "look at $ARGUMENTS, $ARGUMENTS", "look at src, src"),
        ("/review", "look at {{args}}", "look at "),
        (r"/review $ARGUMENTS \1", "look at {{args}}", r"look at $ARGUMENTS \1"),
    ],
)
def test_a_commands_body_goes_in_the_texts_place(folder: Path, text: str, body: str, prompt: str) -> None:
    item = Item(text=text.strip(), visible=text, command="review")
    assert expand(item, folder=folder, commands=command(body)).parts == (prompt,)


def test_files_that_are_mentioned_behind_a_command_are_sent_and_those_in_its_body_are_not(folder: Path) -> None:
    item = Item(text="/review @src/a.py", visible="/review @src/a.py", command="review")
    found = expand(item, folder=folder, commands=command("BODY @notes.txt"))
    assert found.parts == ("BODY @notes.txt\n\n@src/a.py", block(("src/a.py", "A")))


def test_a_command_that_is_gone_is_sent_as_it_was_typed(folder: Path) -> None:
    assert expand(Item(text="/review it", visible="/review it", command="review"), folder=folder).parts == (
        "/review it",
    )
