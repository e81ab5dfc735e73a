"""Python functions as hooks."""

from __future__ import annotations

import asyncio
import contextvars
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from middleware.errors import SettingsError
from middleware.hooks import FunctionHook, HookResult
from tests.pace import HANG

PAYLOAD = {"hook_event_name": "UserPromptSubmit", "prompt": "p"}


def call(fn: Callable[[dict[str, object]], Any], **options: Any) -> HookResult:
    return FunctionHook(fn, **options).call(PAYLOAD)


def raising(error: BaseException) -> Callable[[object], None]:
    def fn(given: object) -> None:
        raise error

    return fn


@pytest.mark.parametrize("value", [None, True])
def test_none_and_true_go_on(value: object) -> None:
    result = call(lambda given: value)
    assert (result.success, result.outcome, result.output) == (True, "success", {"continue": True})


def test_false_blocks() -> None:
    result = call(lambda given: False)
    assert (result.success, result.outcome, result.output) == (
        False,
        "blocking",
        {"decision": "block", "continue": False, "reason": "Blocked by function hook"},
    )


def test_a_string_is_context() -> None:
    result = call(lambda given: "c\ud800")
    assert result.output == {
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "c\ufffd"}
    }
    assert result.output_chars == 2


@pytest.mark.parametrize("output", [{"decision": "deny"}, {"decision": "block", "reason": "r"}, {"continue": False}])
def test_a_mapping_that_refuses_is_blocking(output: dict[str, object]) -> None:
    result = call(lambda given: output)
    assert (result.success, result.outcome, result.output) == (False, "blocking", output)


def test_a_mapping_is_taken_as_it_is_with_its_warnings() -> None:
    result = call(lambda given: {"systemMessage": "m", "additionalContext": "misplaced"})
    assert (result.success, result.output) == (True, {"systemMessage": "m"})
    assert result.warnings == ("additionalContext at the top level is ignored; put it into hookSpecificOutput",)


def test_a_dataclass_is_taken_by_its_fields() -> None:
    @dataclass
    class Said:
        decision: str | None = None
        reason: str | None = None

    assert call(lambda given: Said(decision="deny", reason="r")).output == {"decision": "deny", "reason": "r"}
    assert call(lambda given: Said()).output == {}


@pytest.mark.parametrize("value", [0, 1, 1.5, ["ctx"], b"ctx", object(), HookResult])
def test_anything_else_is_a_failed_hook(value: object) -> None:
    result = call(lambda given: value)
    assert (result.success, result.outcome, result.output) == (False, "non_blocking_error", None)
    assert f"returned {type(value).__name__}; return None" in (result.error or "")


@pytest.mark.parametrize("error", [ValueError("boom"), SystemExit("boom"), KeyboardInterrupt("boom")])
def test_whatever_it_raises_is_a_failed_hook(error: BaseException) -> None:
    result = call(raising(error))
    assert (result.success, result.outcome) == (False, "non_blocking_error")
    assert result.error == f"function hook raised {type(error).__name__}: boom"


def test_the_payload_is_a_copy() -> None:
    call(lambda given: given.clear())
    assert PAYLOAD == {"hook_event_name": "UserPromptSubmit", "prompt": "p"}


def test_a_function_that_hangs_is_left_behind() -> None:
    release = threading.Event()
    result = call(lambda given: release.wait(HANG), timeout_ms=50)
    assert not release.is_set()
    release.set()
    assert (result.outcome, result.error, result.output) == ("timeout", "Hook timed out after 0.05s", None)
    assert result.duration_ms >= 50


def test_so_many_hanging_functions_are_refused_and_recover() -> None:
    release = threading.Event()
    hook = FunctionHook(lambda given: release.wait(60), timeout_ms=1)
    results = [hook.call(PAYLOAD) for _ in range(66)]
    assert results[-1].error == "too many earlier calls of function hooks still hang"
    release.set()
    deadline = time.monotonic() + 60
    while not call(lambda given: True).success and time.monotonic() < deadline:
        time.sleep(0.01)
    assert call(lambda given: True).success


def test_a_function_sees_the_callers_context_variables() -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("callers")
    hook = FunctionHook(lambda given: variable.get())
    assert hook.call(PAYLOAD).output_chars == len("callers")


def test_a_hook_may_call_a_hook() -> None:
    inner = FunctionHook(lambda given: "inner")
    outer = FunctionHook(lambda given: inner.call(given).output)
    assert outer.call(PAYLOAD).output == inner.call(PAYLOAD).output


