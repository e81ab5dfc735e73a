"""The chain: which branch is the conversation, and what is done about gaps, cycles and repeated uuids."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middleware.errors import TranscriptError
from middleware.transcript import walk


def rec(uuid: str, parent: str | None, kind: str = "user", **fields: Any) -> dict[str, Any]:
    return {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "type": kind, **fields}


def said(uuid: str, parent: str | None, text: str, **fields: Any) -> dict[str, Any]:
    return rec(uuid, parent, message={"role": "user", "parts": [{"text": text}]}, **fields)


def walked(*records: Any) -> tuple[list[str], list[str]]:
    branch, flaws = walk(records)
    return [record["uuid"] for record in branch], [flaw.name for flaw in flaws]


def test_a_gap_is_bridged_to_the_record_before_it_and_names_the_missing_one() -> None:
    branch, flaws = walk([rec("a", None), rec("b", "a"), rec("d", "c"), rec("e", "d")])
    assert [record["uuid"] for record in branch] == ["a", "b", "d", "e"]
    assert [(flaw.name, flaw.detail) for flaw in flaws] == [("history_gap", "the parent 'c' is missing")]


def test_a_gap_is_never_bridged_to_an_artifact_or_to_a_record_on_the_path() -> None:
    artifact = rec("x", "a", "system", subtype="session_artifact_event")
    assert walked(rec("a", None), artifact, rec("d", "c")) == (["a", "d"], ["history_gap"])
    assert walked(rec("d", "c")) == (["d"], ["history_gap"])


def test_an_artifact_after_the_last_turn_is_neither_leaf_nor_child() -> None:
    snapshot = rec("x", "b", "system", subtype="session_sources_snapshot")
    managed = rec("y", "x", "system", subtype="managed_session_state_v1")
    assert walked(rec("a", None), rec("b", "a"), snapshot, managed) == (["a", "b"], [])


def test_a_conversation_that_hangs_from_an_artifact_goes_through_it() -> None:
    artifact = rec("x", "a", "system", subtype="session_artifact_event")
    assert walked(rec("b", "x"), artifact, rec("a", None)) == (["a", "x", "b"], [])


def test_a_title_beside_the_tail_does_not_move_the_next_turn() -> None:
    title = rec("t", "b", "system", subtype="custom_title")
    assert walked(rec("a", None), rec("b", "a"), title, rec("c", "b")) == (["a", "b", "c"], [])


def test_the_turns_before_a_rewind_are_on_a_dead_branch() -> None:
    rewind = rec("r", "a", "system", subtype="rewind")
    assert walked(rec("a", None), rec("b", "a"), rec("c", "b"), rewind, rec("d", "r")) == (["a", "r", "d"], [])


def test_a_child_written_before_its_parent_is_no_obstacle() -> None:
    assert walked(rec("b", "a"), rec("c", "b"), rec("a", None)) == (["a", "b", "c"], [])


def test_a_record_that_is_its_own_parent_stands_alone() -> None:
    assert walked(rec("s", "s")) == (["s"], ["parent_cycle"])


def test_a_record_that_is_its_own_parent_follows_the_one_before_it() -> None:
    assert walked(rec("a", None), rec("s", "s"), rec("b", "s")) == (["a", "s", "b"], ["parent_cycle"])
    assert walked(rec("a", None), rec("b", "a"), rec("s", "s")) == (["a", "b", "s"], ["parent_cycle"])


def test_an_equal_record_is_a_repetition() -> None:
    again = said("a", None, "one")
    branch, flaws = walk([said("a", None, "one"), again, rec("b", "a")])
    assert (branch[0], flaws) == (said("a", None, "one"), [])


def test_fragments_of_one_record_become_one_and_the_originals_stay_as_they_are() -> None:
    first = said("a", None, "1", timestamp="2026-01-01T00:00:02.000Z", model="m1", toolCallResult={"callId": "1"})
    second = said("a", None, "2", timestamp="2026-01-01T00:00:01.000Z", model="m2", usageMetadata={"n": 1})
    third = said("a", None, "3", usageMetadata={"n": 2}, toolCallResult={"callId": "3"})
    (record,), flaws = walk([first, second, third])
    assert flaws == []
    assert record["message"]["parts"] == [{"text": "1"}, {"text": "2"}, {"text": "3"}]
    assert record["timestamp"] == "2026-01-01T00:00:02.000Z"
    assert (record["model"], record["usageMetadata"], record["toolCallResult"]) == ("m1", {"n": 2}, {"callId": "1"})
    assert first["message"]["parts"] == [{"text": "1"}]


def test_one_uuid_under_two_parents_keeps_both_and_says_so() -> None:
    branch, flaws = walk([rec("a", None), rec("h", "a"), rec("b", "h"), rec("h", "b")])
    assert [record["uuid"] for record in branch] == ["a", "h", "b", "h#2"]
    assert [(flaw.name, flaw.detail) for flaw in flaws] == [
        ("invalid_record", "record 4 has the uuid h of another one; kept as h#2")
    ]


def test_two_sessions_in_one_transcript_are_an_error() -> None:
    with pytest.raises(TranscriptError, match="holds records of the sessions s and t; split it by sessionId"):
        walk([rec("a", None), {**rec("b", "a"), "sessionId": "t"}])


def test_a_timestamp_that_is_none_is_dropped_and_its_record_kept() -> None:
    branch, _ = walk([rec("a", None, timestamp="yesterday"), rec("b", "a", timestamp=5)])
    assert branch == [rec("a", None), rec("b", "a")]


@pytest.mark.parametrize(
    ("record", "flaws"),
    [
        (rec("a", None, subtype="future_kind"), ["unknown_record_or_part"]),
        (rec("a", None, "system", subtype="managed_session_x_v1"), []),
        (rec("a", None, message={"parts": [{"text": "x"}, {"hologram": 1}]}), ["unknown_record_or_part"]),
        (rec("a", None, message={"parts": [{"text": "x", "thoughtSignature": "s"}, "plain"]}), []),
        (rec("a", None, message={"parts": {"not": "a list"}}), []),
        (rec("a", 5), ["history_gap"]),
    ],
)
def test_what_no_known_version_writes_is_kept_and_named(record: dict[str, Any], flaws: list[str]) -> None:
    assert walked(record) == (["a"], flaws)


def test_a_chain_of_50_000_records_is_walked() -> None:
    records = [rec(str(number), str(number - 1) if number else None) for number in range(50_000)]
    branch, flaws = walk(records)
    assert (len(branch), flaws) == (50_000, [])


def test_50_000_fragments_gaps_or_repeated_uuids_take_no_square_time() -> None:
    assert len(walk([said("a", None, str(number)) for number in range(50_000)])[0][0]["message"]["parts"]) == 50_000
    assert len(walk([rec(str(number), f"gone{number}") for number in range(50_000)])[0]) == 50_000
    walk([rec("a", f"p{number}") for number in range(5_000)])


NAMES = st.sampled_from(["a", "b", "c", "d", "e", None])


@given(st.lists(st.tuples(NAMES, NAMES, st.sampled_from(["user", "assistant", "system", "odd", 3])), max_size=12))
def test_a_walk_ends_with_distinct_records_for_any_graph(edges: list[tuple[Any, Any, Any]]) -> None:
    branch, _ = walk([{"uuid": uuid, "parentUuid": parent, "type": kind} for uuid, parent, kind in edges])
    names = [record["uuid"] for record in branch]
    assert len(names) == len(set(names))
