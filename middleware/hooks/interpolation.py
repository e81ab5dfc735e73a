"""Environment variables in the URL and the headers of an HTTP hook.

Only names that the hook lists reach the text; everything else that looks like a variable becomes nothing, so that a
hooks file cannot carry the environment away. Source: hooks-and-transcripts 1.10.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

__all__ = ["interpolated", "names_in"]

_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_BREAKS = str.maketrans("", "", "\r\n\0")
_NEVER = frozenset(
    {
        "__proto__",
        "constructor",
        "prototype",
        "__defineGetter__",
        "__defineSetter__",
        "__lookupGetter__",
        "__lookupSetter__",
        # Secrets of the reference's own processes.
        "QWEN_SERVER_TOKEN",
        "QWEN_DAEMON_TOKEN",
        "QWEN_CODE_PRIVATE_ACP_CAPABILITY",
    }
)


def interpolated(template: str, allowed: Collection[str], env: Mapping[str, str]) -> str:
    """Put the `allowed` variables of `env` in; then remove CR, LF and NUL, also those of the template.

    `$NAME` and `${NAME}` are variables, the closing brace is optional. One that is not allowed, not set or named like
    a JavaScript prototype is empty.

    >>> interpolated("Bearer ${K}, $L", {"K"}, {"K": "v", "L": "w"})
    'Bearer v, '
    """

    def value(match: re.Match[str]) -> str:
        name = match[1]
        return env.get(name, "") if name in allowed and name not in _NEVER else ""

    return _VARIABLE.sub(value, template).translate(_BREAKS)


def names_in(template: str) -> tuple[str, ...]:
    """The names of the variables in a template, each once, in order."""
    return tuple(dict.fromkeys(_VARIABLE.findall(template)))