def test_a_hanging_function_does_not_keep_the_program_alive() -> None:
    script = (
        "import time\n"
        "from middleware.hooks import FunctionHook\n"
        "print(FunctionHook(lambda given: time.sleep(60), timeout_ms=50).call({}).outcome)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "timeout\n"


def test_a_forked_child_gets_threads_of_its_own() -> None:
    script = (
        "import os\n"
        "from middleware.hooks import FunctionHook\n"
        "hook = FunctionHook(lambda given: True)\n"
        "hook.call({})\n"
        "if os.fork() == 0:\n"
        "    os._exit(0 if hook.call({}).success else 1)\n"
        "print(os.wait()[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "0\n"


async def context(given: dict[str, object]) -> str:
    await asyncio.sleep(0)
    return f"async {given['prompt']}"


class Awaitable:
    async def __call__(self, given: dict[str, object]) -> str:
        return "object"


@pytest.mark.parametrize("fn", [context, partial(context), Awaitable()])
def test_an_async_function_is_known_as_one(fn: Callable[[dict[str, object]], Any]) -> None:
    hook = FunctionHook(fn)
    assert hook.is_async
    assert asyncio.run(hook.call_async(PAYLOAD)).success
    assert hook.call(PAYLOAD).success


def test_an_async_function_is_awaited_on_the_callers_loop() -> None:
    async def main() -> tuple[object, HookResult]:
        async def fn(given: dict[str, object]) -> bool:
            return asyncio.get_running_loop() is loop

        loop = asyncio.get_running_loop()
        return loop, await FunctionHook(fn).call_async(PAYLOAD)

    assert asyncio.run(main())[1].output == {"continue": True}


def test_an_async_function_can_be_called_from_sync_code_inside_a_loop() -> None:
    async def main() -> HookResult:
        return FunctionHook(context).call(PAYLOAD)

    assert asyncio.run(main()).output_chars == len("async p")


def test_a_function_that_returns_a_coroutine_is_awaited() -> None:
    assert call(lambda given: context(given)).output_chars == len("async p")


def test_a_sync_function_can_be_awaited() -> None:
    assert asyncio.run(FunctionHook(lambda given: "ctx").call_async(PAYLOAD)).output_chars == 3


@pytest.mark.parametrize("way", ["async", "sync"])
def test_an_async_function_that_hangs_times_out_and_is_cancelled(way: str) -> None:
    ended: list[str] = []

    async def fn(given: dict[str, object]) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")

    hook = FunctionHook(fn, timeout_ms=50)
    result = asyncio.run(hook.call_async(PAYLOAD)) if way == "async" else hook.call(PAYLOAD)
    assert (result.outcome, ended) == ("timeout", ["ended"])


def test_an_async_function_that_refuses_to_be_cancelled_is_left_behind() -> None:
    async def main() -> HookResult:
        release = asyncio.Event()

        async def fn(given: dict[str, object]) -> None:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue

        result = await FunctionHook(fn, timeout_ms=50).call_async(PAYLOAD)
        release.set()
        await asyncio.sleep(0)
        return result

    result = asyncio.run(main())
    assert result.outcome == "timeout"


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit("x"), KeyboardInterrupt("x"), asyncio.CancelledError()])
def test_whatever_an_async_function_raises_is_a_failed_hook(error: BaseException) -> None:
    async def fn(given: dict[str, object]) -> None:
        raise error

    for result in (asyncio.run(FunctionHook(fn).call_async(PAYLOAD)), FunctionHook(fn).call(PAYLOAD)):
        assert (result.success, result.outcome) == (False, "non_blocking_error")


def test_a_cancel_of_the_caller_reaches_the_function_and_the_caller() -> None:
    cancelled: list[bool] = []

    async def fn(given: dict[str, object]) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def main() -> None:
        task = asyncio.ensure_future(FunctionHook(fn).call_async(PAYLOAD))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)

    asyncio.run(main())
    assert cancelled == [True]


def test_a_label_is_the_name_or_the_functions_own() -> None:
    assert FunctionHook(context).label == "context"
    assert FunctionHook(context, name="ctx").label == "ctx"
    assert FunctionHook(Awaitable()).label == "Awaitable"


def test_what_is_no_function_or_no_time_is_refused() -> None:
    with pytest.raises(TypeError, match="not str"):
        FunctionHook("x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="timeout is 0"):
        FunctionHook(context, timeout_ms=0)


def test_a_file_cannot_hold_a_function() -> None:
    with pytest.raises(SettingsError, match=r"app\.hook"):
        FunctionHook.configured({}, event="UserPromptSubmit", sequential=False, where="f")


def test_what_it_raised_is_placed_by_file_line_and_name_and_by_the_line_that_it_called() -> None:
    def boom(payload: object) -> None:
        int("SAID")
        raise ValueError("SAID")

    def calls(payload: object) -> object:
        return sys.intern(subprocess.check_output)  # type: ignore[arg-type]

    async def later(payload: object) -> None:
        raise ValueError("SAID")

    def parses(payload: object) -> object:
        return partial(json.loads, "{")()

    first = boom.__code__.co_firstlineno
    assert call(boom).raised_at == f"test_function.py:{first + 1} in boom"
    assert call(calls).raised_at == f"test_function.py:{calls.__code__.co_firstlineno + 1} in calls"
    assert call(later).raised_at == f"test_function.py:{later.__code__.co_firstlineno + 1} in later"
    assert call(partial(boom)).raised_at == f"test_function.py:{first + 1} in boom"
    placed = call(parses).raised_at
    assert placed.startswith(f"test_function.py:{parses.__code__.co_firstlineno + 1} in parses, from decoder.py:")
    assert call(lambda given: None).raised_at == ""


@pytest.mark.parametrize("timeout", ["5", None, True])
def test_a_timeout_that_is_no_number_is_an_error_that_says_the_unit(timeout: Any) -> None:
    with pytest.raises(TypeError, match=rf"timeout is {timeout!r}, no number; give milliseconds, 5000 for five sec"):
        FunctionHook(print, timeout_ms=timeout)


def test_a_timeout_below_zero_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match="timeout is -5; give milliseconds over 0"):
        FunctionHook(print, timeout_ms=-5)


def test_a_misspelt_field_of_a_dataclass_is_named() -> None:
    @dataclass
    class Said:
        hook_specific_output: dict[str, str]

    assert call(lambda given: Said({"additionalContext": "c"})).warnings == (
        "the answer has a key that is unknown and ignored; did you mean hookSpecificOutput?",
    )
