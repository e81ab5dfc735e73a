"""What an address of a page asks for, and what is told to one that makes no sense."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards.local.asked import SESSION_SORTS, TURN_SORTS, BadAddress, asked_in
from dashboards.local.queries import Filter

NOW = 1_800_000_000.0


def test_an_address_that_says_nothing_is_about_the_last_week() -> None:
    asked = asked_in({}, NOW)
    assert asked.where == Filter(start=NOW - 7 * 86_400)
    assert (asked.range, asked.search, asked.outcome, asked.page, asked.descending) == ("7d", "", None, 1, True)


@pytest.mark.parametrize(("before", "stretch"), [(60, "1h"), (3601, "24h"), (90_000, "7d"), (9_000_000, "7d")])
def test_the_usual_stretch_is_the_shortest_that_holds_all_up_to_a_week(before: int, stretch: str) -> None:
    assert asked_in({}, NOW, oldest=NOW - before).range == stretch


def test_a_selection_wins_over_a_range() -> None:
    asked = asked_in({"range": "1h", "start": "100", "end": "200.5"}, NOW)
    assert (asked.where, asked.range) == (Filter(start=100.0, end=200.5), "")


@pytest.mark.parametrize(
    ("params", "what"),
    [
        ({"range": "2h"}, "range is one of 1h, 24h, 7d, 30d, all"),
        ({"start": "x"}, "start is a moment, in seconds since 1970"),
        ({"end": "nan"}, "end is a moment, in seconds since 1970"),
        ({"start": "-1"}, "start is a moment, in seconds since 1970"),
        ({"end": "1e99"}, "end is a moment, in seconds since 1970"),
        ({"start": "5", "end": "5"}, "start is not before end"),
        ({"outcome": "fine"}, "outcome is one of sent, blocked, error, cancelled"),
        ({"sort": "drop table"}, f"sort is one of {', '.join(TURN_SORTS)}"),
        ({"dir": "up"}, "dir is asc or desc"),
        ({"page": "0"}, "page is a number from 1 to 1,000,000"),
        ({"page": "²"}, "page is a number from 1 to 1,000,000"),
        ({"q": "x" * 1025}, "q is longer than 1024 characters"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(params: dict[str, str], what: str) -> None:
    with pytest.raises(BadAddress) as told:
        asked_in(params, NOW, TURN_SORTS)
    assert str(told.value) == what


def test_an_address_made_from_another_keeps_its_filters_and_begins_at_the_first_page() -> None:
    asked = asked_in({"model": "m&x", "session": "", "q": "a b", "page": "3", "evil": "1"}, NOW, SESSION_SORTS)
    assert asked.url("/sessions") == "/sessions?model=m%26x&session=&q=a+b"
    assert asked.url("/sessions", page=4, q=None) == "/sessions?model=m%26x&session=&page=4"
    assert asked.filters("/turns", session="s/1") == "/turns?model=m%26x&session=s%2F1"


NAMES = st.sampled_from(["range", "start", "end", "model", "session", "q", "outcome", "sort", "dir", "page", "other"])


@given(st.dictionaries(NAMES, st.text(max_size=20) | st.sampled_from(["1h", "all", "1", "5.5", "sent", "asc"])))
def test_any_address_is_read_or_refused(params: dict[str, str]) -> None:
    try:
        asked = asked_in(params, NOW, TURN_SORTS)
    except BadAddress as error:
        assert "\n" not in str(error)
    else:
        assert asked.offset >= 0 and asked.url("/").startswith("/")
