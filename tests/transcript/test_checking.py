"""Every fault of a transcript has its line, and a mended copy shows the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middleware.errors import TranscriptError
from middleware.resume import display
from middleware.transcript import walk
from middleware.transcript.checking import faults_in
from middleware.transcript.located import Located, read_located
from middleware.transcript.repair import repair

from .records import TALK, record, text, write

GOLDEN = Path(__file__).parent.parent / "data" / "golden"


def held(*records: Any) -> Located:
    return Located(path=Path("s.jsonl"), records=tuple(enumerate(records, 1)), flaws=())


def faults(found: Located) -> list[tuple[int, str]]:
    return [(fault.line, fault.name) for fault in faults_in(found)]


def test_a_sound_transcript_has_no_fault(tmp_path: Path) -> None:
    assert faults_in(read_located(write(tmp_path / "s.jsonl", TALK))) == []


@pytest.mark.parametrize("name", ["headless-tool", "headless-continue", "acp"])
def test_transcripts_of_the_reference_program_have_none(name: str) -> None:
    assert faults_in(read_located(GOLDEN / f"{name}.jsonl")) == []


def test_every_broken_line_is_named(tmp_path: Path) -> None:
    lines = [json.dumps(item) for item in TALK]
    path = tmp_path / "s.jsonl"
    path.write_text(
        "\n".join([lines[0], lines[1][:40], lines[1], "\0\0", lines[2] + lines[3], "[1]", '{"a": 1}', lines[3][:30]])
    )
    assert faults(read_located(path)) == [
        (2, "invalid_record"),
        (4, "invalid_record"),
        (5, "invalid_record"),
        (6, "invalid_record"),
        (7, "invalid_record"),
        (8, "invalid_record"),
        (8, "torn_end"),
    ]


def test_a_file_that_is_no_transcript_is_one_fault(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    assert faults(read_located(tmp_path / "x.jsonl")) == [(1, "no_transcript")]


@pytest.mark.parametrize(
    ("records", "found"),
    [
        ([TALK[0], {**TALK[1], "parentUuid": "x"}], [(2, "history_gap")]),
        ([TALK[0], TALK[0], TALK[1]], [(2, "repeated_record")]),
        ([TALK[0], {**TALK[1], "uuid": "a"}], [(2, "invalid_record")]),
        ([{**TALK[0], "parentUuid": "b"}, TALK[1]], [(2, "parent_cycle")]),
        ([TALK[0], {**TALK[1], "sessionId": "t"}], [(2, "mixed_sessions")]),
        ([TALK[0], {**TALK[1], "timestamp": "soon"}], [(2, "bad_timestamp")]),
        ([TALK[0], {**TALK[1], "message": {}}], [(2, "invalid_record")]),
        ([TALK[0], {**TALK[1], "parentUuid": 7}], [(2, "invalid_record")]),
        ([TALK[0], {**TALK[1], "type": "novelty"}], [(2, "unknown_record_or_part")]),
        ([record("a", None, "user", [{"odd": 1}])], [(1, "unknown_record_or_part")]),
        (
            [*TALK[:2], record("c", "b", "tool_result", [{"functionResponse": {"id": "2", "response": {}}}])],
            [(3, "orphan_result")],
        ),
    ],
)
def test_every_fault_of_a_record_has_its_line(records: list[Any], found: list[tuple[int, str]]) -> None:
    assert faults(held(*records)) == found


def test_pieces_of_one_record_are_no_fault() -> None:
    assert faults(held(TALK[0], TALK[1], {**TALK[1], "message": {"role": "model", "parts": [text("more")]}})) == []


def test_a_mended_transcript_has_no_fault_and_shows_the_same(tmp_path: Path) -> None:
    lines = [json.dumps(item) for item in TALK]
    path = tmp_path / "s.jsonl"
    gap = json.dumps({**TALK[2], "parentUuid": "lost"})
    path.write_text("\n".join([lines[0], lines[0], lines[1] + lines[1], "{", gap, lines[3]]))
    found = read_located(path)
    mended = repair(found)
    copy = read_located(write(tmp_path / "copy.jsonl", mended.records))
    assert faults_in(copy) == []
    assert display(copy.branch()) == display(found.branch())
    assert mended.notes == (
        "line 3: 2 records are glued together; nothing is lost",
        "line 4: the line is torn, glued or no JSON; 0 records recovered; what else it held is lost",
        "line 2: a record that is there already; left out",
        "line 3: a record that is there already; left out",
        "line 5: record c: its parent 'lost' is missing; it follows b now",
    )


def test_a_record_that_is_its_own_parent_goes_on_from_the_one_before_it() -> None:
    odd = held(TALK[0], {**TALK[1], "parentUuid": "b"}, *TALK[2:])
    mended = repair(odd)
    assert mended.notes == ("line 2: record b: it is its own parent; it follows a now",)
    assert mended.records == tuple(TALK)
    assert [(fault.line, fault.detail) for fault in faults_in(odd)] == [(2, "the record b is its own parent")]


def test_what_has_the_wrong_form_is_put_right_and_the_rest_kept() -> None:
    odd = record("a", None, "user", timestamp="soon", message={"role": "user", "content": "hi"})
    mended = repair(held(odd))
    assert mended.records[0]["message"]["parts"] == [{"text": "hi"}]
    assert "timestamp" not in mended.records[0]
    assert mended.notes == (
        "line 1: record a: its timestamp is no time; left out",
        "line 1: record a: its message had no list of parts",
    )


def test_two_sessions_in_one_file_are_not_mended() -> None:
    with pytest.raises(TranscriptError, match=r"s\.jsonl: one transcript holds records of the sessions s and t"):
        repair(held(TALK[0], {**TALK[1], "sessionId": "t"}))


RECORDS = st.lists(
    st.builds(
        record,
        st.sampled_from("abcdef"),
        st.none() | st.sampled_from("abcdefx"),
        st.sampled_from(["user", "assistant", "tool_result", "system"]),
        st.lists(st.builds(text, st.sampled_from(["one", "two", ""])), max_size=2),
    ),
    max_size=8,
)


@settings(max_examples=150, deadline=None)
@given(RECORDS)
def test_any_records_can_be_mended_and_show_the_same(records: list[Any]) -> None:
    found = held(*records)
    mended = repair(found).records
    assert display(walk(mended)[0]) == display(found.branch())
    assert [fault.name for fault in faults_in(held(*mended))] == []
