"""Transcripts that are renamed, copied and taken away, and those that qwen-code itself wrote."""

import json
import os
import shutil
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from dashboards.local.cells import WIDTHS
from dashboards.local.contents import turn_text
from dashboards.local.following import Follower
from dashboards.local.ingest import Ingest
from dashboards.local.queries import Filter, overview, sessions, turn, turns


def record(uuid, kind, text=None, *, parent=None, session="s", **more):
    said = {"sessionId": session, "uuid": uuid, "parentUuid": parent, "type": kind, **more}
    if text is not None:
        said["message"] = {"role": "model" if kind == "assistant" else "user", "parts": [{"text": text}]}
    return json.dumps(said) + "\n"


TRACED = {"traceId": "0b" * 16, "spanId": "0c" * 8}
FIRST, SECOND = {"timestamp": "2026-05-01T10:00:00Z"}, {"timestamp": "2026-05-01T10:01:00Z"}
ONE = record("u1", "user", "why?", **TRACED, **FIRST)
ONE += record("a1", "assistant", "so", parent="u1", model="m", **TRACED, **FIRST)
TWO = record("u2", "user", "and now?", **SECOND) + record("a2", "assistant", "no", parent="u2", model="m", **SECOND)


def wait_for(follower):
    """A whole round that began after this call."""
    for _ in range(2):
        follower.caught_up.clear()
        assert follower.caught_up.wait(60)


def seen(board):
    """Characters typed, and each turn's words and answer."""
    told = []
    for one in board.ask(turns).items:
        text = turn_text(board.ask(turn, one.key).place, one.key)
        told.append((text.typed, text.reply, text.missing))
    return board.ask(overview, Filter()).characters.typed, told


BOTH = (12, [("why?", "so", None), ("and now?", "no", None)])


@pytest.mark.parametrize(("old", "new"), [("b.jsonl", "a.jsonl"), ("a.jsonl", "b.jsonl"), ("a.jsonl", "chats/a.jsonl")])
def test_a_transcript_that_is_renamed_or_moved_stays(board, folder, follow, old, new):
    (folder / old).write_text(ONE + TWO)
    (folder / "chats").mkdir()
    follower = follow(folder)
    (folder / old).rename(folder / new)
    wait_for(follower)
    assert seen(board) == BOTH
    with (folder / new).open("a") as file:
        file.write(record("u3", "user", "more"))
    wait_for(follower)
    assert board.ask(sessions).items[0].turns == 3


def test_a_transcript_that_was_renamed_while_the_dashboard_was_away_stays(board, folder, follow):
    (folder / "b.jsonl").write_text(ONE + TWO)
    follow(folder).close()
    (folder / "b.jsonl").rename(folder / "a.jsonl")
    follow(folder)
    assert seen(board) == BOTH


def test_a_folder_that_was_moved_while_the_dashboard_was_away_is_followed_where_it_is(board, folder, follow):
    (folder / "s.jsonl").write_text(ONE + TWO)
    follow(folder).close()
    follow(folder.rename(folder.with_name("elsewhere")))
    assert seen(board) == BOTH


def test_what_a_folder_said_that_is_followed_no_more_stays_while_it_is_there(board, folder, follow, tmp_path):
    (folder / "s.jsonl").write_text(ONE + TWO)
    follow(folder).close()
    (tmp_path / "other").mkdir()
    follow(tmp_path / "other")
    assert seen(board) == BOTH


def test_a_copy_of_a_transcript_counts_nothing_twice(board, folder, follow):
    (folder / "b.jsonl").write_text(ONE + TWO)
    follower = follow(folder)
    shutil.copy(folder / "b.jsonl", folder / "a.jsonl")
    wait_for(follower)
    assert seen(board) == BOTH
    assert board.ask(turns).total == 2


def test_when_the_first_of_two_copies_goes_the_other_tells_of_the_turns(board, folder, follow):
    (folder / "a.jsonl").write_text(ONE + TWO)
    follower = follow(folder)
    shutil.copy(folder / "a.jsonl", folder / "b.jsonl")
    wait_for(follower)
    (folder / "a.jsonl").unlink()
    wait_for(follower)
    assert seen(board) == BOTH
    (folder / "b.jsonl").unlink()
    wait_for(follower)
    assert seen(board) == (0, [])


