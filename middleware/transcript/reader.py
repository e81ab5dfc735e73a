"""Reads transcripts that other programs wrote, that were killed while writing, or that two wrote at once.

Bytes are split on LF alone: U+2028, U+0085 and U+001C are ordinary characters inside a string. A line that is
not one JSON object is scanned for every complete record in it (hooks-and-transcripts 3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ..errors import TranscriptError
from ..records import Record
from .flaws import Flaw
from .recovery import decode_text, objects_in

__all__ = [
    "KEPT",
    "REPLACED",
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

KEPT = "nothing is lost"
REPLACED = "what cannot be read in it is replaced"
"""How the fault of a line ends of which every record was read."""

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
    """The path of a file to be read as a transcript. Raises `TranscriptError` for a folder, a pipe or a device."""
    place = Path(path)
    if place.is_dir():
        raise TranscriptError(f"{place} is a folder, not a transcript; name one of its .jsonl files")
    if place.exists() and not place.is_file():
        # Opening a pipe would wait for somebody to write to it.
        raise TranscriptError(f"{place} is no regular file; name a .jsonl transcript")
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
        return decode_text(line.decode("utf-8-sig").strip(" \t\r\n"))


def _is_record(value: dict[str, Any]) -> bool:
    return isinstance(value.get("uuid"), str) and isinstance(value.get("type"), str)


def _recover(line: bytes) -> tuple[list[Record], str, bool]:
    """Find every complete object of a glued, torn or otherwise broken line."""
    text = line.decode("utf-8", "replace")
    found: list[Record] = []
    rest: list[str] = []
    end = 0
    objects = objects_in(text)
    for start, stop, value in objects:
        if _is_record(value):
            found.append(value)
            rest.append(text[end:start])
            end = stop
    rest.append(text[end:])
    if found and not "".join(rest).strip(_BLANK):
        if not _is_utf8(line):
            return found, f"the line is not UTF-8; {REPLACED}", bool(objects)
        what = "NUL bytes around a record" if len(found) == 1 else f"{len(found)} records are glued together"
        return found, f"{what}; {KEPT}", bool(objects)
    kind = "is torn, glued or no JSON" if text.strip(_BLANK) else "is NUL bytes"
    return found, f"the line {kind}; {len(found)} record{'' if len(found) == 1 else 's'} recovered", bool(objects)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
