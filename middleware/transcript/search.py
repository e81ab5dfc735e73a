"""Finds words in conversations: in what was said, never in what was injected."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ..resume import ShownType, display
from .located import Located

__all__ = ["Hit", "hits_in"]

_NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One line of a row in which something was found.

    `line` is that of the record in its file; `spans` are the places of `text` that match, empty ones left out.
    """

    line: int
    uuid: str
    type: ShownType
    name: str
    text: str
    spans: tuple[tuple[int, int], ...]


def hits_in(held: Located, pattern: re.Pattern[str], types: Collection[str] = ()) -> Iterator[Hit]:
    """Search the rows of a transcript's live branch, line by line; `types` narrows it to rows of these.

    Raises `TranscriptError` for a file in which sessions are mixed.
    """
    lines = held.lines
    for row in display(held.branch()):
        if types and row.type not in types:
            continue
        at = lines.get(row.uuid) or lines.get(row.uuid.rpartition("#")[0], 0)
        for text in _NEWLINE.split(row.text):
            spans = tuple(found.span() for found in pattern.finditer(text))
            if spans:
                seen = tuple(span for span in spans if span[0] < span[1])
                yield Hit(line=at, uuid=row.uuid, type=row.type, name=row.name, text=text, spans=seen)
