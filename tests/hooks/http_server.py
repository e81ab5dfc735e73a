"""A real HTTP server on loopback whose answers are bytes: slow, endless, broken or dying ones among them.

It knows nothing of our client: a script is given the connection after the request was read, and writes what it likes.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

__all__ = ["Connection", "Script", "Server", "answer", "chunk", "saying", "serving"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A request as it came; `headers` have names in lower case."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What a script writes to. `send` raises `OSError` when the client has gone."""

    received: Received
    socket: socket.socket
    stopping: threading.Event

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def drip(self, piece: bytes, *, every: float = 0.02) -> None:
        """Send `piece` again and again, until the client goes or the test ends."""
        while not self.stopping.wait(every):
            self.send(piece)

    def hang(self) -> None:
        """Say nothing until the client goes or the test ends."""
        self.socket.settimeout(0.05)
        while not self.stopping.is_set():
            with contextlib.suppress(TimeoutError):
                if not self.socket.recv(1):
                    return


Script = Callable[[Connection], None]


@dataclass(slots=True, kw_only=True)
class Server:
    """`port` on 127.0.0.1; `requests` as they came; `connections` counts what was accepted."""

    port: int
    scheme: str = "http"
    requests: list[Received] = field(default_factory=list)
    connections: int = 0

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"


def answer(body: bytes, *, status: str = "200 OK", kind: str = "application/json", more: str = "") -> bytes:
    """A whole answer; `more` is header lines, each with its line end."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def saying(data: bytes) -> Script:
    """A script that writes `data` and closes."""
    return lambda connection: connection.send(data)


@contextlib.contextmanager
def serving(script: Script, *, tls: ssl.SSLContext | None = None, read_body: bool = True) -> Iterator[Server]:
    """Serve on a free port of 127.0.0.1 until the block ends; all threads are gone then."""
    stopping = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.05)
    server = Server(port=listener.getsockname()[1], scheme="https" if tls else "http")
    threads: list[threading.Thread] = []

    def serve(plain: socket.socket) -> None:
        plain.settimeout(5)
        try:
            stream = tls.wrap_socket(plain, server_side=True) if tls else plain
        except OSError:
            plain.close()
            return
        with stream, contextlib.suppress(OSError):
            received = _read(stream, read_body)
            if received is not None:
                server.requests.append(received)
                script(Connection(received=received, socket=stream, stopping=stopping))

    def accept() -> None:
        while not stopping.is_set():
            try:
                plain, _ = listener.accept()
            except OSError:
                continue
            server.connections += 1
            threads.append(threading.Thread(target=serve, args=(plain,)))
            threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield server
    finally:
        stopping.set()
        accepting.join()
        for thread in threads:
            thread.join()
        listener.close()


def _read(stream: socket.socket, read_body: bool) -> Received | None:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = stream.recv(65536)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (text.partition(":") for text in lines)}
    while read_body and len(body) < int(headers.get("content-length", "0")):
        piece = stream.recv(65536)
        if not piece:
            return None
        body += piece
    return Received(line=line, headers=headers, body=body)
