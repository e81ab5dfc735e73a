"""A loopback HTTP server that keeps every byte it is sent and passes it on."""

from __future__ import annotations

import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        self.server.received.append(str(self.headers).encode() + self.path.encode() + body)
        kept = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "content-length")}
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(self.server.onward + self.path, body, kept), timeout=60) as answer:
            data = answer.read()
            self.send_response(answer.status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, onward: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.onward = onward
        self.received: list[bytes] = []


class Relay:
    """Runs in a thread; `received` holds headers, path and body of every request."""

    def __init__(self, onward: str) -> None:
        self._server = _Server(onward)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.received = self._server.received

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
