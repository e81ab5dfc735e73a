"""Transcripts of the real middleware: every line counts once, joins its span, and is forgotten with its file."""

import json
import os
import sqlite3
import sys
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from dashboards.local import following
from dashboards.local.contents import turn_text
from dashboards.local.errors import DashboardError
from dashboards.local.exporting import SpanIngester
from dashboards.local.following import Follower
from dashboards.local.ingest import Ingest
from dashboards.local.queries import Filter, overview, sessions, status, turn, turns
from dashboards.local.transcribed import key_of
from middleware import HookBlocked, Middleware
from middleware.testing import Failure, LocalModel

from .sending import NOON, Trace


def wait_for(follower):
    """A whole round that began after this call."""
    for _ in range(2):
        follower.caught_up.clear()
        assert follower.caught_up.wait(60)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "transcripts"
    folder.mkdir()
    return folder


@pytest.fixture
def follow(board):
    made = []

    def begin(folder):
        follower = Follower(folder, board.ingest, seconds=0.01)
        made.append(follower)
        assert follower.caught_up.wait(60)
        return follower

    yield begin
    for follower in made:
        follower.close()


def state(payload):
    if "drop" in payload["prompt"]:
        return {"decision": "block", "reason": "not on a weekday"}
    return "CI is <red>"


def talk(folder, *texts, board=None, session="s1", script=()):
    """Turns of the real middleware, traced into the board if there is one."""
    provider = TracerProvider()
    if board is not None:
        provider.add_span_processor(SimpleSpanProcessor(SpanIngester(board.ingest)))
    given = {"tracer_provider": provider} if board is not None else {}
    with Middleware.from_settings(transcripts=str(folder), hooks=[state], **given) as app:
        client = app.wrap(LocalModel(*script, default="fine").openai())
        with app.session(session, user="alice"):
            for text in texts:
                try:
                    client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": text}])
                except HookBlocked:
                    pass
                except Exception as error:
                    assert "scripted" in str(error)
    provider.shutdown()


def test_a_turn_of_spans_and_of_a_transcript_is_one_turn(board, folder, follow):
    follow(folder)
    talk(folder, "why is CI red?", "drop the table", "again", board=board, script=["fine", Failure(status=503)])
    follower = follow(folder)
    wait_for(follower)
    found = board.ask(turns).items
    assert [(one.preview, one.outcome, one.typed_chars, one.has_transcript) for one in found] == [
        ("why is CI red?", "sent", 14, True),
        (None, "blocked", 0, True),
        ("again", "error", 5, True),
    ]
    tagged = "<qwen:user-prompt-submit-context>\nCI is &lt;red&gt;\n</qwen:user-prompt-submit-context>"
    assert [one.added_chars for one in found] == [len(tagged), 0, len(tagged)]
    seen = board.ask(overview, Filter())
    assert (seen.turns, seen.outcomes) == (3, {"blocked": 1, "error": 1, "sent": 1})
    assert (seen.characters.typed, seen.characters.injected, seen.characters.basis) == (
        19, {"hook": 2 * len(tagged)}, "transcripts",
    )  # fmt: skip
    detail = board.ask(turn, found[0].key)
    assert (detail.place.line, detail.place.position) == (1, 0)
    text = turn_text(detail.place, found[0].key)
    assert (text.typed, text.reply, text.missing) == ("why is CI red?", "fine", None)
    assert [(part.source, part.text) for part in text.received] == [("user", "why is CI red?"), ("hook", tagged)]
    assert text.recall_query == "why is CI red?"
    assert text.polluted_query == f"why is CI red?\n{tagged}"
    blocked = turn_text(board.ask(turn, found[1].key).place, found[1].key)
    assert (blocked.blocked_by, blocked.reason, blocked.received) == ("state", "not on a weekday", ())


def test_without_traces_the_transcripts_tell_of_turns(board, folder, follow):
    talk(folder, "one", "two", "drop it")
    talk(folder, "three", session="s2")
    follow(folder)
    page = board.ask(sessions, sort="session", descending=False)
    assert [(one.session, one.title, one.user, one.turns, one.blocked) for one in page.items] == [
        ("s1", "one", "alice", 3, 1), ("s2", "three", "alice", 1, 0),
    ]  # fmt: skip
    assert [one.duration for one in board.ask(turns).items] == [None] * 4
    assert board.ask(overview, Filter()).tokens.input == 36
    for one in board.ask(turns, Filter(session="s2")).items:
        assert turn_text(board.ask(turn, one.key).place, one.key).typed == "three"
    assert [one.session for one in board.ask(sessions, search="THREE").items] == ["s2"]


