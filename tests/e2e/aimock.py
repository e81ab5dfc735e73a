"""`@copilotkit/aimock` in a process of its own, an LLM server that nobody here wrote, and callers of it."""

from __future__ import annotations

import asyncio
import collections
import inspect
import json
import re
import shutil
import subprocess
import threading
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import anthropic
import httpx2
import openai
import pytest

from .environments import alone
from .frameworks.stage import without

PACKAGE = "@copilotkit/aimock@1.43"
HERE = Path(__file__).parent
SCRIPT = HERE / "node_modules" / "@copilotkit" / "aimock" / "dist" / "aimock-cli.js"

TEXT = "one two three four five six"
FIXTURES = {
    "fixtures": [
        {"match": {"userMessage": "fail please"},
         "response": {"error": {"message": "scripted outage", "type": "overloaded_error"}, "status": 503}},
        {"match": {"userMessage": "look it up"},
         "response": {"toolCalls": [{"id": "call_1", "name": "look", "arguments": {"at": 1}}]}},
        {"match": {"toolCallId": "call_1"}, "response": {"content": "I looked."}},
        # By model and by how often the assistant has spoken: whatever the last message is.
        {"match": {"model": "searcher", "turnIndex": 0},
         "response": {"toolCalls": [{"id": "call_1", "name": "look", "arguments": {"at": 1}}]}},
        {"match": {"model": "searcher", "turnIndex": 1}, "response": {"content": "I looked."}},
        {"match": {"model": "searcher", "turnIndex": 2}, "response": {"content": "You are welcome."}},
        {"match": {"model": "guesser", "turnIndex": 0}, "response": {"content": "many"}},
        {"match": {"model": "guesser", "turnIndex": 1}, "response": {"content": "7"}},
        {"match": {"model": "speller", "turnIndex": 0}, "response": {"content": '{"value": "many"}'}},
        {"match": {"model": "speller", "turnIndex": 1}, "response": {"content": '{"value": 7}'}},
        {"match": {"model": "caller", "turnIndex": 0},
         "response": {"toolCalls": [{"id": "call_7", "name": "Number", "arguments": {"value": "many"}}]}},
        {"match": {"model": "caller", "turnIndex": 1},
         "response": {"toolCalls": [{"id": "call_8", "name": "Number", "arguments": {"value": 7}}]}},
        # Faults, by model.
        {"match": {"model": "failing"},
         "response": {"error": {"message": "scripted outage", "type": "overloaded_error"}, "status": 503}},
        {"match": {"model": "refusing"}, "response": {"content": ""}, "chaos": {"rateLimitRate": 1}},
        {"match": {"model": "dropping"}, "response": {"content": ""}, "chaos": {"disconnectRate": 1}},
        {"match": {"model": "babbling"}, "response": {"content": ""}, "chaos": {"malformedRate": 1}},
        {"match": {"model": "late"}, "response": {"content": ""}, "chaos": {"latencyMs": 600}},
        {"match": {"model": "breaking"}, "response": {"content": TEXT}, "chunkSize": 5, "latency": 10,
         "truncateAfterChunks": 7},
        {"match": {"model": "slow"}, "response": {"content": TEXT}, "chunkSize": 9, "latency": 20},
        {"match": {"model": "chunks"}, "response": {"content": TEXT}, "chunkSize": 5},
        {"match": {"inputText": "embed me"}, "response": {"embedding": [0.5, 0.25, 0.125]}},
        {"match": {"model": "seven"}, "response": {"content": '{"value": 7}'}},
        {"match": {}, "response": {"content": "Hello from aimock."}},
    ]
}  # fmt: skip


def installed() -> Path:
    """The server's script, installed when it is missing; fails, and never skips, without node or npm."""
    with alone("aimock"):
        if not SCRIPT.exists():
            npm = shutil.which("npm")
            if npm is None:
                pytest.fail("npm is missing: these tests need node 20 and npm (Debian: apt-get install nodejs npm)")
            options = ("--no-save", "--no-package-lock", "--no-audit", "--no-fund")
            done = subprocess.run(
                [npm, "install", *options, PACKAGE, "--prefix", str(HERE)], capture_output=True, text=True, timeout=300
            )
            if done.returncode or not SCRIPT.exists():
                pytest.fail(f"npm install {PACKAGE} failed with {done.returncode}: {done.stderr[-800:]}")
    return SCRIPT


