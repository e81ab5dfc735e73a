"""What was sent before, and going up and down in it (submitted-prompt 2.11, S11). Pure; a terminal keeps it on disk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .composer import Draft

__all__ = ["Entry", "History"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One text of the history.

    `compact` is True for a text whose placeholders have lost their bodies, such as one taken from a transcript's
    display text. Two entries are the same one only if they are the same object's.
    """

    text: str
    number: int
    compact: bool = False


class History:
    """Entries, oldest first, and a place in them while somebody goes up and down."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._entries: list[Entry] = []
        self._count = 0
        self._at: int | None = None
        self._draft = Draft()
        for text in texts:
            self.add(text)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All of it, oldest first."""
        return tuple(self._entries)

    def add(self, text: str, *, compact: bool = False) -> Entry:
        """Append; the entry that comes back is what `remove` wants."""
        entry = Entry(text, self._count, compact)
        self._count += 1
        self._entries.append(entry)
        return entry

    def remove(self, entry: Entry) -> None:
        """Take an entry out, wherever it is; nothing when it is not there."""
        if entry in self._entries:
            self._entries.remove(entry)
            self.leave()

    def is_newest(self, entry: Entry) -> bool:
        """True while nothing was added after it."""
        return bool(self._entries) and self._entries[-1] == entry

    def leave(self) -> None:
        """Stop going up and down: the next `up` starts at the newest entry."""
        self._at = None
        self._draft = Draft()

    def up(self, draft: Draft) -> Entry | None:
        """The next older entry; None at the oldest. The first step keeps `draft` for the way back.

        From an empty draft it is always a first step: who emptied the composer has left the place.
        """
        if not draft.text:
            self.leave()
        at = len(self._entries) if self._at is None else self._at
        if at == 0:
            return None
        if self._at is None:
            self._draft = draft
        self._at = at - 1
        return self._entries[self._at]

    def down(self) -> Entry | Draft | None:
        """The next newer entry, then the draft that was kept; None when nobody went up."""
        if self._at is None:
            return None
        self._at += 1
        if self._at < len(self._entries):
            return self._entries[self._at]
        draft = self._draft
        self.leave()
        return draft
