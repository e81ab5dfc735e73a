"""What an address asks for: the stretch of time, the filters, the order and the page of a list.

Whatever is in an address that makes no sense is a `BadAddress` with one line that says so; nothing is guessed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, get_args
from urllib.parse import urlencode

from .queries import Filter, SessionSort, TurnSort

__all__ = ["OUTCOMES", "RANGES", "Asked", "BadAddress", "asked_in"]

RANGES: Final[Mapping[str, float | None]] = {
    "1h": 3600.0,
    "24h": 86_400.0,
    "7d": 7 * 86_400.0,
    "30d": 30 * 86_400.0,
    "all": None,
}
"""Stretches up to now, in seconds; None is everything."""

OUTCOMES: Final = ("sent", "blocked", "error", "cancelled")
PER_PAGE: Final = 50
_LONGEST_USUAL: Final = "7d"
_LONGEST: Final = 1024
_MOST_PAGES: Final = 1_000_000
_KNOWN: Final = ("range", "start", "end", "model", "session", "q", "outcome", "sort", "dir", "page")


class BadAddress(ValueError):
    """The address asks for what cannot be; the message is one line for whoever wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked for; `given` are the parameters as they were, to make other addresses from."""

    where: Filter
    range: str
    search: str
    outcome: str | None
    sort: str
    descending: bool
    page: int
    given: Mapping[str, str]

    @property
    def offset(self) -> int:
        """How many items of a list come before this page."""
        return (self.page - 1) * PER_PAGE

    def url(self, path: str, **changes: str | int | None) -> str:
        """An address with the same filters but for `changes`; None takes one away. Any change begins at page 1."""
        kept = {name: value for name, value in self.given.items() if name != "page"}
        kept |= {name: str(value) for name, value in changes.items() if value is not None}
        left = {name: value for name, value in kept.items() if changes.get(name, "") is not None}
        return f"{path}?{urlencode(left)}" if left else path

    def filters(self, path: str, **changes: str | int | None) -> str:
        """The same, without what belongs to one list: its search, order and page."""
        mine = dict.fromkeys(("q", "outcome", "sort", "dir"))
        return self.url(path, **{**mine, **changes})


def asked_in(
    params: Mapping[str, str], now: float, sorts: tuple[str, ...] = (), *, oldest: float | None = None
) -> Asked:
    """Read the parameters of an address; `sorts` are the orders that its list has, the first is the usual one.

    `range` is one of `RANGES`; `start` and `end` (seconds since 1970) win over it. Where neither is said it is the
    shortest of them that goes back to `oldest`, a week at most. Raises `BadAddress`.
    """
    given = {name: value for name, value in params.items() if name in _KNOWN}
    for name, value in given.items():
        if len(value) > _LONGEST:
            raise BadAddress(f"{name} is longer than {_LONGEST} characters")
    start, end = _moment(given, "start"), _moment(given, "end")
    stretch = given.get("range") or _usual(now, oldest)
    if start is not None or end is not None:
        stretch = ""
        if start is not None and end is not None and start >= end:
            raise BadAddress("start is not before end")
    elif stretch not in RANGES:
        raise BadAddress(f"range is one of {', '.join(RANGES)}")
    elif (length := RANGES[stretch]) is not None:
        start = now - length
    outcome = given.get("outcome") or None
    if outcome is not None and outcome not in OUTCOMES:
        raise BadAddress(f"outcome is one of {', '.join(OUTCOMES)}")
    sort = given.get("sort") or (sorts[0] if sorts else "")
    if sorts and sort not in sorts:
        raise BadAddress(f"sort is one of {', '.join(sorts)}")
    direction = given.get("dir") or "desc"
    if direction not in ("asc", "desc"):
        raise BadAddress("dir is asc or desc")
    return Asked(
        where=Filter(start=start, end=end, model=given.get("model"), session=given.get("session")),
        range=stretch,
        search=given.get("q", "").strip(),
        outcome=outcome,
        sort=sort,
        descending=direction == "desc",
        page=_page(given.get("page", "1")),
        given=given,
    )


SESSION_SORTS: Final[tuple[str, ...]] = get_args(SessionSort)
TURN_SORTS: Final[tuple[str, ...]] = get_args(TurnSort)


def _usual(now: float, oldest: float | None) -> str:
    if oldest is None:
        return _LONGEST_USUAL
    for name, length in RANGES.items():
        if name == _LONGEST_USUAL or (length is not None and now - oldest < length):
            return name
    return _LONGEST_USUAL


def _moment(given: Mapping[str, str], name: str) -> float | None:
    if name not in given:
        return None
    try:
        value = float(given[name])
    except ValueError:
        value = math.nan
    # What SQLite and a calendar can hold.
    if not 0 <= value < 1e11:
        raise BadAddress(f"{name} is a moment, in seconds since 1970")
    return value


def _page(value: str) -> int:
    if value.isascii() and value.isdecimal() and len(value) < 8 and 1 <= int(value) <= _MOST_PAGES:
        return int(value)
    raise BadAddress(f"page is a number from 1 to {_MOST_PAGES:,}")
