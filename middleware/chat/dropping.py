"""Images whose paths were pasted, as a terminal does when files are dropped on it. Looks at files."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

from .expand import IMAGE_TYPES

__all__ = ["images_in"]

_LONGEST = 4_096


def images_in(pasted: str, folder: Path) -> tuple[str, ...]:
    r"""Paths of the images when all that was pasted are paths of images; else nothing, and it is a text.

    Paths come as terminals write them: bare, in quotes, with `\ ` for blanks, as `file:` addresses, several with
    blanks between. Those in `folder` are answered relative to it, others absolute. Never raises.
    """
    text = pasted.strip()
    if not text or len(text) > _LONGEST:
        return ()
    try:
        whole = _image(text, folder)
        if whole is not None:
            return (whole,)
        found = [_image(word, folder) for word in shlex.split(text, posix=os.name != "nt")]
    except (OSError, ValueError, RuntimeError):
        return ()
    images = tuple(dict.fromkeys(path for path in found if path is not None))
    return images if images and None not in found else ()


def _image(written: str, folder: Path) -> str | None:
    """The path of an image as it is attached; None for anything else."""
    written = written.strip("\"'") if os.name == "nt" else written
    address = urlsplit(written)
    if address.scheme == "file":
        written = unquote(address.path)
        # file:///C:/shot.png
        written = written[1:] if os.name == "nt" else written
    if "\n" in written or Path(written).suffix.lower() not in IMAGE_TYPES:
        return None
    path = (folder / Path(written).expanduser()).resolve()
    if not path.is_file():
        return None
    home = folder.resolve()
    return (path.relative_to(home) if path.is_relative_to(home) else path).as_posix()
