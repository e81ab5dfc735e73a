"""Reads a transcript together with where in the file each of its records stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import TranscriptError
from ..records import Record
from .chain import walk
from .flaws import Flaw
from .reader import records_in_line

__all__ = ["Located", "read_located"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """The records of one file in its order, each with the number of its line, counted from 1.

    `flaws` are those of the lines alone; `unended` is True when the last line has no newline.
    """

    path: Path
    records: tuple[tuple[int, Record], ...]
    flaws: tuple[Flaw, ...]
    unended: bool = False

    @property
    def lines(self) -> Mapping[str, int]:
        """The line of each uuid, the first where there are several."""
        found: dict[str, int] = {}
        for line, record in self.records:
            found.setdefault(record["uuid"], line)
        return found

    def branch(self) -> list[Record]:
        """The live branch, root first. Raises `TranscriptError`, which names the file, for mixed sessions."""
        try:
            return walk(record for _, record in self.records)[0]
        except TranscriptError as error:
            raise TranscriptError(f"{self.path}: {error}") from None


def read_located(path: Path, on_bytes: Callable[[int], object] = lambda count: None) -> Located:
    """Read a file; `on_bytes` is told the length of every line, for a progress bar.

    Raises OSError when the file cannot be read, `TranscriptError` for a folder.
    """
    if path.is_dir():
        raise TranscriptError(f"{path} is a folder, not a transcript; name one of its .jsonl files")
    records: list[tuple[int, Record]] = []
    flaws: list[Flaw] = []
    line = b"\n"
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            found, detail = records_in_line(line)
            records += [(number, record) for record in found]
            if detail is not None:
                flaws.append(Flaw(name="invalid_record", line=number, detail=detail))
            on_bytes(len(line))
    return Located(
        path=path, records=tuple(records), flaws=tuple(flaws), unended=bool(line) and not line.endswith(b"\n")
    )
