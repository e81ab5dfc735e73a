"""A running dashboard, on a port of its own, asked over HTTP as a stranger would."""

from __future__ import annotations

import http.client
import threading
from contextlib import contextmanager
from types import SimpleNamespace

from google.rpc.status_pb2 import Status

from dashboards.local.database import Readers
from dashboards.local.ingest import Ingest
from dashboards.local.pages import routes
from dashboards.local.server import Board, application, listen, serve

PROTOBUF = "application/x-protobuf"


class Answer(SimpleNamespace):
    @property
    def line(self) -> str:
        """The message of a google.rpc.Status in protobuf."""
        assert self.headers["content-type"] == PROTOBUF
        return Status.FromString(self.body).message


class Served:
    def __init__(self, port, board):
        self.port = port
        self.board = board

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def post(self, path, body, **headers):
        headers = {"content-type": PROTOBUF, **{name.replace("_", "-"): value for name, value in headers.items()}}
        return self.ask("POST", path, body, headers)

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(status=answer.status, headers=found, body=answer.read())
        finally:
            connection.close()

    def rows(self, sql, *values):
        with self.board.readers.reading() as connection:
            return [tuple(row) for row in connection.execute(sql, values)]


@contextmanager
def serving(path, *, port=0, **more):
    """A dashboard over the file `path`, ended and written at the end of the block."""
    sockets = listen(port)
    board = Board(ingest=Ingest(path, **more), readers=Readers(path))
    running, held = threading.Event(), []

    def started(stop):
        held.append(stop)
        running.set()

    thread = threading.Thread(
        target=serve, args=(application(board, routes(board)), sockets), kwargs={"started": started}
    )
    thread.start()
    assert running.wait(60)
    try:
        yield Served(sockets[0].getsockname()[1], board)
    finally:
        held[0]()
        thread.join(60)
        assert not thread.is_alive()
