"""The sync and the async driver: they run a turn's generator and perform its steps.

Sync is the base colour of stores and hook executors. The async driver crosses over with threads of our own
(the loop's default pool has a few, and one hung hook would starve it) and awaits async function hooks on the
caller's own loop.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from recall_store import Match, Store

from . import context
from .crew import Busy, hooking, reading, result_of, searching, waiting
from .hooks import (
    Ask,
    CallHooks,
    Hook,
    HookResult,
    HookSet,
    abortable,
    context_of,
    counts_as_success,
    effects,
    is_aborted,
    too_late,
    without_abort,
)
from .injection import Memory
from .ledger import CatchUp, Wait
from .matches import held_already, memories_of
from .telemetry import HookTrace, TurnTrace
from .turn import Recall, RunHooks

__all__ = ["Fetch", "drive", "drive_async"]

T = TypeVar("T")
_log = logging.getLogger("firsthand")
_warned: set[str] = set()


def drive(steps: Generator[Any, Any, T], perform: Callable[[Any], Any]) -> T:
    """Run a generator of steps to its end, performing each where it stands."""
    answer: Any = None
    try:
        step = next(steps)
        while True:
            try:
                answer = perform(step)
            except BaseException as error:  # noqa: BLE001  (it goes into the generator, which decides)
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


async def drive_async(steps: Generator[Any, Any, T], perform: Callable[[Any], Awaitable[Any]]) -> T:
    """Run a generator of steps to its end, awaiting each."""
    answer: Any = None
    try:
        step = next(steps)
        while True:
            try:
                answer = await perform(step)
            except BaseException as error:  # noqa: BLE001  (it goes into the generator, which decides)
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


class Fetch:
    """Performs the steps of one turn: runs hooks, asks the store, waits for a flight.

    `store` None means that nothing is recalled; `recall_timeout` is in seconds. `ask` puts a prompt hook's question
    to the unwrapped client; `later` takes what a background hook says once it has ended.
    """

    def __init__(
        self,
        *,
        trace: TurnTrace,
        hooks: HookSet,
        store: Store | None = None,
        store_id: str = "",
        namespace: str | None = None,
        top_k: int = 5,
        recall_timeout: float = 0.1,
        ask: Ask | None = None,
        later: Callable[[str], None] | None = None,
    ) -> None:
        self._trace = trace
        self._hooks = hooks
        self._store = store
        self._store_id = store_id
        self._namespace = namespace
        self._top_k = top_k
        self._recall_timeout = recall_timeout
        self._ask = ask
        self._later = later

    def perform(self, step: object) -> object:
        """Answer a step, in the caller's thread or one of ours."""
        match step:
            case RunHooks():
                return drive(self._hooks.steps(step.input, now=_now), self.perform)
            case CallHooks():
                return self._call_hooks(step)
            case Recall():
                return self._recalled(self._asked(step), step)
            case Wait():
                return _waited(step)
            case CatchUp():
                step.read()
                return None
        raise TypeError(f"no driver performs {type(step).__name__}")

    async def perform_async(self, step: object) -> object:
        """Answer a step without holding up the caller's loop."""
        import asyncio

        match step:
            case RunHooks():
                return await drive_async(self._hooks.steps(step.input, now=_now), self.perform_async)
            case CallHooks():
                with abortable():
                    return list(await asyncio.gather(*(self._call_hook_async(*call) for call in step.calls)))
            case Recall():
                search = self._asked(step)
                waiting = asyncio.wrap_future(search)
                # An answer that comes too late is nobody's: asyncio would log its exception, and that may quote.
                waiting.add_done_callback(lambda late: late.cancelled() or late.exception())
                await asyncio.wait([waiting], timeout=self._recall_timeout)
                return self._recalled(search, step, timeout=0)
            case Wait():
                await asyncio.shield(asyncio.wrap_future(step.flight.landed))
                return True
            case CatchUp():
                return await asyncio.wrap_future(reading.submit(step.read))
        raise TypeError(f"no driver performs {type(step).__name__}")

    def _call_hooks(self, step: CallHooks) -> list[HookResult]:
        if len(step.calls) == 1:
            return [self._call_hook(*step.calls[0])]
        with abortable():
            calls = [(hook, self._submitted(hook, payload)) for hook, payload in step.calls]
            return [self._ended(hook, future) for hook, future in calls]

    def _ended(self, hook: Hook, future: Future[HookResult]) -> HookResult:
        try:
            return result_of(future)
        except Busy:
            return self._busy(hook)

    def _busy(self, hook: Hook) -> HookResult:
        trace = self._trace.start_hook(event=hook.event, type=hook.type, label=hook.label)
        error = "no thread can be started for it"
        return _reported(hook, HookResult(success=False, outcome="non_blocking_error", error=error), trace)

    def _submitted(self, hook: Hook, payload: Any) -> Future[HookResult]:
        asked = time.monotonic()

        def call() -> HookResult:
            # Where all threads are taken the wait for one is part of a hook's time.
            waited = time.monotonic() - asked
            return self._call_hook(hook, payload, late=waited * 1000 > hook.timeout_ms)

        return hooking.submit(call)

    def _call_hook(self, hook: Hook, payload: Any, *, late: bool = False) -> HookResult:
        if getattr(hook, "background", False):
            return self._call_in_background(hook, payload)
        trace = self._trace.start_hook(event=hook.event, type=hook.type, label=hook.label)
        with context.inside(), trace.current(), _cancelled(trace):
            result = self._bound(hook).call(payload) if not late else too_late(hook)
        if is_aborted():
            result = replace(result, outcome="cancelled")
        return _reported(hook, result, trace)

    async def _call_hook_async(self, hook: Hook, payload: Any) -> HookResult:
        import asyncio

        hook = self._bound(hook)
        if getattr(hook, "background", False):
            return self._call_in_background(hook, payload)
        if not hook.is_async:
            try:
                return await asyncio.wrap_future(self._submitted(hook, payload))
            except Busy:
                return self._busy(hook)
        trace = self._trace.start_hook(event=hook.event, type=hook.type, label=hook.label)
        with context.inside(), trace.current(), _cancelled(trace):
            result = await hook.call_async(payload)
        return _reported(hook, result, trace)

    def _bound(self, hook: Hook) -> Hook:
        asking = getattr(hook, "asking", None)
        bound: Hook = asking(self._ask) if asking is not None and self._ask is not None else hook
        return bound

    def _call_in_background(self, hook: Hook, payload: Any) -> HookResult:
        trace = self._trace.start_hook(event=hook.event, type=hook.type, label=hook.label)
        goes_on: dict[str, object] = {"continue": True}

        def run() -> None:
            with context.inside(), without_abort():
                result = _reported(hook, hook.call(payload), trace)
            said = context_of(result.output)
            if said and self._later is not None:
                self._later(said)

        started = waiting.submit(run, queued=False)
        if started.done() and isinstance(started.exception(), Busy):
            refused = HookResult(
                success=False, outcome="non_blocking_error", output=goes_on, error="too many async hooks are running"
            )
            return _reported(hook, refused, trace)
        return HookResult(success=True, outcome="success", output=goes_on)

    def _asked(self, step: Recall) -> Future[list[Match]]:
        return searching.submit(self._search, step, queued=False)

    def _search(self, step: Recall) -> list[Match]:
        if self._store is None or self._namespace is None:
            return []
        with context.inside():
            # What is in this request already is not delivered again: ask for as many more.
            wanted = self._top_k + min(len(step.delivered), 4 * self._top_k)
            return self._store.search(namespace=self._namespace, query=step.query, top_k=wanted)

    def _recalled(
        self, search: Future[list[Match]], step: Recall, *, timeout: float | None = None
    ) -> tuple[Memory, ...]:
        trace = self._trace.start_recall(store_id=self._store_id, remote=not self._store_id.startswith("sqlite"))
        started = time.perf_counter()
        outcome: Literal["ok", "timeout", "error"] = "ok"
        error: Exception | None = None
        memories: tuple[Memory, ...] = ()
        found = 0
        try:
            matches = search.result(self._recall_timeout if timeout is None else timeout)
            memories = memories_of(matches, step.delivered, self._top_k)
            found = len(memories) + held_already(matches, step.delivered)
        except (TimeoutError, FutureTimeout, Busy):
            search.cancel()
            outcome = "timeout"
        except Exception as failure:  # noqa: BLE001  (recall never fails a call)
            outcome, error = "error", failure
            _warn_once(failure)
        trace.finish(
            outcome=outcome,
            matches=memories,
            found=found,
            query=step.query,
            error=error,
            duration_s=time.perf_counter() - started,
        )
        return memories


