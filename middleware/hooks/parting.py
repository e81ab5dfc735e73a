"""What becomes of running commands when a signal ends the program.

Python ends without a word on SIGTERM, SIGHUP and SIGQUIT, and a command hook, which leads a process group of its own,
would live on. Handlers belong to the application, so only programs of our own take them; a program that turns the
signal into an exit needs none of this. Source: hooks-and-transcripts 1.4 (the parent's exit).
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from .process import kill_live

__all__ = ["hooks_end_with_us"]

_SIGNALS = ("SIGTERM", "SIGHUP", "SIGQUIT")


@contextlib.contextmanager
def hooks_end_with_us() -> Iterator[None]:
    """In the block, a signal that ends this program ends its running command hooks first.

    A signal that somebody handles or ignores (`nohup`) is left alone, and so is everything outside the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> None:
    kill_live()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
