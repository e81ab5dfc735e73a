"""How a tool call of the chat's model looks on the screen: what was asked for, and the beginning of the answer."""

from __future__ import annotations

import json

from ..chat.terminal.reply import Called
from ..chat.terminal.talk import Done

__all__ = ["answered", "called"]

_LONGEST_ARGUMENT = 200
_MOST_LINES = 4
_LONGEST_LINE = 160


def called(call: Called) -> str:
    """One line: the tool and its arguments, as the model gave them."""
    try:
        given = json.loads(call.arguments)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        return f"→ {call.name} {_one_line(call.arguments, _LONGEST_ARGUMENT)}"
    arguments = (f"{key}={_one_line(_shown(value), _LONGEST_ARGUMENT)}" for key, value in given.items())
    return " ".join([f"→ {call.name}", *arguments])


def answered(done: Done) -> str:
    """The first lines of what the tool said, and how many follow."""
    lines = done.answered.text.rstrip("\n").split("\n")
    shown = [f"  {_cut(line, _LONGEST_LINE)}" for line in lines[:_MOST_LINES]]
    left = len(lines) - _MOST_LINES
    more = [f"  … {left} more {'line' if left == 1 else 'lines'}"] if left > 0 else []
    return "\n".join([*shown, *more])


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _one_line(text: str, most: int) -> str:
    return _cut(" ".join(text.split()), most)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
