"""Group durability: one daemon thread that fsyncs, so that no caller waits for a disk."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable

from ..forked import renew_in_child

__all__ = ["GroupSync"]

_WINDOW = 0.2
"""As the writer of PostgreSQL's log waits for commits that nobody waits for: an fsync holds up the writes beside it."""


class GroupSync:
    """Runs flushes that were asked for, about 200 ms later and together; the thread starts with the first one.

    A flush is a function that never raises. `close` runs what is left and ends the thread; asking again
    starts another one. After a fork the child starts its own.
    """

    def __init__(self) -> None:
        self._asked: deque[Callable[[], None]] = deque()
        self.renew()
        renew_in_child(self)

    def renew(self) -> None:
        """Start with no thread; see `forked`."""
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._process = 0
        self._closing = False

    def ask(self, flush: Callable[[], None]) -> None:
        """Have `flush` run soon on the thread."""
        self._asked.append(flush)
        if not self._wake.is_set():
            self._wake.set()
        if self._thread is None or self._process != os.getpid():
            self._start()

    def close(self) -> None:
        """Run everything that was asked for, here, and end the thread."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._closing = True
            self._wake.set()
        if thread is not None and self._process == os.getpid() and thread is not threading.current_thread():
            # Whoever closes may hold the lock that a flush waits for.
            thread.join(2)
        self._run()

    def _start(self) -> None:
        with self._lock:
            if self._thread is not None and self._process == os.getpid():
                return
            if self._process != os.getpid():
                self._process = os.getpid()
                self._wake = threading.Event()
                self._wake.set()
            self._closing = False
            thread = threading.Thread(target=self._loop, name="firsthand-transcript-sync", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                # No thread to be had: the next record asks again, and `close` flushes what is left.
                return
            self._thread = thread

    def _loop(self) -> None:
        while not self._closing:
            self._wake.wait()
            if not self._closing:
                time.sleep(_WINDOW)
            self._wake.clear()
            self._run()

    def _run(self) -> None:
        while self._asked:
            try:
                flush = self._asked.popleft()
            except IndexError:
                return
            flush()
