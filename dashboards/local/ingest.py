"""The one writer: takes what was decoded, writes it in batches on a thread of its own, and says when it is on disk.

`submit` gives a future that is done once the batch is committed: a client that was answered can forget what it sent,
also when this process is killed in the next moment. When too much waits, `submit` refuses (`Full`) and nothing is
taken. An item that cannot be written, whatever the reason, costs those beside it nothing, and is counted as refused:
its sender must not send it for ever.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

from .database import Lock, open_writer
from .errors import DashboardError, DatabaseError
from .otlp import Encoding, Signal, decoded_in
from .retention import forget_old
from .signals import Decoded, Refused
from .tally import count_large_sessions
from .writing import Batch, is_of_the_file, write, write_what_can_be

__all__ = ["Closed", "Full", "Ingest"]

_MOST_WAITING: Final = 20_000
_AT_ONCE: Final = 4_000
_SWEEP_SECONDS: Final = 600.0
_PAGES: Final = 5_000
"""That are given back at a time: what is to be written waits for it."""

_log = logging.getLogger("firsthand")

Job = Callable[[sqlite3.Connection], object]


class Full(DashboardError):
    """More waits to be written than may; the client is to send again after `retry_after` seconds."""

    retry_after = 1


class Closed(DashboardError):
    """It is shutting down and takes nothing any more."""


class _Taken(NamedTuple):
    item: Batch | Job
    size: int
    done: Future[None]
    refused: Refused


class Ingest:
    """The writer of one file, to be closed. Thread-safe.

    `most_waiting` items may wait; `keep` is how long spans, turns, logs and counts are kept. `written` counts the
    items that are on disk, `revision` grows with every commit: a page that shows it is up to date until it changes.
    """

    def __init__(self, path: Path, *, keep: timedelta | None = None, most_waiting: int = _MOST_WAITING) -> None:
        """Open the file. Raises `DatabaseError`, also when another dashboard has it."""
        self.path = path
        self.written = 0
        self.revision = 0
        self._keep = keep
        self._most_waiting = most_waiting
        self._lock = Lock(path)
        try:
            self._connection = open_writer(path)
        except BaseException:
            self._lock.release()
            raise
        self._identity = _identity(path)
        self._told = ""
        self._waiting: deque[_Taken] = deque()
        self._size = 0
        self._closing = False
        self._clears = False
        self._changed = threading.Condition()
        self._swept = 0.0
        self._thread = threading.Thread(target=self._run, name="firsthand-dashboard-writer", daemon=True)
        self._thread.start()
        self.submit(count_large_sessions, 0, must=True)

    @property
    def oldest(self) -> int:
        """What began before that is not kept, in ns since 1970; 0 when everything is."""
        return time.time_ns() - int(self._keep.total_seconds() * 1e9) if self._keep is not None else 0

    def receive(
        self, signal: Signal, body: bytes | bytearray, encoding: Encoding = "protobuf"
    ) -> tuple[Refused, Future[None]]:
        """Take an OTLP request's body, inflated; what of it is refused, and when the rest is on disk.

        What is refused is known once that is done. Of a large request a piece is decoded while the one before it is
        written, and this waits: it is on disk but for its end when this returns.

        Raises `BadRequest`, `Full` and `Closed`, and then nothing of it was taken; what a write raises, or `Closed`
        when that comes in the middle, and then what was taken is passed over when it is sent again.
        """
        pieces = decoded_in(signal, body, encoding)
        refused = next(pieces)
        done = self.submit(_batch(refused), len(refused), refused=refused)
        for piece in pieces:
            # Only then: the writer counts what it refuses of the piece before.
            done.result()
            refused.refuse(piece.why, piece.rejected)
            done = self.submit(_batch(piece), len(piece), must=True, refused=refused)
        return refused, done

    def submit(
        self, batch: Batch | Job, size: int, *, must: bool = False, refused: Refused | None = None
    ) -> Future[None]:
        """Have a batch written, or a function called with the writer's connection inside a transaction.

        Items of a batch that cannot be written are counted in `refused`, before the future is done.

        Raises `Full`, unless it `must` be taken or nothing else waits, and `Closed`.
        """
        done: Future[None] = Future()
        with self._changed:
            if self._closing:
                raise Closed("the dashboard is shutting down; send again")
            if self._waiting and not must and self._size + size > self._most_waiting:
                raise Full(f"{self._size:,} items wait to be written; send again later")
            self._waiting.append(_Taken(batch, size, done, refused if refused is not None else Refused()))
            self._size += size
            self._changed.notify()
        return done

    def clear_log(self) -> None:
        """Have what was deleted gone from SQLite's log too, soon: it holds pages as they were before."""
        with self._changed:
            self._clears = True
            self._changed.notify()

    def close(self, timeout: float = 60.0) -> bool:
        """Write what was taken, and close the file; False when that took longer than `timeout` seconds."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            while (taken := self._take()) is not None:
                self._write(taken)
                self._sweep()
                if self._clears:
                    self._clear()
        finally:
            self._connection.close()
            self._lock.release()

    def _take(self) -> list[_Taken] | None:
        """What waits, up to some thousand items; None once it is to end. Waiting ends for a sweep, with nothing."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing or self._clears, timeout=_SWEEP_SECONDS)
            if not self._waiting:
                return None if self._closing else []
            taken = [self._waiting.popleft()]
            size = taken[0].size
            while self._waiting and size + self._waiting[0].size <= _AT_ONCE:
                taken.append(self._waiting.popleft())
                size += taken[-1].size
            return taken

    def _write(self, taken: list[_Taken]) -> None:
        if not taken:
            return
        try:
            self._commit([one.item for one in taken])
        except Exception as error:  # noqa: BLE001 - one bad batch is told to its sender, and the others are written
            if len(taken) > 1:
                for one in taken:
                    self._write([one])
                return
            [one] = taken
            failure: Exception | None = error
            if isinstance(one.item, Batch) and not is_of_the_file(error):
                failure = self._write_in_parts(one.item, one.refused)
            self._settle(taken)
            if failure is None:
                one.done.set_result(None)
                return
            self._tell(failure)
            one.done.set_exception(failure)
            return
        self._told = ""
        self._settle(taken)
        for one in taken:
            one.done.set_result(None)

    def _write_in_parts(self, batch: Batch, refused: Refused) -> Exception | None:
        """Write what can be written of a batch; None, or why nothing could."""
        found = Refused()
        try:
            self._commit([lambda connection: write_what_can_be(connection, batch, found)])
        except Exception as error:  # noqa: BLE001 - as above
            return error
        refused.refuse(found.why, found.rejected)
        _log.warning("dashboard: %s of %s items could not be written to %s", found.rejected, len(batch), self.path)
        return None

    def _tell(self, failure: Exception) -> None:
        """Say why nothing can be written, once for as long as it is so: clients send again and again."""
        if str(failure) != self._told:
            self._told = str(failure)
            damaged = "; move it away and start the dashboard again" if "malformed" in self._told else ""
            _log.warning("dashboard: what comes cannot be written to %s: %s%s", self.path, failure, damaged)

    def _settle(self, taken: list[_Taken]) -> None:
        size = sum(one.size for one in taken)
        with self._changed:
            self._size -= size
        self.written += size
        self.revision += 1

    def _commit(self, items: list[Batch | Job]) -> None:
        connection = self._connection
        if _identity(self.path) != self._identity:
            # It could still be written, and would be gone with this process.
            raise DatabaseError("it was removed or replaced while the dashboard ran; start it again")
        connection.execute("BEGIN IMMEDIATE")
        try:
            batch = Batch()
            for item in items:
                if isinstance(item, Batch):
                    batch = Batch(
                        spans=batch.spans + item.spans,
                        logs=batch.logs + item.logs,
                        points=batch.points + item.points,
                        turns=batch.turns + item.turns,
                    )
                else:
                    write(connection, batch)
                    batch = Batch()
                    item(connection)
            write(connection, batch)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _clear(self) -> None:
        self._clears = False
        try:
            # A reader may keep it from that; the log then goes with the next that is deleted, or at the end.
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            _log.warning("dashboard: the log of %s could not be cleared: %s", self.path, error)

    def _sweep(self) -> None:
        """Forget what is older than it is kept, now and then."""
        if self._keep is None or (self._swept and time.monotonic() - self._swept < _SWEEP_SECONDS):
            return
        self._swept = time.monotonic()
        try:
            forget_old(self._connection, self.oldest, pages=_PAGES)
        except Exception as error:  # noqa: BLE001 - whatever it is, what comes is written
            _log.warning("dashboard: old rows of %s could not be removed: %s", self.path, error)


def _batch(decoded: Decoded) -> Batch:
    return Batch(spans=decoded.spans, logs=decoded.logs, points=decoded.points)


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file has that name; None for none."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino
