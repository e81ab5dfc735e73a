"""What a follower cannot read or write is said once, and costs the other files nothing."""

import json
import os
import sqlite3
import sys
from pathlib import Path

import pytest

from dashboards.local import following
from dashboards.local.contents import turn_text
from dashboards.local.following import Follower
from dashboards.local.queries import turn, turns
from dashboards.local.transcribed import key_of

from .talking import lines_of, talk, wait_for


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are Unicode")
def test_a_name_that_is_no_text_costs_the_other_files_nothing(board, folder, follow, caplog):
    odd = Path(os.fsdecode(os.fsencode(folder) + b"/a\xff.jsonl"))
    odd.write_text("{}\n")
    talk(folder, "hi")
    follower = follow(folder)
    wait_for(follower)
    assert [one.preview for one in board.ask(turns).items] == ["hi"]
    assert follower.unreadable == {odd: "its name is no UTF-8; rename it"}
    assert f"transcript {folder}/a\\xff.jsonl cannot be read: its name is no UTF-8; rename it" in caplog.text


def test_a_record_that_nobody_thought_of_costs_the_others_nothing_and_is_said_once(
    board, folder, follow, caplog, monkeypatch
):
    def odd(record, threads):
        if record["sessionId"] == "odd":
            raise KeyError("nobody thought of it")
        return key_of(record, threads)

    monkeypatch.setattr(following, "key_of", odd)
    (folder / "a.jsonl").write_text(lines_of("fine", 1) + lines_of("odd", 2) + lines_of("good", 1))
    (folder / "b.jsonl").write_text(lines_of("other", 1))
    follower = follow(folder)
    wait_for(follower)
    assert sorted(one.preview for one in board.ask(turns).items) == ["fine", "good", "other"]
    assert caplog.messages == [
        f"dashboard: of transcript {folder}/a.jsonl is passed over: line 2: KeyError; more of it is not told of"
    ]


def test_a_turn_that_the_file_will_not_take_costs_the_others_nothing(board, folder, follow, caplog):
    board.ingest.submit(
        lambda connection: connection.execute(
            """CREATE TEMP TRIGGER odd BEFORE INSERT ON main.turns WHEN new.session = 'odd'
                 BEGIN SELECT RAISE(ABORT, 'no odd turns'); END"""
        ),
        0,
    ).result(60)
    (folder / "a.jsonl").write_text(lines_of("fine", 1) + lines_of("odd", 2) + lines_of("good", 1))
    wait_for(follow(folder))
    assert [one.preview for one in board.ask(turns).items] == ["fine", "good"]
    [told] = caplog.messages
    assert told == (
        f"dashboard: of transcript {folder}/a.jsonl is passed over: a record before line 5: a turn cannot be stored: "
        "IntegrityError: no odd turns; more of it is not told of"
    )


def test_a_file_at_which_reading_fails_in_a_new_way_is_named_once_and_the_others_are_followed(
    board, folder, follow, caplog, monkeypatch
):
    def odd(opened):
        if opened.name.endswith("a.jsonl"):
            raise ZeroDivisionError("nobody thought of it")
        yield from pieces(opened)

    pieces = following._pieces
    monkeypatch.setattr(following, "_pieces", odd)
    for name in "abc":
        (folder / f"{name}.jsonl").write_text(lines_of(name, 1))
    follower = follow(folder)
    wait_for(follower)
    (folder / "d.jsonl").write_text(lines_of("d", 1))
    wait_for(follower)
    assert sorted(one.preview for one in board.ask(turns).items) == ["b", "c", "d"]
    why = "ZeroDivisionError: nobody thought of it"
    assert follower.unreadable == {folder / "a.jsonl": why}
    assert caplog.messages == [f"dashboard: transcript {folder}/a.jsonl cannot be read: {why}"]
    monkeypatch.setattr(following, "_pieces", pieces)
    wait_for(follower)
    assert sorted(one.preview for one in board.ask(turns).items) == ["a", "b", "c", "d"]
    assert follower.unreadable == {}


def test_a_file_that_may_not_be_written_for_a_while_is_said_once_and_then_followed(board, folder, caplog):
    blocking = sqlite3.connect(board.path, isolation_level=None)
    board.ingest.submit(lambda connection: connection.execute("PRAGMA busy_timeout = 1"), 0).result(60)
    blocking.execute("BEGIN IMMEDIATE")
    (folder / "a.jsonl").write_text(lines_of("a", 1))
    follower = Follower(folder, board.ingest, seconds=0.01)
    while "could not be stored: database is locked" not in caplog.text:
        assert not follower.caught_up.is_set()
    blocking.execute("ROLLBACK")
    blocking.close()
    wait_for(follower)
    follower.close()
    assert [one.preview for one in board.ask(turns).items] == ["a"]
    assert caplog.text.count("could not be stored") == 1
    assert follower.unreadable == {}


def test_a_line_that_is_longer_than_any_may_be_is_passed_over_without_being_held(board, folder, follow, monkeypatch):
    monkeypatch.setattr(following, "_LONGEST", 400)
    monkeypatch.setattr(following, "_PIECE", 100)
    path = folder / "a.jsonl"
    long = json.dumps({"sessionId": "long", "uuid": "u", "type": "user", "message": {"parts": [{"text": "x" * 5_000}]}})
    path.write_text(lines_of("before", 2) + long[:3_000])
    follower = follow(folder)
    wait_for(follower)
    [(size, lines)] = board.rows("SELECT size, lines FROM files")
    assert lines == 2
    assert size > len(lines_of("before", 2)) + 2_000
    with path.open("a") as file:
        file.write(long[3_000:] + "\n" + lines_of("after", 1))
    wait_for(follower)
    found = board.ask(turns).items
    assert [one.preview for one in found] == ["before", "before", "after"]
    place = board.ask(turn, found[2].key).place
    assert (place.line, place.position) == (4, len(lines_of("before", 2)) + len(long) + 1)
    assert turn_text(place, found[2].key).typed == "after"
