"""The exported page in a real browser: nothing is fetched, nothing runs, what was added is folded."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from middleware.transcript.html import page

from ..transcript.records import HOOK, called, record, text

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


class Server(ThreadingHTTPServer):
    """Notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), Answering)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        self.server.asked.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def opened(html: str, folder: Path) -> str:
    """What the browser makes of a page: its elements, after scripts would have run."""
    (folder / "page.html").write_text(html, encoding="utf-8")
    result = subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder / 'profile'}",
            "--virtual-time-budget=1000",
            "--dump-dom",
            f"file://{folder / 'page.html'}",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return result.stdout


def test_hostile_texts_fetch_nothing_and_run_nothing_in_a_browser(server: Server, tmp_path: Path) -> None:
    hostile = (
        f"</div></details><script>document.body.innerHTML='owned'</script><img src={server.url}/i onerror=alert(1)>"
        f"<link rel=stylesheet href={server.url}/c><style>@import '{server.url}/s';</style>"
        f"<iframe src={server.url}/f></iframe><svg onload=\"document.title='owned'\"><a href=javascript:alert(1)>x</a>"
    )
    picture = {"inlineData": {"mimeType": "image/png", "data": f'" onerror="x" src="{server.url}/d'}}
    records = [
        record("a", None, "user", [text(hostile), picture, {"fileData": {"fileUri": f"{server.url}/u"}}, text(HOOK)]),
        record("b", "a", "assistant", [text(f"```\n{hostile}\n```"), called("1", hostile, a=hostile)]),
        record("c", "b", "user", [text("y" * 1_000_000)], sessionId=hostile, model=hostile),
    ]
    dom = opened("".join(page(records, title=hostile)), tmp_path)
    assert server.asked == []
    body = dom[dom.index("<body>") :]
    assert set(re.findall(r"<([a-z0-9]+)", body)) <= {
        *("body", "header", "h1", "ul", "li", "code", "p", "span", "main", "article", "div", "h2", "h3", "a", "time"),
        *("details", "summary", "b", "footer"),
    }
    assert "<details open" not in body
    assert body.count('class="added by-hook"') == 1
    assert "&lt;/div&gt;&lt;/details&gt;&lt;script&gt;" in body
