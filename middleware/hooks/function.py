"""Executor `function`: a Python function of the application, called with the payload.

A function runs in a worker thread so that a timeout holds; Python cannot kill a thread, so one that never returns
keeps its thread until the program ends. Source: hooks-and-transcripts 1.12, but an exception's text is an `error`.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from ..errors import SettingsError
from ..parts import clean
from .aggregate import blocks, context_of
from .base import HookResult, Payload
from .output import checked, timed_out
from .workers import STOP_SECONDS, TooManyAbandoned, call_in_worker, call_on_loop

__all__ = ["EXECUTOR", "FunctionHook"]

BLOCKED = "Blocked by function hook"
_numbers = itertools.count()


@dataclass(frozen=True, slots=True, init=False)
class FunctionHook:
    """A function of one argument, the payload as a dict of its own.

    It returns None or True (go on), False (block), a string (context), a mapping or dataclass in the reference's
    output shape; it may be `async`. Whatever it raises, `SystemExit` and `KeyboardInterrupt` among it, is a failed
    hook and never reaches the caller. `timeout_ms` is milliseconds.
    """

    type: ClassVar[str] = "function"

    fn: Callable[[dict[str, object]], Any]
    event: str
    name: str
    timeout_ms: int
    sequential: bool
    key: str

    def __init__(
        self,
        fn: Callable[[dict[str, object]], Any],
        event: str = "UserPromptSubmit",
        name: str | None = None,
        timeout_ms: int = 5000,
        *,
        sequential: bool = False,
    ) -> None:
        if not callable(fn):
            raise TypeError(f"a function hook needs a function, not {type(fn).__name__}")
        if isinstance(timeout_ms, bool) or not isinstance(timeout_ms, (int, float)):
            raise TypeError(f"timeout is {timeout_ms!r}, no number; give milliseconds, 5000 for five seconds")
        if not 0 < timeout_ms < math.inf:
            raise ValueError(f"timeout is {timeout_ms}; give milliseconds over 0")
        # A key of its own for every hook: functions are not de-duplicated (1.6).
        values = (fn, event, name or "", timeout_ms, sequential, f"function:{next(_numbers)}")
        for attribute, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, attribute, value)

    @property
    def label(self) -> str:
        """The configured name, or the function's own."""
        return self.name or getattr(self.fn, "__name__", "") or type(self.fn).__name__

    @property
    def is_async(self) -> bool:
        """Whether the function is declared `async`."""
        return inspect.iscoroutinefunction(self.fn) or inspect.iscoroutinefunction(
            getattr(self.fn, "__call__", None)  # noqa: B004 - an object whose __call__ is async
        )

    def call(self, payload: Payload) -> HookResult:
        """Run it in a worker thread and wait; see `Hook.call`."""
        started = time.perf_counter()
        seconds = self.timeout_ms / 1000
        try:
            if self.is_async:
                answer = call_in_worker(lambda: self._in_new_loop(payload), seconds + 2 * STOP_SECONDS)
            else:
                answer = call_in_worker(lambda: self._guarded(payload), seconds)
        except TooManyAbandoned:
            answer = _failed("too many earlier calls of function hooks still hang")
        except Exception as error:  # noqa: BLE001 - no hook may break the turn (a thread cannot be started)
            answer = _failed(f"function hook could not be started: {type(error).__name__}")
        result = timed_out(self.timeout_ms) if answer is None else answer
        return replace(result, duration_ms=(time.perf_counter() - started) * 1000)

    async def call_async(self, payload: Payload) -> HookResult:
        """Await it on the running loop; a synchronous function is called in a worker thread."""
        import asyncio

        if not self.is_async:
            return await asyncio.to_thread(self.call, payload)
        started = time.perf_counter()
        result = await call_on_loop(self._awaited(self.fn, dict(payload)), self.timeout_ms / 1000)
        result = timed_out(self.timeout_ms) if result is None else result
        return replace(result, duration_ms=(time.perf_counter() - started) * 1000)

    def _guarded(self, payload: Payload) -> HookResult:
        try:
            value = self.fn(dict(payload))
            if inspect.isawaitable(value):
                return self._in_new_loop(payload, value)
            return self._read(value)
        except BaseException as error:  # noqa: BLE001 - this thread is ours: nothing of a hook may end it
            return self._raised(error)

    def _in_new_loop(self, payload: Payload, awaitable: Any = None) -> HookResult:
        import asyncio

        try:
            if awaitable is not None:
                return asyncio.run(self._awaited(lambda _: awaitable, {}))
            return asyncio.run(self.call_async(payload))
        except BaseException as error:  # noqa: BLE001 - as above
            return self._raised(error)

    async def _awaited(self, fn: Callable[[dict[str, object]], Any], payload: dict[str, object]) -> HookResult:
        try:
            return self._read(await fn(payload))
        except BaseException as error:
            # A cancel is the driver's own; whatever else a function raises is a failed hook.
            import asyncio

            if isinstance(error, asyncio.CancelledError):
                raise
            return self._raised(error)

    def _raised(self, error: BaseException) -> HookResult:
        try:
            said = clean(str(error))
        except Exception:  # noqa: BLE001 - an exception may fail to say what it is
            said = "it cannot be shown"
        result = _failed(f"function hook raised {type(error).__name__}: {said}")
        return replace(result, raised_at=_place_of(error, self._file()))

    def _file(self) -> str:
        """The file that the function is written in, as frames name it; "" if it has none."""
        fn = inspect.unwrap(getattr(self.fn, "func", self.fn))
        code = getattr(fn, "__code__", None) or getattr(getattr(fn, "__call__", None), "__code__", None)  # noqa: B004
        return getattr(code, "co_filename", "")

    def _read(self, value: object) -> HookResult:
        if value is None or value is True:
            return HookResult(success=True, outcome="success", output={"continue": True})
        if value is False:
            output: Mapping[str, object] = {"decision": "block", "continue": False, "reason": BLOCKED}
            return HookResult(success=False, outcome="blocking", output=output)
        if isinstance(value, str):
            context = clean(value)
            output = {"hookSpecificOutput": {"hookEventName": self.event, "additionalContext": context}}
            return HookResult(success=True, outcome="success", output=output, output_chars=len(context))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = {key: item for key, item in dataclasses.asdict(value).items() if item is not None}
        if not isinstance(value, Mapping):
            return _failed(
                f"function hook returned {type(value).__name__}; return None, a bool, a str, a mapping or a dataclass"
            )
        output, warnings = checked(self.event, value)
        blocking = blocks(self.event, output)[0]
        return HookResult(
            success=not blocking,
            outcome="blocking" if blocking else "success",
            output=output,
            output_chars=len(context_of(output) or ""),
            warnings=warnings,
        )

    @classmethod
    def configured(
        cls, entry: Mapping[str, object], *, event: str, sequential: bool, where: str
    ) -> tuple[FunctionHook, tuple[str, ...]]:
        """Always raises `SettingsError`: a file cannot hold a function."""
        raise SettingsError(f"{where}: a function hook cannot stand in a file; register it in code with app.hook()")


EXECUTOR = FunctionHook


def _failed(error: str) -> HookResult:
    return HookResult(success=False, outcome="non_blocking_error", error=error)


def _place_of(error: BaseException, file: str) -> str:
    """Where it was raised: the hook's own line, in `file`, and behind it the line that it called. No path, no text."""
    frames = [
        (frame.f_code.co_filename, f"{Path(frame.f_code.co_filename).name}:{line} in {frame.f_code.co_name}")
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename != __file__
    ]
    if not frames:
        return ""
    own = next((place for name, place in reversed(frames) if name == file), frames[-1][1])
    last = frames[-1][1]
    return own if own == last else f"{own}, from {last}"
