"""The contract of hook executors, over the folder listing: a new file is tested by existing.

An executor needs an entry in `ways`: for its type, one hook for each way of ending. Without one its file fails here.
"""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import middleware.hooks as package
from middleware.hooks import Answer, CommandHook, FunctionHook, Hook, HookResult, PromptHook
from middleware.hooks.aggregate import context_of, is_blocking
from middleware.hooks.http import HttpHook
from middleware.hooks.select import executor_of
from tests.hooks.http_server import Connection, answer, serving

OUTCOMES = {"success", "blocking", "non_blocking_error", "timeout", "cancelled"}
WAYS = ("context", "nothing", "block", "crash", "timeout", "garbage")

EXECUTORS = sorted(
    module.name
    for module in pkgutil.iter_modules(package.__path__)
    if hasattr(importlib.import_module(f"middleware.hooks.{module.name}"), "EXECUTOR")
)


def _raise(given: object) -> None:
    raise RuntimeError("boom")


HTTP: dict[str, str] = {}


def _by_path(connection: Connection) -> None:
    way = connection.received.line.split()[1].strip("/")
    if way == "timeout":
        connection.hang()
    elif way != "crash":
        connection.send(
            answer(
                {
                    "context": b'{"hookSpecificOutput": {"additionalContext": "ctx"}}',
                    "nothing": b"",
                    "block": b'{"decision": "block", "reason": "no"}',
                    "garbage": b'{"\xff',
                }[way]
            )
        )


@pytest.fixture(scope="module", autouse=True)
def http_server() -> Iterator[None]:
    with serving(_by_path) as server:
        HTTP["url"] = server.url("/")
        yield


def _answering(text: str) -> PromptHook:
    return PromptHook(prompt="$ARGUMENTS", ask=lambda question: Answer(text=text))


def ways(kind: str) -> dict[str, Hook]:
    """For each way of ending, a hook of `kind` that ends so."""
    table: dict[str, dict[str, Hook]] = {
        "command": {
            "context": CommandHook(command="echo ctx"),
            "nothing": CommandHook(command="true"),
            "block": CommandHook(command="echo no >&2; exit 2"),
            "crash": CommandHook(command="kill -9 $$"),
            "timeout": CommandHook(command="sleep 20", timeout_ms=100),
            "garbage": CommandHook(command="printf '{\"\\377'"),
        },
        "function": {
            "context": FunctionHook(lambda given: "ctx"),
            "nothing": FunctionHook(lambda given: None),
            "block": FunctionHook(lambda given: {"decision": "block", "reason": "no"}),
            "crash": FunctionHook(_raise),
            "timeout": FunctionHook(lambda given: time.sleep(20), timeout_ms=100),
            "garbage": FunctionHook(lambda given: object()),
        },
        "prompt": {
            "context": _answering('{"ok": true, "additionalContext": "ctx"}'),
            "nothing": _answering('{"ok": true}'),
            "block": _answering('{"ok": false, "reason": "no"}'),
            "crash": PromptHook(prompt="$ARGUMENTS", ask=_raise),
            "timeout": PromptHook(prompt="$ARGUMENTS", ask=lambda question: time.sleep(20), timeout_ms=100),
            "garbage": _answering(""),
        },
        "http": {
            way: HttpHook(url=f"{HTTP.get('url')}{way}", timeout_ms=100 if way == "timeout" else 5000) for way in WAYS
        },
    }
    return table[kind]


CALLS: dict[str, Callable[[Hook, dict[str, object]], HookResult]] = {
    "call": lambda hook, payload: hook.call(payload),
    "call_async": lambda hook, payload: asyncio.run(hook.call_async(payload)),
}


@pytest.fixture
def payload(tmp_path: Path) -> dict[str, object]:
    return {"session_id": "s", "cwd": str(tmp_path), "hook_event_name": "UserPromptSubmit", "prompt": "p"}


def test_the_executors_are_the_files() -> None:
    assert {"command", "function", "http", "prompt"} <= set(EXECUTORS)


@pytest.mark.parametrize("kind", EXECUTORS)
def test_the_type_is_the_files_name_and_is_found_by_it(kind: str) -> None:
    executor = executor_of(kind)
    assert executor is not None
    assert executor.type == kind


@pytest.mark.parametrize("kind", EXECUTORS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", CALLS)
def test_every_way_of_ending_is_a_result(kind: str, way: str, how: str, payload: dict[str, object]) -> None:
    hook = ways(kind)[way]
    before = dict(payload)
    started = time.perf_counter()
    result = CALLS[how](hook, payload)
    wall = (time.perf_counter() - started) * 1000
    assert isinstance(result, HookResult)
    assert result.outcome in OUTCOMES
    # An http hook that was asked has always succeeded (1.10).
    assert result.success is (kind == "http" or result.outcome == "success")
    assert 0 < result.duration_ms <= wall
    assert payload == before
    expected = {
        "context": ("success", "ctx", False),
        "nothing": ("success", None, False),
        "block": ("blocking", None, True),
        "crash": ("non_blocking_error", None, False),
        "timeout": ("timeout", None, False),
        "garbage": ("non_blocking_error", None, False),
    }
    assert (result.outcome, context_of(result.output), is_blocking(result)) == expected[way]
    assert (result.error is not None) is (way in ("crash", "timeout", "garbage"))


@pytest.mark.parametrize("kind", EXECUTORS)
def test_what_a_hook_says_of_itself_has_the_right_types(kind: str) -> None:
    for hook in ways(kind).values():
        assert hook.type == kind
        assert hook.event == "UserPromptSubmit"
        assert isinstance(hook.name, str)
        assert hook.label
        assert " " not in hook.label
        assert hook.sequential is False
        assert hook.timeout_ms > 0
        assert hook.key
        assert isinstance(hook.is_async, bool)


@pytest.mark.parametrize("kind", EXECUTORS)
def test_hooks_are_frozen(kind: str) -> None:
    with pytest.raises(AttributeError):
        ways(kind)["context"].name = "x"  # type: ignore[misc]
