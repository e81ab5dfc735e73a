"""Ctrl+R: look for an earlier text. The query has a buffer of its own, so that the draft stays as it is."""

from __future__ import annotations

from prompt_toolkit.buffer import Buffer

from ..cells import Act
from ..chat import Chat

__all__ = ["Search"]


class Search:
    """A search in the chat's history, the newest first; `buffer` holds the query."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._older = 0
        self.buffer = Buffer(multiline=False, on_text_changed=lambda _: self._again())

    @property
    def match(self) -> str | None:
        """What is found, None for nothing; an empty query finds nothing."""
        query = self.buffer.text.casefold()
        if not query:
            return None
        entries = (self._chat.shell_history if self._chat.shell else self._chat.history).entries
        texts = dict.fromkeys(entry.text for entry in reversed(entries) if query in entry.text.casefold())
        found = list(texts)
        return found[min(self._older, len(found) - 1)] if found else None

    def begin(self) -> None:
        """Start with no query."""
        self.buffer.text = ""
        self._again()

    def older(self) -> None:
        """The next older match; the oldest stays."""
        before = self.match
        self._older += 1
        if self.match == before:
            self._older -= 1

    def accept(self) -> None:
        """Put the match into the composer, which taints."""
        if (match := self.match) is not None:
            self._chat.composer.fill(match, Act.SEARCH)

    def _again(self) -> None:
        self._older = 0
