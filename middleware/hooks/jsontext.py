"""JSON as hooks speak it: what is written to one, what is read from one.

msgspec first, the standard library where msgspec is stricter than the hooks of the world: lone surrogates, `NaN`,
integers over 64 bits. Deep nesting and integers over the digit limit are invalid, never a crash.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

import msgspec

from ..parts import clean

__all__ = ["decode", "encode", "objects_on_lines"]

_SCAN_BUDGET = 64 * 1024 * 1024
_TOO_DEEP_COST = 1024 * 1024
_LINE_BRACE = re.compile(r"^\{", re.MULTILINE)
_raw_decode = json.JSONDecoder().raw_decode


def encode(payload: Mapping[str, object]) -> bytes:
    """One compact UTF-8 JSON object; lone surrogates and NUL become U+FFFD (D5).

    Raises `ValueError` or `TypeError` for what JSON cannot say, bytes among it.
    """
    tidy = _cleaned(payload)
    try:
        return msgspec.json.encode(tidy)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return json.dumps(tidy, ensure_ascii=False, separators=(",", ":")).encode()


def decode(text: str) -> object:
    """The value of a JSON text. Raises `ValueError` for anything that is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        pass
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def objects_on_lines(text: str) -> Iterator[dict[str, object]]:
    """The complete JSON objects whose `{` begins a line and whose `}` ends one, first to last, none inside another.

    Reading stops when broken candidates have cost a budget of characters, so that no output can hold a turn.
    """
    budget = _SCAN_BUDGET
    match = _LINE_BRACE.search(text)
    while match is not None and budget > 0:
        start, end = match.start(), match.end()
        try:
            value, stop = _raw_decode(text, start)
        except json.JSONDecodeError as error:
            # The error counts the lines from the start of the text, so a late failure costs more than an early one.
            budget -= error.pos
        except (ValueError, RecursionError):
            budget -= _TOO_DEEP_COST
        else:
            line_end = text.find("\n", stop)
            if not text[stop : line_end if line_end >= 0 else len(text)].strip(" \t\r"):
                end = stop
                yield value
            else:
                budget -= stop - start
        match = _LINE_BRACE.search(text, end)


def _cleaned(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): _cleaned(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cleaned(item) for item in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError("bytes in a hook's input; decode them first")
    return value
