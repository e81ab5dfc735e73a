"""A turn that is cancelled stops the hooks that run for it, and those threads are free at once."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import json
import logging
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Settings
from middleware.hooks.abort import abort_descriptor, abortable, is_aborted, on_abort, without_abort
from middleware.hooks.exchange import Exchange, Unreachable
from middleware.hooks.weburl import parse
from middleware.testing import Captured, capture
from tests.pace import open_descriptors, settled_descriptors


class Cancelled(BaseException):
    pass


def in_another_thread(function: Any) -> threading.Thread:
    thread = threading.Thread(target=contextvars.copy_context().run, args=(function,))
    thread.start()
    return thread


def test_an_exception_that_leaves_the_block_stops_what_runs_under_it() -> None:
    stopped, entered = threading.Event(), threading.Event()

    def work() -> None:
        with on_abort(stopped.set):
            entered.set()
            assert stopped.wait(60)

    thread: list[threading.Thread] = []
    with pytest.raises(Cancelled), abortable():
        thread.append(in_another_thread(work))
        assert entered.wait(60)
        raise Cancelled
    thread[0].join(60)
    assert stopped.is_set()


def test_what_starts_after_the_abort_is_stopped_at_once() -> None:
    calls: list[str] = []
    kept: list[contextvars.Context] = []
    with pytest.raises(Cancelled), abortable():
        kept.append(contextvars.copy_context())
        raise Cancelled

    def work() -> None:
        with on_abort(lambda: calls.append("stop")):
            calls.append("work")

    kept[0].run(work)
    assert calls == ["stop", "work"] and kept[0].run(is_aborted)


def test_a_block_that_ends_well_stops_nothing() -> None:
    calls: list[str] = []
    with abortable(), on_abort(lambda: calls.append("stop")):
        pass
    assert calls == [] and not is_aborted()


def test_what_outlives_its_turn_is_not_stopped() -> None:
    calls: list[str] = []
    with pytest.raises(Cancelled), abortable():
        with without_abort(), on_abort(lambda: calls.append("stop")), abort_descriptor() as descriptor:
            assert descriptor is None
        raise Cancelled
    assert calls == []


def test_the_descriptor_is_closed_afterwards() -> None:
    with abortable(), abort_descriptor() as descriptor:
        assert descriptor is not None
        os.fstat(descriptor)
    with pytest.raises(OSError):
        os.fstat(descriptor)


def app_with(captured: Captured, folder: Path, *entries: dict[str, Any]) -> Middleware:
    file = folder / "hooks.json"
    file.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": list(entries)}]}}))
    return Middleware(Settings(hooks_file=str(file)), **captured.providers)


def waited(condition: Any) -> bool:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(condition())


def is_running(file: Path) -> bool:
    try:
        os.kill(int(file.read_text()), 0)
    except (ProcessLookupError, ValueError, FileNotFoundError):
        return False
    return True


@pytest.mark.parametrize("command", ["sleep 50", "trap '' TERM; sleep 50"], ids=["polite", "ignores SIGTERM"])
def test_a_cancelled_turn_ends_its_command_hooks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, command: str
) -> None:
    pids = [tmp_path / "one", tmp_path / "two"]
    entries = [{"type": "command", "command": f"echo $$ > {pid}; {command}"} for pid in pids]

    async def cancelled(app: Middleware, captured: Captured) -> None:
        async with captured.model.async_openai() as plain:
            call = app.wrap(plain).chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
            turn = asyncio.ensure_future(call)
            assert await asyncio.to_thread(waited, lambda: all(map(is_running, pids)))
            turn.cancel()
            with pytest.raises(asyncio.CancelledError):
                await turn

    with caplog.at_level(logging.WARNING), capture() as captured:
        app = app_with(captured, tmp_path, *entries)
        asyncio.run(cancelled(app, captured))
        assert waited(lambda: not any(map(is_running, pids)))
        assert waited(lambda: len(captured.spans_named("firsthand.hook")) == 2)
    outcomes = [
        dict(span.attributes or {})["firsthand.hook.outcome"] for span in captured.spans_named("firsthand.hook")
    ]
    assert outcomes == ["cancelled", "cancelled"]
    assert caplog.messages == [] and captured.requests == []


def unanswering() -> socket.socket:
    """Takes connections, and never says a word."""
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(200)
    return server


def full() -> socket.socket:
    """Takes no connection: its backlog is full."""
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(0)
    return server


@pytest.mark.parametrize(("server", "scheme"), [(unanswering, "http"), (unanswering, "https"), (full, "http")])
def test_a_cancelled_turn_ends_an_http_hook_wherever_it_waits(server: Any, scheme: str, tmp_path: Path) -> None:
    ended: list[str] = []
    with server() as listening, contextlib.ExitStack() as stack:
        port = listening.getsockname()[1]
        if server is full:
            for _ in range(3):
                taken = stack.enter_context(socket.socket())
                taken.setblocking(False)
                taken.connect_ex(("127.0.0.1", port))
        exchange = Exchange(parse(f"{scheme}://127.0.0.1:{port}/"), headers={}, body=b"{}", timeout=60)
        before = settled_descriptors()

        def run() -> None:
            try:
                exchange.run(["127.0.0.1"])
            except Unreachable as error:
                ended.append(str(error))

        thread = threading.Thread(target=run)
        thread.start()
        time.sleep(0.3)
        assert thread.is_alive()
        exchange.cancel()
        thread.join(60)
        assert len(ended) == 1
        assert open_descriptors() <= before


def test_an_exchange_that_is_given_up_before_it_begins_connects_to_nobody() -> None:
    with unanswering() as server:
        exchange = Exchange(parse(f"http://127.0.0.1:{server.getsockname()[1]}/"), headers={}, body=b"{}", timeout=60)
        exchange.cancel()
        with pytest.raises(Unreachable, match=r"^the exchange failed \(OSError\)$|^cancelled$"):
            exchange.run(["127.0.0.1"])
