"""Transcripts of the real middleware: every line counts once, joins its span, and is forgotten with its file."""

import json
import time

import pytest

from dashboards.local.contents import turn_text
from dashboards.local.errors import DashboardError
from dashboards.local.following import Follower
from dashboards.local.queries import Filter, overview, sessions, status, turn, turns
from middleware.testing import Failure

from .sending import NOON, Trace
from .talking import lines_of, talk, wait_for


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


def test_what_can_never_be_a_folder_is_one_line(board, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DashboardError, match="file is no folder; name one with --transcripts"):
        Follower(tmp_path / "file", board.ingest)
    for above in ("nowhere", "file"):
        with pytest.raises(DashboardError, match=f"there is no folder .*{above}; make it, or name another folder"):
            Follower(tmp_path / above / "transcripts", board.ingest)


def test_a_folder_that_is_not_there_yet_is_followed_once_it_is(board, tmp_path, caplog):
    folder = tmp_path / "later"
    follower = Follower(folder, board.ingest, seconds=0.01)
    assert follower.caught_up.wait(60)
    folder.mkdir()
    (folder / "s.jsonl").write_text(lines_of("words", 2))
    deadline = time.monotonic() + 60
    while len(board.ask(turns).items) < 2:
        assert time.monotonic() < deadline
    follower.close()
    assert (caplog.text, follower.unreadable) == ("", {})


def test_a_folder_that_went_away_is_told_of_once(board, folder, caplog):
    (folder / "s.jsonl").write_text(lines_of("words", 1))
    follower = Follower(folder, board.ingest, seconds=0.001)
    assert follower.caught_up.wait(60)
    folder.rename(folder.with_name("away"))
    deadline = time.monotonic() + 60
    while folder not in follower.unreadable:
        assert time.monotonic() < deadline
    for _ in range(3):
        follower.caught_up.clear()
        assert follower.caught_up.wait(60)
    follower.close()
    assert [record.getMessage() for record in caplog.records] == [
        f"dashboard: transcript {folder} cannot be read: No such file or directory"
    ]
    assert len(board.ask(turns).items) == 1
