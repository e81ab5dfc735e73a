"""The tools that the chat offers to its model: reading, and only in one folder.

What begins with a dot (`.env`, `.git`) is left to the person, who can mention it with `@`; what a symbolic link leads
to outside of the folder is refused. Every answer is a text for the model, refusals included: nothing here raises for
what a model asks.
"""

from __future__ import annotations

import fnmatch
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

__all__ = ["SCHEMAS", "Answered", "Toolbox"]

_MOST_LINES: Final = 2_000
_MOST_CHARACTERS: Final = 60_000
_MOST_BYTES: Final = 10_000_000
_MOST_NAMES: Final = 500
_MOST_HITS: Final = 200
_MOST_SEEN: Final = 20_000
_MOST_SEARCHED: Final = 200_000_000
_LONGEST_LINE: Final = 400
_PROBE: Final = 8_192


def _schema(name: str, description: str, required: Sequence[str], **properties: tuple[str, str]) -> Mapping[str, Any]:
    fields = {key: {"type": kind, "description": meaning} for key, (kind, meaning) in properties.items()}
    parameters = {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


SCHEMAS: Final[Sequence[Mapping[str, Any]]] = (
    _schema(
        "read_file",
        f"Read a text file of the working folder; at most {_MOST_LINES:,} lines at once.",
        ["path"],
        path=("string", "relative to the working folder"),
        first_line=("integer", "the first line to read, 1 by default"),
        lines=("integer", "how many lines"),
    ),
    _schema(
        "list_files",
        "List the files below a folder of the working folder, hidden ones left out.",
        [],
        path=("string", "the folder, the working folder by default"),
        pattern=("string", "names to list, such as *.py"),
    ),
    _schema(
        "search",
        "Find the lines that hold a text, literally, in the files below a folder of the working folder.",
        ["text"],
        text=("string", "what to look for; upper and lower case are the same"),
        path=("string", "a folder or a file, the working folder by default"),
        pattern=("string", "names of the files to look in, such as *.py"),
    ),
)
"""As `tools` of chat.completions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a tool said; `failed` when it could not do what was asked."""

    text: str
    failed: bool = False


class _Refusal(Exception):
    """What was asked cannot be done; the message is for the model and the person."""


@dataclass(slots=True)
class Toolbox:
    """The tools for one folder. `stop` ends a search that is under way, whichever thread it is in."""

    folder: Path
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self, name: str, arguments: str) -> Answered:
        """Do what a model asks for; `arguments` are JSON as it wrote them."""
        tool = _TOOLS.get(name)
        if tool is None:
            return Answered(text=f"there is no tool {name}; there are {', '.join(_TOOLS)}", failed=True)
        try:
            given = json.loads(arguments or "{}")
            if not isinstance(given, dict):
                raise _Refusal("the arguments are no JSON object")
            return Answered(text=tool(self, given))
        except ValueError as error:
            return Answered(text=f"the arguments cannot be read: {error}", failed=True)
        except _Refusal as refusal:
            return Answered(text=str(refusal), failed=True)
        except (OSError, RecursionError) as error:
            return Answered(text=f"it cannot be read: {getattr(error, 'strerror', None) or error}", failed=True)

    def _read(self, given: Mapping[str, Any]) -> str:
        path, name = self._place(given, "path", "")
        first, count = _number(given, "first_line", 1), min(_number(given, "lines", _MOST_LINES), _MOST_LINES)
        text = _text_of(path)
        if text is None:
            raise _Refusal(f"{name} is no text file, or longer than {_MOST_BYTES:,} bytes")
        lines = text.splitlines(keepends=True)
        if first > max(1, len(lines)):
            raise _Refusal(f"{name} has {len(lines)} lines")
        shown = "".join(lines[first - 1 : first - 1 + count])
        last = min(first - 1 + count, len(lines))
        if len(shown) > _MOST_CHARACTERS:
            return f"{shown[:_MOST_CHARACTERS]}\n[cut after {_MOST_CHARACTERS:,} characters; ask for fewer lines]"
        more = f"\n[lines {first} to {last} of {len(lines)}]" if first > 1 or last < len(lines) else ""
        return shown + more

    def _list(self, given: Mapping[str, Any]) -> str:
        path, name = self._place(given, "path", ".")
        if not path.is_dir():
            raise _Refusal(f"{name} is no folder")
        pattern = _string(given, "pattern", "*")
        names = [self._named(found) for found in self._files(path, pattern)]
        if not names:
            return "no files"
        more = f"\n[the first {_MOST_NAMES}; name a folder or a pattern]" if len(names) > _MOST_NAMES else ""
        return "\n".join(names[:_MOST_NAMES]) + more

    def _search(self, given: Mapping[str, Any]) -> str:
        text = _string(given, "text", "").casefold()
        if not text.strip():
            raise _Refusal("the text to look for is blank")
        path, _ = self._place(given, "path", ".")
        pattern = _string(given, "pattern", "*")
        hits: list[str] = []
        read = 0
        for found in self._files(path, pattern) if path.is_dir() else [path]:
            held = _text_of(found)
            if held is None:
                continue
            read += len(held)
            if text in held.casefold():
                hits += self._hits(found, held, text)
            if len(hits) >= _MOST_HITS or read > _MOST_SEARCHED:
                return "\n".join([*hits[:_MOST_HITS], "[there may be more; name a folder or a pattern]"])
        return "\n".join(hits) or "no line holds that"

    def _hits(self, path: Path, held: str, text: str) -> Iterator[str]:
        for number, line in enumerate(held.splitlines(), 1):
            if text in line.casefold():
                cut = f"{line[:_LONGEST_LINE]}…" if len(line) > _LONGEST_LINE else line
                yield f"{self._named(path)}:{number}: {cut.strip()}"

    def _place(self, given: Mapping[str, Any], key: str, default: str) -> tuple[Path, str]:
        """The path that is meant, links followed, and as it was written. Raises `_Refusal` for one outside."""
        written = _string(given, key, default)
        if not written:
            raise _Refusal(f"{key} is missing")
        folder = self.folder.resolve()
        try:
            path = (folder / written).resolve()
        except (ValueError, RuntimeError) as error:
            raise _Refusal(f"{written!r} is no path: {error}") from error
        if not path.is_relative_to(folder):
            raise _Refusal(f"{written} is outside of the working folder")
        if _is_hidden(path.relative_to(folder)):
            raise _Refusal(f"{written} is hidden: only the person can send it, by mentioning it with @")
        if not path.exists():
            raise _Refusal(f"there is no {written}")
        if not (path.is_dir() or path.is_file()):
            raise _Refusal(f"{written} is no regular file")
        return path, written

    def _files(self, path: Path, pattern: str) -> Iterator[Path]:
        """The files below a folder in the order of their names; links are not followed, hidden ones left out."""
        seen = 0
        for place, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                seen += 1
                if self.stop.is_set() or seen > _MOST_SEEN:
                    return
                found = Path(place) / name
                if name.startswith(".") or found.is_symlink() or not found.is_file():
                    continue
                if fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(self._named(found), pattern):
                    yield found

    def _named(self, path: Path) -> str:
        return path.relative_to(self.folder.resolve()).as_posix()


_TOOLS: Final[Mapping[str, Callable[[Toolbox, Mapping[str, Any]], str]]] = {
    "read_file": Toolbox._read,
    "list_files": Toolbox._list,
    "search": Toolbox._search,
}


def _string(given: Mapping[str, Any], key: str, default: str) -> str:
    value = given.get(key)
    if value is None:
        return default
    if not isinstance(value, str):
        raise _Refusal(f"{key} is to be a string")
    return value


def _number(given: Mapping[str, Any], key: str, default: int) -> int:
    value = given.get(key)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _Refusal(f"{key} is to be a number from 1 on")
    return value


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _text_of(path: Path) -> str | None:
    """A file's text; None for one that holds none, or too much of it."""
    if not path.is_file() or path.stat().st_size > _MOST_BYTES:
        return None
    data = path.read_bytes()
    if b"\0" in data[:_PROBE]:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
