"""Who and when, in a question and in a memory."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_store.asking import Head, Month, mentions, month, rerank, speaker
from recall_store.ranking import Ranked


def head(text: str = "", *, key: int = 1, source: str = "{}", metadata: str = "{}", at: str = "2023-05-08") -> Head:
    moment = datetime.fromisoformat(at).replace(tzinfo=UTC)
    return Head(key, text, source, metadata, int(moment.timestamp() * 1_000_000))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What happened in May 2023?", Month(5, 2023)),
        ("Who called on 3 June?", Month(6, None)),
        ("Who called on 3rd june, 2022?", Month(6, 2022)),
        ("What did he say on Oct 5?", Month(10, None)),
        ("What did he say on October 5, 2021?", Month(10, 2021)),
        ("notes of 2023-11-02", Month(11, 2023)),
        ("notes of 2023-11", Month(11, 2023)),
        ("may I march in?", None),
        ("is 5 more than 4 stones?", None),
        ("release 2023-13", None),
        ("", None),
    ],
)
def test_a_month_is_a_name_with_a_capital_or_a_number_beside_it(query: str, expected: Month | None) -> None:
    assert month(query) == expected


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (head("Ada: I moved to Turin."), "Ada"),
        (head("  Ada Byron: yes"), "Ada Byron"),
        (head("I moved to Turin."), ""),
        (head("https://example.org is down"), ""),
        (head("12:30 is lunch"), ""),
        (head("田中: 明日行く"), "田中"),
        (head("yes", source='{"speaker":"Ada"}'), "Ada"),
        (head("Bob: yes", metadata='{"speaker":"Ada"}'), "Ada"),
        (head("Bob: yes", metadata='{"speaker":3}'), "Bob"),
        (head("x" * 80 + ": y"), ""),
    ],
)
def test_a_speaker_is_named_in_source_or_metadata_or_before_a_colon(memory: Head, expected: str) -> None:
    assert speaker(memory) == expected


def test_a_memory_gains_for_its_speaker_and_for_its_month() -> None:
    heads = [head("Ada: yes", key=1), head("Bob: yes", key=2), head("Ada: no", key=3, at="2022-05-01")]
    assert mentions("What is Ada's plan for May 2023?", heads) == {1: 0.8, 2: 0.4, 3: 0.4}
    assert mentions("what is the plan?", heads) == {1: 0.0, 2: 0.0, 3: 0.0}
    assert mentions("What about May?", heads) == {1: 0.4, 2: 0.4, 3: 0.4}


def test_what_is_gained_can_change_the_order_and_nothing_else_does() -> None:
    order = [Ranked(1, 1.0, 1.0, 0.0), Ranked(2, 0.9, 0.9, 0.0), Ranked(3, 0.9, 0.8, 0.1)]
    assert rerank(order, {3: 0.3}, 2) == [Ranked(3, 1.2, 0.8, 0.1), Ranked(1, 1.0, 1.0, 0.0)]
    assert rerank(order, {}, 5) == order


@given(st.text(max_size=120), st.text(max_size=120), st.integers(-(2**53), 2**53))
def test_any_query_and_any_memory_have_a_number(query: str, text: str, at: int) -> None:
    assert mentions(query, [Head(1, text, "{}", "{}", at)])[1] in {0.0, 0.4, 0.8}
