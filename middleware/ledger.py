"""Which block belongs to which message of a session: identity, matching, retry.

The application re-sends its whole history without our text; the ledger puts the same bytes back on the same
messages, so that request n's messages are a prefix of request n+1's. DESIGN.md, "Sticky injection", has the
eleven rules that the comments here name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from .errors import HookBlocked
from .forked import renew_in_child
from .injection import Block
from .parts import Identity, Request

__all__ = ["Anchor", "CatchUp", "Entry", "Flight", "Ledger", "Thread", "Wait", "thread_of"]

_KEPT_ENTRIES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A message that may carry a block; a run of tool results is one anchor, keyed by their ids (rule 11).

    `index` is its place in the request (of the run: its last), `predecessor` the identity of what was said
    before it, `reply` of the assistant message right after it.
    """

    index: int
    key: Identity
    predecessor: Identity | None
    reply: Identity | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A request as the ledger sees it: the identities of its messages, system ones and ours left out.

    `anchors` are the messages that may carry a block, oldest first; `current` is the one that this call is
    about.
    """

    identities: tuple[Identity, ...]
    anchors: tuple[Anchor, ...]
    current: Anchor | None

    def asked(self) -> tuple[tuple[Identity, ...], tuple[Identity, ...]]:
        """The identities without an assistant prefill at the end, and the prefill."""
        end = len(self.identities)
        while end and self.identities[end - 1][0] == "assistant":
            end -= 1
        return self.identities[:end], self.identities[end:]


@dataclass(slots=True, kw_only=True)
class Entry:
    """One admitted turn: the block of its message, and the replies that were delivered to it.

    `partial` are replies that broke off: they tell a re-sent history, but do not make the turn an answered one.
    `restored` is one that a transcript tells of, which does not hold the whole request.
    """

    serial: int
    key: Identity
    predecessor: Identity | None
    block: Block
    request: tuple[Identity, ...] | None
    restored: bool = False
    replies: set[Identity] = field(default_factory=set)
    partial: set[Identity] = field(default_factory=set)


@dataclass(slots=True, kw_only=True)
class Flight:
    """A turn being prepared, which identical parallel calls wait for (rule 8)."""

    key: tuple[Identity, ...]
    landed: Future[None] = field(default_factory=Future)
    entry: Entry | None = None
    blocked: HookBlocked | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Step: wait until a flight has landed. Answered with False by a driver that may not wait where it is."""

    flight: Flight


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """Step: call `read`, which reads what others wrote of this conversation. Answered with nothing."""

    read: Callable[[], None]


def thread_of(request: Request) -> Thread:
    """Read a request's thread: rules 1 (identity), 3 (current message) and 11 (tool results)."""
    said = [
        (index, message, message.identity())
        for index, message in enumerate(request.messages)
        if message.role != "system" and not message.injection
    ]
    anchors: list[Anchor] = []
    current: Anchor | None = None
    at = 0
    while at < len(said):
        start, (_, message, key) = at, said[at]
        if message.role == "assistant":
            at += 1
            continue
        if message.is_tool_result:
            while message.role == "tool" and at + 1 < len(said) and said[at + 1][1].role == "tool":
                at += 1
            key = ("tools", *(tool_id for _, part_of, _ in said[start : at + 1] for tool_id in part_of.tool_ids))
        answered = at + 1 < len(said) and said[at + 1][1].role == "assistant"
        anchor = Anchor(
            index=said[at][0],
            key=key,
            predecessor=said[start - 1][2] if start else None,
            reply=said[at + 1][2] if answered else None,
        )
        anchors.append(anchor)
        if anchor.index == request.current:
            current = anchor
        at += 1
    return Thread(identities=tuple(identity for _, _, identity in said), anchors=tuple(anchors), current=current)


