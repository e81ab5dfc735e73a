"""PostgreSQL connections: pooled, one transaction a time, errors in our words, and the password in none of them."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

import psycopg
from psycopg import Connection, conninfo, errors
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from .errors import BusyError, ClosedError, OpenError, StoreError, UrlError
from .rows import DamagedRowError

READ_SECONDS = 5.0
"""How long a statement may take, unless the server, the role or the URL sets a `statement_timeout`."""
LOCK_SECONDS = 5.0
"""How long a write waits for another one, and a call for a free connection, before BusyError."""
UPKEEP_SECONDS = 60.0
"""How long upkeep waits for a reader or a writer to end, before BusyError."""
POOL_SIZE = 16
"""Connections of one store at most; none is held that was idle for `_IDLE_SECONDS`."""
DEFAULT_SCHEMA = "firsthand"

_IDLE_SECONDS = 60.0
_CONNECT_SECONDS = "5"
_PATIENCE = 0.05
_CREDENTIALS = re.compile(r"(?:\w+://(?:[^@/]*@)?)?")
_PARAMETER = re.compile(r"[A-Za-z_]{1,40}")
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_BAD_URL = (
    "the store URL is not one of PostgreSQL; write postgresql://user:password@host:5432/database, "
    "with %40 for an @ in the password"
)


class Address(NamedTuple):
    """Where a store is: how to connect, the schema of its tables, and how messages name it (without password)."""

    parameters: dict[str, Any]
    schema: str
    shown: str


def parse_url(url: str) -> Address:
    """The parts of `postgresql://user:password@host:port/database?schema=name`, and any parameter of libpq.

    Raises UrlError, whose message holds nothing of the URL.
    """
    # As libpq reads it: a ? in the password begins no parameters.
    start = len(_CREDENTIALS.match(url)[0])  # type: ignore[index]
    base, _, query = url[start:].partition("?")
    base = url[:start] + base
    schema, kept = DEFAULT_SCHEMA, []
    for piece in filter(None, query.split("&")):
        key, _, value = piece.partition("=")
        if key == "schema":
            schema = unquote(value)
        else:
            kept.append(piece)
    if not _SCHEMA_NAME.fullmatch(schema) or schema.startswith("pg_"):
        raise UrlError("the store URL's schema is not a name of small letters, digits and _; write ?schema=firsthand")
    try:
        found: dict[str, Any] = conninfo.conninfo_to_dict(base + ("?" + "&".join(kept) if kept else ""))
    except psycopg.Error:
        raise UrlError(_unknown_parameter(kept) or _BAD_URL) from None
    given = {key: str(value) for key, value in found.items() if value is not None}
    host = given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST") or "localhost"
    port = given.get("port") or os.environ.get("PGPORT") or "5432"
    database = given.get("dbname") or os.environ.get("PGDATABASE") or given.get("user") or ""
    parameters = {
        "connect_timeout": _CONNECT_SECONDS,
        "application_name": "firsthand",
        "tcp_user_timeout": "10000",
        **given,
        "client_encoding": "utf8",
    }
    return Address(parameters, schema, f"{database or 'the database'} on {host}:{port.strip(',')}")


def _unknown_parameter(pieces: list[str]) -> str | None:
    """What to say of a parameter that libpq does not know, or None. A `?` in a password is not taken for one."""
    known = ["schema", *(option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults())]
    keys = [piece.partition("=")[0] for piece in pieces]
    if any("@" in piece for piece in pieces):
        return None
    for key in keys:
        if key not in known and _PARAMETER.fullmatch(key):
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]}?" if near else "known are schema and the parameters of libpq"
            return f"the store URL has the unknown parameter {key}; {hint}"
    return None


class Pool:
    """The connections of one store. Safe to share between threads; a forked child has connections of its own."""

    def __init__(self, address: Address) -> None:
        """Connect once. Raises OpenError if that is not possible; the message says why."""
        self.address = address
        self.shown = address.shown
        self._refused = 0
        self._closed = False
        self._mutex = threading.Lock()
        with self.words_for_errors(), psycopg.connect(**address.parameters, autocommit=True) as connection:
            encoding = connection.execute("SHOW server_encoding").fetchone()
            timeout = connection.execute("SHOW statement_timeout").fetchone()
        if encoding != ("UTF8",):
            raise OpenError(f"{self.shown} does not keep text as UTF-8; give a database with encoding UTF8")
        limit = f"; SET LOCAL statement_timeout = {int(READ_SECONDS * 1000)}" if timeout == ("0",) else ""
        path = f"; SET LOCAL search_path = {address.schema}, public"
        self._begin_reading = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY{path}{limit}"
        self._begin_writing = f"BEGIN{path}; SET LOCAL lock_timeout = {int(LOCK_SECONDS * 1000)}"
        self._open()

    def look_for_types_in(self, schema: str) -> None:
        """Look for pgvector's types and operators in `schema`, too."""
        path = f"{self.address.schema}, public"
        self._begin_reading = self._begin_reading.replace(path, f'{path}, "{schema}"')
        self._begin_writing = self._begin_writing.replace(path, f'{path}, "{schema}"')

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection inside a read-only transaction: every statement sees the same moment."""
        with self.words_for_errors(), self._transaction(self._begin_reading) as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection inside a transaction: committed at the end of the block, undone by an exception."""
        with self.words_for_errors(), self._transaction(self._begin_writing) as connection:
            yield connection

    @contextlib.contextmanager
    def bare(self) -> Iterator[Connection]:
        """A connection outside any transaction, whose statements may take their time: for upkeep."""
        self._check_open()
        with self.words_for_errors(), psycopg.connect(**self.address.parameters, autocommit=True) as connection:
            connection.execute(f"SET statement_timeout = 0; SET lock_timeout = {int(UPKEEP_SECONDS * 1000)}")
            connection.execute(self._begin_writing.split("; ")[1].replace("LOCAL ", ""))
            yield connection

    def close(self) -> None:
        """Close the connections. What is lent is closed when it comes back."""
        self._closed = True
        if self._pid == os.getpid():
            self._pool.close()

    @contextlib.contextmanager
    def words_for_errors(self) -> Iterator[None]:
        """Raise what psycopg raises as an error of ours, which holds none of the values or of the password."""
        try:
            yield
        except PoolClosed:
            raise ClosedError(f"the store in {self.shown} was closed; open it again") from None
        except DamagedRowError as error:
            raise OpenError(
                f"{self.shown} is damaged: {error.told} is not as it was stored; delete it, or restore a backup"
            ) from None
        except psycopg.Error as error:
            raise _in_our_words(error, self.shown, str(self.address.parameters.get("password", ""))) from None

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        connection = self._begun(begin)
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                connection.execute("ROLLBACK")
            raise
        finally:
            self._pool.putconn(connection)

    def _begun(self, begin: str) -> Connection:
        connection = self._borrowed()
        try:
            connection.execute(begin)
        except psycopg.OperationalError:
            # The server was restarted since: nothing was done yet, so what is idle is looked at, and one more tried.
            self._pool.putconn(connection)
            self._pool.check()
        except BaseException:
            self._pool.putconn(connection)
            raise
        else:
            return connection
        connection = self._borrowed()
        try:
            connection.execute(begin)
        except BaseException:
            self._pool.putconn(connection)
            raise
        return connection

    def _borrowed(self) -> Connection:
        """A connection. A server that refuses is an error at once, and not after the time for a free connection."""
        self._check_open()
        with self._mutex:
            if self._pid != os.getpid():
                # A connection must not be used across fork(); the parent's are leaked here on purpose, not closed.
                _abandoned.append(self._pool)
                self._open()
        deadline = time.monotonic() + LOCK_SECONDS
        refused = self._refused
        while True:
            try:
                return self._pool.getconn(timeout=_PATIENCE)
            except PoolTimeout:
                if self._refused != refused:
                    # Once more by hand, for the reason.
                    psycopg.connect(**self.address.parameters).close()
                    refused = self._refused
                if time.monotonic() > deadline:
                    raise BusyError(
                        f"all {POOL_SIZE} connections to {self.shown} were busy for over {LOCK_SECONDS:g} s; try again"
                    ) from None

    def _open(self) -> None:
        def refused(_: object) -> None:
            self._refused += 1

        self._pid = os.getpid()
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            kwargs={**self.address.parameters, "autocommit": True},
            min_size=0,
            max_size=POOL_SIZE,
            max_idle=_IDLE_SECONDS,
            reconnect_timeout=0,
            reconnect_failed=refused,
            name="firsthand",
            open=True,
        )

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"the store in {self.shown} was closed; open it again")


