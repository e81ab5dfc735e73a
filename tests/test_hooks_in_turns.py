"""Hooks of a turn that is cancelled, and hooks that no thread was free for."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from middleware import HookBlocked, Middleware, Settings
from middleware.crew import Crew
from middleware.testing import Captured, capture


def told(captured: Captured) -> list[tuple[str, object, bool]]:
    """Name, outcome and success of the hook spans."""
    return sorted(
        (
            span.name,
            (span.attributes or {})["firsthand.hook.outcome"],
            bool((span.attributes or {})["firsthand.hook.success"]),
        )
        for span in captured.spans
        if span.name.startswith("firsthand.hook ")
    )


def file_of(tmp_path: Path, *entries: dict[str, Any]) -> str:
    file = tmp_path / "hooks.json"
    file.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": list(entries)}]}}))
    return str(file)


@pytest.mark.parametrize("kind", ["async function", "command", "two commands"])
def test_a_hook_of_a_cancelled_turn_has_a_span_that_says_so(kind: str, tmp_path: Path) -> None:
    async def slow(payload: Any) -> None:
        (tmp_path / "runs-slow").touch()
        await asyncio.sleep(60)

    async def cut(limit: asyncio.Timeout, names: list[str]) -> None:
        for _ in range(6000):
            if all((tmp_path / f"runs-{name}").exists() for name in names):
                break
            await asyncio.sleep(0.01)
        limit.reschedule(0)

    async def run(captured: Captured) -> None:
        commands = {"command": ["a"], "two commands": ["a", "b"]}.get(kind, [])
        sleeps = {name: f"touch {tmp_path}/runs-{name}; sleep 60" for name in commands}
        file = file_of(tmp_path, *({"type": "command", "name": name, "command": it} for name, it in sleeps.items()))
        hooks = [slow] if not commands else []
        app = Middleware(Settings(hooks_file=file if commands else None), hooks=hooks, **captured.providers)
        client = app.wrap(captured.model.async_openai())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60) as limit:
                watch = asyncio.ensure_future(cut(limit, commands or ["slow"]))
                await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
        await watch
        # The threads of its hooks find out by themselves.
        for _ in range(3000):
            if len(told(captured)) >= len(commands):
                break
            await asyncio.sleep(0.01)

    with capture() as captured:
        asyncio.run(run(captured))
        names = {"async function": ["slow"], "command": ["a"], "two commands": ["a", "b"]}[kind]
        assert told(captured) == [(f"firsthand.hook {name}", "cancelled", False) for name in names]


@pytest.mark.parametrize("closed", [False, True])
def test_a_hook_whose_time_is_over_before_a_thread_is_free_has_timed_out_unrun(
    closed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("middleware.drive.hooking", Crew(1))
    second: dict[str, Any] = {"type": "command", "name": "b", "command": f"touch {tmp_path}/ran", "timeout": 0.2}
    if closed:
        second["failMode"] = "closed"
    file = file_of(tmp_path, {"type": "command", "name": "a", "command": "sleep 1"}, second)
    with capture() as captured, Middleware(Settings(hooks_file=file), **captured.providers) as app:
        client = app.wrap(captured.model.openai())
        messages: Any = [{"role": "user", "content": "hi"}]
        if closed:
            with pytest.raises(
                HookBlocked, match=r'Hook "b" failed and its failMode is closed: Hook timed out after 0.2s'
            ):
                client.chat.completions.create(model="m", messages=messages)
        else:
            client.chat.completions.create(model="m", messages=messages)
        assert told(captured) == [("firsthand.hook a", "success", True), ("firsthand.hook b", "timeout", False)]
    assert not (tmp_path / "ran").exists()
