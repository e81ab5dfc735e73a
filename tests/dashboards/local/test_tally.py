"""A session of thousands of turns is counted as it grows, and says the same as one that is counted when it is asked."""

import dataclasses
import json
import sqlite3
import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboards.local import tally
from dashboards.local.database import open_writer
from dashboards.local.following import Follower
from dashboards.local.ingest import Ingest
from dashboards.local.otlp import decode
from dashboards.local.queries import Filter, overview
from dashboards.local.retention import forget_old
from dashboards.local.tally import LARGE
from dashboards.local.writing import Batch, write

from .sending import NOON, NS, Trace

MANY = LARGE + 200


def turn(trace, number, *, session="big", **more):
    at = NOON + number % 5_000
    models = ("gpt-5", "gpt-5-mini", "claude")
    trace.call(
        number, model=models[number % 3], at=at, seconds=0.1 + number % 40, said={"gen_ai.usage.input_tokens": 7}
    )
    trace.hook(number, outcome=("success", "timeout", "blocking")[number % 7 % 3], at=at, seconds=0.01)
    trace.recall(number, matches=number % 3, at=at, seconds=0.002)
    outcome = ("sent", "error", "blocked")[number % 11 % 3]
    trace.turn(number, session=session, outcome=outcome, at=at, seconds=0.2 + number % 40, **more)
    return trace


def filled(board, many=MANY, session="big"):
    for first in range(1, many + 1, 300):
        trace = Trace()
        for number in range(first, min(first + 300, many + 1)):
            turn(trace, number, session=session)
        board.send(trace)


def counted(board):
    return {session for (session,) in board.rows("SELECT session FROM counted_sessions")}


