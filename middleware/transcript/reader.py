"""Reads transcripts that other programs wrote, that were killed while writing, or that two wrote at once.

Bytes are split on LF alone: U+2028, U+0085 and U+001C are ordinary characters inside a string. A line that is
not one JSON object is scanned for every complete record in it (hooks-and-transcripts 3.1).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ..errors import TranscriptError
from ..records import Record
from .flaws import Flaw

__all__ = [
    "KEPT",
    "Tally",
    "Transcript",
    "file_of",
    "iter_records",
    "not_a_transcript",
    "parse",
    "read",
    "records_in_line",
    "scan",
]

_MAX_INT_DIGITS = 4000
KEPT = "nothing is lost"
"""How the fault of a line ends of which everything was read."""

_SCANS = 32
_FIRST_WINDOW = 1 << 12
_LONGEST_TOKEN = 16
_OBJECT_START = re.compile(r'\{[ \t\r\n]*"')
_BLANK = "\0 \t\r\n\ufeff"
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What a file holds: records in file order, as stored, and what was wrong with it."""

    records: tuple[Record, ...] = ()
    flaws: tuple[Flaw, ...] = ()


def read(path: str | Path) -> Transcript:
    """Read a whole file. Raises `TranscriptError` for one that is no transcript, `OSError` when it cannot be read."""
    flaws: list[Flaw] = []
    records = tuple(iter_records(path, flaws.append))
    return Transcript(records=records, flaws=tuple(flaws))


def parse(data: bytes) -> Transcript:
    """Read a transcript from memory; never raises, whatever the bytes are."""
    flaws: list[Flaw] = []
    records = tuple(_records(data.split(b"\n"), flaws.append, Tally()))
    return Transcript(records=records, flaws=tuple(flaws))


def iter_records(path: str | Path, on_flaw: Callable[[Flaw], None] = lambda flaw: None) -> Iterator[Record]:
    """Yield the records of a file one by one, holding one line in memory.

    Raises `TranscriptError` for a folder, and at the end for a file without a single record that is not merely torn.
    """
    place = file_of(path)
    tally = Tally()
    with place.open("rb") as file:
        yield from _records(file, on_flaw, tally)
    tally.refuse_foreign(place)


def file_of(path: str | Path) -> Path:
    """The path of a file to be read as a transcript. Raises `TranscriptError` for a folder."""
    place = Path(path)
    if place.is_dir():
        raise TranscriptError(f"{place} is a folder, not a transcript; name one of its .jsonl files")
    return place


def records_in_line(line: bytes) -> tuple[list[Record], str | None]:
    """Return the records of one line, and what was wrong with it or None.

    A record is an object with a string `uuid` and `type`. A line of blanks has none and nothing wrong.
    """
    found, detail, _ = scan(line)
    return found, detail


def not_a_transcript(place: Path) -> TranscriptError:
    """The error for a file that holds something, and no record."""
    return TranscriptError(f"{place} is not a transcript: no line of it is a record; name a .jsonl transcript")


class Tally:
    """Whether a file showed any record, any JSON object, and any line that is no record, torn or whole."""

    __slots__ = ("foreign", "objects", "records")

    def __init__(self) -> None:
        self.foreign = False
        self.objects = False
        self.records = False

    def line(self, line: bytes, number: int, on_flaw: Callable[[Flaw], None]) -> list[Record]:
        """The records of one line, counted; what was wrong with it goes to `on_flaw`."""
        found, detail, objects = scan(line)
        self.objects = self.objects or objects
        self.records = self.records or bool(found)
        if detail is not None:
            self.foreign = self.foreign or detail == _NO_RECORD or not _like_an_object(line)
            on_flaw(Flaw(name="invalid_record", line=number, detail=detail))
        return found

    def refuse_foreign(self, place: Path) -> None:
        """Raise `TranscriptError` for a file without a single record that is not merely torn."""
        if self.foreign and not self.objects:
            raise TranscriptError(
                f"{place} is not a transcript: no line of it is a JSON object; name a .jsonl transcript"
            )
        if self.foreign and not self.records:
            raise not_a_transcript(place)


