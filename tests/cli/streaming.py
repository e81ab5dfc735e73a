"""A chat completions server on the loopback interface that streams, and waits where a test tells it to."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class StreamingModel:
    """Answers `echo: <the last user message's first text>`.

    `calls` are the tool calls of the next replies, `(name, arguments)` each: one list a reply, in place of a text but
    `let me see`. A text with `slow` in it gets its first word and then nothing until `gate` is set, one with `silent`
    nothing at all, and nor does a request whose number, counted from 1, is in `held`. `bodies` are the requests,
    `asked` counts them.
    """

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.held: set[int] = set()
        self.calls: list[list[tuple[str, dict[str, Any]]]] = []
        self.gate = threading.Event()
        self.asked = threading.Semaphore(0)
        model = self

        class Answering(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.bodies.append(body)
                model.asked.release()
                text = text_of(body["messages"][-1])
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                try:
                    if len(model.bodies) in model.held:
                        model.gate.wait(90)
                    if model.calls:
                        self.call(model.calls.pop(0), len(model.bodies), "slow" in text.lower())
                        return
                    if "silent" in text.lower():
                        model.gate.wait(90)
                    self.chunk({"choices": [choice("echo: ")], "usage": None})
                    if "slow" in text.lower():
                        model.gate.wait(90)
                    self.chunk({"choices": [choice(text)], "usage": None})
                    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
                    self.chunk({"choices": [], "usage": usage})
                    self.wfile.write(b"data: [DONE]\n\n")
                except OSError:
                    pass

            def call(self, calls: list[tuple[str, dict[str, Any]]], number: int, slow: bool) -> None:
                self.chunk({"choices": [choice("let me see")], "usage": None})
                if slow:
                    model.gate.wait(90)
                for place, (name, arguments) in enumerate(calls):
                    text = json.dumps(arguments)
                    for piece in (text[:3], text[3:]):
                        function = {"name": name if piece == text[:3] else None, "arguments": piece}
                        call = {
                            "index": place,
                            "id": f"call_{number}_{place}",
                            "type": "function",
                            "function": function,
                        }
                        delta = {"role": "assistant", "tool_calls": [call]}
                        self.chunk({"choices": [{"index": 0, "delta": delta, "finish_reason": None}], "usage": None})
                usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
                self.chunk({"choices": [], "usage": usage})
                self.wfile.write(b"data: [DONE]\n\n")

            def chunk(self, fields: dict[str, Any]) -> None:
                shared = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
                self.wfile.write(f"data: {json.dumps({**shared, **fields})}\n\n".encode())
                self.wfile.flush()

            def log_message(self, format: str, *args: object) -> None:
                """Nothing on the test's stderr."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.gate.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def choice(text: str) -> dict[str, Any]:
    return {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}


def text_of(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else str(content[0]["text"])
