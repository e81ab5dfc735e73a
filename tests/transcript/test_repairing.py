"""Repair: nothing that a screen shows or a model gets is lost, whatever the file was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from middleware import resume, transcript
from middleware.transcript.checking import faults_in
from middleware.transcript.located import Located, read_located
from middleware.transcript.repair import repair
from tests.pace import steps

from .records import Record, record, text, write


def repaired(tmp_path: Path, *records: Any) -> list[Record]:
    return list(repair(read_located(write(tmp_path / "s.jsonl", records))).records)


def test_words_beside_the_message_are_kept(tmp_path: Path) -> None:
    bare = {"uuid": "a", "parentUuid": None, "sessionId": "s", "type": "user"}
    made = repaired(
        tmp_path,
        {**bare, "content": "my words"},
        {**bare, "uuid": "b", "parentUuid": "a", "parts": [text("and more")]},
        {**bare, "uuid": "c", "parentUuid": "b", "message": {"role": "user", "content": "in content"}},
        {**bare, "uuid": "d", "parentUuid": "c", "type": "assistant", "message": 5},
    )
    assert [held["message"] for held in made] == [
        {"role": "user", "parts": [text("my words")]},
        {"role": "user", "parts": [text("and more")]},
        {"role": "user", "content": "in content", "parts": [text("in content")]},
        {"role": "model", "parts": []},
    ]


def test_a_record_that_is_among_its_own_ancestors_hangs_from_the_one_before(tmp_path: Path) -> None:
    made = repaired(
        tmp_path,
        record("a", "c", "assistant", [text("1")]),
        record("b", "a", "user", [text("2")]),
        record("c", "b", "assistant", [text("3")]),
        record("d", "gone", "user", [text("4")]),
    )
    assert [held["parentUuid"] for held in made] == [None, "a", "b", "c"]


def test_a_missing_parent_is_not_replaced_by_a_record_below(tmp_path: Path) -> None:
    made = repaired(tmp_path, record("b", "a", "assistant", [text("2")]), record("a", "gone", "user", [text("1")]))
    assert {held["uuid"]: held["parentUuid"] for held in made} == {"a": None, "b": "a"}


def test_a_long_transcript_is_repaired_as_fast_as_it_is_read(tmp_path: Path) -> None:
    def work(count: int, **odd: Any) -> int:
        one = {"sessionId": "s", "type": "user", "message": {"role": "user", "parts": [{"text": "x"}]}}
        records = [{**one, "uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None, **odd} for n in range(count)]
        held = Located(path=tmp_path, records=tuple(enumerate(records, 1)), flaws=())
        return steps(lambda: repair(held))

    assert work(4_000) < 9 * work(500)
    assert work(4_000, parentUuid="gone") < 9 * work(500, parentUuid="gone")


names = st.sampled_from(["a", "b", "c", "d"])
parts = st.lists(st.sampled_from([text("x"), text("y"), {"text": "t", "thought": True}]), max_size=2)


@st.composite
def some_record(draw: st.DrawFn) -> Record:
    kind = draw(st.sampled_from(["user", "assistant", "tool_result", "system"]))
    more: Record = draw(st.sampled_from([{}, {}, {"subtype": "custom_title"}, {"subtype": "mid_turn_user_message"}]))
    return record(draw(names), draw(st.none() | names), kind, draw(parts), **more)


@settings(max_examples=300, deadline=None)
@given(records=st.lists(some_record(), min_size=1, max_size=6))
def test_any_repaired_file_says_the_same_and_has_no_faults(records: list[Record]) -> None:
    made = list(repair(Located(path=Path("s"), records=tuple(enumerate(records, 1)), flaws=())).records)
    before, after = transcript.walk(records)[0], transcript.walk(made)[0]
    assert [(row.type, row.text) for row in resume.rows(after)] == [(row.type, row.text) for row in resume.rows(before)]
    assert resume.replay(after) == resume.replay(before)
    again = Located(path=Path("s"), records=tuple(enumerate(json.loads(json.dumps(made)), 1)), flaws=())
    left = {fault.name for fault in faults_in(again)}
    assert left <= {"unknown_record_or_part", "orphan_result"}
