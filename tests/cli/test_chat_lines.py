"""Texts in the columns of a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from middleware.cli.chat_lines import cut, facts_in, last_lines


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("a", 0, ""),
    ],
)
def test_what_is_too_wide_is_cut_in_columns_and_says_so(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])), st.integers(0, 30))
def test_nothing_is_wider_than_there_is_room(text: str, width: int) -> None:
    assert cell_len(cut(text, width)) <= width


@pytest.mark.parametrize(
    ("text", "rows", "shown"),
    [
        ("", 3, [""]),
        ("a\nb\nc", 2, ["b", "c"]),
        ("abcdefgh", 3, ["abcd", "efgh"]),
        ("日本語", 3, ["日本", "語"]),
        ("a\n", 3, ["a", ""]),
        ("\tx", 2, ["    ", "x"]),
        ("x" * 1_000_000, 2, ["xxxx", "xxxx"]),
    ],
)
def test_the_last_rows_of_a_text_that_is_four_columns_wide(text: str, rows: int, shown: list[str]) -> None:
    assert last_lines(text, 4, rows) == shown


@pytest.mark.parametrize(
    ("width", "shown"), [(30, "model · 7 in · 2 hooks"), (15, "model · 7 in"), (11, "model"), (4, "mod…"), (0, "")]
)
def test_facts_that_have_no_room_are_left_out_whole(width: int, shown: str) -> None:
    assert facts_in(("model", "7 in", "2 hooks"), width) == shown


def test_no_facts_are_an_empty_line() -> None:
    assert facts_in((), 10) == ""
