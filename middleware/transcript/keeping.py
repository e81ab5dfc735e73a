"""Retention: transcripts that were not written for longer than they are kept are removed, in the background."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from ..forked import renew_in_child
from .erasing import remove_unused
from .listing import REPAIRED
from .ours import is_leftover, is_ours

__all__ = ["Keeping", "remove_old"]

_EVERY = 3600.0
_THREAD = "firsthand-transcript-keep"
_log = logging.getLogger("firsthand")


def remove_old(folder: Path, keep: timedelta, *, remove: Callable[[Path, float], bool] = remove_unused) -> list[Path]:
    """Remove the transcripts in a folder that were last written longer ago than `keep`, and return them.

    One that another process writes to at this moment stays; so do files of another kind and folders. `remove` is
    given a path and the time, in seconds, before which it has to be written. Raises OSError for a folder that cannot
    be listed.
    """
    before = time.time() - keep.total_seconds()
    gone = []
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = Path(entry.path)
        named = entry.name.endswith((".jsonl", REPAIRED)) or is_leftover(path)
        if not named or not entry.is_file(follow_symlinks=False):
            continue
        try:
            is_old = entry.stat().st_mtime < before and is_ours(path)
        except OSError:
            continue
        if is_old and remove(path, before):
            gone.append(path)
    return gone


class Keeping:
    """Runs `sweep`, which returns what it removed, when it is first begun and every hour after, on its own thread."""

    def __init__(self, place: Path, sweep: Callable[[], list[Path]]) -> None:
        self._place = place
        self._sweep = sweep
        self.renew()
        renew_in_child(self)

    def renew(self) -> None:
        """Start with no thread; see `forked`."""
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._process = 0

    def begin(self) -> None:
        """Have the thread run, if it does not."""
        with self._lock:
            if self._process == os.getpid():
                return
            self._process = os.getpid()
            try:
                threading.Thread(
                    target=self._run, args=(self._stop,), name="firsthand-transcript-keep", daemon=True
                ).start()
            except RuntimeError:
                # No thread to be had: the next session tries again.
                self._process = 0

    def end(self) -> None:
        """Let the thread go; `begin` starts another one."""
        with self._lock:
            self._stop.set()
            self._stop, self._process = threading.Event(), 0

    def _run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                gone = self._sweep()
                if gone:
                    _log.info("firsthand: %d old transcripts in %s were removed", len(gone), self._place)
            except FileNotFoundError:
                # Nothing was written yet.
                pass
            except OSError as error:
                why = error.strerror or type(error).__name__
                _log.warning("firsthand: old transcripts in %s cannot be removed: %s", self._place, why)
            stop.wait(_EVERY)
