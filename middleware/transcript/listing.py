"""What is in a folder of transcripts, told from the beginning of each file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from ..errors import TranscriptError
from ..records import USER, USER_KEY, Record
from ..resume import first_prompt
from .chain import walk
from .claude_blocks import prompts_of
from .flaws import joins_chain
from .foreign import Program, program_of
from .live import Branch, load
from .reader import Tally

__all__ = ["REPAIRED", "SessionInfo", "beginning", "is_transcript", "list_sessions", "transcripts_in", "user_of"]

REPAIRED = ".jsonl.repaired"
"""How the name of a mended copy ends: beside its original it is no session of the folder, and it goes with it."""

_HEAD = 1 << 14
_LONGEST_HEAD = 1 << 22
_COUNTED = 1 << 25
"""Bytes that are read at most, over all files, to count turns."""

_OPEN = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """One transcript: `size` in bytes, `modified` in UTC, and the `user` that its beginning names.

    `first_prompt` is what the person typed first, None where the beginning of the file does not say; `turns`
    counts the live branch's messages of the user, None for a file that is too long to be read for it. `program` is
    whose session it is where it is another program's.
    """

    path: Path
    session_id: str
    first_prompt: str | None
    size: int
    modified: datetime
    turns: int | None
    user: str | None = None
    program: Program | None = None


class _Beginning(NamedTuple):
    """The records of a file up to the first prompt, whether that is the whole file, and whether it is no transcript."""

    records: list[Record]
    whole: bool
    foreign: bool = False


def list_sessions(
    folder: Path,
    *,
    on_error: Callable[[Path, OSError], object] = lambda path, error: None,
    on_foreign: Callable[[Path], object] = lambda path: None,
) -> Iterator[SessionInfo]:
    """Tell of every transcript of a folder, the last written first, without reading a long one to its end.

    Turns are counted as long as that is little to read, the last written first. Files that cannot be read go to
    `on_error`, those that are no transcripts to `on_foreign`; those that vanish meanwhile are left out. Raises OSError
    for a folder that cannot be listed.
    """
    found: list[tuple[Path, os.stat_result]] = []
    for path in transcripts_in(folder):
        try:
            found.append((path, path.stat()))
        except OSError:
            continue
    left = _COUNTED
    for path, state in sorted(found, key=lambda entry: (-entry[1].st_mtime, entry[0].name)):
        try:
            begun = _begun(path)
            if begun.foreign:
                on_foreign(path)
                continue
            program = program_of(begun.records)
            to_read = 0 if begun.whole else state.st_size
            info = _info(path, state, begun, program, counted=to_read <= left)
        except FileNotFoundError:
            continue
        except OSError as error:
            on_error(path, error)
            continue
        left -= to_read if to_read <= left else 0
        yield info


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


def _info(
    path: Path, state: os.stat_result, begun: _Beginning, program: Program | None, *, counted: bool
) -> SessionInfo:
    records = begun.records
    named = next((held for record in records if isinstance(held := record.get("sessionId"), str) and held), None)
    turns, prompt = None, first_prompt(records)
    if program is not None:
        prompts = list(prompts_of(records))
        turns, prompt = len(prompts) if begun.whole else None, next(iter(prompts), None)
    elif counted:
        try:
            branch = walk(records)[0] if begun.whole else load(path)
            turns, prompt = _counted(branch.conversation() if isinstance(branch, Branch) else branch)
        except TranscriptError:
            # Several sessions in one file: whose turns these are nobody can say.
            pass
    return SessionInfo(
        path=path,
        session_id=named or unquote(path.name.removesuffix(".jsonl"), errors="replace"),
        first_prompt=prompt,
        size=state.st_size,
        modified=datetime.fromtimestamp(state.st_mtime, UTC),
        turns=turns,
        user=user_of(records),
        program=program,
    )


def _counted(records: Iterable[Record]) -> tuple[int, str | None]:
    """How many prompts there are, and what the first says."""
    prompts = [record for record in records if _is_turn(record)]
    return len(prompts), first_prompt(prompts)


def user_of(records: Iterable[Record]) -> str | None:
    """Whose session records are of: the first user that they name."""
    return next((user for record in records if isinstance(user := record.get(USER_KEY), str) and user), None)


def is_transcript(path: Path) -> bool:
    """True when a file begins with a record of a session: what else ends in .jsonl is somebody else's."""
    return any(isinstance(record.get("sessionId"), str) and joins_chain(record) for record in beginning(path)[0])


def beginning(path: Path) -> tuple[list[Record], bool]:
    """The records of a file's beginning, up to the first prompt, and whether that is the whole file.

    None for what cannot be read.
    """
    try:
        begun = _begun(path)
    except OSError:
        return [], False
    return begun.records, begun.whole


def _begun(path: Path) -> _Beginning:
    fd = os.open(path, _OPEN)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return _Beginning([], whole=False, foreign=True)
        length = _HEAD
        while True:
            data = os.pread(fd, length + 1, 0)
            whole = len(data) <= length
            records, foreign = _records_of(data if whole else data[: data.rfind(b"\n") + 1], whole)
            if whole or length >= _LONGEST_HEAD or first_prompt(records) is not None:
                return _Beginning(records, whole, foreign)
            length *= 16
    finally:
        os.close(fd)


def _records_of(data: bytes, whole: bool) -> tuple[list[Record], bool]:
    """The records in it, up to the first prompt unless it is the whole file, and whether none but others are."""
    records: list[Record] = []
    tally = Tally()
    for line in data.split(b"\n"):
        found = tally.line(line, 0, lambda flaw: None)
        records += found
        if not whole and first_prompt(found) is not None:
            break
    return records, tally.foreign and not tally.records


def _is_turn(record: Record) -> bool:
    return record.get("type") == USER and record.get("subtype") is None
