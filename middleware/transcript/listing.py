"""What is in a folder of transcripts, told from the beginning of each file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

from ..errors import TranscriptError
from ..records import USER, USER_KEY, Record
from ..resume import first_prompt
from .chain import walk
from .reader import parse, records_in_line

__all__ = ["SessionInfo", "beginning", "list_sessions", "transcripts_in", "user_of"]

_HEAD = 1 << 14
_LONGEST_HEAD = 1 << 22
_OPEN = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """One transcript: `size` in bytes, `modified` in UTC.

    `first_prompt` is what the person typed first, None where the beginning of the file does not say; `turns`
    counts the live branch's messages of the user, None for a file that is too long to be read for it.
    """

    path: Path
    session_id: str
    first_prompt: str | None
    size: int
    modified: datetime
    turns: int | None


def list_sessions(folder: Path) -> Iterator[SessionInfo]:
    """Tell of every transcript of a folder, the last written first, without reading a long one to its end.

    Files that cannot be read are told of by their names; those that vanish meanwhile are not. Raises OSError
    for a folder that cannot be listed.
    """
    found: list[tuple[float, str, Path, int]] = []
    for path in transcripts_in(folder):
        try:
            state = path.stat()
        except OSError:
            continue
        found.append((state.st_mtime, path.name, path, state.st_size))
    for modified, _, path, size in sorted(found, key=lambda entry: (-entry[0], entry[1])):
        yield _info(path, size, datetime.fromtimestamp(modified, UTC))


def transcripts_in(folder: Path) -> Iterator[Path]:
    """Find the transcripts of both layouts: `*.jsonl` here, in `chats`, and in the `chats` of each project."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name.endswith(".jsonl"):
            if entry.is_file():
                yield Path(entry.path)
        elif entry.is_dir():
            chats = Path(entry.path) if entry.name == "chats" else Path(entry.path, "chats")
            if chats.is_dir():
                yield from (path for path in sorted(chats.glob("*.jsonl")) if path.is_file())


def _info(path: Path, size: int, modified: datetime) -> SessionInfo:
    records, whole = beginning(path)
    named = next((held for record in records if isinstance(held := record.get("sessionId"), str) and held), None)
    turns = None
    if whole:
        try:
            records = walk(records)[0]
            turns = sum(_is_turn(record) for record in records)
        except TranscriptError:
            # Several sessions in one file: whose turns these are nobody can say.
            pass
    return SessionInfo(
        path=path,
        session_id=named or unquote(path.name.removesuffix(".jsonl"), errors="replace"),
        first_prompt=first_prompt(records),
        size=size,
        modified=modified,
        turns=turns,
    )


def user_of(records: Iterable[Record]) -> str | None:
    """Whose session records are of: the first user that they name."""
    return next((user for record in records if isinstance(user := record.get(USER_KEY), str) and user), None)


def beginning(path: Path) -> tuple[list[Record], bool]:
    """The records of a file's beginning, up to the first prompt, and whether that is the whole file."""
    try:
        fd = os.open(path, _OPEN)
    except OSError:
        return [], False
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return [], False
        length = _HEAD
        while True:
            data = os.pread(fd, length + 1, 0)
            if len(data) <= length:
                return list(parse(data).records), True
            records = _until_first_prompt(data[: data.rfind(b"\n") + 1])
            if length >= _LONGEST_HEAD or first_prompt(records) is not None:
                return records, False
            length *= 16
    except OSError:
        return [], False
    finally:
        os.close(fd)


def _until_first_prompt(data: bytes) -> list[Record]:
    records: list[Record] = []
    for line in data.split(b"\n"):
        found = records_in_line(line)[0]
        records += found
        if first_prompt(found) is not None:
            break
    return records


def _is_turn(record: Record) -> bool:
    return record.get("type") == USER and record.get("subtype") is None
