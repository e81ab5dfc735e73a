"""Who and when: what a question says about a memory besides the words that both have. Pure.

A question about a person is answered by what that person said more often than by what others said to them, and a
question about a month by a memory of that month. Both are worth a fixed part of the score (`ranking.MENTION`).
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from .ranking import MENTION, Ranked
from .text import words

HEAD = 80
"""Characters of a text that are looked at for the name of who speaks."""

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_NUMBER_OF = {name: number for number, name in enumerate(_MONTHS, 1)} | {
    name[:3]: number for number, name in enumerate(_MONTHS, 1)
}
# A capital, or a number beside it: "may" and "march" are verbs, too.
_MONTH = re.compile(
    r"\b(?:(?P<name>January|February|March|April|May|June|July|August|September|October|November|December)"
    r"|(?P<day>\d{1,2})(?:st|nd|rd|th)?\s+(?P<after>[A-Za-z]{3,9})\b"
    r"|(?P<before>[A-Za-z]{3,9})\.?\s+\d{1,2}\b"
    r"|(?P<year>(?:19|20)\d\d)-(?P<number>0[1-9]|1[0-2])(?:-\d\d)?)\b"
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_LABEL = re.compile(r"\s*([^\W\d_][^:\n]{0,47}):\s")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Month(NamedTuple):
    """A month that a question names; `year` is None where it names none."""

    number: int
    year: int | None


class Head(NamedTuple):
    """What of a memory is looked at: the beginning of its text, two JSON objects, and microseconds since 1970 UTC."""

    key: int
    text: str
    source: str
    metadata: str
    created_at: int


def month(query: str) -> Month | None:
    """The first month that `query` names: `May 2023`, `3 June`, `Oct 5`, `2023-06-03`. English names, or ISO 8601."""
    for found in _MONTH.finditer(query):
        if found["year"] is not None:
            return Month(int(found["number"]), int(found["year"]))
        name = found["name"] or found["after"] or found["before"]
        number = _NUMBER_OF.get(name.lower())
        if number is not None:
            year = _YEAR.search(query)
            return Month(number, int(year[0]) if year is not None else None)
    return None


def speaker(head: Head) -> str:
    """Who said it: `speaker` in the source or the metadata, or a label at the beginning (`Ada: ...`); else empty."""
    for said in (head.source, head.metadata):
        if '"speaker"' in said:
            # What is no JSON is told when the memory itself is read.
            with contextlib.suppress(ValueError, AttributeError):
                name = json.loads(said).get("speaker")
                if isinstance(name, str):
                    return name
    label = _LABEL.match(head.text)
    return "" if label is None else label[1]


def mentions(query: str, heads: Iterable[Head]) -> dict[int, float]:
    """What each memory gains by key: `MENTION` for its speaker, and for its month, if the query names them."""
    asked = set(words(query))
    when = month(query)
    gained = {}
    for head in heads:
        who = MENTION if asked.intersection(words(speaker(head))) else 0.0
        gained[head.key] = who + (MENTION if when is not None and _is_in(head.created_at, when) else 0.0)
    return gained


def rerank(ranked: Sequence[Ranked], gained: dict[int, float], top_k: int) -> list[Ranked]:
    """The best `top_k` of `ranked` with what they gained; ties in the order they came in."""
    richer = [one._replace(score=one.score + gained.get(one.key, 0.0)) for one in ranked]
    return sorted(richer, key=lambda one: -one.score)[:top_k]


def _is_in(created_at: int, when: Month) -> bool:
    try:
        at = _EPOCH + timedelta(microseconds=created_at)
    except (OverflowError, TypeError):
        return False
    return at.month == when.number and when.year in (None, at.year)
