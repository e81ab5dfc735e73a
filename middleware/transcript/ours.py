"""Tells our transcripts, whole or torn, from whatever else is in a folder: only they are ours to remove."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from ..records import USER_KEY, Record
from .flaws import joins_chain
from .foreign import objects_in, program_of
from .listing import REPAIRED
from .reader import records_in_line

__all__ = ["Torn", "belongs", "called", "is_leftover", "is_ours", "torn_in"]

_LOOKED_AT = 200
_LONGEST_HEAD = 1 << 16
_TORN = re.compile(rb'\{"uuid":"[^"\\]*","parentUuid":')
_ENDS_HEAD = re.compile(rb'"(?:message|systemPayload)":')
_FIELD = r'"{}":"((?:[^"\\]|\\.)*)"'
_SESSION = re.compile(_FIELD.format("sessionId").encode())
_USER = re.compile(_FIELD.format(USER_KEY).encode())
_LEFTOVER = re.compile(r"\.(.+)\.jsonl\.[^.]+\.new")


class Torn(NamedTuple):
    """What the beginning of a record says that was never written to its end; "" for nothing."""

    session: str
    user: str


def is_ours(path: Path) -> bool:
    """True for a transcript: by a record of a session near its beginning, or by how a first line that was cut begins.

    A session file of another program is none, nor is what only looks like records. Raises OSError.
    """
    with path.open("rb") as file:
        lines = list(itertools.islice(file, _LOOKED_AT))
    if program_of(objects_in(lines)) is not None:
        return False
    if any(belongs(record) for line in lines for record in records_in_line(line)[0]):
        return True
    return is_leftover(path) or (len(lines) == 1 and torn_in(lines[0]) is not None)


def belongs(record: Record) -> bool:
    """True for a record that a session of ours, or of the reference, may hold."""
    return joins_chain(record) and (isinstance(record.get("sessionId"), str) or "parentUuid" in record)


def torn_in(line: bytes) -> Torn | None:
    """What a line says that begins as a record of ours does and is none; None for any other."""
    if not _TORN.match(line) or records_in_line(line)[0] or line.rstrip().endswith(b"}"):
        return None
    head = _ENDS_HEAD.split(line[:_LONGEST_HEAD], maxsplit=1)[0]
    found = (pattern.search(head) for pattern in (_SESSION, _USER))
    return Torn(*(match[1].decode("utf-8", "replace") if match else "" for match in found))


def is_leftover(path: Path) -> bool:
    """True for what a process that was killed left of writing a transcript anew."""
    return _LEFTOVER.fullmatch(path.name) is not None


def called(path: Path) -> str:
    """The session that a file is called after."""
    leftover = _LEFTOVER.fullmatch(path.name)
    name = leftover[1] if leftover else path.name.removesuffix(REPAIRED).removesuffix(".jsonl")
    return unquote(name, errors="replace")
