"""Follows a folder of transcripts: what is in it, and what is appended to it while the dashboard runs.

How far a file was read is written in the same transaction as what was read, so that a line counts once, whenever the
process ends. What a file said is forgotten when the file is gone, or another is in its place.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from middleware.transcript import parse, transcripts_in

from .bundle import Written
from .errors import DashboardError
from .ingest import Closed, Ingest
from .transcribed import Threads, key_of, written_of
from .unwriting import forget_file
from .writing import Batch, write

__all__ = ["Follower"]

_SECONDS: Final = 1.0
_PIECE: Final = 1 << 20
_LONGEST: Final = 1 << 26
"""Bytes of one line; a longer one is passed over."""

_TAIL: Final = 512

_log = logging.getLogger("firsthand")


@dataclass(slots=True, kw_only=True)
class _File:
    id: int
    inode: int
    size: int = 0
    lines: int = 0
    tail: bytes = b"\n"
    threads: Threads = field(default_factory=Threads)


class Follower:
    """Reads a folder's transcripts into a dashboard on a thread of its own, until it is closed.

    `caught_up` is set once everything that was there when it began is on disk. `unreadable` are the files that could
    not be read, with why.
    """

    def __init__(self, folder: Path, ingest: Ingest, *, seconds: float = _SECONDS) -> None:
        """Begin. Raises `DashboardError` for what is no folder."""
        if not folder.is_dir():
            raise DashboardError(f"transcripts {folder} is no folder; name one with --transcripts")
        self.folder = folder
        self.caught_up = threading.Event()
        self.unreadable: dict[Path, str] = {}
        self._ingest = ingest
        self._seconds = seconds
        self._files: dict[str, _File] = {}
        self._last_id = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="firsthand-dashboard-follower", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop; what was read is written by the ingest, which is its owner's to close."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._ingest.submit(self._remember, 0, must=True).result()
            while not self._stop.is_set():
                try:
                    self._look()
                    self.caught_up.set()
                except sqlite3.Error as error:
                    # A full disk, say: what was not written is read again.
                    _log.warning("dashboard: transcripts in %s could not be stored: %s", self.folder, error)
                self._stop.wait(self._seconds)
        except Closed:
            pass

    def _remember(self, connection: sqlite3.Connection) -> None:
        """Load how far the files of this folder were read; another folder's may be in the file too."""
        inside = f"{self.folder.absolute()}{os.sep}"
        for number, path, inode, size, lines in connection.execute("SELECT id, path, inode, size, lines FROM files"):
            self._last_id = max(self._last_id, number)
            if path.startswith(inside):
                self._files[path] = _File(id=number, inode=inode, size=size, lines=lines)

    def _look(self) -> None:
        """One round over the folder."""
        there: set[str] = set()
        try:
            paths = list(transcripts_in(self.folder))
        except OSError as error:
            self._tell(self.folder, error)
            return
        for path in paths:
            if self._stop.is_set():
                return
            name = str(path.absolute())
            if not _is_text(name):
                self._tell(path, OSError("its name is no UTF-8; rename it"))
                continue
            try:
                state = path.stat()
                there.add(name)
                self._read(path, name, state)
            except FileNotFoundError:
                continue
            except OSError as error:
                there.add(name)
                self._tell(path, error)
        for name in [name for name in self._files if name not in there]:
            self._forget(name)

    def _read(self, path: Path, name: str, state: os.stat_result) -> None:
        file = self._files.get(name)
        if file is not None and (file.inode != state.st_ino or not _goes_on(path, file, state.st_size)):
            self._forget(name)
            file = None
        if file is None:
            self._last_id += 1
            file = self._files[name] = _File(id=self._last_id, inode=state.st_ino)
        if state.st_size == file.size:
            return
        for data in _pieces(path, file.size):
            if self._stop.is_set():
                return
            turns = self._turns(file, data, state.st_mtime_ns)
            size, lines = file.size + len(data), file.lines + data.count(b"\n")
            self._save(file, name, size, lines, turns)
            file.size, file.lines, file.tail = size, lines, data[-_TAIL:]
        self.unreadable.pop(path, None)

    def _turns(self, file: _File, data: bytes, at: int) -> list[tuple[bytes, Written]]:
        turns: list[tuple[bytes, Written]] = []
        position, line = file.size, file.lines
        for text in data.split(b"\n")[:-1]:
            line += 1
            for record in parse(text).records if len(text) <= _LONGEST else ():
                key = key_of(record, file.threads)
                if key is not None:
                    turns.append((key, written_of(record, file=file.id, position=position, line=line, at=at)))
            position += len(text) + 1
        return turns

    def _save(self, file: _File, name: str, size: int, lines: int, turns: list[tuple[bytes, Written]]) -> None:
        session = turns[0][1].session if turns else None

        def save(connection: sqlite3.Connection) -> None:
            connection.execute(
                """INSERT INTO files (id, path, inode, size, lines, session) VALUES (?,?,?,?,?,?)
                     ON CONFLICT (id) DO UPDATE SET size = excluded.size, lines = excluded.lines,
                     session = coalesce(session, excluded.session)""",
                (file.id, name, file.inode, size, lines, session),
            )
            write(connection, Batch(turns=turns))

        self._ingest.submit(save, len(turns), must=True).result()

    def _forget(self, name: str) -> None:
        file = self._files[name]
        self._ingest.submit(lambda connection: forget_file(connection, file.id), 0, must=True).result()
        del self._files[name]

    def _tell(self, path: Path, error: OSError) -> None:
        why = error.strerror or str(error)
        if self.unreadable.get(path) != why:
            self.unreadable[path] = why
            # A name of a disk may be any bytes, and a log is text.
            named = os.fsencode(path).decode("utf-8", "backslashreplace")
            _log.warning("dashboard: transcript %s cannot be read: %s", named, why)


def _is_text(name: str) -> bool:
    """Whether SQLite takes it: a name of a disk may be any bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _goes_on(path: Path, file: _File, size: int) -> bool:
    """Whether what was read is still there: another file may have its inode, or have been written over it."""
    if size <= file.size or not file.size:
        return size >= file.size
    with path.open("rb") as opened:
        opened.seek(file.size - len(file.tail))
        return opened.read(len(file.tail)) == file.tail


def _pieces(path: Path, start: int) -> Iterator[bytes]:
    """What a file holds from `start` on, in pieces of whole lines; the last line only once it has ended."""
    with path.open("rb") as file:
        file.seek(start)
        held = b""
        while data := file.read(_PIECE):
            held += data
            end = held.rfind(b"\n") + 1
            if end:
                yield held[:end]
                held = held[end:]
