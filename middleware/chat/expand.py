"""From what is to be sent to the parts that the model gets: bodies of `@file` and of commands. Reads files.

Model side only: nothing here reaches `submitted_prompt` (submitted-prompt 1.1, rows 14 and 15, and S14). Mentions
are looked for in what was seen when the text was submitted, so that the body of a large paste opens no file.
"""

from __future__ import annotations

import codecs
import glob
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from ..parts import clean, trim
from .commands import Command
from .mentions import Mention, mentions
from .queue import Item

__all__ = ["IMAGE_TYPES", "Expansion", "Image", "expand"]

_MOST_CHARACTERS = 100_000
_MOST_TOGETHER = 400_000
_MOST_FILES = 50
_MOST_SEARCHED = 5_000
_MOST_NAMES = 200
_MOST_IMAGE_BYTES = 5_000_000
_PROBE = 8_192
IMAGE_TYPES: Mapping[str, str] = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
"""Media types by the ends of names, in small letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image that was mentioned or attached: its path as shown, its media type, its bytes."""

    path: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """Text parts in order, the person's own first; images; and what the person should be told, one line each."""

    parts: tuple[str, ...]
    images: tuple[Image, ...] = ()
    notices: tuple[str, ...] = ()


def expand(
    item: Item,
    *,
    folder: Path,
    commands: Mapping[str, Command] | None = None,
    attached: Collection[Path] = (),
) -> Expansion:
    """Expand one item; only files inside of `folder` are read, symbolic links followed, and the `attached` ones.

    `attached` are resolved paths of what the person dropped on the chat by hand.
    A command that is not in `commands` is sent as it was typed. A file that is missing, outside, binary or
    unreadable is told of and not sent; a text over 100,000 code points is cut, and says so to the model. Never
    raises for what a mention names.
    """
    text = item.text
    command = (commands or {}).get(item.command)
    if command is not None:
        text = command.prompt(trim(item.text[len(item.command) + 1 :]))
    reading = _Reading(folder=folder.resolve(), attached=attached)
    for mention in mentions(item.visible):
        reading.mention(mention)
    parts = (text, reading.block()) if reading.bodies else (text,)
    return Expansion(parts=parts, images=tuple(reading.images), notices=tuple(reading.notices))


@dataclass
class _Reading:
    """What was read so far for one item."""

    folder: Path
    attached: Collection[Path] = ()
    bodies: list[tuple[str, str]] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    seen: set[Path] = field(default_factory=set)
    left: int = _MOST_TOGETHER

    def block(self) -> str:
        """The bodies as the reference program writes them behind the text."""
        # A name in another encoding than UTF-8 holds halves of characters.
        files = "".join(clean(f"\nContent from {name}:\n") + body for name, body in self.bodies)
        return f"\n--- Content from referenced files ---{files}\n--- End of content ---"

    def mention(self, mention: Mention) -> None:
        """Read what is mentioned: a file, else the names in a folder, else what a pattern matches."""
        for written in mention.paths:
            try:
                path = (self.folder / written).resolve()
                if path.exists():
                    self._existing(path, written)
                    return
                found = list(self._matching(written))
            except (OSError, ValueError, RuntimeError) as error:
                self.notices.append(f"@{written}: cannot be read: {error}")
                return
            if found:
                if len(found) > _MOST_FILES:
                    self.notices.append(f"@{written}: the first {_MOST_FILES} of {len(found)} files are sent")
                for path in found[:_MOST_FILES]:
                    self._existing(path.resolve(), str(path.relative_to(self.folder)))
                return
        self.notices.append(f"@{mention.paths[-1]}: no such file; sent as text")

    def _matching(self, pattern: str) -> Iterator[Path]:
        if not glob.has_magic(pattern) or Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            return
        names = glob.iglob(pattern, root_dir=self.folder, recursive=True)  # noqa: PTH207  (Path.glob finds hidden files too)
        for name in sorted(islice(names, _MOST_SEARCHED)):
            if (self.folder / name).is_file():
                yield self.folder / name

    def _existing(self, path: Path, written: str) -> None:
        if not path.is_relative_to(self.folder) and path not in self.attached:
            self.notices.append(f"@{written}: outside of {self.folder}, not sent")
            return
        if path in self.seen:
            return
        self.seen.add(path)
        try:
            mode = path.stat().st_mode
            if stat.S_ISDIR(mode):
                self._names(path, written)
            elif not stat.S_ISREG(mode):
                self.notices.append(f"@{written}: no regular file, not sent")
            elif path.suffix.lower() in IMAGE_TYPES:
                self._image(path, written)
            else:
                self._text(path, written)
        except OSError as error:
            self.notices.append(f"@{written}: cannot be read: {error.strerror or error}")

    def _names(self, path: Path, written: str) -> None:
        names = sorted(f"{child.name}/" if child.is_dir() else child.name for child in path.iterdir())
        more = [f"[{len(names) - _MOST_NAMES} more names]"] if len(names) > _MOST_NAMES else []
        self.bodies.append((written, clean("".join(f"{name}\n" for name in [*names[:_MOST_NAMES], *more]))))

    def _image(self, path: Path, written: str) -> None:
        if path.stat().st_size > _MOST_IMAGE_BYTES:
            self.notices.append(f"@{written}: an image over {_MOST_IMAGE_BYTES:,} bytes, not sent")
            return
        self.images.append(Image(path=written, media_type=IMAGE_TYPES[path.suffix.lower()], data=path.read_bytes()))

    def _text(self, path: Path, written: str) -> None:
        most = min(_MOST_CHARACTERS, self.left)
        if most <= 0:
            self.notices.append(f"@{written}: over {_MOST_TOGETHER:,} characters of files together, not sent")
            return
        with path.open("rb") as file:
            data = file.read(4 * most + 4)
            more = bool(file.read(1))
        try:
            if b"\0" in data[:_PROBE]:
                raise ValueError
            # A character that the limit cuts in two is left over in the decoder, and is no error.
            text = codecs.getincrementaldecoder("utf-8-sig")().decode(data, final=not more)
        except ValueError:
            self.notices.append(f"@{written}: a binary file of {path.stat().st_size:,} bytes, not sent")
            return
        if more or len(text) > most:
            text = f"{text[:most]}\n[cut: the first {most:,} characters of a file of {path.stat().st_size:,} bytes]"
            self.notices.append(f"@{written}: only the first {most:,} characters are sent")
        self.left -= len(text)
        self.bodies.append((written, text))
