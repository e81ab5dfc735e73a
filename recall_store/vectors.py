"""One namespace as arrays: keys, sign bits, lengths and neighbours in memory, components in the file.

`NamespaceVectors` follows the database: what its `State` says is what a `View` holds, whatever the files say.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .bm25 import Neighbours
from .signs import Floats, Keys, Mask, Positions, closest, sign_bits
from .vector_file import Chunk, DamagedError, Index, Rows, VectorFile, index_rows

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the database says of a namespace's vectors at one moment.

    `epoch` changes when they are all written anew; `last_key` is the greatest key there was; `deleted` is the number
    of the last deletion, 0 for none; `live` and `total` are the number of vectors and the sum of their checksums
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

    `added(key)`: the rows with a greater key, ascending, in chunks. `removed()`: the keys deleted in this epoch.
    """

    added: Callable[[int], Iterable[Chunk]]
    removed: Callable[[], list[int]]


class View:
    """A namespace at one `State`. Never changes, so any thread may search it.

    `keys` and `lengths` have one entry a row; `dead` marks rows that were deleted, None for no row.
    """

    def __init__(self, state: State, index: Index, rows: Rows, bits: NDArray[np.uint64], dead: Mask | None) -> None:
        self.state = state
        self.index = index
        self.bits = bits
        self.dead = dead
        self.rows = rows
        self._array = index.array[: bits.shape[1]]
        self.keys: Keys = np.ascontiguousarray(self._array["key"])

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Index words of each row."""
        return self._array["length"].astype(np.float64)

    @cached_property
    def texts(self) -> NDArray[np.float64]:
        """Index words of each row's text alone."""
        return self._array["text"].astype(np.float64)

    @cached_property
    def neighbours(self) -> Neighbours | None:
        """The order of the living rows in their sessions, or None if no two of them are neighbours."""
        known = ~np.isnan(self._array["position"])
        if self.dead is not None:
            known &= ~self.dead
        at = np.flatnonzero(known)
        sessions, positions = self._array["session"][at], self._array["position"][at]
        joined = sessions[1:] == sessions[:-1]
        # Conversations that were stored as they went are in order already, and sorting is half of a first search.
        later = np.sort(sessions[1:][~joined])
        once = bool((later[1:] != later[:-1]).all()) and not (later == sessions[:1]).any()
        if not (once and bool((positions[1:] >= positions[:-1])[joined].all())):
            order = np.lexsort((positions, sessions))
            at, sessions = at[order], sessions[order]
            joined = sessions[1:] == sessions[:-1]
        return Neighbours(rows=at, joined=joined) if joined.any() else None

    def hidden(self, *, only: Keys | None = None, without: Keys | None = None) -> Mask | None:
        """The rows that are no answer: dead, not among the keys `only`, or among `without`. None for no row."""
        hidden = self.dead
        if only is not None:
            outside = np.ones(len(self.keys), bool)
            positions, present = self.positions(only)
            outside[positions[present]] = False
            hidden = outside if hidden is None else outside | hidden
        if without is not None:
            hidden = np.zeros(len(self.keys), bool) if hidden is None else hidden.copy()
            positions, present = self.positions(without)
            hidden[positions[present]] = True
        return hidden

    def nearest(self, query: Floats, count: int, hidden: Mask | None) -> tuple[Positions, Floats]:
        """Positions, ascending, and exact cosines of about `count` candidates for `query` (a unit row).

        Raises DamagedError.
        """
        if not len(self.keys) or not query.any():
            return np.zeros(0, np.intp), np.zeros(0, np.float32)
        found = closest(self.bits, sign_bits(query[None, :])[0], hidden, count)
        return found, self.rows.take(found) @ query

    def cosines(self, positions: Positions, query: Floats) -> Floats:
        """The exact cosine of each row with `query` (a unit row). Raises DamagedError."""
        return self.rows.take(positions) @ query if len(positions) else np.zeros(0, np.float32)

    def positions(self, keys: Keys) -> tuple[Positions, Mask]:
        """Where each key is, and whether it is there at all."""
        if not len(self.keys):
            return np.zeros(len(keys), np.intp), np.zeros(len(keys), bool)
        first, last = int(self.keys[0]), int(self.keys[-1])
        if last - first == len(self.keys) - 1:
            # Without a gap, as after one large upsert: a key says where it is.
            inside = (keys >= first) & (keys <= last)
            return np.where(inside, keys - first, 0), inside
        positions = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return positions, self.keys[positions] == keys


