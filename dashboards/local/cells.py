"""Counts by stretch of time, model, series and label: what the overview is made of, kept as turns come in.

A cell is a count, a total and, for durations, a sketch. The stretches are a minute, ten, an hour, a day and thirty days
long, so that no range needs more than some hundred of them.

    turn         by outcome; seconds              first_chunk  seconds
    origin       turns by origin                  tokens       by kind; total
    call         by provider; seconds             recall       hit, miss, timeout, error; seconds
    embedding    by provider; seconds             matches      total
    error        by error type                    typed        total of characters, from transcripts
    hook         by event, type, name, outcome    injected     by source; total of characters, from transcripts
                 (JSON list); seconds             spared       recalls not asked with a hook's text; total of characters
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from .sketch import Sketch, bin_of

__all__ = ["MINUTE", "WIDTHS", "Cell", "Cells", "Key"]

MINUTE: Final = 60
WIDTHS: Final = (MINUTE, 600, 3600, 86_400, 2_592_000)
"""Seconds of the stretches; each is a multiple of the one before."""

_NS: Final = 1_000_000_000


class Key(NamedTuple):
    """`start` in seconds since 1970, a multiple of `width`; `model` is "" for none."""

    width: int
    start: int
    model: str
    series: str
    label: str


class Cell:
    """What was counted; mutable while it is added up."""

    __slots__ = ("count", "sketch", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.sketch: Sketch = {}

    def merge(self, other: Cell) -> None:
        """Add what another counted."""
        self.count += other.count
        self.total += other.total
        for number, count in other.sketch.items():
            self.sketch[number] = self.sketch.get(number, 0) + count


class Cells:
    """Cells of one width that are being added up; `widened` gives those of the others."""

    __slots__ = ("_held", "width")

    def __init__(self, width: int = MINUTE) -> None:
        self.width = width
        self._held: dict[Key, Cell] = {}

    def add(
        self,
        at: int,
        model: str,
        series: str,
        label: str,
        sign: int = 1,
        *,
        seconds: float | None = None,
        total: float = 0.0,
    ) -> None:
        """Count one thing that happened at `at` (ns), `sign` times; `seconds` is its duration, if it has one."""
        start = at // _NS // self.width * self.width
        key = Key(self.width, start, model, series, label)
        cell = self._held.get(key)
        if cell is None:
            cell = self._held[key] = Cell()
        cell.count += sign
        if seconds is None:
            cell.total += sign * total
        else:
            cell.total += sign * seconds
            number = bin_of(seconds)
            cell.sketch[number] = cell.sketch.get(number, 0) + sign

    def widened(self) -> Iterator[tuple[Key, Cell]]:
        """Every cell, at its own width and at every wider one."""
        for width in WIDTHS:
            if width < self.width:
                continue
            if width == self.width:
                yield from self._held.items()
                continue
            wide: dict[Key, Cell] = {}
            for key, cell in self._held.items():
                start = key.start // width * width
                name = Key(width, start, key.model, key.series, key.label)
                if (into := wide.get(name)) is None:
                    into = wide[name] = Cell()
                into.merge(cell)
            yield from wide.items()

    def __iter__(self) -> Iterator[tuple[Key, Cell]]:
        return iter(self._held.items())

    def __len__(self) -> int:
        return len(self._held)