FILTERS = [
    ({}, MANY),
    ({"model": "gpt-5"}, MANY // 3),
    ({"start": NOON + 600, "end": NOON + 900}, 300),
    ({"start": NOON - 86_400 * 30, "end": NOON + 86_400}, MANY),
]


def as_asked(board, session, **more):
    """The same overview by cells of the session, and by its turns."""
    asked = Filter(session=session, **{"start": NOON - 60, "end": NOON + 6_000, **more})
    by_cells = board.ask(overview, asked)
    board.ingest.submit(lambda connection: connection.execute("DELETE FROM counted_sessions"), 0).result(60)
    by_turns = board.ask(overview, asked)
    board.ingest.submit(
        lambda connection: connection.execute("INSERT INTO counted_sessions VALUES (?)", (session,)), 0
    ).result(60)
    return rounded(by_cells), rounded(by_turns)


def rounded(seen):
    """Sums of fractions are rounded: they are added up in another order."""

    def walk(value):
        match value:
            case float():
                return round(value, 6)
            case dict():
                return {name: walk(held) for name, held in value.items()}
            case list() | tuple():
                return [walk(held) for held in value]
        return value

    return walk(dataclasses.asdict(seen))


@pytest.mark.parametrize(("more", "many"), FILTERS, ids=str)
def test_a_large_session_says_the_same_by_its_cells_as_by_its_turns(board, more, many):
    filled(board)
    board.send(turn(Trace(), 5_001, session="small"))
    assert counted(board) == {"big"}
    by_cells, by_turns = as_asked(board, "big", **more)
    assert by_cells == by_turns
    assert by_cells["turns"] == many


def test_turns_that_name_no_session_are_one_session_that_may_be_large_too(board):
    filled(board, session=None)
    assert counted(board) == {""}
    by_cells, by_turns = as_asked(board, "")
    assert by_cells == by_turns
    assert by_cells["turns"] == MANY


def test_what_is_sent_twice_or_late_or_moves_to_another_session_is_counted_once(board):
    for number in range(MANY + 1, MANY + 40):
        # Calls whose turns have not ended: they count nothing yet, and are of no session.
        board.send(Trace().call(number, at=NOON + 50))
    filled(board)
    filled(board, 300)
    late = Trace()
    for number in range(MANY + 1, MANY + 40):
        late.turn(number, session="big" if number % 2 else "small", at=NOON + 50)
        late.hook(number, part=5, at=NOON + 50)
    board.send(late)
    by_cells, by_turns = as_asked(board, "big")
    assert by_cells == by_turns
    assert by_cells["turns"] == MANY + 20
    assert board.ask(overview, Filter(session="small", start=NOON, end=NOON + 60)).turns == 19


def test_a_large_session_of_before_is_counted_when_the_dashboard_starts(board):
    filled(board)
    board.close()
    with sqlite3.connect(board.path) as old:
        old.execute("ALTER TABLE files DROP COLUMN tail")
        old.execute("ALTER TABLE recalls DROP COLUMN found")
        old.execute("DROP TABLE counted_sessions")
        old.execute("DROP TABLE session_cells")
        old.execute("PRAGMA user_version = 1")
    old.close()
    ingest = Ingest(board.path)
    ingest.submit(lambda connection: None, 0).result(60)
    ingest.close()
    with sqlite3.connect(board.path) as seen:
        assert seen.execute("SELECT session FROM counted_sessions").fetchall() == [("big",)]
        sql = "SELECT sum(count) FROM session_cells WHERE width = 60 AND series = 'turn'"
        assert seen.execute(sql).fetchall() == [(MANY,)]
    seen.close()


def test_a_large_session_that_was_forgotten_is_counted_no_more(board):
    filled(board)
    board.ingest.submit(lambda connection: None, 0).result(60)
    board.close()
    connection = sqlite3.connect(board.path, isolation_level=None)
    forget_old(connection, (NOON + 40 * 86_400) * NS)
    for table in ("counted_sessions", "session_cells", "cells", "turns"):
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    connection.close()


def test_a_transcript_that_is_gone_is_taken_out_of_its_large_session(board, tmp_path):
    folder = tmp_path / "transcripts"
    folder.mkdir()
    path = folder / "big.jsonl"
    said = {"sessionId": "big", "type": "user", "message": {"parts": [{"text": "four"}]}}
    path.write_text("".join(json.dumps(said | {"uuid": f"u{n}"}) + "\n" for n in range(MANY)))
    follower = Follower(folder, board.ingest, seconds=0.01)
    assert follower.caught_up.wait(60)
    assert counted(board) == {"big"}
    seen = board.ask(overview, Filter(session="big"))
    assert (seen.turns, seen.characters.typed) == (MANY, 4 * MANY)
    path.unlink()
    while board.rows("SELECT count(*) FROM files") != [(0,)]:
        pass
    follower.close()
    assert board.rows("SELECT total(count), total(total) FROM session_cells") == [(0.0, 0.0)]
    assert board.ask(overview, Filter(session="big")).turns == 0


PARTS = st.tuples(
    st.integers(1, 8),
    st.sampled_from(["call of a", "call of b", "call", "hook", "recall", "turn of a", "turn of b", "turn"]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(batches=st.lists(st.lists(PARTS, min_size=1, max_size=8), max_size=12))
def test_whatever_comes_in_whatever_order_cells_of_sessions_say_what_their_turns_say(tmp_path, monkeypatch, batches):
    monkeypatch.setattr(tally, "LARGE", 2)
    monkeypatch.setattr(tally, "_ONE_IN", 1)
    path = tmp_path / f"{uuid.uuid4()}.db"
    connection = open_writer(path)
    for batch in batches:
        trace = Trace()
        for number, part in batch:
            kind, _, session = part.partition(" of ")
            at = NOON + 70 * number
            said = {"gen_ai.conversation.id": session} if session else {}
            match kind:
                case "call":
                    trace.call(number, part=1 + (session == "b"), model=f"m{number % 2}", at=at, said=said)
                case "hook":
                    trace.hook(number, part=4, at=at)
                case "recall":
                    trace.recall(number, part=5, at=at)
                case _:
                    trace.turn(number, session=session or None, at=at)
        connection.execute("BEGIN")
        write(connection, Batch(spans=decode("traces", trace.body, "protobuf").spans))
        connection.execute("COMMIT")
    large = connection.execute("SELECT coalesce(session, '') FROM turns GROUP BY 1 HAVING count(*) > 2").fetchall()
    kept = connection.execute("SELECT session FROM counted_sessions").fetchall()
    assert set(large) <= set(kept)
    connection.row_factory = sqlite3.Row
    for (session,) in kept:
        where = Filter(session=session, start=NOON, end=NOON + 3_600)
        by_cells = rounded(overview(connection, where))
        connection.execute("DELETE FROM counted_sessions WHERE session = ?", (session,))
        assert by_cells == rounded(overview(connection, where))
    connection.close()
