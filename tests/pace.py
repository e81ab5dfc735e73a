"""Bounds that no load on the machine can break: work that is counted, a guard against what never ends, what is open."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

__all__ = ["HANG", "no_hang", "open_descriptors", "settled_descriptors", "steps"]

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


def open_descriptors() -> set[str]:
    """The numbers of the descriptors that this process has open."""
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def settled_descriptors() -> set[str]:
    """The same, once whatever earlier tests dropped is gone: what is compared with later must not shrink by itself."""
    gc.collect()
    return open_descriptors()
