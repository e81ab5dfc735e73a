"""Slash commands that are Markdown files: the file's body is what the model gets. Reads files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Command", "load"]

_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_DESCRIPTION = re.compile(r"^description:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_ARGUMENTS = re.compile(r"\{\{args\}\}|\$ARGUMENTS")
_NAME = re.compile(r"[^\s/\\:]+")
_MOST_BYTES = 400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command: `name` without the slash, `body` with the places for its arguments."""

    name: str
    description: str
    body: str

    def prompt(self, arguments: str) -> str:
        """The body with the arguments in the places of `{{args}}` and `$ARGUMENTS`, else after a blank line."""
        body, places = _ARGUMENTS.subn(lambda _: arguments, self.body)
        return body if places or not arguments else f"{body}\n\n{arguments}"


def load(folders: Iterable[Path]) -> tuple[dict[str, Command], tuple[str, ...]]:
    """Commands by name, and a notice for every file that is none; a later folder wins.

    `git/commit.md` is `/git:commit`. A folder that does not exist has no commands. A front matter between `---`
    lines may give a `description`. Never raises for a file's content.
    """
    found: dict[str, Command] = {}
    notices: list[str] = []
    for folder in folders:
        for path in sorted(folder.rglob("*.md")):
            words = path.relative_to(folder).with_suffix("").parts
            try:
                if not all(_NAME.fullmatch(word) for word in words):
                    raise ValueError("a name with a blank or a colon cannot be typed")
                if path.stat().st_size > _MOST_BYTES:
                    raise ValueError(f"longer than {_MOST_BYTES:,} bytes")
                text = path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
            except (OSError, ValueError) as error:
                notices.append(f"{path}: not a command: {error}")
                continue
            front = _FRONT.match(text)
            described = _DESCRIPTION.search(front[1]) if front else None
            name = ":".join(words)
            found[name] = Command(
                name=name,
                description=described[1].strip("\"'") if described else "",
                body=(text[front.end() :] if front else text).strip("\n"),
            )
    return found, tuple(notices)