def _waited(step: Wait) -> bool:
    # In the thread of a running loop the flight may be one of that loop's own tasks: waiting would stop both.
    if "asyncio" in sys.modules and sys.modules["asyncio"]._get_running_loop() is not None:
        return step.flight.landed.done()
    step.flight.landed.result()
    return True


def _warn_once(failure: Exception) -> None:
    kind = type(failure).__name__
    if kind not in _warned:
        _warned.add(kind)
        _log.warning("firsthand: memories cannot be recalled (%s); prompts go on without them", kind)


def _reported(hook: Hook, result: HookResult, trace: Any) -> HookResult:
    trace.finish(
        outcome=result.outcome,
        success=counts_as_success(result),
        duration_ms=result.duration_ms,
        exit_code=result.exit_code,
        output_chars=result.output_chars,
        error=result.error,
    )
    for sentence in effects(hook, result):
        _log.warning("firsthand: hook %s: %s", hook.label, sentence)
    return result


@contextmanager
def _cancelled(trace: HookTrace) -> Iterator[None]:
    """A hook that a cancel or Ctrl-C is thrown into ends as cancelled."""
    started = time.perf_counter()
    try:
        yield
    except BaseException:
        trace.finish(outcome="cancelled", success=False, duration_ms=(time.perf_counter() - started) * 1000)
        raise


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
