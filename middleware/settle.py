"""The books of one model call: opened before the send, closed once, on whichever way out.

A value, the end of a stream, an early close, garbage collection, a cancel, an error and a block all come to
`Account.settle`; the first one counts. The caller's exception is not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from .injection import Block
from .parts import Reply, Request
from .provenance import Origin
from .telemetry import TurnTrace
from .turn import Outcome, outcome

__all__ = ["Account", "Settled"]

Settled: TypeAlias = Callable[[Reply | None, BaseException | None, Outcome], None]
"""Told how a turn ended: the session, which keeps ledger and transcript."""


class Account:
    """Everything that is written once about one model call.

    `origin`, `block`, `blocks` and `submitted_prompt` are filled in when the turn is admitted.
    """

    __slots__ = ("_open", "block", "blocks", "origin", "request", "settled", "submitted_prompt", "trace")

    def __init__(self, *, trace: TurnTrace, request: Request, origin: Origin) -> None:
        self.trace = trace
        self.request = request
        self.origin = origin
        self.block: Block | None = None
        self.blocks: Mapping[int, Block] = {}
        self.submitted_prompt: str | None = None
        self.settled: Settled | None = None
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
        try:
            if self.settled is not None:
                self.settled(reply, error, how)
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