def test_what_is_appended_is_followed_and_counts_once_after_a_restart(board, folder, follow):
    talk(folder, "one")
    first = follow(folder)
    talk(folder, "two")
    wait_for(first)
    first.close()
    talk(folder, "three")
    second = follow(folder)
    wait_for(second)
    assert [one.preview for one in board.ask(turns).items] == ["one", "two", "three"]
    assert board.rows("SELECT sum(count) FROM cells WHERE width = 60 AND series = 'turn'") == [(3,)]
    assert board.rows("SELECT lines FROM files") == [(6,)]


def test_a_line_counts_once_it_has_ended(board, folder, follow):
    talk(folder, "one")
    [path] = folder.iterdir()
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    path.write_bytes(whole[: first - 10])
    follower = follow(folder)
    wait_for(follower)
    assert board.ask(turns).total == 0
    with path.open("ab") as file:
        file.write(whole[first - 10 :])
    wait_for(follower)
    [found] = board.ask(turns).items
    assert found.preview == "one"
    assert turn_text(board.ask(turn, found.key).place, found.key).reply == "fine"


def test_a_transcript_that_is_gone_is_forgotten_and_its_spans_stay(board, folder, follow):
    talk(folder, "my secret", board=board)
    talk(folder, "nobody traced this", session="s2")
    follower = follow(folder)
    assert board.ask(turns).total == 2
    for path in folder.iterdir():
        path.unlink()
    wait_for(follower)
    [left] = board.ask(turns).items
    assert (left.preview, left.typed_chars, left.has_transcript, left.outcome) == (None, None, False, "sent")
    assert board.ask(overview, Filter()).turns == 1
    assert board.ask(overview, Filter()).characters.basis is None
    assert board.ask(status).transcripts == 0
    assert "no transcript" in turn_text(board.ask(turn, left.key).place, left.key).missing
    assert b"my secret" not in b"".join(
        json.dumps([str(value) for value in row]).encode() for row in board.rows("SELECT * FROM turns")
    )


def test_a_file_that_was_replaced_is_read_anew(board, folder, follow):
    talk(folder, "one", "two")
    [path] = folder.iterdir()
    follower = follow(folder)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[2:]))
    wait_for(follower)
    assert [one.preview for one in board.ask(turns).items] == ["two"]


def test_what_is_no_transcript_of_ours_harms_nothing(board, folder, follow):
    (folder / "claude.jsonl").write_text(
        json.dumps({"sessionId": "c", "uuid": "u", "type": "user", "message": {"role": "user", "content": "hi"}}) + "\n"
    )
    odd = [
        {"sessionId": "o", "uuid": "u1", "type": "user", "message": {"parts": [{"text": "a\0b\ud800c"}]}},
        {"sessionId": "o", "uuid": "u2", "type": "user", "message": {"parts": [{"text": 7}, None, "x"]}},
        {"sessionId": "o", "uuid": "u3", "type": "user", "subtype": ["x"], "message": {"parts": []}, "systemPayload": 3,
         "timestamp": "9999-99-99", "traceId": "z" * 32, "spanId": "z" * 16},
        {"sessionId": "o", "uuid": "u4", "type": "assistant", "model": 5, "usageMetadata": {"promptTokenCount": "x"},
         "message": {"parts": [{"functionCall": None}]}, "parentUuid": "u1"},
        {"sessionId": "o", "uuid": "u5", "type": "user", "message": {"parts": [{"text": "t"}]},
         "systemPayload": {"displayText": "t", "recall": [{"id": "m", "score": "high"}, 5, {"id": 3}]}},
        {"sessionId": "o", "uuid": "u6", "type": "system", "subtype": "prompt_blocked"},
        {"sessionId": 5, "uuid": "u7", "type": "user", "message": {"parts": []}},
    ]  # fmt: skip
    (folder / "odd.jsonl").write_text("garbage\n" + "".join(json.dumps(one) + "\n" for one in odd))
    (folder / "binary.jsonl").write_bytes(bytes(range(256)) * 100 + b"\n")
    follower = follow(folder)
    wait_for(follower)
    found = board.ask(turns).items
    assert sorted(str(one.preview) for one in found) == ["None", "None", "a\ufffdb\ufffdc", "t", "x"]
    assert follower.unreadable == {}
    for one in found:
        assert turn_text(board.ask(turn, one.key).place, one.key).missing is None


