"""Strings that are made safe before they become a name: a hook's label, a store's id, an error's type."""

from __future__ import annotations

import re

from ..parts import clean

__all__ = ["error_type", "hook_label", "short", "status_code", "without_secrets", "without_user_info"]

_LABEL_CHARS = 128
_SHORT_CHARS = 256
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_UNKNOWN = "unknown-command"
_USER_INFO = re.compile(r"(?<=://)[^/\s]*@")


def hook_label(name: str | None, command: str | None = None) -> str:
    """Name a hook without its command line: of the name, or the command, the first word's base name.

    Environment assignments before the command, and a URL's query, are no part of it. Never longer than 128
    characters; blank is `unknown-command`. Source: vectors `hook_name_sanitize`.

    >>> hook_label(None, "TOKEN=abc /home/u/hooks/check.sh --key=abc")
    'check.sh'
    """
    said = name if name is not None and name.strip() else command or ""
    words = [word for word in said.split() if not _ASSIGNMENT.match(word)]
    if not words:
        return _UNKNOWN
    word = re.split(r"[?#]", words[0].strip("\"'"), maxsplit=1)[0].rstrip("/\\")
    return short(re.split(r"[/\\]", word)[-1], _LABEL_CHARS) or _UNKNOWN


def short(text: object, limit: int = _SHORT_CHARS) -> str:
    """Valid UTF-8 of at most `limit` characters, for names and ids that nobody bounds and some servers number."""
    if type(text) is str and len(text) <= limit and text.isascii() and "\x00" not in text:
        return text
    said = text if isinstance(text, str) else str(text)
    return clean(said if len(said) <= limit else said[:limit])


def without_secrets(url: str) -> str:
    """A URL or path without user info, query and fragment.

    >>> without_secrets("postgresql://alice:pw@db/m?sslmode=require")
    'postgresql://db/m'
    """
    return short(without_user_info(url))


def without_user_info(url: str) -> str:
    """The same, of any length."""
    return _USER_INFO.sub("", re.split(r"[?#]", url, maxsplit=1)[0])


def error_type(error: BaseException) -> str:
    """The HTTP status code when the exception has one, else its full class name; never its message."""
    code = status_code(error)
    if code is not None:
        return str(code)
    kind = type(error)
    return short(kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}")


def status_code(error: BaseException) -> int | None:
    """The integer `status_code` of an SDK's exception (`code` for google-genai), or None."""
    for attribute in ("status_code", "code"):
        value = getattr(error, attribute, None)
        # A stream that says later that it failed has begun with a status of success.
        if type(value) is int and 300 <= value <= 599:
            return value
    return None
