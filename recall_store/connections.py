"""SQLite connections: opened the one right way, lent to one thread at a time, errors in our words."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from .errors import BusyError, ClosedError, OpenError, StoreError
from .migrations import APPLICATION_ID, MIGRATIONS, migrate, version
from .postings import CREATE_STEMS
from .rows import DamagedRowError

BUSY_SECONDS = 5.0
"""How long a write waits for another process before BusyError."""


class Connections:
    """A pool over one file, as large as the number of threads that ever used it at once. Thread- and fork-safe."""

    def __init__(self, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        """Open the file, made with mode 0600 if it is new, and bring its schema up to date. Raises OpenError."""
        self.path = path
        self._busy_seconds = busy_seconds
        self._idle: deque[sqlite3.Connection] = deque()
        self._writing = threading.Lock()
        self._closed = False
        self._pid = os.getpid()
        _make_private(path)
        with self._words_for_errors():
            connection = self._connect()
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
        self._idle.append(connection)
        self._file = _identity(path)

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection inside a read transaction: every statement sees the same moment."""
        with self._words_for_errors(), self._borrowed() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection inside a write transaction: committed at the end of the block, undone by an exception."""
        with self._words_for_errors(), self._turn(), self._borrowed() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def bare(self) -> Iterator[sqlite3.Connection]:
        """A connection outside any transaction, for VACUUM, while no thread of this process writes."""
        with self._words_for_errors(), self._turn(), self._borrowed() as connection:
            yield connection

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back."""
        self._closed = True
        while self._idle:
            connection = self._idle.pop()
            if self._pid == os.getpid():
                connection.close()

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._writing.acquire(timeout=self._busy_seconds):
            raise BusyError(f"another thread wrote to {self.path} for over {self._busy_seconds:g} s; try again")
        try:
            yield
        finally:
            self._writing.release()

    @contextlib.contextmanager
    def _borrowed(self) -> Iterator[sqlite3.Connection]:
        if self._pid != os.getpid():
            # SQLite forbids using a connection across fork(); the parent's are leaked here on purpose, not closed.
            _abandoned.extend(self._idle)
            self._idle.clear()
            self._writing = threading.Lock()
            self._pid = os.getpid()
        self._check_open()
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        try:
            yield connection
        finally:
            self._idle.append(connection)
            if self._closed:
                self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"the store {self.path} was closed; open it again")
        if _identity(self.path) != self._file:
            # SQLite would go on with the file that nobody can find any more, and lose what is written into it.
            raise OpenError(f"{self.path} was moved, deleted or replaced while it was open; open it again")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        try:
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA secure_delete = ON")
            for statement in CREATE_STEMS:
                connection.execute(statement)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        application, done = version(connection)
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != APPLICATION_ID and (application or done or tables):
            raise OpenError(f"{self.path} is a database, but not a memory store; give another path")
        if done > len(MIGRATIONS):
            raise OpenError(f"{self.path} was written by a newer version (schema {done}); upgrade firsthand")
        self._use_wal(connection)
        if done == len(MIGRATIONS):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            migrate(connection)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        """Switch to WAL once. SQLite does not wait for a lock here, so this does."""
        deadline = time.monotonic() + self._busy_seconds
        while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            try:
                connection.execute("PRAGMA journal_mode = WAL").fetchone()
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                if time.monotonic() > deadline:
                    raise OpenError(f"{self.path} cannot use a write-ahead log; put it on a local disk")
                time.sleep(0.01)

    @contextlib.contextmanager
    def _words_for_errors(self) -> Iterator[None]:
        try:
            yield
        except StoreError:
            raise
        except DamagedRowError as error:
            raise OpenError(
                f"{self.path} is damaged: {error.told} is not as it was stored; delete it, or restore a backup"
            ) from None
        except sqlite3.DatabaseError as error:
            raise _in_our_words(error, self.path, self._busy_seconds) from None


_abandoned: list[sqlite3.Connection] = []


def _is_busy(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _in_our_words(error: sqlite3.Error, path: Path, busy_seconds: float) -> StoreError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if _is_busy(error):
        return BusyError(f"another process held {path} for over {busy_seconds:g} s; try again, or end that process")
    if code == sqlite3.SQLITE_NOTADB:
        return OpenError(f"{path} is not a database; give another path")
    if code == sqlite3.SQLITE_CORRUPT:
        return OpenError(f"{path} is damaged; restore it from a backup, or export what `sqlite3 .recover` finds")
    if code == sqlite3.SQLITE_READONLY:
        return OpenError(f"{path} cannot be written; check the permissions of the file and its folder")
    if code == sqlite3.SQLITE_FULL:
        return OpenError(f"the disk of {path} is full; free some space")
    if code == sqlite3.SQLITE_PROTOCOL:
        return OpenError(f"{path} cannot be locked; put it on a local disk")
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR):
        return OpenError(f"{path} cannot be opened or read; check the path, its permissions and the disk")
    return StoreError(f"SQLite refused an operation on {path} ({getattr(error, 'sqlite_errorname', 'unknown')})")


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file is at `path`, or None."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _make_private(path: Path) -> None:
    """Make the file with mode 0600, so that SQLite gives its log the same. Raises OpenError."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except FileNotFoundError:
        raise OpenError(f"the folder of {path} does not exist; make it first") from None
    except IsADirectoryError:
        raise OpenError(f"{path} is a folder; give the path of a file") from None
    except OSError as error:
        raise OpenError(f"{path} cannot be opened ({error.strerror}); check the path and its permissions") from None
