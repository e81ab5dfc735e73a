"""Pasted paths of images."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from middleware.chat.dropping import images_in
from middleware.chat.expand import expand
from middleware.chat.queue import Item

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths as terminals of Unix write them")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    for name in ("project/a.png", "project/my shot.JPG", "outside.gif", "project/notes.txt"):
        (tmp_path / name).write_bytes(b"x")
    return tmp_path / "project"


@pytest.mark.parametrize(
    ("pasted", "images"),
    [
        ("a.png", ("a.png",)),
        (" a.png \n", ("a.png",)),
        ("{folder}/a.png", ("a.png",)),
        ("'{folder}/my shot.JPG'", ("my shot.JPG",)),
        (r"{folder}/my\ shot.JPG", ("my shot.JPG",)),
        ("{folder}/my shot.JPG", ("my shot.JPG",)),
        ("file://{folder}/my%20shot.JPG", ("my shot.JPG",)),
        (r"{folder}/a.png {folder}/my\ shot.JPG", ("a.png", "my shot.JPG")),
        ("'{folder}/a.png'\n'{folder}/a.png'", ("a.png",)),
        ("../outside.gif", ("{above}/outside.gif",)),
        ("notes.txt", ()),
        ("a.png and notes.txt", ()),
        ("none.png", ()),
        ("look at a.png", ()),
        ("it's a.png", ()),
        ("{folder}", ()),
        ("", ()),
        ("\0.png", ()),
        ("a.png " * 5_000, ()),
        ("x" * 300 + ".png", ()),
        ("http://[bad/a.png", ()),
    ],
)
def test_all_of_it_must_be_paths_of_images(folder: Path, pasted: str, images: tuple[str, ...]) -> None:
    def here(text: str) -> str:
        return text.replace("{folder}", str(folder)).replace("{above}", str(folder.parent))

    assert images_in(here(pasted), folder) == tuple(map(here, images))


def test_an_image_from_outside_is_sent_only_when_it_was_dropped(folder: Path) -> None:
    (path,) = images_in(f"{folder.parent}/outside.gif", folder)
    item = Item(text=f"@{path}\n\nlook", visible=f"@{path}\n\nlook")
    assert expand(item, folder=folder).images == ()
    (image,) = expand(item, folder=folder, attached=[Path(path)]).images
    assert (image.media_type, image.data) == ("image/gif", b"x")
