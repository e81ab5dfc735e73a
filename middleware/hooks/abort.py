"""The word to a hook that runs in another thread that nobody waits for it any more: its turn was cancelled.

It travels in the context, which the threads of a crew copy. As in the reference, an abort ends the hook (spec 1.5).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["abort_descriptor", "abortable", "is_aborted", "on_abort", "without_abort"]


class _Abort:
    """Said once; thread-safe. A `stop` is called at most once, may not raise, and may not wait."""

    __slots__ = ("_lock", "_said", "_stops")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said = False
        self._stops: list[Callable[[], object]] = []

    @property
    def said(self) -> bool:
        return self._said

    def say(self) -> None:
        """Stop everything that runs under it, and what still starts."""
        with self._lock:
            self._said = True
            for stop in self._stops:
                stop()

    def add(self, stop: Callable[[], object]) -> None:
        with self._lock:
            self._stops.append(stop)
            if self._said:
                stop()

    def take(self, stop: Callable[[], object]) -> None:
        # Under the lock: once this returns, `stop` is not running and never will.
        with self._lock:
            self._stops.remove(stop)


_abort: ContextVar[_Abort | None] = ContextVar("firsthand_abort", default=None)


@contextmanager
def abortable() -> Iterator[None]:
    """What runs under the block, in other threads too, is stopped when an exception (a cancel, Ctrl-C) leaves it."""
    abort = _Abort()
    token = _abort.set(abort)
    try:
        yield
    except BaseException:
        abort.say()
        raise
    finally:
        _abort.reset(token)


@contextmanager
def without_abort() -> Iterator[None]:
    """What starts in the block outlives its turn."""
    token = _abort.set(None)
    try:
        yield
    finally:
        _abort.reset(token)


def is_aborted() -> bool:
    """True once the turn was cancelled that this runs for."""
    abort = _abort.get()
    return abort is not None and abort.said


@contextmanager
def on_abort(stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` if the turn is cancelled while the block runs, or was before; from whichever thread says so."""
    abort = _abort.get()
    if abort is None:
        yield
        return
    abort.add(stop)
    try:
        yield
    finally:
        abort.take(stop)


@contextmanager
def abort_descriptor() -> Iterator[int | None]:
    """A descriptor for `poll` that is readable once the turn is cancelled; None where nothing can cancel it."""
    if _abort.get() is None:
        yield None
        return
    try:
        readable, writable = os.pipe()
    except OSError:
        # Too many open files: the hook's own timeout is left.
        yield None
        return
    try:
        with on_abort(lambda: os.write(writable, b"\0")):
            yield readable
    finally:
        os.close(readable)
        os.close(writable)