class NamespaceVectors:
    """Follows the database: gives the `View` of a `State`, from memory, from the files, or from the database."""

    def __init__(self, path: Path, embedder_id: str, dimension: int) -> None:
        self._file = VectorFile(path, embedder_id, dimension)
        self._dimension = dimension
        self._view: View | None = None
        self._mutex = threading.Lock()

    def ask(self, state: State, source: Source, question: Callable[[View], Answer]) -> Answer:
        """What `question` says of the view at `state`; asked again, if a file found damaged on the way was rebuilt.

        Raises DamagedError if the vectors of the source itself are not what their checksums say.
        """
        try:
            return question(self.view(state, source))
        except DamagedError:
            return question(self.view(state, source, anew=True))

    def view(self, state: State, source: Source, *, anew: bool = False) -> View:
        """The rows at `state`. What is not in the files yet is added to them; what disagrees is rebuilt.

        Files that cannot be written cost speed only: the rows are then held in memory.
        """
        view = self._view
        if view is not None and view.state == state and not anew:
            return view
        with self._mutex:
            try:
                with self._file.lock():
                    self._view = self._rebuilt(state, source) if anew else self._follow(state, source)
            except OSError:
                self._view = self._held(state, source)
            return self._view

    def _follow(self, state: State, source: Source) -> View:
        old = self._view if self._view is not None and self._view.state.epoch == state.epoch else None
        index = self._file.read(state.epoch, old.index if old is not None else None)
        if index is not None:
            view = self._extend(state, index, old, source)
            if _agrees(view):
                return view
        return self._rebuilt(state, source)

    def _rebuilt(self, state: State, source: Source) -> View:
        index = self._file.replace(state.epoch, _of_dimension(source.added(0), self._dimension))
        return View(state, index, self._file.rows(index), columns(index.array), None)

    def _held(self, state: State, source: Source) -> View:
        chunks = list(_of_dimension(source.added(0), self._dimension))
        array = np.concatenate([np.zeros(0, self._file.row_type), *(index_rows(chunk) for chunk in chunks)])
        vectors = np.concatenate([np.zeros((0, self._dimension), np.float32), *(chunk.vectors for chunk in chunks)])
        rows = Rows(array, vectors, self._dimension)
        return View(state, Index(array, 0), rows, columns(array), None)

    def _extend(self, state: State, index: Index, old: View | None, source: Source) -> View:
        known = int(index.array["key"][-1]) if len(index.array) else 0
        # Another process may have written rows that are later than this moment; they are left aside.
        if known < state.last_key:
            added = _of_dimension(source.added(known), self._dimension)
            index = self._file.append(state.epoch, index, added)
        count = int(np.searchsorted(index.array["key"], state.last_key, "right"))
        array = index.array[:count]
        if old is not None and _starts_with(index, old.index) and old.bits.shape[1] <= count:
            start = old.bits.shape[1]
            bits = old.bits if start == count else np.hstack([old.bits, columns(array[start:])])
        else:
            bits = columns(array)
        removed = np.array(source.removed(), dtype=np.int64)
        dead = np.isin(array["key"], removed) if len(removed) else None
        return View(state, index, self._file.rows(index), bits, dead)


def columns(array: NDArray[Any]) -> NDArray[np.uint64]:
    return np.ascontiguousarray(array["bits"].T)


def _of_dimension(chunks: Iterable[Chunk], dimension: int) -> Iterator[Chunk]:
    for chunk in chunks:
        if chunk.vectors.shape[1] != dimension:
            raise ValueError(f"vectors of {chunk.vectors.shape[1]} components, expected {dimension}")
        yield chunk


def _starts_with(index: Index, start: Index) -> bool:
    """True if `index` goes on from `start`. Keys are never given twice in an epoch, so the ends of it tell."""
    count = len(start.array)
    if count > len(index.array):
        return False
    return count == 0 or bool(index.array["sum"][count - 1] == start.array["sum"][-1])


def _agrees(view: View) -> bool:
    """True if the living rows are as many, and sum up to the same, as the database says."""
    sums = view.index.array["sum"][: view.bits.shape[1]]
    if view.dead is not None:
        sums = sums[~view.dead]
    return len(sums) == view.state.live and int(sums.sum(dtype=np.uint64)) == view.state.total
