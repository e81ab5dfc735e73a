"""Calls that may hang, given up after a timeout: in threads that take a call in microseconds, and on a loop.

Python cannot kill a thread. One that outlives its timeout runs on until its function returns, and is used again then;
all of them are daemons, so that none holds up the end of the program. A task can be cancelled, and may refuse it.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable, Coroutine
from queue import Empty, SimpleQueue
from typing import Any

from .abort import on_abort
from .base import HookResult

__all__ = ["STOP_SECONDS", "TooManyAbandoned", "call_in_worker", "call_on_loop"]

STOP_SECONDS = 1.0
"""What a cancelled task may take to end."""

_MOST_IDLE = 8
_MOST_ABANDONED = 64
_idle: list[_Worker] = []
_abandoned: set[_Call] = set()


class TooManyAbandoned(RuntimeError):
    """So many earlier calls still hang that another thread would not help."""


class _Call:
    """One call; its answer, or None once nobody waits for one any more, is put into `answers`."""

    __slots__ = ("answers", "context", "function")

    def __init__(self, function: Callable[[], HookResult]) -> None:
        self.function = function
        self.context = contextvars.copy_context()
        self.answers: SimpleQueue[HookResult | None] = SimpleQueue()

    def give_up(self) -> None:
        self.answers.put(None)


class _Worker:
    """A daemon thread that waits for calls."""

    __slots__ = ("inbox",)

    def __init__(self) -> None:
        self.inbox: SimpleQueue[_Call] = SimpleQueue()
        threading.Thread(target=self._work, name="firsthand-function-hook", daemon=True).start()

    def _work(self) -> None:
        while True:
            call = self.inbox.get()
            try:
                answer = call.context.run(call.function)
            except BaseException as error:  # noqa: BLE001 - a thread that ends would keep its caller waiting
                answer = _failed(f"it raised {type(error).__name__}")
            keep = len(_idle) < _MOST_IDLE
            if keep:
                _idle.append(self)
            call.answers.put(answer)
            # After the put: a caller that gave up adds the call first and looks once more.
            _abandoned.discard(call)
            if not keep:
                return
            del call, answer


def call_in_worker(function: Callable[[], HookResult], timeout: float) -> HookResult | None:
    """Call `function` in another thread with the caller's context variables.

    Returns what it returned (for what it raised, a failed result), or None after `timeout` seconds and once the turn is
    cancelled. Raises `TooManyAbandoned`.
    """
    if len(_abandoned) >= _MOST_ABANDONED:
        raise TooManyAbandoned
    call = _Call(function)
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.inbox.put(call)
    try:
        with on_abort(call.give_up):
            answer = call.answers.get(timeout=min(timeout, threading.TIMEOUT_MAX))
    except Empty:
        answer = None
    if answer is not None:
        return answer
    _abandoned.add(call)
    try:
        answer = call.answers.get_nowait()
    except Empty:
        return None
    _abandoned.discard(call)
    return answer


async def call_on_loop(coroutine: Coroutine[Any, Any, HookResult], seconds: float) -> HookResult | None:
    """Await `coroutine`, which may raise nothing but a cancel, as a task of the running loop.

    Returns its result, or None after `seconds`; then it is cancelled, and left behind if it refuses that.
    """
    import asyncio

    task = asyncio.ensure_future(coroutine)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            task.cancel()
            await asyncio.wait({task}, timeout=STOP_SECONDS)
    finally:
        if not task.done():
            task.cancel()
    if not done:
        return None
    return _failed("it was cancelled") if task.cancelled() else task.result()


def _failed(error: str) -> HookResult:
    return HookResult(success=False, outcome="non_blocking_error", error=f"the hook failed: {error}")


def _forget() -> None:
    _idle.clear()
    _abandoned.clear()


if hasattr(os, "register_at_fork"):
    # A forked child has none of these threads.
    os.register_at_fork(after_in_child=_forget)
