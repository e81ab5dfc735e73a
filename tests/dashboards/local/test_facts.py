"""Labels, as they come from spans and transcripts."""

from __future__ import annotations

import pytest

from dashboards.local.facts import text_of


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("gpt-5", "gpt-5"),
        ("", None),
        (5, None),
        ("a\0b", "a\ufffdb"),
        ("é\0\ud800 \udfff", "é\ufffd\ufffd \ufffd"),
        ("\U0001f600", "\U0001f600"),
    ],
)
def test_a_label_can_be_stored_whatever_a_program_called_it(value: object, label: str | None) -> None:
    assert text_of(value) == label