QWEN = (
    record("u1", "user", "why?", timestamp="2026-05-01T10:00:00Z"),
    record("x1", "system", parent="u1", subtype="file_history_snapshot"),
    record("x2", "system", parent="x1", subtype="ui_telemetry"),
    record("a1", "assistant", "so", parent="x2", model="m", usageMetadata={"promptTokenCount": 9}),
    record("x3", "system", parent="a1", subtype="ui_telemetry"),
    record("t1", "tool_result", "42", parent="x3", timestamp="2026-05-01T10:01:00Z"),
    record("x4", "system", parent="t1", subtype="ui_telemetry"),
    record("a2", "assistant", "then", parent="x4", model="m"),
)
"""As qwen-code 0.21 writes it: its own records stand between, and are what the next one names as its parent."""


def test_a_reply_in_a_transcript_of_qwen_code_is_of_its_question_s_turn(board, folder, follow):
    (folder / "s.jsonl").write_text("".join(QWEN))
    follow(folder)
    assert seen(board) == (6, [("why?", "so", None), (None, "then", None)])
    assert [(one.origin, one.model, one.tokens.input) for one in board.ask(turns).items] == [
        ("user_query", "m", 9), ("tool_result", "m", None),
    ]  # fmt: skip


@pytest.mark.parametrize("written", range(1, len(QWEN)))
def test_a_reply_that_comes_after_a_restart_is_of_its_question_s_turn(board, folder, follow, written):
    (folder / "s.jsonl").write_text("".join(QWEN[:written]))
    follow(folder).close()
    with (folder / "s.jsonl").open("a") as file:
        file.write("".join(QWEN[written:]))
    follow(folder)
    assert [(one.origin, one.model) for one in board.ask(turns).items] == [("user_query", "m"), ("tool_result", "m")]


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("über", 1),
        ("ÜBER DIE STRASSE", 1),
        ("die   Straße", 1),
        ("straße hin", 1),
        ("ZÜRICH", 1),
        ("überall", 0),
        ("ü_er", 0),
    ],
)
def test_a_search_knows_the_case_of_every_language_and_minds_no_space(board, folder, follow, search, found):
    words = record("u1", "user", "Über die\t Straße\nhinweg", session="zürich")
    (folder / "s.jsonl").write_text(words + record("u2", "user", "else"))
    follow(folder)
    assert (board.ask(turns, search=search).total, board.ask(sessions, search=search).total) == (found, found)


def test_a_search_finds_the_turns_of_no_session(board, folder, follow):
    (folder / "s.jsonl").write_text(record("u1", "user", "why is CI red?", session=""))
    follow(folder)
    assert [(one.session, one.turns) for one in board.ask(sessions, search="ci RED").items] == [("", 1)]


def test_what_is_older_than_it_is_kept_is_not_read_again_from_a_file_in_another_place(tmp_path, folder):
    old, now = datetime.now(UTC) - timedelta(days=40), datetime.now(UTC)
    lines = record("u1", "user", "long ago", timestamp=f"{old:%FT%TZ}")
    (folder / "b.jsonl").write_text(lines + record("u2", "user", "now", timestamp=f"{now:%FT%TZ}"))
    ingest = Ingest(tmp_path / "kept.db", keep=timedelta(days=30))
    follower = Follower(folder, ingest, seconds=0.01)
    assert follower.caught_up.wait(60)
    (folder / "b.jsonl").rename(folder / "a.jsonl")
    wait_for(follower)
    follower.close()
    ingest.close()
    with sqlite3.connect(tmp_path / "kept.db") as kept:
        assert kept.execute("SELECT preview FROM turns").fetchall() == [("now",)]
        sql = "SELECT width, sum(count) FROM cells WHERE series = 'turn' GROUP BY width"
        assert kept.execute(sql).fetchall() == [(width, 1) for width in WIDTHS]
    kept.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name")
def test_a_pipe_or_a_device_in_the_place_of_a_transcript_keeps_nobody_waiting(board, folder, follow):
    path = folder / "s.jsonl"
    path.write_text(ONE)
    follow(folder).close()
    [one] = board.ask(turns).items
    place = board.ask(turn, one.key).place
    path.unlink()
    os.mkfifo(path)
    assert turn_text(place, one.key).missing == f"transcript {path} cannot be read: it is no file"
    path.unlink()
    path.symlink_to("/dev/zero")
    assert turn_text(place, one.key).missing == f"transcript {path} cannot be read: it is no file"


def test_of_a_transcript_that_is_gone_no_word_is_left_on_the_disk(board, folder, follow):
    (folder / "s.jsonl").write_text(ONE + record("u3", "user", "a word of mine"))
    follower = follow(folder)

    def holds_it():
        files = board.path.parent.glob(f"{board.path.name}*")
        return any(b"a word of mine" in path.read_bytes() for path in files)

    assert holds_it()
    (folder / "s.jsonl").unlink()
    wait_for(follower)
    for _ in range(2):
        board.ingest.submit(lambda connection: None, 0).result(60)
    assert not holds_it()
