"""One order out of two: words in common and cosine. And when to say nothing. Pure.

The weights, the floors and what words count against them are chosen by leaving one conversation out
(tests/benchmarks/bench_quality); the shape of it was made with all six development conversations in view.

`lexical / best lexical + weight * cosine`, because equal-weight reciprocal rank fusion loses what BM25 knows
(spec/recall.md: 0.490 against 0.524 for BM25 alone).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NEIGHBOURS = 2
"""How many memories of the same session before it, and as many after it, lend a memory their words."""
COLUMN_WEIGHTS = (4.0, 3.0, 1.0, 0.6)
"""What a word counts in BM25 by where it stands: title, description, text, and the texts of the neighbours together.

Only the neighbours' `text` belongs there. A word of a neighbour counts for the memory's length as any other, and a
memory that has a word only from its neighbours counts among those that hold it.
"""
K1, B = 1.2, 0.75
"""BM25's two parameters, at their usual values."""
CANDIDATES = 30
"""How many of the best are looked at again for who and when (see asking.py)."""
MENTION = 0.4
"""What a memory gains whose speaker the query names; and again one from the month it names."""
MANY = 100
"""A word of a small namespace is as rare as beside this many other memories: three memories prove little."""
PLENTY = 12.0
"""A query of less information than this (about three rare words) counts as if the rest of it were words unknown."""
LONG = 20.0
"""Of the information that is more than this only the square root counts: a long prompt asks about a part of itself."""
ONE_WORD = 4.2
"""The information of one rare word. A memory with every word of a query and this much is an answer."""
WORDS_SHARE = 0.4
"""What all the words of a query are worth beside a cosine, when it is decided whether there is an answer at all."""
FLOOR_AT = 1000
"""The number of memories for which an embedder's `floor` is."""
FLOOR_STEP = 0.055
"""What the floor is lower by for every e-fold fewer memories: the best of few is less often good by chance."""

Floats = NDArray[np.float64]


class Shared(NamedTuple):
    """What memories have of the words of a query, one entry a memory.

    `scores` is BM25. `known` is the information (`rarity`) of the query's words that the memory itself has, `asked`
    that of all the query's words, also of those that no memory has. `living` memories are in the namespace.
    """

    scores: Floats
    known: Floats
    asked: float
    living: int

    def of(self, rows: NDArray[np.intp]) -> Shared:
        """The entries at `rows`."""
        return self._replace(scores=self.scores[rows], known=self.known[rows])


class Ranked(NamedTuple):
    """One row of a ranking: the memory's key and its three numbers, as in `Match`."""

    key: int
    score: float
    lexical: float
    cosine: float


def rarity(holding: float, living: int) -> float:
    """How much a word says that `holding` of `living` memories have, in nats: Lucene's logarithm, never negative."""
    return float(np.log1p((living - holding + 0.5) / (holding + 0.5)))


def information(holding: int, living: int) -> float:
    """How much a word says when it is asked if there is an answer: `rarity`, with little trust in few memories."""
    return rarity(holding * living / (living + MANY), max(living, MANY))


def fuse(
    *,
    keys: NDArray[np.int64],
    shared: Shared,
    cosine: NDArray[np.float32],
    keywords: bool,
    weight: float,
    floor: float,
    top_k: int,
) -> list[Ranked]:
    """The best `top_k` of the candidates, best first; ties in favour of the newer (greater) key.

    The arrays have one entry a candidate, keys unique; `keywords` as in `is_answer`. Nothing at all is a result; and
    a candidate without a common word and with a cosine under the floor is no answer among answers.
    """
    if not len(keys) or top_k < 1 or not is_answer(shared, cosine, keywords=keywords, floor=floor):
        return []
    lexical = shared.scores
    best = float(lexical.max())
    share = lexical / best if best > 0 else np.zeros_like(lexical)
    score = share + weight * np.maximum(cosine, 0.0)
    answer = np.flatnonzero((lexical > 0) | (cosine >= floor_of(shared.living, floor)))
    order = answer[np.lexsort((-keys[answer], -score[answer]))][:top_k]
    return [Ranked(int(keys[i]), float(score[i]), float(share[i]), float(cosine[i])) for i in order]


def is_answer(shared: Shared, cosine: NDArray[np.float32], *, keywords: bool, floor: float) -> bool:
    """Whether candidates answer a query at all.

    They do if the best cosine, with what the words add, reaches the floor; or if one of them has every word of the
    query, and these say something, or are `keywords`: a query that is nothing but words to look for.
    """
    return evidence(shared, cosine, keywords=keywords) >= floor_of(shared.living, floor)


def evidence(shared: Shared, cosine: NDArray[np.float32], *, keywords: bool) -> float:
    """What speaks for an answer, on the scale of a cosine; infinite where the words alone are enough."""
    most = float(shared.known.max())
    if most > 0 and most >= 0.999 * shared.asked and (keywords or most >= ONE_WORD):
        return float("inf")
    asked = max(shared.asked, PLENTY) if shared.asked <= LONG else (shared.asked * LONG) ** 0.5
    return float(cosine.max()) + WORDS_SHARE * most / asked


def floor_of(living: int, floor: float) -> float:
    """An embedder's `floor` in a namespace of `living` memories. Above 1,000 it grows no more."""
    return floor - FLOOR_STEP * float(np.log(FLOOR_AT / min(max(living, 1), FLOOR_AT)))
