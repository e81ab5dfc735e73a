"""Appends records to one transcript, whole lines at a time, beside other threads and other processes.

A line is one write on a descriptor opened for appending, so that two writers never mix their bytes; whatever was
torn, by a kill or a full disk, is closed with a newline before the next line, and no byte written is changed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from ..forked import renew_in_child
from ..locks import unlock
from ..records import Record
from .files import last_newline, lock_briefly, make_folders, open_file, sync_names
from .lines import encode_line
from .reader import parse
from .syncing import GroupSync
from .tail import Tail

__all__ = ["Durability", "TranscriptWriter"]

Durability: TypeAlias = Literal["os", "group", "record"]


class TranscriptWriter:
    """One session's file. `TranscriptFolder.writer` makes it; the file is made by the first append.

    A record's parent is `tail`, so read it and append under `lock`, or under `exclusive()` where other processes
    write the same session. After `close` an append opens the file again.

        with writer.lock:
            writer.append(user_record(stamp=Stamp(parent=writer.tail, ...), parts=...))
    """

    def __init__(
        self,
        path: Path,
        *,
        durability: Durability = "group",
        sync: GroupSync | None = None,
        on_open: Callable[[TranscriptWriter], None] | None = None,
    ) -> None:
        self.path = path
        self._place = os.fspath(path)
        self._durability = durability
        self._sync = sync or GroupSync()
        self._on_open = on_open
        self._fd = -1
        self._process = 0
        self._file: tuple[int, int] | None = None
        self._named: tuple[int, int] | None = None
        self._made: list[Path] = []
        self._looked = False
        self._tail = Tail()
        self._read_to = 0
        self._known_end = 0
        self._whole = True
        self._own: set[str] = set()
        self._dirty = False
        self._sync_error: OSError | None = None
        self.renew()
        renew_in_child(self)

    def renew(self) -> None:
        """Start with nobody inside; see `forked`. A descriptor that came through a fork is let go at the next use."""
        self.lock = threading.RLock()
        self._holds = 0

    @property
    def tail(self) -> str | None:
        """The uuid that the next record's parent must be: the last one persisted on the chain; None for none."""
        with self.lock:
            self._open(create=False)
            if self._tail.end < 0:
                self._tail.move(self._fd, self.path, self._size())
            return self._tail.uuid

    @property
    def is_open(self) -> bool:
        """True while it holds a descriptor."""
        return self._fd >= 0

    @property
    def unsynced(self) -> bool:
        """True while the group's thread has not got to what was appended."""
        return self._dirty

    def append(self, record: Record) -> None:
        """Write one record as one line.

        Raises OSError when it could not be written whole (then `tail` stays, and the next append starts on a line
        of its own) or, after it was written, when an earlier one could not be synced; TypeError for a record that
        JSON cannot hold.
        """
        line = encode_line(record)
        with self.lock:
            self._open(create=True)
            size = self._size()
            alone = size == self._known_end
            if not (self._whole if alone else self._ends_with_newline(size)):
                line = b"\n" + line
            end = self._write(line)
            self._tail.appended(record, size, end if end == size + len(line) else -1)
            if alone and end == size + len(line):
                self._read_to = self._known_end = end
                self._whole = True
            else:
                self._own.add(str(record.get("uuid")))
            self._persist()
            if self._sync_error is not None:
                error, self._sync_error = self._sync_error, None
                raise error

    def grew(self) -> bool:
        """True when somebody else wrote to the file, or replaced it, since our last look at it."""
        with self.lock:
            looked = self._looked
            self._open(create=False)
            return looked and self.is_open and self._size() != self._known_end

    def catch_up(self) -> list[Record]:
        """Read what others appended since the last look, oldest first, and move `tail` behind it.

        A line that somebody is still writing is left for the next time. After the file was replaced or cut
        short, everything in it is new.
        """
        with self.lock:
            self._open(create=False)
            if not self.is_open:
                return []
            size = self._size()
            data = os.pread(self._fd, size - self._read_to, self._read_to)
            data = data[: data.rfind(b"\n") + 1]
            self._read_to += len(data)
            self._known_end = size
            self._whole = self._read_to == size
            records = parse(data).records
            if self._tail.end >= 0:
                self._tail.move(self._fd, self.path, size)
            others = [record for record in records if record["uuid"] not in self._own]
            if self._whole:
                self._own.clear()
            return others

    def hang_from(self, leaf: str | None, size: int) -> None:
        """Let `tail` be the leaf that a reader of the file's first `size` bytes found: it is not looked for again."""
        with self.lock:
            self._tail.found(leaf, size)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the file against other threads and processes, with `tail` behind what these appended meanwhile.

        Advisory: it keeps out writers that ask the same way, and gives up waiting for one that stands still after
        a second (the chain may fork then; no bytes are mixed). What others wrote is still `catch_up`'s to read.
        """
        with self.lock:
            while True:
                self._open(create=True)
                lock_briefly(self._fd)
                state = os.fstat(self._fd)
                if self._at_path() is not None:
                    break
                self._let_go()
            if state.st_size < self._read_to:
                self._start_anew(state.st_size)
            self._tail.move(self._fd, self.path, state.st_size)
            self._holds += 1
            try:
                yield
            finally:
                self._holds -= 1
                if self.is_open and not self._holds:
                    unlock(self._fd)

    def sync(self) -> None:
        """Have on disk what was appended, unless durability is `os`; waits for the disk."""
        with self.lock:
            if self.is_open and self._dirty and self._durability != "os":
                self._dirty = False
                os.fsync(self._fd)
                self._name()

    def close(self) -> None:
        """Sync what is not on disk yet (unless durability is `os`) and let go of the descriptor."""
        with self.lock:
            try:
                self.sync()
            finally:
                self._let_go()

    def release(self) -> bool:
        """Let go of the descriptor without waiting for a disk; False when it is in use by another thread."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            if self._holds:
                return False
            if self.is_open and self._dirty and self._durability == "group":
                try:
                    fd = os.dup(self._fd)
                except OSError:
                    return False
                self._sync.ask(lambda: self._sync_and_close(fd))
            self._let_go()
        finally:
            self.lock.release()
        return True

    def _open(self, *, create: bool) -> None:
        if self._fd >= 0:
            if self._process == os.getpid():
                return
            # A descriptor that came through a fork shares its position and its locks with the parent's.
            self._let_go()
        try:
            if create:
                self._made += make_folders(self.path.parent)
            fd = open_file(self.path, create=create)
        except FileNotFoundError:
            if create:
                raise
            self._looked = True
            return
        state = os.fstat(fd)
        self._fd, self._process = fd, os.getpid()
        file = (state.st_dev, state.st_ino)
        if not self._looked:
            self._look(state.st_size)
        elif self._file not in (file, None) or state.st_size < self._read_to:
            self._start_anew(state.st_size)
        self._file, self._looked = file, True
        if self._on_open is not None:
            self._on_open(self)

    def _let_go(self) -> None:
        fd, self._fd, self._dirty = self._fd, -1, False
        if fd >= 0:
            os.close(fd)

    def _look(self, size: int) -> None:
        """Learn the end from the file itself."""
        self._tail.forget(size)
        self._whole = self._ends_with_newline(size)
        self._read_to = size if self._whole else last_newline(self._fd, size) + 1
        self._known_end = size

    def _start_anew(self, size: int) -> None:
        """Begin again with another file, of which nothing was read."""
        self._tail.forget(size)
        self._own.clear()
        self._read_to = self._known_end = 0
        self._whole = True

    def _size(self) -> int:
        """The file's size; a file that was removed, renamed, replaced or cut short is begun anew first."""
        # One look at the path says both whose name it is and how long the file is.
        state = os.fstat(self._fd) if self._holds else self._at_path()
        if state is None or state.st_nlink == 0:
            self._let_go()
            self._open(create=True)
            state = os.fstat(self._fd)
        elif state.st_size < self._read_to:
            self._start_anew(state.st_size)
        return state.st_size

    def _at_path(self) -> os.stat_result | None:
        """What the path names; None when that is not the open file, which was moved away or lives on under a link."""
        try:
            named = os.lstat(self._place)
        except FileNotFoundError:
            return None
        return named if (named.st_dev, named.st_ino) == self._file else None

    def _ends_with_newline(self, size: int) -> bool:
        return size == 0 or os.pread(self._fd, 1, size - 1) == b"\n"

    def _write(self, line: bytes) -> int:
        """Write it all, in one write but for a disk that is full; return where it ends in the file."""
        written = os.write(self._fd, line)
        while written < len(line):
            written += os.write(self._fd, memoryview(line)[written:])
        return os.lseek(self._fd, 0, os.SEEK_CUR)

    def _persist(self) -> None:
        if self._durability == "record":
            os.fsync(self._fd)
            self._name()
        elif self._durability == "group" and not self._dirty:
            self._dirty = True
            self._sync.ask(self._flush)

    def _flush(self) -> None:
        """Sync on the group's thread, on a descriptor of its own: nobody waits, and a close is no danger."""
        with self.lock:
            if not self._dirty or not self.is_open:
                return
            self._dirty = False
            try:
                fd = os.dup(self._fd)
            except OSError as error:
                # Too many open files: the next record tries again.
                self._sync_error = error
                return
        self._sync_and_close(fd)

    def _sync_and_close(self, fd: int) -> None:
        try:
            os.fsync(fd)
            self._name()
        except OSError as error:
            self._sync_error = error
        finally:
            os.close(fd)

    def _name(self) -> None:
        """Have the file's own name on disk, and those of the folders that were made for it; once a file."""
        file = self._file
        if self._named != file:
            sync_names({self.path.parent, *(folder.parent for folder in self._made)})
            self._named = file
