"""An embeddings endpoint on loopback, written by hand. Its vectors are those of the `hash` embedder."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from recall_store.embedders import load


class EmbeddingServer:
    """`url` for OPENAI_BASE_URL. `requests` are the bodies it was sent; `answers` are given before any other."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.answers: list[tuple[int, object]] = []
        embedder, server = load("hash"), self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append(body)
                server.keys.append(self.headers["Authorization"])
                if server.answers:
                    status, answer = server.answers.pop(0)
                else:
                    rows = [
                        {"object": "embedding", "index": index, "embedding": row.tolist()}
                        for index, row in enumerate(embedder.embed(body["input"]))
                    ]
                    # Not in order: the index says which is which.
                    status, answer = 200, {"object": "list", "model": body["model"], "data": rows[::-1]}
                written = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(written)))
                self.end_headers()
                self.wfile.write(written)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
