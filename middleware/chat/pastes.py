"""Large pastes: a placeholder in the composer, the body kept beside it (submitted-prompt 2.10 and S10).

Pure values: a map of pastes is a mapping from placeholder to body that nobody changes in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

__all__ = ["NONE", "Pastes", "expand", "is_large", "normalised", "placeholder", "placeholder_before", "unknown_in"]

Pastes: TypeAlias = Mapping[str, str]
"""Placeholder to body."""

NONE: Pastes = MappingProxyType({})

_MOST_CHARACTERS = 1_000
_MOST_LINES = 10
_PLACEHOLDER = re.compile(r"\[Pasted Content \d+ chars\](?: #\d+)?")


def normalised(text: str) -> str:
    """The text with every line end written as a newline."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def is_large(text: str) -> bool:
    """True for more than 1,000 code points or more than 10 lines, of a normalised text."""
    return len(text) > _MOST_CHARACTERS or text.count("\n") + 1 > _MOST_LINES


def placeholder(text: str, taken: Iterable[str]) -> str:
    """What stands for a pasted body: the second and later of a length get the lowest number that is not taken.

    >>> placeholder("x" * 1001, ["[Pasted Content 1001 chars]"])
    '[Pasted Content 1001 chars] #2'
    """
    base = f"[Pasted Content {len(text)} chars]"
    names, number, name = set(taken), 1, base
    while name in names:
        number += 1
        name = f"{base} #{number}"
    return name


def expand(text: str, pastes: Pastes) -> str:
    """Put the bodies in: one pass, the longest placeholder first, every occurrence, taken literally."""
    if not pastes:
        return text
    names = sorted(pastes, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, names)), lambda found: pastes[found[0]], text)


def placeholder_before(text: str, at: int, pastes: Pastes) -> str | None:
    """The pending placeholder that ends at the offset `at`, the longest if several do; None when none does."""
    ending = [name for name in pastes if text.endswith(name, 0, at)]
    return max(ending, key=len) if ending else None


def unknown_in(text: str, pastes: Pastes) -> frozenset[str]:
    """What reads like a placeholder in `text` and has no body in `pastes`."""
    return frozenset(found for found in _PLACEHOLDER.findall(text) if found not in pastes)
