"""Vectors of one namespace in memory: sign bits for the first pass, and exact cosines from the mapped file.

A search is one pass over sign bits (XOR and population count, in blocks) for a few hundred candidates, and their
exact cosines: 0.995 of the exact top ten, for 1/32 of the bytes read (spec/recall.md).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .vector_file import Rows, StoredVector, VectorFile, pack_rows

_BLOCK = 16_384

Keys = NDArray[np.int64]
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the database says of a namespace's vectors at one moment.

    `epoch` changes when they are all written anew; `last_key` is the greatest key there was; `deleted` is the number
    of the last deletion, 0 for none; `live` and `total` are the number of vectors and the sum of their row checksums
    modulo 2**64.
    """

    epoch: int
    last_key: int
    deleted: int
    live: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the rows come from, at the moment of a `State`.

    `added(key)`: the vectors with a greater key, ascending. `removed()`: the keys deleted in this epoch.
    """

    added: Callable[[int], list[StoredVector]]
    removed: Callable[[], list[int]]


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


def sign_bits(vectors: Floats) -> NDArray[np.uint64]:
    """The sign bits of rows, word by word: shape (words, n), so that a pass reads each word's column in one go."""
    bits = np.packbits(vectors > 0, axis=1, bitorder="little")
    padded = np.zeros((len(vectors), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.ascontiguousarray(padded.view(np.uint64).T)


def closest(bits: NDArray[np.uint64], query: NDArray[np.uint64], dead: Mask | None, count: int) -> NDArray[np.intp]:
    """Positions of the `count` live rows (all, if fewer) whose sign bits differ least from the query's, ascending.

    `bits` has shape (words, n), `query` (words, 1). Ties at the cut come with it, up to 2 * count positions.
    """
    words, rows = bits.shape
    # uint16: at 256 bits a distance no longer fits a uint8.
    distance = np.zeros(rows, dtype=np.uint16)
    flipped = np.empty(min(rows, _BLOCK), dtype=np.uint64)
    ones = np.empty(len(flipped), dtype=np.uint8)
    for start in range(0, rows, _BLOCK):
        block = distance[start : start + _BLOCK]
        xor, popped = flipped[: len(block)], ones[: len(block)]
        for word in range(words):
            np.bitwise_xor(bits[word, start : start + _BLOCK], query[word], out=xor)
            np.bitwise_count(xor, out=popped)
            block += popped
    farthest = words * 64
    if dead is not None:
        distance[dead] = farthest + 1
    reached = np.cumsum(np.bincount(distance, minlength=farthest + 2)[: farthest + 1])
    cut = min(int(np.searchsorted(reached, count)), farthest)
    found = np.flatnonzero(distance <= cut)
    if len(found) > 2 * count:
        nearest = np.argsort(distance[found], kind="stable")[: 2 * count]
        found = np.sort(found[nearest])
    return found


class View:
    """The vectors of a namespace at one `State`. Never changes, so any thread may search it."""

    def __init__(self, state: State, rows: Rows, bits: NDArray[np.uint64], dead: Mask | None) -> None:
        self.state = state
        self.rows = rows
        self.bits = bits
        self.dead = dead
        array = np.asarray(rows.array)[: bits.shape[1]]
        self._keys: Keys = np.ascontiguousarray(array["key"])
        self._vectors: Floats = array["vector"]

    def nearest(
        self, query: Floats, count: int, *, only: Keys | None = None, without: Keys | None = None
    ) -> tuple[Keys, Floats]:
        """Keys and cosines of about `count` candidates for `query` (a unit row); among the keys `only`, if given."""
        nothing = np.zeros(0, np.int64), np.zeros(0, np.float32)
        if not len(self._keys) or not query.any():
            return nothing
        dead = self.dead
        if only is not None:
            positions, present = self._positions(only)
            outside = np.ones(len(self._keys), bool)
            outside[positions[present]] = False
            dead = outside if dead is None else outside | dead
        if without is not None:
            positions, present = self._positions(without)
            dead = np.zeros(len(self._keys), bool) if dead is None else dead.copy()
            dead[positions[present]] = True
        found = closest(self.bits, sign_bits(query[None, :]), dead, count)
        return self._keys[found], self._vectors[found] @ query

    def cosines(self, keys: Keys, query: Floats) -> Floats:
        """The exact cosine of each key's vector with `query` (a unit row); 0 for a key without a vector."""
        out = np.zeros(len(keys), np.float32)
        if len(self._keys) and len(keys):
            positions, present = self._positions(keys)
            out[present] = self._vectors[positions[present]] @ query
        return out

    def _positions(self, keys: Keys) -> tuple[NDArray[np.intp], Mask]:
        if not len(self._keys):
            return np.zeros(len(keys), np.intp), np.zeros(len(keys), bool)
        positions = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return positions, self._keys[positions] == keys


class NamespaceVectors:
    """Follows the database: gives the `View` of a `State`, from memory, from the file, or from the database."""

    def __init__(self, path: Path, embedder_id: str, dimension: int) -> None:
        self._file = VectorFile(path, embedder_id, dimension)
        self._dimension = dimension
        self._view: View | None = None
        self._mutex = threading.Lock()

    def view(self, state: State, source: Source) -> View:
        """The vectors at `state`. What is not in the file yet is added to it; what disagrees is rebuilt.

        A file that cannot be written costs speed only: the rows are then held in memory.
        """
        view = self._view
        if view is not None and view.state == state:
            return view
        with self._mutex:
            try:
                with self._file.lock():
                    self._view = self._follow(state, source)
            except OSError:
                rows = Rows(pack_rows(source.added(0), self._dimension), 0)
                self._view = View(state, rows, sign_bits(rows.array["vector"]), None)
            return self._view

    def _follow(self, state: State, source: Source) -> View:
        old = self._view if self._view is not None and self._view.state.epoch == state.epoch else None
        rows = self._file.read(state.epoch, old.rows if old is not None else None)
        if rows is not None:
            view = self._extend(state, rows, old, source)
            if _agrees(view):
                return view
        fresh = self._file.replace(state.epoch, pack_rows(source.added(0), self._dimension))
        return View(state, fresh, sign_bits(fresh.array["vector"]), None)

    def _extend(self, state: State, rows: Rows, old: View | None, source: Source) -> View:
        known = int(rows.array["key"][-1]) if len(rows.array) else 0
        # Another process may have written rows that are later than this moment; they are left aside.
        if known < state.last_key:
            added = source.added(known)
            if added:
                rows = self._file.append(state.epoch, rows, pack_rows(added, self._dimension))
        count = int(np.searchsorted(rows.array["key"], state.last_key, "right"))
        array = np.asarray(rows.array)[:count]
        same = old is not None and _starts_with(rows, old.rows) and old.bits.shape[1] <= count
        if old is not None and same:
            start = old.bits.shape[1]
            bits = old.bits if start == count else np.hstack([old.bits, sign_bits(array["vector"][start:])])
        else:
            bits = sign_bits(array["vector"])
        removed = np.array(source.removed(), dtype=np.int64)
        dead = np.isin(array["key"], removed) if len(removed) else None
        return View(state, rows, bits, dead)


def _starts_with(rows: Rows, start: Rows) -> bool:
    """True if `rows` go on from `start`. Keys are never given twice in an epoch, so the ends of it tell."""
    count = len(start.array)
    if count > len(rows.array):
        return False
    return count == 0 or bool(rows.array["sum"][count - 1] == start.array["sum"][-1])


def _agrees(view: View) -> bool:
    """True if the live rows are as many, and sum up to the same, as the database says."""
    sums = np.asarray(view.rows.array)["sum"][: view.bits.shape[1]]
    if view.dead is not None:
        sums = sums[~view.dead]
    return len(sums) == view.state.live and int(sums.sum(dtype=np.uint64)) == view.state.total
