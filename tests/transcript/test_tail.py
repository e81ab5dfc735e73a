"""Where a conversation goes on: at the leaf that a reader shows, not at whatever line happens to be the last."""

from __future__ import annotations

from pathlib import Path

import pytest

from middleware import Middleware, Settings
from middleware.testing import LocalModel
from middleware.transcript import TranscriptWriter, load
from middleware.transcript.checking import faults_in
from middleware.transcript.located import read_located
from middleware.transcript.repair import repair

from .records import Record, record, text, write

ONE = record("a", None, "user", [text("one")])
REPLY = record("b", "a", "assistant", [text("r1")])
TWO = record("c", "b", "user", [text("two")])
LAST = record("d", "c", "assistant", [text("r2")])
TITLE = record("t", "d", "system", subtype="custom_title", systemPayload={"customTitle": "x"})


def added_to(path: Path, uuid: str) -> None:
    """Append a record as a session does."""
    writer = TranscriptWriter(path, durability="os")
    with writer.exclusive():
        writer.append(record(uuid, writer.tail, "user", [text("three")]))
    writer.close()


@pytest.mark.parametrize(
    ("records", "leaf"),
    [
        ([ONE, REPLY, TWO, LAST], "d"),
        ([ONE, REPLY, TWO, LAST, ONE], "d"),
        ([ONE, REPLY, TWO, LAST, REPLY], "d"),
        ([ONE, REPLY, TWO, record("a", "c", "assistant", [text("r2")])], "a#2"),
        ([ONE, REPLY, TWO, LAST, record("b", "a", "assistant", [text(" and more")])], "d"),
        ([ONE, TWO, LAST, REPLY], "d"),
        ([ONE, REPLY, TWO, LAST, TITLE], "t"),
        ([ONE, REPLY, TWO, LAST, record("t", "d", "system", subtype="session_artifact_event")], "d"),
        ([ONE, REPLY, TWO, LAST, record("t", "d", "weird")], "d"),
        ([record("a", "d", "user", [text("one")]), REPLY, TWO, LAST], "d"),
    ],
)
def test_the_next_record_hangs_from_the_leaf_that_a_reader_shows(
    tmp_path: Path, records: list[Record], leaf: str
) -> None:
    path = write(tmp_path / "s.jsonl", records)
    before = [held["uuid"] for held in load(path)]
    added_to(path, "e")
    branch = list(load(path))
    assert [held["uuid"] for held in branch] == [*before, "e"]
    assert branch[-1]["parentUuid"] == before[-1] == leaf


def test_a_parent_that_is_called_as_the_reader_calls_it_is_no_fault(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", [ONE, REPLY, TWO, record("a", "c", "assistant", [text("r2")])])
    added_to(path, "e")
    assert [(fault.line, fault.name) for fault in faults_in(read_located(path))] == [(4, "invalid_record")]
    made = list(repair(read_located(path)).records)
    assert [(held["uuid"], held["parentUuid"]) for held in made][3:] == [("a#2", "c"), ("e", "a#2")]


def test_a_turn_after_resuming_keeps_the_history_when_the_last_line_is_an_old_record(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", [ONE, REPLY, TWO, LAST, REPLY])
    with Middleware(Settings(transcripts=str(tmp_path))) as app, app.session("s", resume=True) as session:
        client = app.wrap(LocalModel("r3").openai())
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "three"}])
        said = [part["text"] for entry in session.history() for part in entry["parts"]]
    assert said == ["one", "r1", "two", "r2", "three", "r3"]
    assert [held["parentUuid"] for held in load(path)][-2] == "d"


def test_what_others_append_moves_the_tail_only_along_the_conversation(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", [ONE, REPLY])
    writer = TranscriptWriter(path, durability="os")
    assert writer.tail == "b"
    write_more(path, TWO)
    with writer.exclusive():
        assert writer.tail == "c"
    write_more(path, ONE)
    with writer.exclusive():
        assert writer.tail == "c"
    write_more(path, record("x", "b", "user", [text("another two")]))
    with writer.exclusive():
        assert writer.tail == "x"
    writer.close()


def test_a_line_that_was_cut_and_finished_later_is_part_of_the_conversation(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", [ONE])
    whole = write(tmp_path / "whole", [REPLY]).read_bytes()
    writer = TranscriptWriter(path, durability="os")
    with path.open("ab") as file:
        file.write(whole[:20])
        file.flush()
        with writer.exclusive():
            assert writer.tail == "a"
        file.write(whole[20:])
    with writer.exclusive():
        assert writer.tail == "b"
    writer.close()


def write_more(path: Path, *records: Record) -> None:
    added = write(path.with_suffix(".more"), records).read_bytes()
    with path.open("ab") as file:
        file.write(added)
