"""The books of one model call: opened before the send, closed once, on whichever way out.

A value, the end of a stream, an early close, garbage collection, a cancel, an error and a block all come to
`Account.settle`; the first one counts. The caller's exception is not touched.
"""

from __future__ import annotations

import atexit
import logging
import queue
import threading
from collections.abc import Callable, Mapping
from typing import TypeAlias

from .errors import TranscriptError
from .forked import renew_in_child
from .injection import Block
from .parts import Reply, Request
from .provenance import Origin
from .telemetry import TurnTrace
from .turn import Outcome, outcome

__all__ = ["Account", "Settled", "drain_dropped", "settle_dropped", "watch_for_dropped"]

_log = logging.getLogger("firsthand")

Settled: TypeAlias = Callable[[Reply | None, BaseException | None, Outcome], None]
"""Told how a turn ended: the session, which keeps ledger and transcript."""


class Account:
    """Everything that is written once about one model call.

    `origin` is None for a call that is no turn. It, `block`, `blocks` and `submitted_prompt` are filled in when
    the turn is admitted. `unasked` tells the chunks of a stream that are there because we asked for them.
    """

    __slots__ = ("_open", "block", "blocks", "origin", "request", "settled", "submitted_prompt", "trace", "unasked")

    def __init__(self, *, trace: TurnTrace, request: Request, origin: Origin | None) -> None:
        self.trace = trace
        self.request = request
        self.origin = origin
        self.block: Block | None = None
        self.blocks: Mapping[int, Block] = {}
        self.submitted_prompt: str | None = None
        self.settled: Settled | None = None
        self.unasked: Callable[[object], bool] | None = None
        self._open = [None]

    @property
    def is_settled(self) -> bool:
        """True once the books are closed."""
        return not self._open

    def settle(
        self, reply: Reply | None = None, error: BaseException | None = None, *, ended_early: bool = False
    ) -> None:
        """Close the books; every call but the first does nothing, whichever thread it comes from."""
        try:
            self._open.pop()
        except IndexError:
            return
        how = outcome(error, ended_early=ended_early)
        if how == "sent" and reply is not None and reply.error:
            how = "error"
        try:
            if self.settled is not None:
                self.settled(reply, error, how)
        except TranscriptError as refusal:
            # The caller's own exception is what the caller gets.
            if error is None:
                raise
            _log.warning("firsthand: %s", refusal)
        except Exception as failure:  # noqa: BLE001  (the answer is there: what is kept of it cannot take it away)
            _log.warning("firsthand: a reply could not be kept (%s); the call is not affected", type(failure).__name__)
        finally:
            self.trace.settle(
                outcome=how,
                request=self.request,
                reply=reply,
                error=error,
                block=self.block,
                blocks=self.blocks,
                origin=self.origin,
                submitted_prompt=self.submitted_prompt,
                ended_early=ended_early,
            )


class _Dropped:
    """Settlements of streams that were let go of, made in a thread of their own.

    The garbage collector may run anywhere, also where this very thread holds a lock that settling needs: a
    finaliser may do no more than put the work on a `SimpleQueue`, whose `put` is made for that.
    """

    def __init__(self) -> None:
        self.renew()
        renew_in_child(self)
        atexit.register(self.drain, 2.0)

    def renew(self) -> None:
        """Start with no thread; see `forked`."""
        self._jobs: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._started = False

    def put(self, job: Callable[[], object]) -> None:
        self._jobs.put(job)

    def watch(self) -> None:
        if not self._started:
            self._started = True
            try:
                threading.Thread(target=self._work, args=(self._jobs,), name="firsthand-dropped", daemon=True).start()
            except RuntimeError:
                # No thread to be had: the next stream tries again, and settles what waits.
                self._started = False

    def drain(self, timeout: float) -> None:
        if self._started:
            done = threading.Event()
            self._jobs.put(done.set)
            done.wait(timeout)

    @staticmethod
    def _work(jobs: queue.SimpleQueue[Callable[[], object]]) -> None:
        while True:
            job = jobs.get()
            try:
                job()
            except Exception as error:  # noqa: BLE001  (nobody waits for it, and the next one has to be settled)
                _log.warning("firsthand: a dropped stream could not be settled: %s", type(error).__name__)
            del job


_dropped = _Dropped()


def watch_for_dropped() -> None:
    """Be ready for `settle_dropped`; called where locks may be taken, before there is anything to drop."""
    _dropped.watch()


def settle_dropped(job: Callable[[], object]) -> None:
    """Run `job`, which may not raise, soon and elsewhere; safe in a finaliser."""
    _dropped.put(job)


def drain_dropped(timeout: float) -> None:
    """Wait until what was dropped so far is settled, at most `timeout` seconds."""
    _dropped.drain(timeout)
