"""Placeholders for large pastes."""

from __future__ import annotations

import pytest

from middleware.chat.pastes import expand, is_large, normalised, placeholder, placeholder_before, unknown_in

ONE, TWO = "[Pasted Content 1001 chars]", "[Pasted Content 1001 chars] #2"


@pytest.mark.parametrize(
    ("text", "large"),
    [("x" * 1000, False), ("x" * 1001, True), ("\n" * 9, False), ("\n" * 10, True), ("🌏" * 1000, False), ("", False)],
)
def test_over_a_thousand_code_points_or_ten_lines_is_large(text: str, large: bool) -> None:
    assert is_large(text) is large


def test_every_line_end_becomes_a_newline() -> None:
    assert normalised("a\r\nb\rc\nd") == "a\nb\nc\nd"


def test_the_lowest_free_number_is_taken() -> None:
    assert placeholder("x" * 1001, []) == ONE
    assert placeholder("x" * 1001, [ONE]) == TWO
    assert placeholder("x" * 1001, [TWO]) == ONE
    assert placeholder("x" * 1001, [ONE, TWO]) == "[Pasted Content 1001 chars] #3"


def test_the_count_is_of_code_points() -> None:
    assert placeholder("🌏" * 1001, []) == ONE


def test_bodies_are_taken_literally() -> None:
    body = r"$& \1 \g<0> " + "x" * 1000
    assert expand(f"see {ONE}!", {ONE: body}) == f"see {body}!"


def test_a_body_that_reads_like_a_placeholder_is_not_expanded_again() -> None:
    assert expand(f"{ONE} {TWO}", {ONE: TWO, TWO: ONE}) == f"{TWO} {ONE}"


def test_the_longest_placeholder_wins_and_every_occurrence_counts() -> None:
    assert expand(f"{TWO} {ONE} {TWO}", {ONE: "a", TWO: "b"}) == "b a b"


def test_a_number_behind_a_placeholder_that_nobody_gave_out_is_text() -> None:
    assert expand(TWO, {ONE: "a"}) == "a #2"


def test_a_placeholder_ends_at_an_offset_only_if_it_is_pending() -> None:
    assert placeholder_before(f"a {ONE} b", 2 + len(ONE), {ONE: "x"}) == ONE
    assert placeholder_before(f"a {ONE} b", 1 + len(ONE), {ONE: "x"}) is None
    assert placeholder_before(ONE, len(ONE), {}) is None
    assert placeholder_before(TWO, len(TWO), {ONE: "x", TWO: "y"}) == TWO


def test_what_reads_like_a_placeholder_without_a_body_is_unknown() -> None:
    assert unknown_in(f"{ONE} and {TWO}", {ONE: "x"}) == {TWO}
