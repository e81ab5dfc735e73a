"""Finds words in conversations: in what was said, never in what was injected."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..resume import Shown, rows
from .live import load
from .located import lines_of

__all__ = ["Hit", "hits_in"]

_NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One line of a row in which something was found.

    `line` is that of the record in its file, 0 where it has none of its own; `spans` are the places of `text` that
    match, empty ones left out.
    """

    line: int
    row: Shown
    text: str
    spans: tuple[tuple[int, int], ...]


def hits_in(path: Path, pattern: re.Pattern[str], types: Collection[str] = ()) -> list[Hit]:
    """Search the rows of a transcript's live branch, line by line; `types` narrows it to rows of these.

    Raises `TranscriptError` for a file that is no transcript or in which sessions are mixed, OSError for one that
    cannot be read.
    """
    found = list(_found(path, pattern, types))
    if not found:
        return []
    names = {row.uuid: row.uuid.partition("#")[0] for row, _, _ in found}
    lines = lines_of(path, {*names, *names.values()})
    return [
        Hit(line=lines.get(row.uuid) or lines.get(names[row.uuid], 0), row=row, text=text, spans=spans)
        for row, text, spans in found
    ]


def _found(
    path: Path, pattern: re.Pattern[str], types: Collection[str]
) -> Iterator[tuple[Shown, str, tuple[tuple[int, int], ...]]]:
    for row in rows(load(path).conversation()):
        if types and row.type not in types:
            continue
        for text in _NEWLINE.split(row.text):
            spans = tuple(match.span() for match in pattern.finditer(text))
            if spans:
                yield row, text, tuple(span for span in spans if span[0] < span[1])
