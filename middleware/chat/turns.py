"""The running turn: what it left on the screen and in the history, and what of it can be taken back. Pure.

Rules: submitted-prompt 2.5 and 2.6, S11 and S12.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..provenance import Origin
from .effects import Cancelled, Send
from .history import Entry, History
from .queue import Item, Kind

__all__ = ["Turns"]


@dataclass(slots=True, kw_only=True)
class _Running:
    """The turn on its way.

    `item` is None for a turn that nobody submitted here; `row` numbers its user row, None when it has none;
    `followed` is True once something came after that row.
    """

    item: Item | None = None
    row: int | None = None
    entry: Entry | None = None
    followed: bool = False


class Turns:
    """One turn at a time; its marks in `history` are made when it begins."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._running: _Running | None = None
        self._rows: list[int] = []
        self._count = 0

    @property
    def busy(self) -> bool:
        """True while a turn runs."""
        return self._running is not None

    def is_running(self, item: Item) -> bool:
        """True when the running turn is the one that was begun with this very item."""
        return self._running is not None and self._running.item is item

    def begin(self, item: Item) -> Send:
        """Start a turn. User text adds a row and a history entry; a command's body or a peer's text adds neither."""
        self._running = _Running(item=item)
        if item.is_user_text:
            self._running.row = self.add_row()
            self._running.entry = self._history.add(item.text)
        return Send(item=item, origin=Origin.TEAMMATE if item.kind is Kind.PEER else Origin.USER_QUERY)

    def add_row(self) -> int:
        """A user row that no running turn may take back, unless it is given the number."""
        self._count += 1
        self._rows.append(self._count)
        return self._count

    def occupy(self) -> None:
        """A turn that nobody submitted here has begun: it has nothing to give back."""
        self._running = _Running()

    def follow(self) -> None:
        """Something was added after the running turn's row."""
        if self._running is not None:
            self._running.followed = True

    def end(self) -> None:
        """The running turn is over, and stays where it is."""
        self._running = None

    def take_back(self) -> Item | None:
        """End the running turn as if it had never begun: row and entry go; answers what was sent."""
        running, self._running = self._running, None
        if running is None:
            return None
        if running.row in self._rows:
            self._rows.remove(running.row)
        if running.entry is not None:
            self._history.remove(running.entry)
        return running.item

    def cancel(
        self, *, occupied: bool, output: bool, tool_running: bool, pending: bool
    ) -> tuple[Cancelled, Item | None]:
        """End the running turn at the person's wish; answers what goes back into the composer, if anything does.

        `occupied`: the composer has a draft, or the queue was put there. Its history entry goes only with its row,
        and only while it is the newest: a side question may have written one since.
        """
        running, self._running = self._running or _Running(), None
        produced = output or running.followed
        strip = not (produced or tool_running or pending)
        kept = Cancelled(restored=False, cut=False, strip=strip, forgotten=False)
        if occupied or tool_running or running.row is None:
            return kept, None
        if produced:
            return Cancelled(restored=True, cut=False, strip=False, forgotten=False), running.item
        if pending or self._rows[-1:] != [running.row]:
            return kept, None
        self._rows.pop()
        entry = running.entry
        forgotten = entry is not None and self._history.is_newest(entry)
        if entry is not None and forgotten:
            self._history.remove(entry)
        return Cancelled(restored=True, cut=True, strip=True, forgotten=forgotten), running.item
