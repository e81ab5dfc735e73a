"""Rows of numbers: unit length, sign bits, the pass over sign bits, and a checksum a row. Pure numpy.

A search is one pass over sign bits (XOR and population count, in blocks) for a few hundred candidates: 0.995 of the
exact top ten, for 1/32 of the bytes read (spec/recall.md).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]
Positions = NDArray[np.intp]
Floats = NDArray[np.float32]
Bits = NDArray[np.uint64]
Mask = NDArray[np.bool_]

_BLOCK = 16_384
_IN_A_BYTE = 3
"""Words whose ones together fit a uint8."""
_SAMPLE = 16
"""One of so many rows tells how near the nearest are."""
_STEP = np.uint64(0x9E3779B97F4A7C15)


def unit(vectors: Any, dimension: int) -> Floats:
    """`vectors` as float32 rows of length 1; a row with NaN or infinity, or of zeros, becomes zeros.

    Raises ValueError if the shape is not (n, dimension).
    """
    rows = np.array(vectors, dtype=np.float64, ndmin=2)
    if rows.ndim != 2 or rows.shape[1] != dimension:
        raise ValueError(f"vectors of shape {rows.shape}, expected (n, {dimension})")
    rows[~np.isfinite(rows).all(axis=1)] = 0
    # Scaled by the greatest component first, or the square of a huge one is infinite.
    peak = np.abs(rows).max(axis=1, keepdims=True, initial=0)
    np.divide(rows, peak, out=rows, where=peak > 0)
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    np.divide(rows, length, out=rows, where=length > 0)
    return rows.astype(np.float32)


def sign_words(dimension: int) -> int:
    """How many uint64 hold the sign bits of one row."""
    return -(-dimension // 64)


def sign_bits(vectors: Floats) -> Bits:
    """The sign bits of rows: shape (n, words)."""
    bits = np.packbits(vectors > 0, axis=1, bitorder="little")
    padded = np.zeros((len(vectors), sign_words(vectors.shape[1]) * 8), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view("<u8").astype(np.uint64, copy=False)


def closest(bits: Bits, query: Bits, hidden: Mask | None, count: int) -> Positions:
    """Positions of the `count` rows (all, if fewer) whose sign bits differ least from the query's, ascending.

    `bits` has shape (words, n), so that a pass reads each word's column in one go; `query` has shape (words,). Ties
    at the cut come with it, up to 2 * count positions. `hidden` rows are never among them.
    """
    distance = _distances(bits, query)
    farthest = len(bits) * 64
    if hidden is not None:
        distance[hidden] = farthest + 1
    found = _within(distance, count, farthest)
    if len(found) > 2 * count:
        nearest = np.argsort(distance[found], kind="stable")[: 2 * count]
        found = np.sort(found[nearest])
    return found


def _distances(bits: Bits, query: Bits) -> NDArray[np.uint16]:
    """How many sign bits of each row differ. uint16: at 256 bits a distance no longer fits a uint8."""
    words, rows = bits.shape
    distance = np.zeros(rows, dtype=np.uint16)
    flipped = np.empty(min(rows, _BLOCK), dtype=np.uint64)
    ones, some = np.empty((2, len(flipped)), dtype=np.uint8)
    for start in range(0, rows, _BLOCK):
        block = distance[start : start + _BLOCK]
        xor, popped, summed = flipped[: len(block)], ones[: len(block)], some[: len(block)]
        for word in range(words):
            np.bitwise_xor(bits[word, start : start + _BLOCK], query[word], out=xor)
            if word % _IN_A_BYTE == 0:
                np.bitwise_count(xor, out=summed)
            else:
                np.bitwise_count(xor, out=popped)
                summed += popped
            if word % _IN_A_BYTE == _IN_A_BYTE - 1 or word == words - 1:
                block += summed
    return distance


def _within(distance: NDArray[np.uint16], count: int, farthest: int) -> Positions:
    """Positions of the `count` least distances that are not over `farthest`, and of all that tie with the last.

    A histogram of all costs as much as two words of the pass; one of a sample says where to look for the cut.
    """
    guess = farthest
    if len(distance) > 4 * _SAMPLE * count:
        guess = _cut(distance[::_SAMPLE], 2 * count // _SAMPLE + 8, farthest)
    found = np.flatnonzero(distance <= guess)
    if len(found) < count and guess < farthest:
        found = np.flatnonzero(distance <= farthest)
    near = distance[found]
    cut = _cut(near, count, farthest)
    return found[near <= cut]


def _cut(distance: NDArray[np.uint16], count: int, farthest: int) -> int:
    """The distance within which `count` are; `farthest` if there are fewer."""
    reached = np.cumsum(np.bincount(distance, minlength=farthest + 2)[: farthest + 1])
    return min(int(np.searchsorted(reached, count)), farthest)


def row_checksums(keys: Keys, vectors: Floats) -> NDArray[np.uint64]:
    """A 64-bit checksum of each row and its key. Their sum modulo 2**64 says whether two sets of rows are the same set.

    Each component times an odd number of its own, summed: a changed bit always changes the sum. Then mixed, so that
    the sums of two rows do not make up for each other.
    """
    components = np.ascontiguousarray(vectors, dtype="<f4")
    kind = "<u8" if components.shape[1] % 2 == 0 else "<u4"
    parts = components.view(kind).astype(np.uint64, copy=False)
    sums = (parts * _odd(parts.shape[1])).sum(axis=1, dtype=np.uint64)
    return mix(sums ^ mix(keys.astype(np.uint64)))


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """splitmix64's finaliser: neighbouring integers end far apart (Steele, Lea and Flood 2014)."""
    mixed = values + _STEP
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@cache
def _odd(count: int) -> NDArray[np.uint64]:
    return mix(np.arange(count, dtype=np.uint64) * _STEP) | np.uint64(1)
