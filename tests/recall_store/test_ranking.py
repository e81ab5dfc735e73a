"""One order out of two, and when there is no answer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recall_store.ranking import Ranked, Shared, floor_of, fuse, information, is_answer, rarity


def shared(lexical: list[float], known: list[float] | None = None, asked: float = 10.0, living: int = 1000) -> Shared:
    has = known if known is not None else [asked * (score > 0) for score in lexical]
    return Shared(np.array(lexical, np.float64), np.array(has, np.float64), asked, living)


def ranked(keys: list[int], lexical: list[float], cosine: list[float], top_k: int = 5) -> list[Ranked]:
    return fuse(
        keys=np.array(keys, np.int64),
        shared=shared(lexical),
        cosine=np.array(cosine, np.float32),
        keywords=False,
        weight=0.5,
        floor=0.5,
        top_k=top_k,
    )


def answered(*, known: float, asked: float, cosine: float = 0.0, living: int = 1000, keywords: bool = False) -> bool:
    has = shared([known], [known], asked, living)
    return is_answer(has, np.array([cosine], np.float32), keywords=keywords, floor=0.6)


def test_lexical_is_a_share_of_the_best_and_cosine_is_weighted() -> None:
    assert ranked([1, 2], [8.0, 4.0], [0.0, 0.25]) == [Ranked(1, 1.0, 1.0, 0.0), Ranked(2, 0.625, 0.5, 0.25)]


def test_a_cosine_can_overtake_a_word() -> None:
    assert [one.key for one in ranked([1, 2], [8.0, 7.0], [0.0, 0.5])] == [2, 1]


def test_no_word_in_common_and_a_low_cosine_is_silence() -> None:
    assert ranked([1, 2], [0.0, 0.0], [0.25, 0.0]) == []


def test_no_word_in_common_and_a_high_cosine_is_an_answer_and_only_that_memory() -> None:
    assert ranked([1, 2], [0.0, 0.0], [0.75, 0.25]) == [Ranked(1, 0.375, 0.0, 0.75)]


def test_a_negative_cosine_takes_nothing_away() -> None:
    assert ranked([1], [2.0], [-0.5]) == [Ranked(1, 1.0, 1.0, -0.5)]


def test_ties_go_to_the_newer() -> None:
    assert [one.key for one in ranked([1, 3, 2], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0], top_k=2)] == [3, 2]


def test_no_candidates_are_no_answer() -> None:
    assert ranked([], [], []) == []


def test_some_words_of_a_question_are_no_answer_without_some_likeness() -> None:
    assert not answered(known=8, asked=16)
    assert not answered(known=8, asked=16, cosine=0.3)
    assert answered(known=8, asked=16, cosine=0.4)


def test_every_word_of_a_question_is_an_answer_if_they_say_something() -> None:
    assert answered(known=5, asked=5)
    assert not answered(known=2, asked=2, cosine=0.3)


def test_keywords_are_answered_by_whatever_has_them_all_however_common_they_are() -> None:
    assert answered(known=0.1, asked=0.1, keywords=True)
    assert not answered(known=0.1, asked=5, keywords=True)
    assert not answered(known=0, asked=0, keywords=True)


def test_of_a_long_prompt_only_the_square_root_counts() -> None:
    assert not answered(known=20, asked=100, cosine=0.3)
    assert answered(known=20, asked=60, cosine=0.38)
    assert answered(known=20, asked=20)


def test_the_floor_is_lower_among_few_memories() -> None:
    assert floor_of(1000, 0.6) == pytest.approx(0.6)
    assert floor_of(100_000, 0.6) == pytest.approx(0.6)
    assert floor_of(100, 0.6) == pytest.approx(0.6 - 0.055 * math.log(10))
    assert floor_of(1, 0.6) == floor_of(0, 0.6) == pytest.approx(0.6 - 0.055 * math.log(1000))
    assert answered(known=4, asked=10, cosine=0.3, living=3)
    assert not answered(known=4, asked=10, cosine=0.3, living=1000)


def test_rarity_is_never_negative_and_information_trusts_few_memories_little() -> None:
    assert rarity(2, 2) == pytest.approx(math.log(1.2))
    assert information(2, 2) > 4.2
    assert information(1000, 1000) < 0.2
    assert information(0, 5) == pytest.approx(math.log(1 + 100.5 / 0.5))
