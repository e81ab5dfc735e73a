"""Reads a transcript together with where in the file each of its records stands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ..errors import TranscriptError
from ..records import Record
from .chain import walk
from .flaws import Flaw
from .reader import file_of, records_in_line

__all__ = ["Located", "iter_located", "lines_of", "read_located"]

OnBytes = Callable[[int], object]


class _Named(msgspec.Struct):
    uuid: Any = None


_name = msgspec.json.Decoder(_Named).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """The records of one file in its order, each with the number of its line, counted from 1.

    `flaws` are those of the lines alone; `unended` is True when the last line has no newline.
    """

    path: Path
    records: tuple[tuple[int, Record], ...]
    flaws: tuple[Flaw, ...]
    unended: bool = False

    def branch(self) -> list[Record]:
        """The live branch, root first. Raises `TranscriptError`, which names the file, for mixed sessions."""
        try:
            return walk(record for _, record in self.records)[0]
        except TranscriptError as error:
            raise TranscriptError(f"{self.path}: {error}") from None


def read_located(path: Path, on_bytes: OnBytes = lambda count: None) -> Located:
    """Read a whole file; `on_bytes` is told the length of every line, for a progress bar.

    Raises OSError when the file cannot be read, `TranscriptError` for a folder.
    """
    flaws: list[Flaw] = []
    records = tuple(iter_located(path, flaws.append, on_bytes))
    with path.open("rb") as file:
        unended = bool(file.seek(0, 2)) and bool(file.seek(-1, 2)) and file.read(1) != b"\n"
    return Located(path=path, records=records, flaws=tuple(flaws), unended=unended)


def iter_located(
    path: Path, on_flaw: Callable[[Flaw], object] = lambda flaw: None, on_bytes: OnBytes = lambda count: None
) -> Iterator[tuple[int, Record]]:
    """Yield the records of a file one by one, with their lines. Raises like `read_located`."""
    with file_of(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            found, detail = records_in_line(line)
            for record in found:
                yield number, record
            if detail is not None:
                on_flaw(Flaw(name="invalid_record", line=number, detail=detail))
            on_bytes(len(line))


def lines_of(path: Path, uuids: Collection[str]) -> Mapping[str, int]:
    """The first line of each of these uuids in a file. Raises OSError when it cannot be read."""
    found: dict[str, int] = {}
    wanted = set(uuids)
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            for uuid in _uuids(line):
                if uuid in wanted:
                    found.setdefault(uuid, number)
            if len(found) == len(wanted):
                break
    return found


def _uuids(line: bytes) -> list[str]:
    try:
        named = _name(line).uuid
    except (msgspec.DecodeError, RecursionError):
        return [record["uuid"] for record in records_in_line(line)[0]]
    return [named] if isinstance(named, str) else []
