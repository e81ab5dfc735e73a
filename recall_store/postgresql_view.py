"""What BM25 needs to know of every memory of a namespace: kept in memory, and brought up to date by what is new.

About 60 bytes a memory. PostgreSQL gives one string of numbers, numpy reads it: nothing is a Python object a memory.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection

from .bm25 import Hits, Neighbours, Scores, bm25
from .postgresql_tables import Namespace, run
from .postgresql_writing import BITS, DESCRIPTION_BITS, TITLE_BITS
from .ranking import COLUMN_WEIGHTS, K1, NEIGHBOURS, B, Shared
from .signs import Keys, Mask, Positions

KEPT = 256
"""Namespaces that stay in memory."""

_SENT = np.dtype([("key", ">i8"), ("session", ">i8"), ("position", ">f8"), ("length", ">i4"), ("text", ">i4")])
_PLACES = np.dtype([("key", ">i8"), ("often", ">i8")])
_LAST = (1 << BITS) - 1


class View:
    """The living memories of a namespace at one moment, by key, ascending. Never changes: any thread may read it."""

    def __init__(self, found: Namespace, array: NDArray[Any]) -> None:
        self.at = (found.epoch, found.last_key, found.removed)
        self.array = array
        self.keys: Keys = array["key"].astype(np.int64)
        self.lengths: Scores = array["length"].astype(np.float64)
        self.texts: Scores = array["text"].astype(np.float64)
        self.neighbours = _neighbours(array)

    def positions(self, keys: Keys) -> tuple[Positions, Mask]:
        """Where each key is, and whether it is there at all."""
        if not len(self.keys):
            return np.zeros(len(keys), np.intp), np.zeros(len(keys), bool)
        positions = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return positions, self.keys[positions] == keys

    def among(self, keys: Keys) -> Mask:
        """The rows whose key is among `keys`."""
        mask = np.zeros(len(self.keys), bool)
        positions, present = self.positions(keys)
        mask[positions[present]] = True
        return mask


class Views:
    """The views of a store that were needed last. Thread-safe."""

    def __init__(self) -> None:
        self._views: OrderedDict[tuple[int, int], View] = OrderedDict()
        self._mutex = threading.Lock()

    def of(self, db: Connection, found: Namespace) -> View:
        """The view at the moment of `found`, in whose transaction `db` is."""
        name, at = (found.bucket, found.id), (found.epoch, found.last_key, found.removed)
        with self._mutex:
            old = self._views.get(name)
        if old is not None and old.at == at:
            return old
        view = _newer(db, found, old) if old is not None and _is_before(old.at, at) else View(found, _read(db, found))
        with self._mutex:
            kept = self._views.get(name)
            if kept is None or kept.at < at:
                self._views[name] = view
            self._views.move_to_end(name)
            while len(self._views) > KEPT:
                self._views.popitem(last=False)
        return view

    def clear(self) -> None:
        """Forget them all."""
        with self._mutex:
            self._views.clear()


def lexical(view: View, places: list[NDArray[Any]], expired: Keys) -> Shared:
    """BM25 of every row of `view`, from the numbers of the memories whose time has not come. See `bm25`."""
    dead = view.among(expired) if len(expired) else None
    hits = []
    for one in places:
        rows, present = view.positions(one["key"].astype(np.int64))
        rows, often = rows[present], one["often"].astype(np.int64)[present]
        in_text = (often & _LAST).astype(np.float64)
        weights = (
            COLUMN_WEIGHTS[0] * (often >> TITLE_BITS)
            + COLUMN_WEIGHTS[1] * ((often >> DESCRIPTION_BITS) & _LAST)
            + COLUMN_WEIGHTS[2] * in_text
        )
        hits.append(Hits(rows, weights, in_text if dead is None else np.where(dead[rows], 0.0, in_text)))
    return bm25(
        hits,
        lengths=view.lengths,
        texts=view.texts if dead is None else np.where(dead, 0.0, view.texts),
        dead=dead,
        neighbours=view.neighbours,
        near=(COLUMN_WEIGHTS[3],) * NEIGHBOURS,
        k1=K1,
        b=B,
    )


def places(db: Connection, found: Namespace, stems: list[str]) -> list[NDArray[Any]]:
    """Where each stem is in a namespace; a stem that is nowhere has no places."""
    if not stems:
        return []
    statement = (
        "SELECT term, string_agg(int8send(key) || int8send(often), '') FROM postings"  # noqa: S608
        f" WHERE {found.rows} AND term = ANY(%s) GROUP BY term"
    )
    by_term = dict(run(db, statement, (found.id, stems)))
    return [np.frombuffer(by_term.get(stem, b""), _PLACES) for stem in stems]


def with_every(db: Connection, found: Namespace, stems: list[str]) -> Keys:
    """The keys of the memories that hold every stem; none for no stems."""
    holding = [one["key"].astype(np.int64) for one in places(db, found, stems)]
    if not stems or len(holding) < len(stems):
        return np.zeros(0, np.int64)
    keys = holding[0]
    for more in holding[1:]:
        keys = np.intersect1d(keys, more, assume_unique=True)
    return keys


def _read(db: Connection, found: Namespace, after: int = 0) -> NDArray[Any]:
    statement = (
        "SELECT string_agg(int8send(key) || int8send(session) || float8send(coalesce(position, 'NaN'))"  # noqa: S608
        " || int4send(length) || int4send(text_length), '' ORDER BY key)"
        f" FROM memories WHERE {found.rows} AND key > %s"
    )
    [(packed,)] = run(db, statement, (found.id, after))
    return np.frombuffer(packed or b"", _SENT)


def _newer(db: Connection, found: Namespace, old: View) -> View:
    array = old.array
    _, last_key, removed = old.at
    if removed < found.removed:
        statement = f"SELECT key FROM removed WHERE {found.rows} AND number > %s"  # noqa: S608
        gone = [key for (key,) in run(db, statement, (found.id, removed))]
        array = array[~np.isin(array["key"], np.array(gone, np.int64))]
    if last_key < found.last_key:
        array = np.concatenate([array, _read(db, found, last_key)])
    return View(found, array)


def _is_before(old: tuple[int, int, int], new: tuple[int, int, int]) -> bool:
    return old[0] == new[0] and old[1] <= new[1] and old[2] <= new[2]


def _neighbours(array: NDArray[Any]) -> Neighbours | None:
    """The order of the rows in their sessions, or None if no two of them are neighbours."""
    at = np.flatnonzero(~np.isnan(array["position"]))
    sessions, positions = array["session"][at], array["position"][at]
    order = np.lexsort((positions, sessions))
    joined = sessions[order][1:] == sessions[order][:-1]
    return Neighbours(rows=at[order], joined=joined) if joined.any() else None
