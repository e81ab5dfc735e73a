"""Bounds that no load on the machine can break: work that is counted, and a guard against what never ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["HANG", "no_hang", "steps"]

HANG = 60.0


@contextmanager
def no_hang() -> Iterator[None]:
    """What would take for ever, minutes at least, ends within `HANG` seconds."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < HANG


def steps(call: Callable[[], object]) -> int:
    """Lines of Python that `call` runs, loops counted anew: a measure of work that is the same on every machine."""
    count = 0

    def line(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        call()
    finally:
        sys.settrace(before)
    return count
