"""Secrets out of content, before it is exported: the store's rule set, and the user's own.

The rules cost 25 ms on 64 kB, so they see only the neighbourhood of what could be a secret: a long run of token
characters with a digit in it, a URL with a password, a private key. Most texts have none and pay microseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from .options import Redaction

__all__ = ["redactor"]

_RUN = 16
_TOKEN = bytes(97 if chr(code) in "_-+/=." or (code < 128 and chr(code).isalnum()) else 32 for code in range(256))
_LONG = b"a" * _RUN
_RUNS = re.compile(rf"[A-Za-z0-9_\-+/=.]{{{_RUN},}}")
_TELLING = re.compile(r"[0-9]|_authToken")
_PASSWORD = re.compile(r"://[^/\s]*@")
_ARTIFACTORY = re.compile(r"A(?:KC[A-Za-z0-9]{10}|P[0-9A-F][A-Za-z0-9]{8})")
_LETTERS_ONLY = re.compile(r"cl[a-z]{0,6}[_-]?(?:api)?[_-]?(?:key|pwd|pw|pass|token)", re.IGNORECASE)
_KEYWORDS = re.compile(r"key|pw|pass|token", re.IGNORECASE)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----.*?(?:-----END [^-]*-----|\Z)", re.DOTALL)
_MARGIN = 96

Redact = Callable[[str], str]


def redactor(extra: tuple[Redaction, ...] = ()) -> Redact:
    """Make the function that takes secrets out of a text.

    Raises what `re.compile` raises for a bad pattern. What it returns raises whatever a function in `extra` raises;
    its caller then drops the content. Source of the rules: `recall_store.secrets.rules`.
    """
    from recall_store.secrets import rules

    shapes = tuple((rule.id, rule.pattern, rule.confirm) for rule in rules())
    own = tuple(re.compile(item) if isinstance(item, str) else item for item in extra)

    def redact(text: str) -> str:
        for rule in own:
            text = rule.sub("[redacted]", text) if isinstance(rule, re.Pattern) else _checked(rule(text))
        if "PRIVATE KEY" in text:
            text = _PRIVATE_KEY.sub("[redacted: private-key]", text)
        windows = _windows(text)
        if not windows:
            return text
        pieces: list[str] = []
        end = 0
        for start, stop in windows:
            pieces += (text[end:start], _without(text[start:stop]))
            end = stop
        return "".join((*pieces, text[end:]))

    def _without(window: str) -> str:
        for name, pattern, confirm in shapes:
            if pattern.flags & re.IGNORECASE and "key|pwd" in pattern.pattern and not _KEYWORDS.search(window):
                continue
            if pattern.search(window) is not None:
                mark = f"[redacted: {name}]"
                window = pattern.sub(partial(_marked, confirm, mark), window)
        return window

    return redact


def _checked(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a redaction function returned {type(text).__name__}, not str")
    return text


def _marked(confirm: Callable[[str], bool] | None, mark: str, found: re.Match[str]) -> str:
    whole = found.group()
    return mark if confirm is None or confirm(whole) else whole


def _windows(text: str) -> list[tuple[int, int]]:
    """Where a secret could be, in order and without overlap."""
    spots = sorted(_spots(text))
    merged: list[tuple[int, int]] = []
    for start, stop in spots:
        start, stop = max(0, start - _MARGIN), min(len(text), stop + _MARGIN)
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def _spots(text: str) -> Iterator[tuple[int, int]]:
    # One byte a character, so that places stay; anything outside Latin-1 is no token character.
    if _LONG in text.encode("latin-1", "replace").translate(_TOKEN):
        named = _LETTERS_ONLY.search(text) is not None
        for run in _RUNS.finditer(text):
            if named or _TELLING.search(run.group()):
                yield run.span()
    if "@" in text:
        for found in _PASSWORD.finditer(text):
            yield found.span()
    for found in _ARTIFACTORY.finditer(text):
        yield found.span()
