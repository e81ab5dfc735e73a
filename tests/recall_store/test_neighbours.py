"""Whose neighbour is whose: the order of memories in their sessions, however they were stored."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recall_store.vector_file import Index, Rows, index_type
from recall_store.vectors import State, View, columns

DIMENSION = 4
PLACES = st.lists(st.tuples(st.integers(-3, 3), st.one_of(st.none(), st.integers(0, 5))), max_size=14)


def beside(places: list[tuple[int, int | None]], dead: list[bool] | None = None) -> list[tuple[int, int]]:
    """The pairs of rows that are next to each other, as a view of (session, position) has them."""
    array = np.zeros(len(places), index_type(DIMENSION))
    array["key"] = np.arange(1, len(places) + 1)
    array["session"] = [session for session, _ in places]
    array["position"] = [np.nan if position is None else position for _, position in places]
    state = State(epoch=1, last_key=len(places), deleted=0, live=len(places), total=0)
    rows = Rows(array, np.zeros((len(places), DIMENSION), np.float32), DIMENSION)
    view = View(state, Index(array, 0), rows, columns(array), None if dead is None else np.array(dead, bool))
    found = view.neighbours
    if found is None:
        return []
    pairs = zip(found.rows[:-1].tolist(), found.rows[1:].tolist(), found.joined.tolist(), strict=True)
    return sorted((one, other) for one, other, joined in pairs if joined)


def plainly(places: list[tuple[int, int | None]], dead: list[bool] | None = None) -> list[tuple[int, int]]:
    """The same, session by session."""
    pairs = []
    for asked in {session for session, _ in places}:
        rows = [
            (position, row)
            for row, (session, position) in enumerate(places)
            if session == asked and position is not None and not (dead and dead[row])
        ]
        ordered = [row for _, row in sorted(rows)]
        pairs += pairwise(ordered)
    return sorted(pairs)


@given(places=PLACES, data=st.data())
def test_neighbours_are_those_before_and_after_in_the_same_session(
    places: list[tuple[int, int | None]], data: st.DataObject
) -> None:
    assert beside(places) == plainly(places)
    dead = data.draw(st.lists(st.booleans(), min_size=len(places), max_size=len(places)))
    assert beside(places, dead) == plainly(places, dead)


def test_a_session_that_is_taken_up_again_is_one() -> None:
    assert beside([(7, 0), (7, 1), (3, 0), (3, 1), (7, 2)]) == [(0, 1), (1, 4), (2, 3)]


def test_a_session_that_was_stored_backwards_is_read_forwards() -> None:
    assert beside([(7, 2), (7, 1), (7, 0)]) == [(1, 0), (2, 1)]
