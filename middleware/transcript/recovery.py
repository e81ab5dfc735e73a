"""Finds what is whole in a line that is torn, glued or broken; the work is bounded by the line's length.

Where the object at a brace does not parse, the search goes on at the next brace that can begin another one: whatever
is still open where it failed fails there as well.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

__all__ = ["decode_text", "objects_in"]

_MAX_INT_DIGITS = 4000
_SCANS = 32
_FIRST_WINDOW = 1 << 12
_LONGEST_TOKEN = 16
_COST_OF_A_TRY = 64
_DEEPEST = 500
_OBJECT_START = re.compile(r'\{[ \t\r\n]*"(?:[^"\\]++|\\.)*+"[ \t\r\n]*:', re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\]]', re.DOTALL)


def _integer(digits: str) -> int | str:
    """An integer; one that is over Python's limit for conversions stays text."""
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else digits


_json = json.JSONDecoder(strict=False, parse_int=_integer)
decode_text = _json.decode


class _Tried(NamedTuple):
    """What came of an object: its value and length, or how far it could be read (None: too deep); and the cost."""

    value: dict[str, Any] | None
    end: int | None
    cost: int


def objects_in(text: str) -> list[tuple[int, int, dict[str, Any]]]:
    """Every complete JSON object of a text that is no one JSON value: where it begins and ends, and its value.

    A text made to be read to its end from every brace is given up.
    """
    found: list[tuple[int, int, dict[str, Any]]] = []
    budget = _SCANS * len(text) + _FIRST_WINDOW
    hopeless: set[int] = set()
    at = 0
    while budget > 0:
        start = _OBJECT_START.search(text, at)
        if start is None:
            break
        at = start.start() + 1
        if start.start() in hopeless:
            continue
        tried = _object_at(text, start.start())
        budget -= tried.cost
        if tried.value is not None and tried.end is not None:
            found.append((start.start(), tried.end, tried.value))
            at = tried.end
            continue
        end = tried.end if tried.end is not None else len(text)
        hopeless |= _open_at(text, start.start(), end, too_deep=tried.end is None)
        budget -= end - start.start()
    return found


def _object_at(text: str, at: int) -> _Tried:
    """The object that begins at `at`.

    It is tried in growing windows, because a failure far into a long text costs the decoder (which counts its
    lines) as much as reading all of it.
    """
    size, cost = _FIRST_WINDOW, _COST_OF_A_TRY
    while True:
        window = text[at : at + size]
        try:
            value, length = _json.raw_decode(window)
        except json.JSONDecodeError as error:
            cost += error.pos + 1
            cut_off = error.msg.startswith("Unterminated") or error.pos > len(window) - _LONGEST_TOKEN
            if not cut_off or at + size >= len(text):
                return _Tried(None, at + error.pos, cost)
            cost += len(window)
            size *= 8
        except (ValueError, RecursionError):
            return _Tried(None, None, cost)
        else:
            return _Tried(value, at + length, cost + length)


def _open_at(text: str, start: int, end: int, *, too_deep: bool) -> set[int]:
    """The braces from `start` that are open at `end`; when `too_deep`, those with too much inside of them."""
    stack: list[int] = []
    deep: set[int] = set()
    for token in _TOKEN.finditer(text, start, end):
        kind = token[0]
        if kind in "{[":
            stack.append(token.start())
            if too_deep and len(stack) > _DEEPEST:
                deep.add(stack[-_DEEPEST - 1])
        elif kind in "}]":
            stack.pop()
            if not stack:
                break
    return deep if too_deep else set(stack)
