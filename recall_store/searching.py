"""A search of one namespace: where the words are, what is near, and one order out of both.

Nothing here is a Python object a memory: SQLite gives one text of numbers a word, numpy does the rest, and only the
answers are fetched.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import postings
from .bm25 import Hits, best, bm25
from .embedders.base import Embedder
from .ranking import COLUMN_WEIGHTS, K1, NEIGHBOURS, B, Ranked, Shared, fuse
from .signs import Floats, Keys, Mask, Positions
from .vectors import View

BY_WORDS, BY_VECTORS = 100, 200
"""Rows taken from each side before they are ranked together."""

_WEIGHTS = np.array(COLUMN_WEIGHTS[: postings.COLUMNS])
_NEAR = (COLUMN_WEIGHTS[postings.COLUMNS],) * NEIGHBOURS


def ranked(
    view: View,
    places: Sequence[postings.Places],
    vector: Floats,
    *,
    embedder: Embedder,
    keywords: bool,
    top_k: int,
    only: Keys | None,
    expired: Keys | None,
) -> list[Ranked]:
    """The best `top_k` rows of `view`: among the keys `only`, if given, and never one of `expired`.

    `keywords` as in `ranking.is_answer`.

    Raises DamagedError.
    """
    hidden = view.hidden(only=only, without=expired)
    shared = lexical_scores(view, places, expired)
    by_words = best(shared.scores, hidden, max(BY_WORDS, 2 * top_k))
    near, cosines = view.nearest(vector, max(BY_VECTORS, 2 * top_k), hidden)
    other = ~_among(near, by_words)
    rows = np.concatenate([by_words, near[other]])
    return fuse(
        keys=view.keys[rows],
        shared=shared.of(rows),
        cosine=np.concatenate([view.cosines(by_words, vector), cosines[other]]),
        keywords=keywords,
        weight=embedder.weight,
        floor=embedder.floor,
        top_k=top_k,
    )


def lexical_scores(view: View, places: Sequence[postings.Places], expired: Keys | None) -> Shared:
    """BM25 of every row of `view`, from the numbers of its living rows alone."""
    words = []
    for keys, columns in places:
        rows, present = view.positions(keys)
        words.append(Hits(rows[present], _WEIGHTS[columns[present]], (columns[present] == postings.TEXT) * 1.0))
    dead = view.hidden(without=expired)
    return bm25(
        words,
        lengths=view.lengths,
        texts=view.texts if dead is None else np.where(dead, 0.0, view.texts),
        dead=dead,
        neighbours=view.neighbours,
        near=_NEAR,
        k1=K1,
        b=B,
    )


def _among(rows: Positions, of: Positions) -> Mask:
    """Which of the `rows` are among `of`; several times faster than np.isin for a few hundred."""
    if not len(of):
        return np.zeros(len(rows), bool)
    ordered = np.sort(of)
    return np.equal(ordered[np.minimum(np.searchsorted(ordered, rows), len(ordered) - 1)], rows)