def test_a_transcript_that_nobody_traced_has_the_time_of_its_records(board, folder, follow):
    board.send(Trace().turn(1, at=NOON))
    talk(folder, "now")
    follow(folder)
    oldest, newest = board.ask(turns).items
    assert oldest.started == NOON
    assert newest.started > NOON


def test_a_folder_that_is_none_is_one_line(board, tmp_path):
    with pytest.raises(DashboardError, match="is no folder; name one with --transcripts"):
        Follower(tmp_path / "nowhere", board.ingest)


def test_another_file_in_the_same_inode_is_read_from_its_beginning(board, folder, follow):
    def lines(words, many):
        return "".join(
            json.dumps(
                {"sessionId": words, "uuid": f"{words}{n}", "type": "user", "message": {"parts": [{"text": words}]}}
            )
            + "\n"
            for n in range(many)
        )

    path = folder / "s.jsonl"
    path.write_text(lines("first", 1))
    follower = follow(folder)
    wait_for(follower)
    path.write_text(lines("other", 2))
    wait_for(follower)
    assert [one.preview for one in board.ask(turns).items] == ["other", "other"]


def test_after_a_restart_too_another_file_in_the_same_inode_is_read_from_its_beginning(board, folder, follow):
    line = {"sessionId": "s", "uuid": "a", "type": "user", "message": {"parts": [{"text": "a"}]}}
    path = folder / "s.jsonl"
    path.write_text(json.dumps(line) + "\n")
    follow(folder).close()
    path.write_text(json.dumps(line | {"uuid": "b", "message": {"parts": [{"text": "a longer one"}]}}) + "\n")
    follow(folder)
    assert [one.preview for one in board.ask(turns).items] == ["a longer one"]


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


def lines_of(words, many, **more):
    return "".join(
        json.dumps(
            {"sessionId": words, "uuid": f"{words}{n}", "type": "user", "message": {"parts": [{"text": words}]}, **more}
        )
        + "\n"
        for n in range(many)
    )


@pytest.mark.parametrize("many", [1, 100])
def test_a_file_that_was_written_over_while_the_dashboard_was_away_is_read_from_its_beginning(
    board, folder, follow, many
):
    path = folder / "s.jsonl"
    path.write_text(lines_of("first", many))
    follow(folder).close()
    inode = path.stat().st_ino
    # As long, line by line, and longer: a line ends where the last one that was read did.
    path.write_text(lines_of("other", many + 3))
    assert path.stat().st_ino == inode
    follow(folder)
    assert [one.preview for one in board.ask(turns, limit=200).items] == ["other"] * (many + 3)
    assert board.rows("SELECT sum(count) FROM cells WHERE width = 60 AND series = 'turn'") == [(many + 3,)]


def test_a_file_of_the_same_length_in_the_same_place_is_another(board, folder, follow):
    path = folder / "s.jsonl"
    path.write_text(lines_of("first", 3))
    follower = follow(folder)
    path.write_text(lines_of("other", 3))
    wait_for(follower)
    assert [one.preview for one in board.ask(turns).items] == ["other"] * 3


def test_a_database_of_before_goes_on_where_its_files_were_read(tmp_path, folder):
    path = folder / "s.jsonl"
    path.write_text(lines_of("words", 2))
    ingest = Ingest(tmp_path / "old.db")
    follower = Follower(folder, ingest, seconds=0.01)
    assert follower.caught_up.wait(60)
    follower.close()
    ingest.close()
    with sqlite3.connect(tmp_path / "old.db") as old:
        old.execute("ALTER TABLE files DROP COLUMN tail")
        old.execute("ALTER TABLE recalls DROP COLUMN found")
        old.execute("DROP TABLE counted_sessions")
        old.execute("DROP TABLE session_cells")
        old.execute("PRAGMA user_version = 1")
    old.close()
    with path.open("a") as file:
        file.write(lines_of("more", 1))
    ingest = Ingest(tmp_path / "old.db")
    follower = Follower(folder, ingest, seconds=0.01)
    assert follower.caught_up.wait(60)
    follower.close()
    ingest.close()
    with sqlite3.connect(tmp_path / "old.db") as seen:
        assert seen.execute("SELECT preview FROM turns ORDER BY id").fetchall() == [("words",), ("words",), ("more",)]
        assert seen.execute("SELECT lines, length(tail) FROM files").fetchall() == [(3, 16)]
    seen.close()


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
