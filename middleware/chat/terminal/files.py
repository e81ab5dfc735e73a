"""What a chat leaves on disk for the next one: history, shell history, stashed drafts; each only its owner can read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..chat import Chat
from ..history import Entry
from .kept import Kept

__all__ = ["Files"]

_MOST_ENTRIES = 1_000
_MOST_STASHED = 100


class Files:
    """The files in `folder`. A file that cannot be read counts as empty; one that cannot be written raises OSError.

    Several chats may keep theirs in one folder; each sees what the others wrote when it is started anew.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._history = _Entries(Kept(folder / "history.jsonl", most=_MOST_ENTRIES))
        self._shell = _Entries(Kept(folder / "shell_history.jsonl", most=_MOST_ENTRIES))
        self._stashed = Kept(folder / "stash.jsonl", most=_MOST_STASHED)
        self._drafts: list[tuple[str, str]] = []

    def chat(self, *, local: tuple[str, ...], prompts: tuple[str, ...]) -> Chat:
        """A chat with what earlier ones left: the newest stashed draft in its composer, the others on the shelf."""
        self._drafts = list(self._stashed.read().items())
        drafts = [text for _, text in self._drafts]
        chat = Chat(
            local=local,
            prompts=prompts,
            history=self._history.read(),
            shell_history=self._shell.read(),
            stash=drafts[-1] if drafts else None,
            shelf=drafts[:-1],
        )
        self._history.know(chat.history.entries)
        self._shell.know(chat.shell_history.entries)
        return chat

    def keep(self, chat: Chat) -> None:
        """Write what has changed."""
        self._history.keep(chat.history.entries)
        self._shell.keep(chat.shell_history.entries)
        left, kept, new = list(self._drafts), [], []
        for text in [*chat.shelf, *([chat.stash] if chat.stash else [])]:
            known = next((draft for draft in left if draft[1] == text), None)
            if known is None:
                new.append(text)
            else:
                left.remove(known)
                kept.append(known)
        ids = self._stashed.write(new=new, gone=[id for id, _ in left])
        self._drafts = [*kept, *zip(ids, new, strict=True)]


class _Entries:
    """The entries of one history and their ids in its file."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._read: list[str] = []
        self._ids: dict[int, str] = {}

    def read(self) -> list[str]:
        found = self._kept.read()
        self._read = list(found)
        return list(found.values())

    def know(self, entries: Sequence[Entry]) -> None:
        self._ids = {entry.number: id for entry, id in zip(entries, self._read, strict=True)}

    def keep(self, entries: Sequence[Entry]) -> None:
        new = [entry for entry in entries if entry.number not in self._ids]
        there = {entry.number for entry in entries}
        gone = [number for number in self._ids if number not in there]
        if new or gone:
            ids = self._kept.write(new=[entry.text for entry in new], gone=[self._ids[number] for number in gone])
            for number in gone:
                del self._ids[number]
            self._ids |= {entry.number: id for entry, id in zip(new, ids, strict=True)}
