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
    asked = 0.0
    if not living:
        return Shared(total, known, len(words) * information(0, living), living)
    size = lengths if dead is None else np.where(dead, 0.0, lengths)
    if neighbours is not None:
        size = size + spread(texts if dead is None else np.where(dead, 0.0, texts), neighbours, [1.0] * len(near))
        if dead is not None:
            size[dead] = 0.0
    average = float(size.sum()) / living
    norm = k1 * (1 - b + b * size / average) if average else np.full(len(lengths), k1)
    lend = _Lending(neighbours, len(lengths), near) if neighbours is not None else None
    for rows, weights, lent in words:
        if dead is not None:
            alive = ~dead[rows]
            rows, weights, lent = rows[alive], weights[alive], lent[alive]
        if not len(rows):
            asked += information(0, living)
            continue
        itself = _each(rows, len(lengths))
        says = information(len(itself), living)
        known[itself] += says
        asked += says
        if lend is not None:
            targets, gained = lend.gains(rows, lent)
            rows, weights = np.concatenate([rows, targets]), np.concatenate([weights, gained])
            if dead is not None:
                alive = ~dead[rows]
                rows, weights = rows[alive], weights[alive]
        often = np.bincount(rows, weights, minlength=len(lengths))
        held = _each(rows, len(lengths))
        often_held = often[held]
        total[held] += rarity(len(held), living) * (k1 + 1) * often_held / (often_held + norm[held])
    return Shared(total, known, asked, living)


class _Lending:
    """What single rows lend to those beside them: `spread`, for a few rows among very many."""

    def __init__(self, neighbours: Neighbours, count: int, near: Sequence[float]) -> None:
        self._rows = neighbours.rows
        self._near = near
        self._place = np.full(count, -1)
        self._place[neighbours.rows] = np.arange(len(neighbours.rows))
        self._session = np.concatenate([[0], np.cumsum(~neighbours.joined)])

    def gains(self, rows: Positions, lent: Scores) -> tuple[Positions, Scores]:
        """Who gains from `rows`, and how much; a row may be there several times."""
        place = self._place[rows]
        lending = (place >= 0) & (lent > 0)
        place, lent = place[lending], lent[lending]
        targets, gained = [np.zeros(0, np.intp)], [np.zeros(0)]
        for distance, weight in enumerate(self._near, 1):
            for step in (-distance, distance):
                beside = place + step
                inside = (beside >= 0) & (beside < len(self._rows))
                inside[inside] = self._session[beside[inside]] == self._session[place[inside]]
                targets.append(self._rows[beside[inside]])
                gained.append(weight * lent[inside])
        return np.concatenate(targets), np.concatenate(gained)


def _each(rows: Positions, count: int) -> Positions:
    """The different ones among `rows`, ascending; a mask of bytes is many times faster to look through than scores."""
    there = np.zeros(count, bool)
    there[rows] = True
    return np.flatnonzero(there)


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
    found = np.flatnonzero(shown > 0)
    if len(found) > count:
        cut = np.partition(shown[found], len(found) - count)[len(found) - count]
        found = found[shown[found] >= cut]
    order = np.lexsort((-found, -shown[found]))[:count]
    return found[order]
