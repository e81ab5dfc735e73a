"""Searching what was said."""

from __future__ import annotations

import re
from pathlib import Path

from middleware.transcript.search import hits_in

from .records import TALK, record, text, write


def test_a_hit_has_its_line_its_row_and_the_places_in_it(tmp_path: Path) -> None:
    held = write(tmp_path / "s.jsonl", TALK)
    hits = [(hit.line, hit.row.type, hit.text, hit.spans) for hit in hits_in(held, re.compile("fail|red"))]
    assert hits == [
        (1, "user", "why is CI red?", ((10, 13),)),
        (3, "tool_result", "failed", ((0, 4),)),
        (4, "assistant", "It failed.", ((3, 7),)),
    ]


def test_injected_text_is_never_found(tmp_path: Path) -> None:
    held = write(tmp_path / "s.jsonl", TALK)
    assert list(hits_in(held, re.compile("branch|main|staging|qwen"))) == []


def test_only_the_line_of_a_text_that_matches_is_told(tmp_path: Path) -> None:
    held = write(tmp_path / "s.jsonl", [record("a", None, "user", [text("one\r\ntwo\nthree")])])
    assert [hit.text for hit in hits_in(held, re.compile("^t"))] == ["two", "three"]


def test_types_narrow_it_to_rows_of_these(tmp_path: Path) -> None:
    held = write(tmp_path / "s.jsonl", TALK)
    assert [hit.row.type for hit in hits_in(held, re.compile("fail"), {"assistant"})] == ["assistant"]


def test_a_branch_that_was_left_is_not_searched(tmp_path: Path) -> None:
    left = record("x", "a", "assistant", [text("a failed attempt")])
    held = write(tmp_path / "s.jsonl", [TALK[0], left, *TALK[1:]])
    assert [hit.line for hit in hits_in(held, re.compile("attempt"))] == []