_abandoned: list[ConnectionPool[Connection]] = []


def _in_our_words(error: psycopg.Error, shown: str, password: str) -> StoreError:
    state = error.sqlstate
    if isinstance(error, errors.QueryCanceled):
        return BusyError(f"a statement took longer than the statement_timeout of {shown}; try again, or raise it")
    if isinstance(error, errors.LockNotAvailable | errors.DeadlockDetected | errors.SerializationFailure):
        return BusyError(f"another process held for too long what this call needs in {shown}; try again")
    if isinstance(error, errors.TooManyConnections):
        return BusyError(f"{shown} has no connection to spare; raise its max_connections, or put a pooler before it")
    if isinstance(error, errors.InsufficientPrivilege):
        return OpenError(f"the role may not do this in {shown}; grant it the schema and its tables")
    if isinstance(error, errors.DiskFull):
        return OpenError(f"the disk of {shown} is full; free some space")
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return OpenError(f"{shown} is read-only (a standby?); give the primary server")
    if isinstance(error, errors.UndefinedTable | errors.InvalidSchemaName):
        return OpenError(f"the tables of the store in {shown} are gone; open it again to make them anew")
    if isinstance(error, psycopg.OperationalError):
        reason = _reason(error, password)
        return OpenError(f"no connection to {shown}{reason}; check that the server runs and the URL is right")
    return StoreError(f"PostgreSQL refused an operation in {shown} (SQLSTATE {state or 'unknown'})")


def _reason(error: psycopg.Error, password: str) -> str:
    """What libpq or the server says of a connection that failed: one line, without the password."""
    said = str(error).rpartition("failed: ")[2].strip().partition("\n")[0]
    if not said or (password and password in said):
        return ""
    return f" ({said[:200]})"
