"""The menu below the composer: what a half-written `/command` or `@file` may become."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from ..completing import Choice, Word, commands_for, files_for, word_at
from ..nearby import names_in
from .mirror import Mirror

__all__ = ["Menu"]


class Menu:
    """Choices for the word at the cursor of `mirror`; it is open until anything else happens to the text.

    `meanings` are the commands with their descriptions. `start` begins work beside the chat: the folder is read in a
    thread, and `redraw` is called when that is done.
    """

    def __init__(
        self,
        mirror: Mirror,
        meanings: Mapping[str, str],
        folder: Path,
        *,
        start: Callable[[Coroutine[Any, Any, None]], object],
        redraw: Callable[[], None],
    ) -> None:
        self._mirror, self._meanings, self._folder = mirror, meanings, folder
        self._start, self._redraw = start, redraw
        self._names: tuple[str, ...] = ()
        self._read_for: int | None = None
        self._is_reading = False
        self._word: Word | None = None
        self._choices: tuple[Choice, ...] = ()
        self._seen = ("", 0)
        self._moved = False
        self.at = 0

    @property
    def choices(self) -> tuple[Choice, ...]:
        """What may be taken, the best first; nothing while it is closed."""
        there = self._word is not None and self._seen == self._place()
        return self._choices if there else ()

    @property
    def is_reading(self) -> bool:
        """Whether there is a word whose choices are still to come."""
        return self._word is not None and self._word.kind == "file" and self._is_reading

    @property
    def takes_enter(self) -> bool:
        """Whether Enter takes the choice, and does not send: for an unfinished command, or after an arrow key."""
        if not self.choices or self._word is None:
            return False
        return self._moved or (self._word.kind == "command" and self._word.written not in self._meanings)

    def look(self) -> None:
        """After a key that wrote or deleted: open, narrow or close it."""
        chat = self._mirror.chat
        self._word = None if chat.shell else word_at(chat.composer.text, self._mirror.at)
        self._seen, self._moved, self.at, self._choices = self._place(), False, 0, ()
        if self._word is None:
            self._read_for = None
        elif self._word.kind == "command":
            self._choices = commands_for(self._word.written, self._meanings)
        else:
            self._choices = files_for(self._word.written, self._names)
            if self._read_for != self._word.start:
                self._read_for = self._word.start
                self._is_reading = True
                self._start(self._read())

    def move(self, by: int) -> None:
        """Choose the next one or the one before, around the ends."""
        if choices := self.choices:
            self.at = (self.at + by) % len(choices)
            self._moved = True

    def take(self) -> None:
        """Put the chosen one into the text; a folder's names come next."""
        choices, word = self.choices, self._word
        if choices and word is not None:
            choice = choices[self.at]
            self._mirror.complete(word.start, word.end, choice.text)
            self.close()
            if choice.shown.endswith("/"):
                self.look()

    def close(self) -> None:
        """Close it until the next key that writes."""
        self._word = None

    async def _read(self) -> None:
        try:
            self._names = await asyncio.to_thread(names_in, self._folder)
        finally:
            self._is_reading = False
        if self._word is not None and self._word.kind == "file" and self._seen == self._place():
            chosen = self.choices[self.at].text if self._moved and self.choices else None
            self._choices = files_for(self._word.written, self._names)
            texts = [choice.text for choice in self._choices]
            self.at = texts.index(chosen) if chosen in texts else 0
            self._redraw()

    def _place(self) -> tuple[str, int]:
        return self._mirror.chat.composer.text, self._mirror.at
