"""One order out of two: words in common and cosine. Pure.

`lexical / best lexical + weight * cosine`, because equal-weight reciprocal rank fusion loses what BM25 knows
(spec/recall.md: 0.490 against 0.524 for BM25 alone).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NEIGHBOURS = 2
"""How many memories of the same session before it, and as many after it, lend a memory their words."""
COLUMN_WEIGHTS = (4.0, 3.0, 1.0, 0.3)
"""What a word counts in BM25 by where it stands: title, description, text, and the texts of the neighbours together.

Only the neighbours' `text` belongs there. A word of a neighbour counts for the memory's length as any other.
"""
K1, B = 1.2, 0.75
"""BM25's two parameters; FTS5 has the same, and no way to change them."""


class Ranked(NamedTuple):
    """One row of a ranking: the memory's key and its three numbers, as in `Match`."""

    key: int
    score: float
    lexical: float
    cosine: float


def fuse(
    *,
    keys: NDArray[np.int64],
    lexical: NDArray[np.float64],
    cosine: NDArray[np.float32],
    weight: float,
    floor: float,
    top_k: int,
) -> list[Ranked]:
    """The best `top_k` of the candidates, best first; ties in favour of the newer (greater) key.

    The three arrays have one entry a candidate, keys unique. A candidate without a common word (`lexical` 0) and with
    a cosine under `floor` is no answer: nothing at all is a result.
    """
    if not len(keys) or top_k < 1:
        return []
    best = float(lexical.max())
    share = lexical / best if best > 0 else np.zeros_like(lexical)
    score = share + weight * np.maximum(cosine, 0.0)
    answer = np.flatnonzero((lexical > 0) | (cosine >= floor))
    order = answer[np.lexsort((-keys[answer], -score[answer]))][:top_k]
    return [Ranked(int(keys[i]), float(score[i]), float(share[i]), float(cosine[i])) for i in order]
