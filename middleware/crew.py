"""Threads of our own for what may take long, one crew for each kind: neither starves the other."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from .forked import renew_in_child

__all__ = ["Busy", "Crew", "asking", "hooking", "reading", "result_of", "searching", "storing", "waiting"]

T = TypeVar("T")

_PIECE = 0.25


class Busy(RuntimeError):
    """Nobody of a crew is free, or no thread can be started."""


class Crew:
    """A bounded crew of daemon threads: a hung job neither starves a loop nor holds up the exit.

    A forked child has threads of its own.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.renew()
        renew_in_child(self)

    def renew(self) -> None:
        """Start with no threads; see `forked`."""
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._free = 0

    def submit(self, function: Callable[..., T], *arguments: object, queued: bool = True) -> Future[T]:
        """Run `function` in a thread, in a copy of the caller's context.

        The future raises `Busy` when no thread can be started and there is none, and with `queued` false also when
        all are at work: what has to wait for its turn would be late anyway.
        """
        future: Future[T] = Future()
        here = contextvars.copy_context()

        def job() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = here.run(function, *arguments)
            except BaseException as error:  # noqa: BLE001  (it is the future's to raise)
                future.set_exception(error)
            else:
                future.set_result(result)

        with self._lock:
            if self._free <= 0 and self._threads < self._size and self._hire():
                self._threads += 1
                self._free += 1
            if self._threads == 0 or (self._free <= 0 and not queued):
                future.set_exception(Busy("no thread is free"))
                return future
            # Counted off here and not by the thread: the next caller must not count on the same one.
            self._free -= 1
            self._jobs.put(job)
        return future

    def _hire(self) -> bool:
        try:
            threading.Thread(target=self._work, args=(self._jobs,), name="firsthand", daemon=True).start()
        except RuntimeError:
            return False
        return True

    def _work(self, jobs: queue.SimpleQueue[Callable[[], None]]) -> None:
        while True:
            job = jobs.get()
            job()
            del job
            with self._lock:
                self._free += 1


def result_of(future: Future[T]) -> T:
    """What a job of a crew came to, or its exception.

    The wait is in pieces: Python sees a signal that comes just before a wait begins only when that wait is over.
    """
    while True:
        try:
            return future.result(_PIECE)
        except TimeoutError:
            if future.done():
                return future.result()


hooking = Crew(256)
"""Runs hooks."""

searching = Crew(32)
"""Asks stores."""

reading = Crew(8)
"""Reads transcripts."""

waiting = Crew(16)
"""Waits for hooks that nobody waits for."""

storing = Crew(1)
"""Stores memories: one at a time, in the order in which they were said."""

asking = Crew(4)
"""Asks models what is worth remembering."""
