"""Another file in the place of a transcript is read from its beginning, and the same one goes on where it was."""

import json
import sqlite3

import pytest

from dashboards.local.following import Follower
from dashboards.local.ingest import Ingest
from dashboards.local.queries import turns

from .talking import lines_of, wait_for


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
