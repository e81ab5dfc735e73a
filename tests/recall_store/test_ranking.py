"""One order out of two."""

from __future__ import annotations

import numpy as np

from recall_store.ranking import Ranked, fuse


def ranked(keys: list[int], lexical: list[float], cosine: list[float], top_k: int = 5) -> list[Ranked]:
    return fuse(
        keys=np.array(keys, np.int64),
        lexical=np.array(lexical, np.float64),
        cosine=np.array(cosine, np.float32),
        weight=0.5,
        floor=0.5,
        top_k=top_k,
    )


def test_lexical_is_a_share_of_the_best_and_cosine_is_weighted() -> None:
    assert ranked([1, 2], [8.0, 4.0], [0.0, 0.25]) == [Ranked(1, 1.0, 1.0, 0.0), Ranked(2, 0.625, 0.5, 0.25)]


def test_a_cosine_can_overtake_a_word() -> None:
    assert [one.key for one in ranked([1, 2], [8.0, 7.0], [0.0, 0.5])] == [2, 1]


def test_no_word_in_common_and_a_low_cosine_is_silence() -> None:
    assert ranked([1, 2], [0.0, 0.0], [0.25, 0.0]) == []


def test_no_word_in_common_and_a_high_cosine_is_an_answer() -> None:
    assert ranked([1, 2], [0.0, 0.0], [0.75, 0.25]) == [Ranked(1, 0.375, 0.0, 0.75)]


def test_a_negative_cosine_takes_nothing_away() -> None:
    assert ranked([1], [2.0], [-0.5]) == [Ranked(1, 1.0, 1.0, -0.5)]


def test_ties_go_to_the_newer() -> None:
    assert [one.key for one in ranked([1, 3, 2], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0], top_k=2)] == [3, 2]


def test_no_candidates_are_no_answer() -> None:
    assert ranked([], [], []) == []