class Aimock:
    """A running server of these fixtures; `journal()` is what it received, oldest first."""

    def __init__(self, folder: Path, fixtures: dict[str, Any] = FIXTURES) -> None:
        node = shutil.which("node")
        if node is None:
            pytest.fail("node is missing: the aimock tests need node 20 and npm (Debian: apt-get install nodejs npm)")
        (folder / "fixtures.json").write_text(json.dumps(fixtures))
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
        with opener.open(urllib.request.Request(f"{self.url}{path}", method=method), timeout=60) as answer:
            return json.load(answer)


OWN = ("id", "created", "created_at", "completed_at", "item_id", "obfuscation", "usage")


@dataclass
class Seen:
    """What a caller saw of one call, without what is made anew for every answer."""

    value: Any = None
    chunks: list[Any] = field(default_factory=list)
    error: tuple[type, str, type] | None = None


class Caller:
    """Makes clients of either colour and calls them."""

    def __init__(self, aimock: Aimock) -> None:
        self._url = aimock.url
        self._runner = asyncio.Runner()
        self._made: list[Any] = []

    def client(self, sdk: str, colour: str, **options: Any) -> Any:
        classes = {
            ("openai", "sync"): openai.OpenAI,
            ("openai", "async"): openai.AsyncOpenAI,
            ("anthropic", "sync"): anthropic.Anthropic,
            ("anthropic", "async"): anthropic.AsyncAnthropic,
        }
        url = f"{self._url}/v1" if sdk == "openai" else self._url
        made = classes[sdk, colour](api_key="k", base_url=url, max_retries=0, **options)
        self._made.append(made)
        return made

    def sees(self, call: Callable[..., Any], **fields: Any) -> Seen:
        seen = Seen()
        try:
            answer = call(**fields)
            if inspect.isawaitable(answer):
                self._runner.run(_read_later(answer, seen))
            elif hasattr(answer, "__next__"):
                for chunk in answer:
                    seen.chunks.append(_plain(chunk))
            else:
                seen.value = _plain(answer)
        except Exception as error:
            seen.error = (type(error), str(error), type(error.__cause__))
        return seen

    def close(self) -> None:
        for client in self._made:
            closing = client.close()
            if closing is not None:
                self._runner.run(closing)
        self._runner.close()


async def _read_later(awaitable: Any, seen: Seen) -> None:
    answer = await awaitable
    if hasattr(answer, "__anext__"):
        async for chunk in answer:
            seen.chunks.append(_plain(chunk))
    else:
        seen.value = _plain(answer)


def _plain(value: Any) -> Any:
    return without(value.model_dump(mode="json"), *OWN)


class Garbling(httpx2.HTTPTransport):
    """Breaks the seventh event of a stream on its way: aimock's own malformed mode has no events at all."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = super().handle_request(request)
        answer.stream = Garbled(answer.stream)
        return answer


class GarblingLater(httpx2.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = await super().handle_async_request(request)
        answer.stream = Garbled(answer.stream)
        return answer


class Garbled(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._events = 0
        self._rest = b""

    def __iter__(self) -> Iterator[bytes]:
        for data in self._stream:
            yield self._garbled(data)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._stream:
            yield self._garbled(data)

    def _garbled(self, data: bytes) -> bytes:
        *events, self._rest = (self._rest + data).split(b"\n\n")
        whole = b""
        for event in events:
            self._events += 1
            whole += (re.sub(rb"data: .*", b"data: {broken", event) if self._events == 7 else event) + b"\n\n"
        return whole

    def close(self) -> None:
        self._stream.close()

    async def aclose(self) -> None:
        await self._stream.aclose()
