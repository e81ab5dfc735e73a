"""BM25 over one namespace's own numbers, and what a row lends its neighbours."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_store.bm25 import Hits, Neighbours, _Lending, best, bm25, spread
from recall_store.ranking import Shared, information

CHAIN = Neighbours(rows=np.array([0, 1, 2, 3]), joined=np.array([True, True, False]))


def hits(*rows: int, weight: float = 1.0) -> Hits:
    return Hits(np.array(rows, np.intp), np.full(len(rows), weight), np.ones(len(rows)))


def scores(*words: Hits, lengths: list[float], dead: list[bool] | None = None, **more: object) -> list[float]:
    return shared(*words, lengths=lengths, dead=dead, **more).scores.tolist()


def shared(*words: Hits, lengths: list[float], dead: list[bool] | None = None, **more: object) -> Shared:
    given = np.array(lengths)
    arguments = {"neighbours": None, "near": (), "k1": 1.2, "b": 0.75, **more}
    mask = None if dead is None else np.array(dead)
    return bm25(words, lengths=given, texts=given, dead=mask, **arguments)  # type: ignore[arg-type]


def test_the_score_is_bm25_with_a_logarithm_that_is_never_negative() -> None:
    rarity = math.log(1 + 2.5 / 1.5)
    assert scores(hits(1), lengths=[4, 4, 4]) == [0.0, pytest.approx(rarity), 0.0]
    assert scores(hits(0, 0, 1), lengths=[4, 4]) == pytest.approx(
        [math.log(1.2) * 2.2 * 2 / (2 + 1.2), math.log(1.2) * 2.2 / (1 + 1.2)]
    )


def test_a_longer_row_scores_less_and_a_title_more() -> None:
    short, long = scores(hits(0, 1), lengths=[2, 6])
    assert short > long > 0
    plain, titled = scores(hits(0), lengths=[2, 2])[0], scores(hits(0, weight=4.0), lengths=[2, 2])[0]
    assert titled > plain


def test_dead_rows_count_in_no_number() -> None:
    alive = scores(hits(0, 1), hits(0), lengths=[3, 5])
    with_dead = scores(hits(0, 1, 2), hits(0, 2), lengths=[3, 5, 90], dead=[False, False, True])
    assert with_dead == [*alive, 0.0]


def test_a_word_is_lent_to_the_rows_beside_it_in_the_same_session() -> None:
    assert spread(np.array([1.0, 0, 0, 0]), CHAIN, [0.5, 0.25]).tolist() == [0, 0.5, 0.25, 0]
    assert spread(np.array([0, 0, 1.0, 1.0]), CHAIN, [0.5, 0.25]).tolist() == [0.25, 0.5, 0, 0]
    assert spread(np.array([1.0, 1.0]), Neighbours(np.array([0, 1]), np.array([True])), [1.0] * 5).tolist() == [1, 1]


def test_a_lent_word_is_worth_less_than_an_own_one_and_counts_as_held() -> None:
    own, lent, _, _ = scores(hits(0), lengths=[4, 4, 4, 4], neighbours=CHAIN, near=(0.3,))
    assert own > lent > 0
    rarity = math.log(1 + 2.5 / 2.5)
    size = [8, 12, 8, 4]
    norm = 1.2 * (0.25 + 0.75 * size[0] / (sum(size) / 4))
    assert own == pytest.approx(rarity * 2.2 / (1 + norm))


def test_the_best_are_the_greatest_not_hidden_and_the_later_of_two_equal() -> None:
    given = np.array([1.0, 3.0, 0.0, 3.0, 2.0])
    assert best(given, None, 3).tolist() == [3, 1, 4]
    assert best(given, np.array([False, False, False, True, False]), 3).tolist() == [1, 4, 0]
    assert best(given, None, 9).tolist() == [3, 1, 4, 0]


def test_what_is_known_is_the_information_of_own_words_and_what_is_asked_that_of_all() -> None:
    found = shared(hits(0, 0, 1), hits(0), hits(), lengths=[4, 4, 4, 4], neighbours=CHAIN, near=(0.3,))
    one, two, none = information(1, 4), information(2, 4), information(0, 4)
    assert found.known.tolist() == pytest.approx([one + two, two, 0, 0])
    assert (found.asked, found.living) == (pytest.approx(one + two + none), 4)


def test_dead_rows_know_nothing() -> None:
    found = shared(hits(0, 1), lengths=[3, 5], dead=[False, True])
    assert found.known.tolist() == pytest.approx([information(1, 1), 0])
    assert (found.asked, found.living) == (pytest.approx(information(1, 1)), 1)


def test_no_rows_and_no_words_are_no_scores() -> None:
    assert scores(lengths=[]) == []
    assert scores(lengths=[0, 0]) == [0, 0]
    assert best(np.zeros(0), None, 3).tolist() == []


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_rows_lend_is_the_same_for_a_few_rows_as_for_all(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    order = np.array(data.draw(st.permutations(range(count))), np.intp)
    joined = np.array(data.draw(st.lists(st.booleans(), min_size=count - 1, max_size=count - 1)), bool)
    neighbours = Neighbours(order, joined)
    rows = np.array(sorted(data.draw(st.lists(st.integers(0, count - 1), max_size=8))), np.intp)
    lent = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=len(rows), max_size=len(rows))))
    targets, gained = _Lending(neighbours, count, [0.5, 0.25, 0.125]).gains(rows, lent)
    wanted = spread(np.bincount(rows, lent, minlength=count) * 1.0, neighbours, [0.5, 0.25, 0.125])
    assert np.bincount(targets, gained, minlength=count).tolist() == wanted.tolist()
