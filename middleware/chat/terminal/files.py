"""What a chat leaves on disk for the next one: history, shell history, stash; each only its owner can read."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from ..chat import Chat

__all__ = ["Files"]

_MOST_ENTRIES = 1_000


class Files:
    """The files in `folder`. A file that cannot be read counts as empty; one that cannot be written raises OSError."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._written: dict[str, list[str]] = {}

    def chat(self, *, local: tuple[str, ...], prompts: tuple[str, ...]) -> Chat:
        """A chat with what an earlier one left."""
        stash = self._read("stash.json")
        return Chat(
            local=local,
            prompts=prompts,
            history=self._read("history.json"),
            shell_history=self._read("shell_history.json"),
            stash=stash[0] if stash else None,
        )

    def keep(self, chat: Chat) -> None:
        """Write what has changed."""
        self._write("history.json", [entry.text for entry in chat.history.entries])
        self._write("shell_history.json", [entry.text for entry in chat.shell_history.entries])
        self._write("stash.json", [chat.stash] if chat.stash else [])

    def _read(self, name: str) -> list[str]:
        try:
            value: Any = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            value = []
        texts = [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
        self._written[name] = texts
        return texts

    def _write(self, name: str, texts: list[str]) -> None:
        texts = texts[-_MOST_ENTRIES:]
        if texts == self._written.get(name, []):
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp makes it 0600, and a kill in between leaves the old file whole.
        handle, made = tempfile.mkstemp(prefix=name, dir=self.folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(texts, file)
            Path(made).replace(self.folder / name)
        except BaseException:
            Path(made).unlink(missing_ok=True)
            raise
        self._written[name] = texts
