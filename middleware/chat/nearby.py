"""The names of the files in a folder, for the menu of `@file`. Reads folders."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from unicodedata import category

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

__all__ = ["names_in"]

Rules: TypeAlias = Sequence[tuple[str, "GitIgnoreSpec"]]

_MOST_NAMES = 20_000
_MOST_LOOKED_AT = 100_000
_MOST_RULES = 100_000
_NEVER = frozenset(
    {
        *(".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__", ".tox", ".nox"),
        *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".DS_Store", ".Trash"),
    }
)


def names_in(folder: Path, most: int = _MOST_NAMES) -> tuple[str, ...]:
    """Paths relative to `folder` with slashes between, folders ending in one; the nearest first, at most `most`.

    Left out are what `.gitignore` files say, there and below, what nobody wrote by hand (`.git`, `node_modules`,
    `.venv` and the like), and names that cannot be typed. Links to folders are named and not followed. A folder that
    cannot be read has no names; never raises. Without the package `pathspec` no `.gitignore` is read.
    """
    return tuple(islice(_names(folder), most))


def _names(folder: Path) -> Iterator[str]:
    waiting: deque[tuple[str, Rules]] = deque([("", ())])
    looked_at = 0
    while waiting:
        base, rules = waiting.popleft()
        try:
            with os.scandir(folder / base) as entries:
                found = sorted(islice(entries, _MOST_LOOKED_AT), key=lambda entry: entry.name)
        except OSError:
            continue
        looked_at += len(found)
        rules = _with_own(folder, base, rules, any(entry.name == ".gitignore" for entry in found))
        for entry in found:
            name = f"{base}{entry.name}"
            if entry.name in _NEVER or not _can_be_typed(entry.name):
                continue
            try:
                inside = entry.is_dir(follow_symlinks=False)
            except OSError:
                continue
            name = f"{name}/" if inside else name
            if _is_ignored(name, rules):
                continue
            yield name
            if inside and looked_at < _MOST_LOOKED_AT:
                waiting.append((name, rules))


def _can_be_typed(name: str) -> bool:
    """Whether a name has no line end, no escape, and nothing that is no UTF-8."""
    return all(category(character) not in ("Cc", "Cs", "Zl", "Zp") for character in name)


def _with_own(folder: Path, base: str, rules: Rules, has_own: bool) -> Rules:
    """The rules that hold in a folder: those from above, then those of its own `.gitignore`."""
    if not has_own:
        return rules
    try:
        from pathspec import GitIgnoreSpec

        with (folder / base / ".gitignore").open(encoding="utf-8", errors="replace") as file:
            return (*rules, (base, GitIgnoreSpec.from_lines(file.read(_MOST_RULES).splitlines())))
    except (ImportError, OSError, ValueError):
        return rules


def _is_ignored(name: str, rules: Rules) -> bool:
    """What the nearest file says that says anything about it."""
    for base, spec in reversed(rules):
        said = spec.check_file(name[len(base) :]).include
        if said is not None:
            return said
    return False
