"""Follows a folder of transcripts: what is in it, and what is appended to it while the dashboard runs.

How far a file was read is written in the same transaction as what was read, so that a line counts once, whenever the
process ends. What a file said is forgotten when the file is gone, or another is in its place: then the bytes before
that point are not those that were read. What is odd in one file, in a way that nobody thought of, is said once and
passed over: it costs the other lines and files nothing.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from middleware.transcript import parse, transcripts_in

from .bundle import Written
from .errors import DashboardError, DatabaseError
from .ingest import Closed, Ingest
from .signals import Refused
from .transcribed import Threads, key_of, written_of
from .unwriting import forget_file
from .writing import Batch, write_what_can_be

__all__ = ["Follower", "followable"]

_SECONDS: Final = 1.0
_PIECE: Final = 1 << 20
_LONGEST: Final = 1 << 26
"""Bytes of one line; a longer one is passed over."""

_TAIL: Final = 4_096
"""Bytes before the point up to which a file was read that must still be there."""

_log = logging.getLogger("firsthand")


@dataclass(slots=True, kw_only=True)
class _File:
    """How far a file was read; `tail` is the digest of what is before that, `seen` is what `stat` said of it then.

    `in_line` says that this is in a line that is too long to be taken.
    """

    id: int
    inode: int
    size: int = 0
    lines: int = 0
    tail: bytes | None = None
    seen: tuple[int, int] | None = None
    in_line: bool = False
    odd: bool = False
    threads: Threads = field(default_factory=Threads)


class Follower:
    """Reads a folder's transcripts into a dashboard on a thread of its own, until it is closed.

    `caught_up` is set once everything that was there when it began is on disk. `unreadable` are the files that could
    not be read, with why.
    """

    def __init__(self, folder: Path, ingest: Ingest, *, seconds: float = _SECONDS) -> None:
        """Begin; a folder that is not there yet is followed once it is. Raises what `followable` does."""
        followable(folder)
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
        remembered = False
        while not self._stop.is_set():
            try:
                if not remembered:
                    self._ingest.submit(self._remember, 0, must=True).result()
                    remembered = True
                if self._look():
                    self.unreadable.pop(self.folder, None)
                self.caught_up.set()
            except Closed:
                return
            except (sqlite3.Error, DatabaseError) as error:
                # A full disk, say: what was not written is read again.
                self._tell(self.folder, str(error), "dashboard: transcripts in %s could not be stored: %s")
            except Exception as error:  # noqa: BLE001 - the next round may do better; without one nothing is followed
                self._tell(self.folder, f"{type(error).__name__}: {error}")
            self._stop.wait(self._seconds)

    def _remember(self, connection: sqlite3.Connection) -> None:
        """Load how far the files of this folder were read; another folder's may be in the file too.

        Of another's those that are gone are forgotten in the first round: the folder may have been moved.
        """
        inside = f"{self.folder.absolute()}{os.sep}"
        sql = "SELECT id, path, inode, size, lines, tail FROM files"
        for number, path, inode, size, lines, tail in connection.execute(sql):
            self._last_id = max(self._last_id, number)
            if path.startswith(inside) or _is_gone(path):
                self._files[path] = _File(id=number, inode=inode, size=size, lines=lines, tail=tail)

    def _look(self) -> bool:
        """One round over the folder; False when it could not be looked into."""
        try:
            paths = {str(path.absolute()): path for path in transcripts_in(self.folder)}
        except OSError as error:
            # Where nothing was ever read nobody may have said anything yet.
            if self._files or not isinstance(error, FileNotFoundError):
                self._tell(self.folder, error.strerror or str(error))
            return False
        # First: what was renamed is read from where it is now, and must not be held by where it was.
        for name in [name for name in self._files if name not in paths]:
            if name in self._files:
                self._forget(name)
        for name, path in paths.items():
            if self._stop.is_set():
                break
            if not _is_text(name):
                self._tell(path, "its name is no UTF-8; rename it")
                continue
            try:
                self._read(path, name)
            except FileNotFoundError:
                # Forgotten in the next round, unless it is back.
                continue
            except (Closed, sqlite3.Error, DatabaseError):
                raise
            except OSError as error:
                self._tell(path, error.strerror or str(error))
            except Exception as error:  # noqa: BLE001 - one odd file, and the others are followed
                self._tell(path, f"{type(error).__name__}: {error}")
        return True

    def _read(self, path: Path, name: str) -> None:
        """Take in what a file says since the last time."""
        state = path.stat()
        seen = (state.st_size, state.st_mtime_ns)
        file = self._files.get(name)
        if file is not None and file.inode == state.st_ino and file.seen == seen:
            return
        with path.open("rb") as opened:
            # Of the file that is open: another may have its name by now.
            state = os.fstat(opened.fileno())
            before = _before(opened, file.size) if file is not None else b""
            if file is not None and (file.inode != state.st_ino or not _goes_on(file, before)):
                self._forget(name)
                file, before = None, b""
            if file is None:
                self._last_id += 1
                file = self._files[name] = _File(id=self._last_id, inode=state.st_ino)
            if file.seen is None:
                _thread(opened, file)
            opened.seek(file.size)
            for data in _pieces(opened):
                if self._stop.is_set():
                    return
                turns = self._turns(path, file, data, state.st_mtime_ns)
                before = (before + data)[-_TAIL:]
                self._save(path, name, file, data, _digest(before), turns)
                file.in_line = not data.endswith(b"\n")
        file.seen = seen
        self.unreadable.pop(path, None)

    def _turns(self, path: Path, file: _File, data: bytes, at: int) -> list[tuple[bytes, Written]]:
        turns: list[tuple[bytes, Written]] = []
        # What was forgotten (--keep) is in a file that is read anew, and in counts of days that outlive it.
        position, line, oldest = file.size, file.lines, self._ingest.oldest
        for text in data.split(b"\n")[:-1]:
            line += 1
            try:
                of_ours = len(text) <= _LONGEST and not (file.in_line and position == file.size)
                for record in parse(text).records if of_ours else ():
                    key = key_of(record, file.threads)
                    if key is None:
                        continue
                    written = written_of(record, file=file.id, position=position, line=line, at=at)
                    if written.at >= oldest:
                        turns.append((key, written))
            except Exception as error:  # noqa: BLE001 - one odd record, and the others are taken
                self._pass_over(path, file, f"line {line}: {type(error).__name__}")
            position += len(text) + 1
        return turns

    def _save(
        self, path: Path, name: str, file: _File, data: bytes, tail: bytes, turns: list[tuple[bytes, Written]]
    ) -> None:
        session = turns[0][1].session if turns else None
        size, lines, refused = file.size + len(data), file.lines + data.count(b"\n"), Refused()

        def save(connection: sqlite3.Connection) -> None:
            connection.execute(
                """INSERT INTO files (id, path, inode, size, lines, tail, session) VALUES (?,?,?,?,?,?,?)
                     ON CONFLICT (id) DO UPDATE SET size = excluded.size, lines = excluded.lines, tail = excluded.tail,
                     session = coalesce(session, excluded.session)""",
                (file.id, name, file.inode, size, lines, tail, session),
            )
            write_what_can_be(connection, Batch(turns=turns), refused)

        self._ingest.submit(save, len(turns), must=True).result()
        file.size, file.lines, file.tail = size, lines, tail
        if refused.rejected:
            self._pass_over(path, file, f"a record before line {lines + 1}: {refused.why}")

    def _forget(self, name: str) -> None:
        """Forget a file, and have those of its session read anew: a copy may hold its turns, which counted once."""
        file = self._files[name]
        followed = {other.id: name for name, other in self._files.items()}
        gone = [file.id]

        def forget(connection: sqlite3.Connection) -> None:
            sql = "SELECT id FROM files WHERE id != ?1 AND session = (SELECT session FROM files WHERE id = ?1)"
            gone[1:] = [number for (number,) in connection.execute(sql, (file.id,)) if number in followed]
            for number in gone:
                forget_file(connection, number)

        self._ingest.submit(forget, 0, must=True).result()
        self._ingest.clear_log()
        for number in gone:
            del self._files[followed[number]]

    def _pass_over(self, path: Path, file: _File, why: str) -> None:
        if not file.odd:
            file.odd = True
            _log.warning("dashboard: of transcript %s is passed over: %s; more of it is not told of", _named(path), why)

    def _tell(self, path: Path, why: str, line: str = "dashboard: transcript %s cannot be read: %s") -> None:
        why = " ".join(why.split())[:300]
        if self.unreadable.get(path) != why:
            self.unreadable[path] = why
            _log.warning(line, _named(path), why)


def followable(folder: Path) -> None:
    """Raise `DashboardError` for what can never be a folder of transcripts: a file, or one in a folder that is none."""
    if folder.is_dir():
        return
    if folder.exists():
        raise DashboardError(f"transcripts {folder} is no folder; name one with --transcripts")
    if not folder.absolute().parent.is_dir():
        above = folder.parent
        raise DashboardError(f"transcripts {folder}: there is no folder {above}; make it, or name another folder")


def _named(path: Path) -> str:
    """A name of a disk may be any bytes, and a log is text."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _is_gone(path: str) -> bool:
    """Whether nothing has that name; what may not be looked at is there."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _is_text(name: str) -> bool:
    """Whether SQLite takes it: a name of a disk may be any bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _before(opened: IO[bytes], size: int) -> bytes:
    """The bytes before that point, as many as must still be there."""
    opened.seek(max(0, size - _TAIL))
    return opened.read(min(size, _TAIL))


