"""The names of the settings, and what the value of each may be, wherever it was said."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from ..errors import SettingsError
from ..parts import clean

__all__ = ["NAMES", "PREFIX", "checked_name", "duration", "read"]

PREFIX: Final = "FIRSTHAND_"
_ELSEWHERE: Final = {
    "hooks": "Middleware(), Middleware.from_settings() and wrap()",
    "session": "wrap() and app.wrap()",
    "tracer_provider": "Middleware() and Middleware.from_settings()",
    "meter_provider": "Middleware() and Middleware.from_settings()",
    "logger_provider": "Middleware() and Middleware.from_settings()",
}
"""Arguments that are no settings, and who takes them."""

_CAPTURE = ("NO_CONTENT", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT")
_DURATION = re.compile(r"(\d+(?:\.\d+)?) ?([hdwy])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7, "y": 24 * 365}
_ON, _OFF = ("true", "1", "yes", "on"), ("false", "0", "no", "off", "")
_TRIED = ("", "a 1.")
"""Texts in which a pattern that matches nothing at all is found out: at the ends, and at the edges of words."""


class _Refused(ValueError):
    """What is wrong with a value, where "it must be" would not say enough."""


def checked_name(name: str, source: str) -> None:
    """Raise `SettingsError`, with what was probably meant, when `name` is no setting."""
    if name in NAMES:
        return
    if name == "firsthand" and source == "firsthand.toml":
        raise SettingsError("firsthand.toml has a table [firsthand]; drop the header, the settings stand at the top")
    if source == "argument" and name in _ELSEWHERE:
        raise SettingsError(f"{name} is no setting but an argument of {_ELSEWHERE[name]}; give it there")
    names = (*NAMES, *_ELSEWHERE) if source == "argument" else NAMES
    near = difflib.get_close_matches(name, names, 1) or [
        known for known in names if len(name) > 2 and known.startswith(name)
    ]
    hint = f"did you mean {near[0]}?" if near else "the README's table lists the names"
    if source == "environment":
        name, hint = PREFIX + name.upper(), hint.replace(near[0], PREFIX + near[0].upper()) if near else hint
    raise SettingsError(f"unknown setting {name!r} in {source}; {hint}")


def read(name: str, value: object, source: str) -> Any:
    """The value of the setting `name`, as `Settings` holds it. Raises `SettingsError`, which names `source`."""
    reader, wants = _READERS[name]
    try:
        return reader(value)
    except _Refused as error:
        raise SettingsError(f"setting {name} from {source} {error}") from None
    except (TypeError, ValueError, RecursionError, OverflowError):
        raise SettingsError(f"setting {name} from {source} is {_shown(value)}; it must be {wants}") from None


def duration(text: str) -> timedelta:
    """Read "30d": a number of hours (h), days (d), weeks (w) or years (y) over 0. Raises ValueError."""
    found = _DURATION.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise ValueError(text)
    return timedelta(hours=float(found[1]) * _HOURS[found[2]])


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else str(value)
    if word not in _ON + _OFF:
        raise ValueError(word)
    return word in _ON


def _text(value: object) -> str | None:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError
    text = os.fspath(value)
    if not isinstance(text, str) or clean(text) != text:
        raise ValueError
    return text or None


def _keep(value: object) -> str | None:
    text = _text(value)
    if text is None or text.strip().lower() == "forever":
        return None
    duration(text)
    return text


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise TypeError
    number = float(value)
    if not 0 < number < float("inf"):
        raise ValueError
    return number


def _count(value: object) -> int:
    number = _number(value)
    if number != int(number):
        raise ValueError
    return int(number)


def _one_of(*choices: str) -> tuple[Callable[[object], str], str]:
    def read(value: object) -> str:
        if value not in choices:
            raise ValueError
        return str(value)

    return read, f"one of {', '.join(choices)}"


def _capture(value: object) -> str:
    if isinstance(value, str) and value.strip().upper() in _CAPTURE:
        return value.strip().upper()
    return "SPAN_ONLY" if _flag(value) else "NO_CONTENT"


def _patterns(value: object) -> tuple[str | Callable[[str], str], ...]:
    """One pattern, or several; a string that begins as a list of strings does is JSON, any other is one pattern."""
    if isinstance(value, str):
        value = _listed(value)
    elif callable(value):
        value = [value]
    if not isinstance(value, (list, tuple)):
        raise TypeError
    for item in value:
        if isinstance(item, str):
            _checked_pattern(item)
        elif not callable(item):
            raise TypeError
    return tuple(value)


def _listed(text: str) -> object:
    begins = re.match(r"\s*\[\s*([\"'\]])", text)
    if begins is None:
        return [text] if text else []
    try:
        return json.loads(text)
    except ValueError:
        raise _Refused(
            f"is {_shown(text)}, which begins as a list does and is no JSON; "
            'write ["one", "two"], with double quotes and every backslash twice'
        ) from None


def _checked_pattern(pattern: str) -> None:
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        why = error.msg if isinstance(error, re.error) else "it is too large"
        place = f" at position {error.pos}" if isinstance(error, re.error) and error.pos is not None else ""
        raise _Refused(f"holds {_shown(pattern)}, which is no regular expression: {why}{place}; correct it") from None
    if any(not found.group() for text in _TRIED for found in compiled.finditer(text)):
        raise _Refused(f"holds {_shown(pattern)}, which matches where there is no text; make it match a character")


_TEXT = (_text, "text")
_FLAG = (_flag, "true or false")
_COUNT = (_count, "a whole number over 0")

_READERS: Final[Mapping[str, tuple[Callable[[object], object], str]]] = {
    "hooks_file": (_text, "a path"),
    "continuations": _FLAG,
    "transcripts": (_text, "a folder"),
    "durability": _one_of("os", "group", "record"),
    "keep": (_keep, "forever, or a time such as 12h, 30d, 8w or 1y"),
    "store": (_text, "a store URL such as sqlite:///memories.db"),
    "embedder": (_text, "the name of an embedder, such as hash"),
    "recall_top_k": _COUNT,
    "recall_timeout": (_number, "seconds, over 0"),
    "remember": _one_of("off", "user", "model"),
    "user": _TEXT,
    "namespace": _TEXT,
    "placement": _one_of("part", "inline"),
    "tool_placement": _one_of("user", "tool_part"),
    "capture_content": (_capture, f"true, false or one of {', '.join(_CAPTURE)}"),
    "capture_injected": _FLAG,
    "max_attribute_chars": _COUNT,
    "max_context_chars": _COUNT,
    "redact": (_patterns, "a regular expression or a list of them"),
    "coexist": _FLAG,
    "request_usage": _FLAG,
    "strict": _FLAG,
    "layout": _one_of("plain", "qwen"),
    "prices": (_text, "a path"),
}

NAMES: Final = tuple(_READERS)
