"""Asking an HTTP hook in a test."""

from __future__ import annotations

import json
from typing import Any

from middleware.hooks import HookResult
from middleware.hooks.http import HttpHook
from middleware.turn import HookInput, Scene
from tests.hooks.http_server import Script, serving

CONTEXT = json.dumps({"hookSpecificOutput": {"additionalContext": "ctx"}}).encode()


def payload(prompt: str = "hello") -> dict[str, object]:
    return HookInput(scene=Scene(session_id="s"), prompt=prompt).payload("2026-01-02T03:04:05.678Z")


def ask(script: Script, *, prompt: str = "hello", **options: Any) -> HookResult:
    """The result of one call to a server that answers so."""
    with serving(script) as server:
        return HttpHook(url=server.url(), **options).call(payload(prompt))


def fails(result: HookResult, error: str) -> None:
    """The turn goes on, the result says why."""
    assert (result.success, result.outcome, result.output) == (True, "non_blocking_error", {"continue": True})
    assert result.error is not None
    assert error in result.error
