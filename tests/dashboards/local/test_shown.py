"""How values look on a page."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards.local import shown
from dashboards.local.contents import Received
from dashboards.local.drawn import bars, pieces
from dashboards.local.queries import SpanView


def test_the_examples_are_true() -> None:
    assert doctest.testmod(shown).failed == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 ms"),
        (0.000004, "0 ms"),
        (0.0005, "0.50 ms"),
        (0.00999, "9.99 ms"),
        (0.012, "12.0 ms"),
        (0.0999, "99.9 ms"),
        (0.5, "500 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.00 s"),
        (59.996, "1 min 0 s"),
    ],
)
def test_a_duration_has_three_digits_and_a_unit(value: float, text: str) -> None:
    assert shown.seconds(value) == text


@given(st.floats(min_value=0, max_value=1e7))
def test_every_duration_has_a_unit_and_no_exponent(value: float) -> None:
    assert shown.seconds(value).split()[-1] in ("ms", "s", "min") and "e" not in shown.seconds(value)


@given(st.text(alphabet=st.characters(codec=None)))
def test_what_is_shown_can_be_encoded_and_turns_nothing_around(text: str) -> None:
    said = shown.visible(text)
    said.encode("utf-8")
    assert not set(said) & set("\x00\r\x1b\x7f\u202e\u2066\u200f\ufeff")


def span(name: str, offset: float, duration: float, **more: object) -> SpanView:
    usual: dict[str, object] = {
        "span_id": "1",
        "parent_id": None,
        "kind": "internal",
        "depth": 0,
        "failed": False,
        "service": "",
        "scope": "",
        "in_turn": True,
        "attributes": {},
        "events": (),
    }
    return SpanView(name=name, offset=offset, duration=duration, **{**usual, **more})  # type: ignore[arg-type]


def test_spans_are_bars_on_one_line_that_begins_with_the_first() -> None:
    drawn = bars([span("app", -1.0, 4.0), span("firsthand.turn", 0.0, 2.0), span("firsthand.hook git", 0.5, 0.0)])
    assert [(bar.kind, bar.left, bar.width) for bar in drawn] == [
        ("other", 0.0, 1000.0),
        ("turn", 250.0, 500.0),
        ("hook", 375.0, 3.0),
    ]


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e6)), max_size=9))
def test_no_bar_leaves_the_drawing(times: list[tuple[float, float]]) -> None:
    for bar in bars([span("x", offset, duration) for offset, duration in times]):
        assert bar.left >= 0 and bar.width > 0 and bar.left + bar.width <= 1000.2


def test_a_piece_says_whose_it_is_and_how_much_is_not_shown() -> None:
    typed, hook = pieces([Received(source="user", text="hi"), Received(source="hook", text="x" * 100_007)])
    assert (typed.name, typed.injected, typed.chars, typed.more) == ("typed", False, 2, 0)
    assert (hook.name, hook.injected, hook.chars, hook.more, len(hook.text)) == ("hook", True, 100_007, 7, 100_000)