def _records(lines: Iterable[bytes], on_flaw: Callable[[Flaw], None], tally: Tally) -> Iterator[Record]:
    for number, line in enumerate(lines, 1):
        yield from tally.line(line, number, on_flaw)


def _like_an_object(line: bytes) -> bool:
    bare = line.removeprefix(_BOM).strip(b"\0 \t\r\n")
    return not bare or bare.startswith(b"{")


def scan(line: bytes) -> tuple[list[Record], str | None, bool]:
    """The records of a line, what was wrong with it, and whether it held any JSON object."""
    try:
        value = _decode(line)
    except (ValueError, RecursionError):
        if not line.strip():
            return [], None, False
        return _recover(line)
    if not isinstance(value, dict):
        return [], f"a JSON {_NAMES.get(type(value), 'value')} where a record belongs", False
    if not _is_record(value):
        return [], _NO_RECORD, True
    return [value], None, True


_NO_RECORD = "an object without a uuid and a type"
_NAMES = {list: "array", str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def _decode(line: bytes) -> Any:
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError):
        # msgspec refuses lone surrogates ("truncated"), NaN, a BOM and raw control characters; json does not.
        return _json.decode(line.decode("utf-8-sig").strip(" \t\r\n"))


def _integer(digits: str) -> int | str:
    """An integer; one that is over Python's limit for conversions stays text."""
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else digits


_json = json.JSONDecoder(strict=False, parse_int=_integer)


def _is_record(value: dict[str, Any]) -> bool:
    return isinstance(value.get("uuid"), str) and isinstance(value.get("type"), str)


def _recover(line: bytes) -> tuple[list[Record], str, bool]:
    """Find every complete object of a glued, torn or otherwise broken line.

    Where the object at a brace does not parse, the search goes on at the next brace. The work is bounded: a
    line made to be read to its end from every brace is given up.
    """
    text = line.decode("utf-8", "replace")
    found: list[Record] = []
    objects = False
    budget = _SCANS * len(text) + _FIRST_WINDOW
    rest: list[str] = []
    end = 0
    start = _OBJECT_START.search(text)
    while start is not None and budget > 0:
        value, length, cost = _object_at(text, start.start())
        budget -= cost
        if value is not None:
            objects = True
            if _is_record(value):
                found.append(value)
                rest.append(text[end : start.start()])
                end = start.start() + length
        start = _OBJECT_START.search(text, start.start() + length)
    rest.append(text[end:])
    if found and not "".join(rest).strip(_BLANK):
        what = "NUL bytes around a record" if len(found) == 1 else f"{len(found)} records are glued together"
        return found, f"{what}; {KEPT}", objects
    kind = "is torn, glued or no JSON" if text.strip(_BLANK) else "is NUL bytes"
    return found, f"the line {kind}; {len(found)} record{'' if len(found) == 1 else 's'} recovered", objects


def _object_at(text: str, at: int) -> tuple[dict[str, Any] | None, int, int]:
    """The object that begins at `at` or None, how far to step over it, and how much was read to find out.

    It is tried in growing windows, because a failure far into a long text costs the decoder (which counts its
    lines) as much as reading all of it.
    """
    size, cost = _FIRST_WINDOW, 0
    while True:
        window = text[at : at + size]
        try:
            value, length = _json.raw_decode(window)
        except json.JSONDecodeError as error:
            cost += error.pos + 1
            cut_off = error.msg.startswith("Unterminated") or error.pos > len(window) - _LONGEST_TOKEN
            if not cut_off or at + size >= len(text):
                return None, 1, cost
            cost += len(window)
            size *= 8
        except (ValueError, RecursionError):
            return None, 1, cost + len(window)
        else:
            return value, length, cost + length
