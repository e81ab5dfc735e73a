"""Options and the strings that set them."""

from __future__ import annotations

import pytest

from middleware.errors import SettingsError
from middleware.telemetry import Options, capture_mode


@pytest.mark.parametrize("value", ["False", "false", "0", "no", "", " off ", None, False, "NO_CONTENT", "no_content"])
def test_what_says_no_is_off(value: object) -> None:
    assert capture_mode(value) == "NO_CONTENT"


@pytest.mark.parametrize("value", [True, "true", "TRUE", "1", "yes"])
def test_true_is_on_spans(value: object) -> None:
    assert capture_mode(value) == "SPAN_ONLY"


def test_the_four_names_are_themselves_in_any_case() -> None:
    assert [capture_mode(value) for value in ("span_only", "Event_Only", "SPAN_AND_EVENT")] == [
        "SPAN_ONLY",
        "EVENT_ONLY",
        "SPAN_AND_EVENT",
    ]


def test_a_typing_error_is_an_error_and_not_on() -> None:
    with pytest.raises(SettingsError, match="'SPANS' is none of"):
        capture_mode("SPANS")


def test_content_is_off_by_default() -> None:
    assert Options().capture == "NO_CONTENT"
    assert Options().capture_injected is False


def test_a_limit_below_1_is_refused() -> None:
    with pytest.raises(SettingsError, match="max_attribute_chars is 0"):
        Options(max_attribute_chars=0)
