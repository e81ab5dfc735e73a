import pytest

from dashboards.local.database import Readers
from dashboards.local.following import Follower
from dashboards.local.ingest import Ingest

from .sending import Trace
from .serving import serving


class Board:
    """A dashboard's file with its writer; `send` waits until it is on disk."""

    def __init__(self, path):
        self.path = path
        self.ingest = Ingest(path)
        self._readers = Readers(path)

    def send(self, what, signal="traces"):
        body = what.body if isinstance(what, Trace) else what.SerializeToString()
        decoded, done = self.ingest.receive(signal, body)
        done.result(60)
        return decoded

    def ask(self, query, *args, **named):
        with self._readers.reading() as connection:
            return query(connection, *args, **named)

    def rows(self, sql, *values):
        with self._readers.reading() as connection:
            return [tuple(row) for row in connection.execute(sql, values)]

    def close(self):
        self.ingest.close()
        self._readers.close()


@pytest.fixture
def board(tmp_path):
    board = Board(tmp_path / "board.db")
    yield board
    board.close()


@pytest.fixture
def served(tmp_path):
    with serving(tmp_path / "served.db") as served:
        yield served


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
