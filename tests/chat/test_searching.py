"""The search for a sequence of operations that vouches for what the person did not submit finds none."""

from __future__ import annotations

from tests.chat.searching import search
from tests.chat.witness import OPERATIONS


def test_no_sequence_of_operations_vouches_for_what_the_person_did_not_submit_unchanged() -> None:
    assert len(OPERATIONS) == 45
    assert search(depth=6, most=1_000) == (45_000, 1_000)
