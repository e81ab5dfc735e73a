"""The one SQLite file: opened the one right way, for its writer and for readers that cannot write."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from .errors import DatabaseError
from .schema import APPLICATION_ID, MIGRATIONS, migrate, version

__all__ = ["Lock", "Readers", "open_writer", "vacuum", "words_for_errors"]

_HELD: Final = "{path} is another dashboard's; stop that one, or name another with --db"
_BUSY_SECONDS: Final = 5.0
_WRITER_CACHE_KIB: Final = 16_384
_READER_CACHE_KIB: Final = 8_192


def open_writer(path: Path) -> sqlite3.Connection:
    """Open the file to write to it, made with mode 0600 if it is new, its schema brought up to date.

    One connection for one writer thread, in autocommit: it says BEGIN itself. A commit survives a killed process.
    Raises `DatabaseError`.
    """
    _make_private(path)
    with words_for_errors(path):
        # Absolute: `:memory:` and what begins with `file:` are names of files here.
        connection = sqlite3.connect(
            path.absolute(), timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


class Lock:
    """One dashboard a file: two that followed the same transcripts would count every line twice.

    It is of a file beside the database, since closing the database's own would take SQLite's locks from it. It ends
    with the process, however that ends; where there is no `fcntl` nobody is kept out.
    """

    def __init__(self, path: Path, held: str = _HELD) -> None:
        """Take it. Raises `DatabaseError` when another process has it, in the words of `held`."""
        self._fd = -1
        try:
            import fcntl
        except ImportError:
            return
        # By whatever name: a link to a file is that file.
        real = path.resolve()
        place = real.with_name(f"{real.name}.lock")
        try:
            self._fd = os.open(place, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._fd)
            raise DatabaseError(held.format(path=path)) from error
        except OSError as error:
            raise DatabaseError(f"{path}: {error.strerror or error}; name another with --db") from error

    def release(self) -> None:
        """Let another have it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def vacuum(connection: sqlite3.Connection, *, pages: int = 0) -> None:
    """Give the room of deleted rows back to the file system: all of it, or so many pages; readers go on meanwhile."""
    # Not `execute`: it takes one step of a statement that has no columns, and this one frees a page a step.
    connection.executescript(f"PRAGMA incremental_vacuum({pages})")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


class Readers:
    """Connections that can only read, at most one a thread; thread-safe. Closed by `close`, once nobody reads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection inside a read transaction: every statement sees the same moment. Raises `DatabaseError`."""
        with self._lock:
            if self._closed:
                raise DatabaseError(f"{self.path} is closed")
            connection = self._idle.pop() if self._idle else None
        with words_for_errors(self.path):
            if connection is None:
                connection = self._connect()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                self._back(connection)

    def close(self) -> None:
        """Close what is idle now, and the others as they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> sqlite3.Connection:
        uri = f"file:{quote(str(self.path.absolute()))}?mode=ro"
        connection = sqlite3.connect(
            uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA query_only = 1")
        connection.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB}")
        connection.row_factory = sqlite3.Row
        connection.create_function("folded", 1, _folded, deterministic=True)
        return connection


def _folded(text: str | None) -> str | None:
    return None if text is None else text.casefold()


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    application, done = version(connection)
    if application not in (0, APPLICATION_ID) or (application == 0 and _has_tables(connection)):
        raise DatabaseError(f"{path} is a SQLite file of another program; name another with --db")
    if done > len(MIGRATIONS):
        raise DatabaseError(f"{path} was written by a newer firsthand (schema {done}); upgrade, or name another --db")
    # Only before the first table: it is what lets room be given back in small pieces.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA temp_store = MEMORY")
    # How prompts begin is forgotten with their transcript, and not every build of SQLite does this by itself.
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        migrate(connection)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None


def _make_private(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise DatabaseError(f"{path}: {error.strerror or error}; name another with --db") from error


@contextmanager
def words_for_errors(path: Path) -> Iterator[None]:
    """What SQLite raises in the block is raised as `DatabaseError`, in one line that says what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if "locked" in str(error):
            raise DatabaseError(f"{path} is in use by another process; stop that one, or name another --db") from error
        if "not a database" in str(error) or "malformed" in str(error):
            raise DatabaseError(f"{path} is no SQLite file, or damaged; name another with --db") from error
        if "readonly" in str(error):
            raise DatabaseError(f"{path} cannot be written; change its permissions, or name another --db") from error
        if "full" in str(error):
            raise DatabaseError(f"{path}: its disk is full; make room, or name another --db") from error
        raise DatabaseError(f"{path}: {error}; name another with --db") from error
