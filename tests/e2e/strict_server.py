"""A server that takes string content only, and no user message after tool results: there are such ones."""

from __future__ import annotations

import itertools
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

__all__ = ["StrictServer"]


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))))
        self.server.requests.append(body)
        status, answer = _judged(self.path, body)
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _judged(path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    messages = body["messages"]
    for before, message in itertools.pairwise(messages):
        if before["role"] == "tool" and message["role"] == "user":
            return 400, {"error": {"type": "invalid", "message": "user after tool"}}
    for message in messages:
        content = message.get("content")
        if message["role"] == "user" and not isinstance(content, str) and not _is_result(content):
            return 422, {"error": {"type": "invalid", "message": "content must be a string"}}
    if path.endswith("/v1/messages"):
        said = {"content": [{"type": "text", "text": "fine"}], "stop_reason": "end_turn"}
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "strict", "stop_sequence": None}
        return 200, {
            **head,
            "content": said,
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    choice = {"index": 0, "message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}
    return 200, {"id": "1", "object": "chat.completion", "created": 1, "model": "strict", "choices": [choice]}


def _is_result(content: object) -> bool:
    return isinstance(content, list) and bool(content) and content[0].get("type") == "tool_result"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []


class StrictServer:
    """Runs in a thread, on a loopback port; `requests` are the bodies that it was sent."""

    def __init__(self) -> None:
        self._server = _Server()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.requests = self._server.requests

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
