"""What a half-written `/command` or `@file` may become. Pure; a terminal shows the choices and puts one in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from typing import Literal

from .mentions import reference

__all__ = ["Choice", "Word", "commands_for", "files_for", "word_at"]

_LONGEST = 1_000
_COMMAND = re.compile(r"\s*/(\S*)\Z")
_FILE = re.compile(r"""(?:^|(?<=[\s(\[{"'`,;]))@(?:"([^"\n]*)|((?:\\.|[^\s\\"])*))\Z""")
_QUOTED_REST = re.compile(r'[^"\n]*"')
_BARE_REST = re.compile(r'(?:\\.|[^\s\\"])*')


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """The word before the cursor that can be completed: `written` without its sign, from `start` to `end`."""

    kind: Literal["command", "file"]
    written: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """`text` goes into the word's place; `shown` and `meaning` are for the menu."""

    text: str
    shown: str
    meaning: str = ""


def word_at(text: str, at: int) -> Word | None:
    """The command or the mention that the cursor is in or behind; None for any other text.

    >>> word_at("see @no", 7)
    Word(kind='file', written='no', start=4, end=7)
    """
    before = text[max(0, at - _LONGEST) : at]
    skipped = at - len(before)
    if not skipped and (command := _COMMAND.match(before)):
        start = command.start(1) - 1
        end = at + len(re.match(r"\S*", text[at : at + _LONGEST])[0])  # type: ignore[index]
        return Word(kind="command", written=command[1], start=start, end=end)
    found = _FILE.search(before)
    if found is None:
        return None
    quoted, bare = found[1], found[2]
    after = text[at : at + _LONGEST]
    if quoted is not None:
        rest = _QUOTED_REST.match(after)
        written, end = quoted, at + (len(rest[0]) if rest else 0)
    else:
        rest = _BARE_REST.match(after)
        written, end = re.sub(r"\\(.)", r"\1", bare), at + (len(rest[0]) if rest else 0)
    return Word(kind="file", written=written, start=skipped + found.start(), end=end)


def commands_for(written: str, meanings: Mapping[str, str]) -> tuple[Choice, ...]:
    """Commands whose name begins with what is written, or a part of whose name behind a colon does.

    `meanings` are descriptions by name, in the order in which they are shown.
    """
    wanted = written.casefold()
    first = [name for name in meanings if name.casefold().startswith(wanted)]
    later = [
        name
        for name in meanings
        if name not in first and any(part.startswith(wanted) for part in name.casefold().split(":")[1:])
    ]
    return tuple(Choice(text=f"/{name} ", shown=f"/{name}", meaning=meanings[name]) for name in (*first, *later))


def files_for(written: str, names: Iterable[str], most: int = 50) -> tuple[Choice, ...]:
    """The names that are likest to what is written, the best first.

    Before all others those of a name (the part behind the last slash) that begins with it, then paths that do, then
    those that have it in them, last those that have its characters in order. Names that begin with a dot come only
    where a dot is written. A folder ends in a slash, and no blank is put behind it.
    """
    wanted = written.casefold().removeprefix("./")
    hidden = wanted.startswith(".") or "/." in wanted
    ranked = (
        (rank, name.count("/", 0, -1), len(name), name)
        for name in names
        if (hidden or not _is_hidden(name)) and (rank := _rank(name.casefold(), wanted)) is not None
    )
    return tuple(_file(name) for *_, name in nsmallest(most, ranked))


def _rank(name: str, wanted: str) -> int | None:
    if name == wanted:
        return 0
    last = name.rfind("/", 0, -1) + 1
    if name.startswith(wanted, last):
        return 1
    if name.startswith(wanted):
        return 2
    if (found := name.rfind(wanted)) >= 0:
        return 3 if found >= last else 4
    left = iter(name)
    return 5 if all(character in left for character in wanted) else None


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or "/." in name


def _file(name: str) -> Choice:
    # The open quote of a folder with a blank in its name: what is in it is still to be written.
    text = reference(name)
    if name.endswith("/"):
        return Choice(text=text.removesuffix('"') if text.startswith('@"') else text, shown=name)
    return Choice(text=f"{text} ", shown=name)
