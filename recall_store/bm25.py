"""BM25 of one namespace, from that namespace's numbers alone: how many memories, how long, which hold the word.

FTS5's own `bm25()` counts every row of its table, so that what one namespace stores would move another's scores.
Here no number comes from outside. Pure numpy. (Robertson and Zaragoza 2009; the logarithm is Lucene's, never negative.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .ranking import Shared, information, rarity
from .signs import Mask, Positions

Scores = NDArray[np.float64]


class Neighbours(NamedTuple):
    """Rows in the order of their sessions; `joined[i]`: the i-th and the one after it are of the same session."""

    rows: Positions
    joined: Mask


class Hits(NamedTuple):
    """Where one word of the query is: one entry a place.

    `weights` are of the place's column; `lent` is 1 where a neighbour may use it (in a text), else 0.
    """

    rows: Positions
    weights: Scores
    lent: Scores


def bm25(
    words: Sequence[Hits],
    *,
    lengths: Scores,
    texts: Scores,
    dead: Mask | None,
    neighbours: Neighbours | None,
    near: Sequence[float],
    k1: float,
    b: float,
) -> Shared:
    """What every row has of the words; a score of 0 for a row without any, itself and in its neighbours.

    A word that is nowhere is one of `words`, too, without rows. `lengths` and `texts` are in index words: of a whole
    row, and of its text alone. A word in the text of a neighbour counts `near[distance - 1]`, and the neighbours' texts
    make a row longer, too. Rows that are `dead` have no score, and count in no number.
    """
    total, known = np.zeros(len(lengths)), np.zeros(len(lengths))
    living = len(lengths) if dead is None else int(np.count_nonzero(~dead))
    asked = sum(information(0, living) for rows, _, _ in words if not len(rows))
    if not living:
        return Shared(total, known, asked, living)
    size = lengths if dead is None else np.where(dead, 0.0, lengths)
    if neighbours is not None:
        size = size + spread(texts if dead is None else np.where(dead, 0.0, texts), neighbours, [1.0] * len(near))
        if dead is not None:
            size[dead] = 0.0
    average = float(size.sum()) / living
    norm = k1 * (1 - b + b * size / average) if average else np.full(len(lengths), k1)
    for rows, weights, lent in words:
        if not len(rows):
            continue
        often: Scores = np.bincount(rows, weights, minlength=len(lengths)).astype(np.float64, copy=False)
        if dead is not None:
            often[dead] = 0.0
        itself = np.flatnonzero(often)
        says = information(len(itself), living)
        known[itself] += says
        asked += says
        if neighbours is not None:
            texts_often: Scores = np.bincount(rows, lent, minlength=len(lengths)).astype(np.float64, copy=False)
            if dead is not None:
                texts_often[dead] = 0.0
            often = often + spread(texts_often, neighbours, near)
            if dead is not None:
                often[dead] = 0.0
        held = np.flatnonzero(often)
        total[held] += rarity(len(held), living) * (k1 + 1) * often[held] / (often[held] + norm[held])
    return Shared(total, known, asked, living)


def spread(values: Scores, neighbours: Neighbours, near: Sequence[float]) -> Scores:
    """For each row, what its neighbours at distance 1, 2 ... have, times `near[0]`, `near[1]` ... ."""
    out = np.zeros(len(values))
    ordered = values[neighbours.rows]
    gained = np.zeros(len(ordered))
    together = neighbours.joined
    for distance, weight in enumerate(near, 1):
        if distance > 1:
            together = together[:-1] & neighbours.joined[distance - 1 :]
        if not len(together):
            break
        gained[:-distance] += weight * np.where(together, ordered[distance:], 0.0)
        gained[distance:] += weight * np.where(together, ordered[:-distance], 0.0)
    out[neighbours.rows] = gained
    return out


def best(scores: Scores, hidden: Mask | None, count: int) -> Positions:
    """Positions of the `count` greatest scores above 0 that are not hidden; in a tie the later row."""
    shown = scores if hidden is None else np.where(hidden, 0.0, scores)
    found = np.flatnonzero(shown)
    if len(found) > count:
        cut = np.partition(shown[found], len(found) - count)[len(found) - count]
        found = found[shown[found] >= cut]
    order = np.lexsort((-found, -shown[found]))[:count]
    return found[order]
