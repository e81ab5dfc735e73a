"""What an `async` hook says is context of the next turn that can carry it, and waiting for it holds up nobody."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import openai
import pytest

from middleware import Middleware, Settings
from middleware.testing import Failure, capture
from tests.pace import no_hang


def settings(folder: Path, *commands: str, **more: Any) -> Settings:
    file = folder / "hooks.json"
    entries = [{"type": "command", "command": command, "async": True} for command in commands]
    file.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": entries}]}}))
    return Settings(hooks_file=str(file), **more)


def last_parts(request: dict[str, Any]) -> list[str]:
    content = request["messages"][-1]["content"]
    return [content] if isinstance(content, str) else [part["text"] for part in content]


def test_a_retry_sends_the_same_bytes_and_the_turn_after_it_hears_the_hook(tmp_path: Path) -> None:
    with capture("a", Failure(status=500), "c", "d") as captured:
        app = Middleware(settings(tmp_path, "true"), **captured.providers)
        session = app.open("s")
        history: Any = [{"role": "user", "content": "one"}]
        with captured.model.openai(max_retries=0) as plain:
            client = app.wrap(plain, session=session)
            client.chat.completions.create(model="m", messages=history)
            history += [{"role": "assistant", "content": "a"}, {"role": "user", "content": "two"}]
            with pytest.raises(openai.InternalServerError):
                client.chat.completions.create(model="m", messages=history)
            session.hear_later("LATE")
            client.chat.completions.create(model="m", messages=history)
            history += [{"role": "assistant", "content": "c"}, {"role": "user", "content": "three"}]
            client.chat.completions.create(model="m", messages=history)
    assert last_parts(captured.requests[2]) == ["two"]
    assert last_parts(captured.requests[3])[0] == "three" and "LATE" in last_parts(captured.requests[3])[1]


def test_hooks_that_nobody_waits_for_hold_up_no_other_session(tmp_path: Path) -> None:
    commands = [f"sleep 93; : {number}" for number in range(16)]
    with capture() as captured:
        slow = Middleware(settings(tmp_path, *commands), **captured.providers)
        shared = Settings(transcripts=str(tmp_path / "transcripts"))
        mine, theirs = (Middleware(shared, **captured.providers) for _ in range(2))
        history: Any = [{"role": "user", "content": "one"}]
        with captured.model.openai() as plain, no_hang():
            slow.wrap(plain).chat.completions.create(model="m", messages=history)
            mine.wrap(plain, session=mine.open("s")).chat.completions.create(model="m", messages=history)
            history += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": "two"}]
            theirs.wrap(plain, session=theirs.open("s")).chat.completions.create(model="m", messages=history)
        if hasattr(os, "fork"):
            assert forked_says(settings(tmp_path, "true"), captured) == "success"


def forked_says(given: Settings, captured: Any) -> str:
    """The outcome of an async hook in a child that is forked while 16 of them run here."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writable, "w") as out, captured.model.openai() as plain:
            Middleware(given, **captured.providers).wrap(plain).chat.completions.create(
                model="m", messages=[{"role": "user", "content": "x"}]
            )
            deadline = time.monotonic() + 60
            spans: list[Any] = []
            while not spans and time.monotonic() < deadline:
                time.sleep(0.01)
                spans = [dict(s.attributes or {}) for s in captured.spans_named("firsthand.hook true")]
            out.write(str(spans[0]["firsthand.hook.outcome"]) if spans else "nothing")
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as said:
        text = said.read()
    os.waitpid(child, 0)
    return text
