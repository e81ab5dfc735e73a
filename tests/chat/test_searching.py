"""The search for a sequence of operations that vouches for what the person did not submit finds none."""

from __future__ import annotations

from tests.chat.searching import search


def test_no_sequence_of_operations_vouches_for_what_the_person_did_not_submit_unchanged() -> None:
    transitions, states = search(depth=6, most=2_500)
    assert (transitions, states) == (90_000, 2_500)