def _thread(opened: IO[bytes], file: _File) -> None:
    """Learn from the end of what was read before which turn it was in: what comes may be its reply."""
    opened.seek(max(0, file.size - _PIECE))
    for line in opened.read(min(file.size, _PIECE)).split(b"\n"):
        with suppress(Exception):  # it was passed over when it was read
            for record in parse(line).records:
                key_of(record, file.threads)


def _digest(tail: bytes) -> bytes:
    return hashlib.blake2b(tail, digest_size=16).digest()


def _goes_on(file: _File, before: bytes) -> bool:
    """Whether what was read is still there: another file may have its inode, or have been written over it."""
    if len(before) < min(file.size, _TAIL):
        return False
    if file.tail is None:
        # Read by a version that kept no digest.
        return not before or before.endswith(b"\n")
    return _digest(before) == file.tail


def _pieces(opened: IO[bytes]) -> Iterator[bytes]:
    """What a file holds from here on, in pieces of whole lines; the last line only once it has ended.

    Of a line that is too long to be taken the pieces are parts.
    """
    held = b""
    while data := opened.read(_PIECE):
        held += data
        end = held.rfind(b"\n") + 1
        if not end and len(held) > _LONGEST:
            end = len(held)
        if end:
            yield held[:end]
            held = held[end:]
