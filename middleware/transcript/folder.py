"""A folder of transcripts: where a session's file is, and a bounded number of open descriptors."""

from __future__ import annotations

import hashlib
import logging
import re
import threading
import time
import weakref
from collections import OrderedDict
from datetime import timedelta
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import quote

from ..forked import renew_in_child
from .erasing import remove_unused
from .keeping import Keeping, remove_old
from .syncing import GroupSync
from .writer import Durability, TranscriptWriter

__all__ = ["Layout", "TranscriptFolder"]

Layout: TypeAlias = Literal["plain", "qwen"]

_MAX_NAME = 200
_log = logging.getLogger("firsthand")
_CUT = re.compile(r"~[0-9a-f]{64}$")
_LATELY = 3600.0


class TranscriptFolder:
    """Writers by session id, one for each while anybody holds it.

    `layout` "plain" puts `<session>.jsonl` into `folder`; "qwen" takes `folder` for the reference's projects
    folder and writes `<folder>/<cwd with dashes>/chats/<session>.jsonl`. At most `max_open` descriptors stay
    open; the longest unused is let go and opened again when it is needed. What is unsynced is synced by `close`,
    and at the latest when the folder is collected or the interpreter exits. With `keep`, transcripts that were not
    written for longer are removed once the first session is asked for, and every hour.
    """

    def __init__(
        self,
        folder: Path,
        *,
        layout: Layout = "plain",
        durability: Durability = "group",
        cwd: str | Path | None = None,
        max_open: int = 64,
        keep: timedelta | None = None,
    ) -> None:
        self.folder = Path(folder).absolute()
        self._durability = durability
        self._place = self.folder
        if layout == "qwen":
            project = re.sub(r"[^a-zA-Z0-9]", "-", str(Path.cwd() if cwd is None else cwd))
            self._place = self.folder / project / "chats"
        self._max_open = max_open
        self._writers: weakref.WeakValueDictionary[str, TranscriptWriter] = weakref.WeakValueDictionary()
        self._open: OrderedDict[int, TranscriptWriter] = OrderedDict()
        self._asked_for: dict[Path, float] = {}
        self._sync = GroupSync()
        # Not `self.sweep`: its thread must not keep the folder from being collected.
        myself = weakref.ref(self)
        self._keep = keep
        self._keeping = Keeping(self._place, lambda: _sweep(myself())) if keep is not None else None
        self._finalizer = weakref.finalize(self, _close_all, self._open, self._sync, self._keeping)
        self.renew()
        renew_in_child(self)

    def renew(self) -> None:
        """Start with nobody inside; see `forked`."""
        self._lock = threading.RLock()

    def path(self, session_id: str) -> Path:
        """The file of a session: its id percent-encoded, so that no id leaves the folder.

        An id whose name would be too long for a file system, or could be that of one which was, is cut and told apart
        by its SHA-256. Raises ValueError for an empty id.
        """
        if not session_id:
            raise ValueError("the session id is empty; a transcript needs one to be named after")
        name = quote(session_id, safe="", errors="surrogatepass")
        if name.startswith("."):
            name = f"%2E{name[1:]}"
        if len(name) > _MAX_NAME or _CUT.search(name):
            digest = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
            name = f"{name[: _MAX_NAME - 65]}~{digest}"
        return self._place / f"{name}.jsonl"

    def writer(self, session_id: str) -> TranscriptWriter:
        """The writer of a session; the same object for as long as somebody holds it or its file is open."""
        if self._keeping is not None:
            path = self.path(session_id)
            with self._lock:
                if path.exists():
                    self._asked_for[path] = time.monotonic()
            self._keeping.begin()
        with self._lock:
            writer = self._writers.get(session_id)
            if writer is None:
                # Not `self.admit`: a writer must not keep its folder from being collected, hence closed.
                folder = weakref.ref(self)
                writer = TranscriptWriter(
                    self.path(session_id),
                    durability=self._durability,
                    sync=self._sync,
                    on_open=lambda opened: _admit(folder(), opened),
                )
                self._writers[session_id] = writer
            elif id(writer) in self._open:
                self._open.move_to_end(id(writer))
            return writer

    def flush(self) -> None:
        """Have on disk what was appended, unless durability is `os`; waits for the disk."""
        with self._lock:
            writers = list(self._open.values())
        for writer in writers:
            writer.sync()

    def close(self) -> None:
        """Sync and close every file; writers that are used again open theirs again."""
        with self._lock:
            writers = OrderedDict(self._open)
            self._open.clear()
        # Outside the lock, which a writer that is just opening its file waits for.
        _close_all(writers, self._sync, self._keeping)

    def sweep(self) -> list[Path]:
        """Remove what is older than it is kept, and return it; not what is open here or was lately asked for."""
        if self._keep is None:
            return []
        lately = time.monotonic() - _LATELY
        with self._lock:
            self._asked_for = {path: when for path, when in self._asked_for.items() if when > lately}
        return remove_old(self._place, self._keep, remove=self._remove)

    def _remove(self, path: Path, before: float) -> bool:
        # Within the lock nobody can ask for the session, and begin to read what is about to go.
        with self._lock:
            if path in self._asked_for or any(writer.path == path for writer in self._open.values()):
                return False
            return remove_unused(path, before)

    def admit(self, writer: TranscriptWriter) -> None:
        """Count a writer that has just opened its file, and let the longest unused ones go."""
        with self._lock:
            self._open[id(writer)] = writer
            self._open.move_to_end(id(writer))
            for key in list(self._open)[: max(0, len(self._open) - self._max_open)]:
                # One that another thread is writing to right now is passed over: waiting for it could deadlock.
                if self._open[key].release():
                    del self._open[key]


def _admit(folder: TranscriptFolder | None, writer: TranscriptWriter) -> None:
    if folder is not None:
        folder.admit(writer)


def _sweep(folder: TranscriptFolder | None) -> list[Path]:
    return folder.sweep() if folder is not None else []


def _close_all(writers: OrderedDict[int, TranscriptWriter], sync: GroupSync, keeping: Keeping | None) -> None:
    if keeping is not None:
        keeping.end()
    while writers:
        writer = writers.popitem()[1]
        try:
            writer.close()
        except OSError as error:
            # The others are closed all the same; the interpreter may be going down, where nobody hears of it.
            _log.warning("firsthand: the end of transcript %s may be lost: %s", writer.path, error.strerror or error)
    sync.close()
