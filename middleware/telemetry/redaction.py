"""Secrets out of content, before it is exported: the store's rule set, and the user's own.

The rules cost 25 ms on 64 kB, so they see only the neighbourhood of what could be a secret: a long run of token
characters with a digit or a very long word in it, a URL with a password, a private key. Most texts have none and
pay microseconds.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from .options import Redaction

__all__ = ["alike_at_the_end", "past_cut", "redacted", "redactor"]

_RUN = 16
_TOKEN = bytes(97 if chr(code) in "_-+/=." or (code < 128 and chr(code).isalnum()) else 32 for code in range(256))
_LONG = b"a" * _RUN
_RUNS = re.compile(rf"[A-Za-z0-9_\-+/=.]{{{_RUN},}}")
_TELLING = re.compile(r"[0-9]|[A-Za-z]{22}|_authToken")
_PASSWORD = re.compile(r"://[^/\s]*@")
_ARTIFACTORY = re.compile(r"A(?:KC[A-Za-z0-9]{10}|P[0-9A-F][A-Za-z0-9]{8})")
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----.*?(?:-----END [^-]*-----|\Z)", re.DOTALL)
_ASSIGNS = re.compile(r"(?:key|pw|pwd|pass|password|token)[\"'\]]{0,2} *[=: ]")
_TOKENS = re.compile(r"[A-Za-z0-9_\-+/=.]*")
_MARGIN = 96
_PAST_CUT = 1024
_PAST_CUT_RUN = 8192
_PIECE = 16 * 1024

Redact = Callable[[str], str]


def redactor(extra: tuple[Redaction, ...] = ()) -> Redact:
    """Make the function that takes secrets out of a text.

    Raises what `re.compile` raises for a bad pattern. What it returns raises whatever a function in `extra` raises;
    its caller then drops the content. Source of the rules: `recall_store.secrets.rules`.
    """
    from recall_store.secrets import rules

    shapes = tuple(_Shape.of(rule.id, rule.pattern, rule.confirm) for rule in rules())
    own = tuple(re.compile(item) if isinstance(item, str) else item for item in extra)

    def redact(text: str) -> str:
        for rule in own:
            text = rule.sub("[redacted]", text) if isinstance(rule, re.Pattern) else _checked(rule(text))
        if "PRIVATE KEY" in text:
            text = _PRIVATE_KEY.sub("[redacted: private-key]", text)
        long = _has_long_run(text)
        if not long and "@" not in text and _ARTIFACTORY.search(text) is None:
            return text
        windows = _windows(text, long)
        if not windows:
            return text
        near = "\n".join(text[start:stop] for start, stop in windows)
        lowered = near.lower()
        assigns = _ASSIGNS.search(lowered) is not None
        found = [shape for shape in shapes if shape.could_be_in(near, lowered, assigns) and shape.pattern.search(near)]
        if not found:
            return text
        pieces: list[str] = []
        end = 0
        for start, stop in windows:
            pieces += (text[end:start], _without(text[start:stop], found))
            end = stop
        return "".join((*pieces, text[end:]))

    return redact


def redacted(text: str) -> str:
    """A text that is no content, without the secrets that the built-in rules know.

    Loads the rules at the first text that could hold one; raises what their import raises.
    """
    if not _has_long_run(text) and "@" not in text and _ARTIFACTORY.search(text) is None:
        return text
    return _built_in()(text)


@cache
def _built_in() -> Redact:
    return redactor()


def past_cut(text: str, cut: int) -> int:
    """Up to where a text has to be redacted that is cut at `cut`: what lies across it may be a secret.

    1,024 characters further, and to the end of the run of token characters there, within 8,192 (a JSON web token).
    """
    run = _TOKENS.match(text, cut, cut + _PAST_CUT_RUN)
    return min(len(text), max(cut + _PAST_CUT, run.end() if run is not None else 0))


def alike_at_the_end(said: str, redacted: str, most: int) -> int:
    """How many characters at the end of both are the same, `most` at most: nothing was redacted there."""
    if redacted.endswith(said[max(0, len(said) - most) :]):
        return most
    least = 0
    while most - least > 1:
        middle = (least + most) // 2
        if redacted.endswith(said[max(0, len(said) - middle) :]):
            least = middle
        else:
            most = middle
    return least


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """A rule and what a text must hold for it to match: most texts are ruled out by a substring search."""

    id: str
    pattern: re.Pattern[str]
    confirm: Callable[[str], bool] | None
    hint: str
    any_case: bool
    assigned: bool

    @classmethod
    def of(cls, id: str, pattern: re.Pattern[str], confirm: Callable[[str], bool] | None) -> _Shape:
        any_case = bool(pattern.flags & re.IGNORECASE)
        hint = _required_literal(pattern)
        return cls(
            id=id,
            pattern=pattern,
            confirm=confirm,
            hint=hint.lower() if any_case else hint,
            any_case=any_case,
            assigned="|=>|" in pattern.pattern,
        )

    def could_be_in(self, text: str, lowered: str, assigns: bool) -> bool:
        return self.hint in (lowered if self.any_case else text) and (assigns or not self.assigned)


def _without(window: str, shapes: list[_Shape]) -> str:
    for shape in shapes:
        window = shape.pattern.sub(partial(_marked, shape.confirm, f"[redacted: {shape.id}]"), window)
    return window


def _required_literal(pattern: re.Pattern[str]) -> str:
    """The longest literal that every match holds; "" when there is none, or no way to tell."""
    try:
        parse = importlib.import_module("re._parser").parse
    except (ImportError, AttributeError):
        return ""
    found: list[str] = [""]

    def walk(sequence: Iterable[tuple[object, Any]]) -> None:
        found.append("")
        for kind, value in sequence:
            name = str(kind)
            if name == "LITERAL":
                found[-1] += chr(value)
            elif name == "SUBPATTERN":
                walk(value[-1])
            elif name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] > 0:
                walk(value[2])
            else:
                found.append("")
        found.append("")

    walk(parse(pattern.pattern, pattern.flags))
    return max(found, key=len)


def _checked(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a redaction function returned {type(text).__name__}, not str")
    return text


def _marked(confirm: Callable[[str], bool] | None, mark: str, found: re.Match[str]) -> str:
    whole = found.group()
    return mark if confirm is None or confirm(whole) else whole


def _has_long_run(text: str) -> bool:
    if len(text) < _RUN:
        return False
    # One byte a character; anything outside Latin-1 is no token character. In pieces: of a long text each copy would
    # be memory fresh from the system, which costs more than the search.
    for start in range(0, len(text), _PIECE):
        piece = text[start : start + _PIECE + _RUN]
        if _LONG in piece.encode("latin-1", "replace").translate(_TOKEN):
            return True
    return False


def _windows(text: str, long: bool) -> list[tuple[int, int]]:
    """Where a secret could be, in order and without overlap; `long` tells of a long run of token characters."""
    spots = sorted(_spots(text, long))
    merged: list[tuple[int, int]] = []
    for start, stop in spots:
        start, stop = max(0, start - _MARGIN), min(len(text), stop + _MARGIN)
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def _spots(text: str, long: bool) -> Iterator[tuple[int, int]]:
    if long:
        for run in _RUNS.finditer(text):
            if _TELLING.search(run.group()):
                yield run.span()
    if "@" in text:
        for found in _PASSWORD.finditer(text):
            yield found.span()
    for found in _ARTIFACTORY.finditer(text):
        yield found.span()
