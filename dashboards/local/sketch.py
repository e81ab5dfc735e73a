"""Distributions in little room: logarithmic bins, sixteen to a doubling. A percentile is within 2.2% of the truth.

A sketch is a mapping of bin to count; sketches of the same thing add up. Written down, it is pairs of a 16-bit bin
and a 32-bit count, little endian. Durations are in seconds here, from 1 µs up to twelve days.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import Final, TypeAlias

__all__ = ["PER_DOUBLING", "SMALLEST", "Sketch", "bin_of", "dump", "load", "middle", "percentiles", "size"]

Sketch: TypeAlias = dict[int, int]

PER_DOUBLING: Final = 16
SMALLEST: Final = 1e-6
_LAST: Final = 40 * PER_DOUBLING
_PAIR: Final = struct.Struct("<HI")


def bin_of(value: float) -> int:
    """The bin of a value; 0 is what is not over `SMALLEST`."""
    if value <= SMALLEST:
        return 0
    return min(_LAST, 1 + int(PER_DOUBLING * math.log2(value / SMALLEST)))


def middle(number: int) -> float:
    """The geometric middle of a bin, in the unit of the values; 0 for bin 0."""
    if number == 0:
        return 0.0
    return SMALLEST * math.exp2((number - 0.5) / PER_DOUBLING)


def dump(sketch: Mapping[int, int]) -> bytes | None:
    """Write it down, by bin; None for an empty one."""
    pairs = [(number, count) for number, count in sorted(sketch.items()) if count > 0]
    if not pairs:
        return None
    return b"".join(starmap(_PAIR.pack, pairs))


def load(data: bytes | None, into: Sketch) -> Sketch:
    """Add what was written down to `into`."""
    for number, count in _PAIR.iter_unpack(data or b""):
        into[number] = into.get(number, 0) + count
    return into


def percentiles(sketches: Sequence[bytes], shares: Sequence[float]) -> tuple[float | None, ...]:
    """The values below which the shares (0 to 1) lie, by nearest rank, of sketches that were written down.

    None each when they hold nothing.
    """
    import numpy as np

    pairs = np.frombuffer(b"".join(sketches), dtype=[("bin", "<u2"), ("count", "<u4")])
    if not len(pairs):
        return tuple(None for _ in shares)
    reached = np.bincount(pairs["bin"], weights=pairs["count"]).cumsum()
    ranks = np.maximum(1, np.ceil(np.asarray(shares) * reached[-1]))
    return tuple(middle(int(number)) for number in np.searchsorted(reached, ranks))


def size(sketches: Sequence[bytes]) -> int:
    """How many values they hold."""
    import numpy as np

    return int(np.frombuffer(b"".join(sketches), dtype=[("bin", "<u2"), ("count", "<u4")])["count"].sum())
