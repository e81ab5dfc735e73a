"""Threads of our own for what may take long: hooks, searches, reading a transcript."""

from __future__ import annotations

import contextvars
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

__all__ = ["Crew", "crew"]

T = TypeVar("T")


class Crew:
    """A bounded crew of daemon threads: a hung hook neither starves a loop nor holds up the exit."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0

    def submit(self, function: Callable[..., T], *arguments: object) -> Future[T]:
        """Run `function` in a thread, in a copy of the caller's context."""
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
            grow = self._idle <= self._jobs.qsize() and self._threads < self._size
            if grow:
                self._threads += 1
        self._jobs.put(job)
        if grow:
            threading.Thread(target=self._work, name="firsthand", daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            job = self._jobs.get()
            with self._lock:
                self._idle -= 1
            job()
            del job


crew = Crew(32)
"""The crew of this process; a forked child has one of its own."""