class Ledger:
    """The entries of one session. Thread-safe; nothing here waits or does I/O but for the lock."""

    def __init__(self) -> None:
        self._serial = 0
        self._entries: list[Entry] = []
        self._by_key: dict[Identity, list[Entry]] = {}
        self.renew()
        renew_in_child(self)

    def renew(self) -> None:
        """Start with nobody inside and no flight under way; see `forked`."""
        self._lock = threading.Lock()
        self._flights: dict[tuple[Identity, ...], Flight] = {}

    def history(self, thread: Thread) -> dict[int, Block]:
        """Blocks of re-sent messages by their index in the request.

        In order from the end, and only where the key is equal and the reply that follows is one that was
        delivered to that entry (rule 5).
        """
        found: dict[int, Block] = {}
        with self._lock:
            if not self._entries:
                return found
            limit = self._serial
            for anchor in reversed(thread.anchors):
                if thread.current is not None and anchor.index >= thread.current.index:
                    continue
                for entry in reversed(self._by_key.get(anchor.key, ())):
                    told = anchor.reply in entry.replies or anchor.reply in entry.partial
                    if entry.serial < limit and anchor.reply is not None and told:
                        limit = entry.serial
                        if entry.block:
                            found[anchor.index] = entry.block
                        break
        return found

    def retried(self, thread: Thread, *, whole: bool) -> Entry | None:
        """The newest entry if this is that turn again and no reply was delivered to it (rule 6).

        With `whole` (a named session) the whole request must be equal too, unless the entry was restored.
        """
        with self._lock:
            newest = self._entries[-1] if self._entries else None
            if newest is None or newest.replies or not _same(newest, thread):
                return None
            return newest if not whole or newest.restored or newest.request == thread.identities else None

    def declared_retry(self, thread: Thread) -> Entry | None:
        """The newest entry if it is this message's, answered or not: the caller said that this is a retry."""
        with self._lock:
            newest = self._entries[-1] if self._entries else None
            return newest if newest is not None and _same(newest, thread) else None

    def drop_cancelled(self, thread: Thread) -> None:
        """Forget the newest entry if it is this message's and got no reply: a new turn takes its place."""
        with self._lock:
            newest = self._entries[-1] if self._entries else None
            if newest is not None and not newest.replies and _same(newest, thread):
                self._entries.pop()
                self._by_key[newest.key].remove(newest)

    def admit(self, thread: Thread, block: Block) -> Entry | None:
        """Write the entry of a turn that is about to be sent; a blocked one never gets here (rule 4)."""
        if thread.current is None:
            return None
        return self._add(thread.current.key, thread.current.predecessor, block, thread.identities)

    def restore(self, key: Identity, predecessor: Identity | None, block: Block) -> Entry:
        """Write the entry of a turn that a transcript tells of."""
        return self._add(key, predecessor, block, None, restored=True)

    def answered(self, entry: Entry, replies: Sequence[Identity], *, whole: bool = True) -> None:
        """Note the replies (one a choice) that came to an entry; not `whole` when they broke off."""
        with self._lock:
            (entry.replies if whole else entry.partial).update(replies)

    def board(self, thread: Thread) -> tuple[Flight, bool]:
        """The flight of this request, and whether the caller leads it; a follower waits for `landed`."""
        with self._lock:
            flight = self._flights.get(thread.identities)
            if flight is not None:
                return flight, False
            flight = self._flights[thread.identities] = Flight(key=thread.identities)
            return flight, True

    def land(self, flight: Flight, *, entry: Entry | None = None, blocked: HookBlocked | None = None) -> None:
        """End a flight: followers take its entry, its block, or (neither) one of them leads the next."""
        with self._lock:
            self._flights.pop(flight.key, None)
            flight.entry, flight.blocked = entry, blocked
        flight.landed.set_result(None)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        with self._lock:
            return iter(list(self._entries))

    def _add(
        self,
        key: Identity,
        predecessor: Identity | None,
        block: Block,
        request: tuple[Identity, ...] | None,
        *,
        restored: bool = False,
    ) -> Entry:
        with self._lock:
            entry = Entry(
                serial=self._serial,
                key=key,
                predecessor=predecessor,
                block=block,
                request=request,
                restored=restored,
            )
            self._serial += 1
            if self._entries:
                # Only the newest can be retried: older ones need not keep their whole request.
                self._entries[-1].request = None
            self._entries.append(entry)
            self._by_key.setdefault(key, []).append(entry)
            if len(self._entries) > _KEPT_ENTRIES:
                oldest = self._entries.pop(0)
                same_key = self._by_key[oldest.key]
                same_key.remove(oldest)
                if not same_key:
                    del self._by_key[oldest.key]
        return entry


def _same(entry: Entry, thread: Thread) -> bool:
    current = thread.current
    return current is not None and entry.key == current.key and entry.predecessor == current.predecessor
