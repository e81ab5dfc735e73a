"""What waits to be sent, and how it goes out (submitted-prompt 2.4, S4, S8, D19). Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from ..parts import trim
from ..provenance import Submission, combine
from .cells import Sidecar

__all__ = ["PRODUCER", "Item", "Kind", "Queue"]

PRODUCER = "terminal"
"""Who vouches for what the composer captured."""


class Kind(StrEnum):
    """Where an item is from; only `plain` and `deferred` are the person's own words."""

    PLAIN = "plain"
    DEFERRED = "deferred"
    """Kept out of a running turn (Ctrl+Q)."""
    REMOTE = "remote"
    PROGRAM = "program"
    PEER = "peer"
    """Another session or agent: never in a batch with user text, never given back to the composer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One submission that waits, or a batch of them.

    `text` goes to the model, with reminders and bodies of pastes, trimmed; `submitted_prompt` is what the person
    submitted, or None; `visible` is what was seen when it was submitted, and the only place where `@file` mentions
    are looked for; `command` names the slash command that it is, "" for a text.
    """

    text: str
    submitted_prompt: str | None = None
    visible: str = ""
    kind: Kind = Kind.PLAIN
    command: str = ""

    @property
    def sidecar(self) -> Sidecar:
        """What goes with the text when it is given back to the composer."""
        return Sidecar(model_text=self.text, submitted_prompt=self.submitted_prompt, visible=self.visible)

    @property
    def is_user_text(self) -> bool:
        """True for what goes into batches and is given back: no slash command, no peer."""
        return not self.command and self.kind is not Kind.PEER


class Queue:
    """Items in typed order. Slash commands and peers go one at a time, after the user's text."""

    def __init__(self) -> None:
        self._items: list[Item] = []

    def __len__(self) -> int:
        return len(self._items)

    @property
    def items(self) -> tuple[Item, ...]:
        """What waits, oldest first; a screen shows their `text`."""
        return tuple(self._items)

    def add(self, item: Item) -> None:
        """Append, trimmed; what is blank is ignored."""
        self._items += _trimmed(item)

    def put_back(self, *items: Item) -> None:
        """Put at the head, in order: a send that was refused, or steering that was not delivered."""
        self._items[:0] = [kept for item in items for kept in _trimmed(item)]

    def next(self) -> Item | None:
        """Take what goes out when nothing runs: all user text as one batch, else one slash command or peer."""
        batch = self.pop_all()
        if batch is not None:
            return batch
        return self._items.pop(0) if self._items else None

    def steer(self) -> tuple[Item, ...]:
        """Take what may go into a running turn, each by itself: user text that was not deferred. No value is left."""
        taken = self._taken(lambda item: item.is_user_text and item.kind is not Kind.DEFERRED)
        return tuple(replace(item, submitted_prompt=None) for item in taken)

    def pop_all(self) -> Item | None:
        """Take all user text as one item; None when there is none. Slash commands and peers stay."""
        return _batch(self._taken(lambda item: item.is_user_text))

    def _taken(self, wanted: Callable[[Item], bool]) -> list[Item]:
        taken = [item for item in self._items if wanted(item)]
        self._items = [item for item in self._items if not wanted(item)]
        return taken


def _trimmed(item: Item) -> list[Item]:
    text = trim(item.text)
    return [replace(item, text=text)] if text else []


def _batch(items: list[Item]) -> Item | None:
    """One item for several, joined by a blank line; it has a value only if every one of them had (D19)."""
    if len(items) < 2:
        return items[0] if items else None
    joined = combine(
        Submission(
            model_parts=item.text,
            submitted_prompt=item.submitted_prompt,
            producer=PRODUCER if item.kind in (Kind.PLAIN, Kind.DEFERRED) else item.kind,
        )
        for item in items
    )
    if joined is None:
        return None
    return Item(
        text=joined.model_text,
        submitted_prompt=joined.submitted_prompt,
        visible="\n\n".join(item.visible for item in items),
        # Steering loses the value, and somebody asked for one of these not to be steered.
        kind=Kind.DEFERRED if any(item.kind is Kind.DEFERRED for item in items) else Kind.PLAIN,
    )
