"""The first pass over sign bits, against the definition of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_store.signs import Bits, Mask, closest


def plainly(bits: Bits, query: Bits, hidden: Mask | None, count: int) -> list[int]:
    """The `count` nearest that are not hidden and what ties with the last, at most twice as many, by counting ones."""
    far = np.bitwise_count(bits ^ query[:, None]).sum(axis=0, dtype=np.int64)
    shown = [row for row in range(bits.shape[1]) if hidden is None or not hidden[row]]
    order = sorted(shown, key=lambda row: (far[row], row))
    within = [row for row in order if far[row] <= far[order[min(count, len(order)) - 1]]]
    return sorted(within[: 2 * count])


@pytest.mark.parametrize("spread", ["random", "all alike", "a few near", "all opposite"])
@pytest.mark.parametrize("words", [1, 2, 3, 4, 6, 7])
def test_the_nearest_of_many_are_those_of_the_definition(words: int, spread: str) -> None:
    rng = np.random.default_rng(words)
    query = rng.integers(0, 2**64, words, dtype=np.uint64)
    bits = rng.integers(0, 2**64, (words, 15_000), dtype=np.uint64)
    if spread == "all alike":
        bits[:] = query[:, None]
    if spread == "all opposite":
        bits[:] = ~query[:, None]
    if spread == "a few near":
        bits[:, 13_000:13_040] = query[:, None]
    for hidden in (None, rng.random(15_000) < 0.3, np.arange(15_000) != 7):
        for count in (1, 30, 200):
            assert closest(bits, query, hidden, count).tolist() == plainly(bits, query, hidden, count)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    words=st.integers(1, 5),
    rows=st.integers(1, 60),
    count=st.integers(1, 70),
    bits_set=st.integers(0, 64),
)
def test_the_nearest_of_few_are_those_of_the_definition(
    seed: int, words: int, rows: int, count: int, bits_set: int
) -> None:
    rng = np.random.default_rng(seed)
    query = rng.integers(0, 2**64, words, dtype=np.uint64)
    bits = query[:, None] ^ rng.integers(0, 2**bits_set, (words, rows), dtype=np.uint64)
    hidden = rng.random(rows) < 0.2
    hidden[0] = False
    assert closest(bits, query, hidden, count).tolist() == plainly(bits, query, hidden, count)
