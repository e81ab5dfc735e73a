"""`@copilotkit/aimock` in a process of its own: an LLM server that nobody here wrote."""

from __future__ import annotations

import collections
import json
import shutil
import subprocess
import threading
import urllib.request
from pathlib import Path
from typing import Any, Self

import pytest

PACKAGE = "@copilotkit/aimock@1.43"
HERE = Path(__file__).parent
SCRIPT = HERE / "node_modules" / "@copilotkit" / "aimock" / "dist" / "aimock-cli.js"

FIXTURES = {
    "fixtures": [
        {"match": {"userMessage": "fail please"},
         "response": {"error": {"message": "scripted outage", "type": "overloaded_error"}, "status": 503}},
        {"match": {"userMessage": "look it up"},
         "response": {"toolCalls": [{"id": "call_1", "name": "look", "arguments": {"at": 1}}]}},
        {"match": {"toolCallId": "call_1"}, "response": {"content": "I looked."}},
        {"match": {}, "response": {"content": "Hello from aimock."}},
    ]
}  # fmt: skip


def installed() -> Path:
    """The server's script, installed when it is missing; fails, and never skips, without node or npm."""
    if not SCRIPT.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.fail("npm is missing: the aimock tests need node 20 and npm (Debian: apt-get install nodejs npm)")
        options = ("--no-save", "--no-package-lock", "--no-audit", "--no-fund")
        done = subprocess.run(
            [npm, "install", *options, PACKAGE, "--prefix", str(HERE)], capture_output=True, text=True, timeout=110
        )
        if done.returncode or not SCRIPT.exists():
            pytest.fail(f"npm install {PACKAGE} failed with {done.returncode}: {done.stderr[-800:]}")
    return SCRIPT


class Aimock:
    """A running server; `journal()` is what it received since `forget()`, oldest first."""

    def __init__(self, folder: Path) -> None:
        node = shutil.which("node")
        if node is None:
            pytest.fail("node is missing: the aimock tests need node 20 and npm (Debian: apt-get install nodejs npm)")
        (folder / "fixtures.json").write_text(json.dumps(FIXTURES))
        (folder / "aimock.json").write_text(json.dumps({"llm": {"fixtures": str(folder / "fixtures.json")}}))
        command = [node, str(installed()), "--config", str(folder / "aimock.json"), "--port", "0"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder
        )
        self._drain: threading.Thread | None = None
        self.url = ""

    def __enter__(self) -> Self:
        output = self._process.stdout
        assert output is not None
        said = []
        for line in output:
            said.append(line)
            if "http://127.0.0.1:" in line:
                self.url = "http://127.0.0.1:" + line.rpartition("http://127.0.0.1:")[2].strip().rstrip("/.")
                break
        else:
            self.__exit__()
            pytest.fail(f"aimock did not start: {''.join(said)[-800:]}")
        # What it prints later is thrown away, so that it never waits for a reader.
        self._drain = threading.Thread(target=collections.deque, args=(output, 0), daemon=True)
        self._drain.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._drain is not None:
            self._drain.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def journal(self) -> list[dict[str, Any]]:
        """The journal's entries: path, status and decoded body of every request to a model."""
        entries = self._ask("GET", "/__aimock/journal")
        return list(entries if isinstance(entries, list) else entries["requests"])

    def _ask(self, method: str, path: str) -> Any:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(f"{self.url}{path}", method=method), timeout=10) as answer:
            return json.load(answer)
