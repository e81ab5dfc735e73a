"""Where a command's output goes: colours on a terminal only, and no terminal escapes out of anybody's text."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from .failures import plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["console", "print_json", "safe", "warn"]

_PIPED_COLUMNS = 100


def console(*, record: bool = False) -> Console:
    """The console on stdout; piped, it is as wide as COLUMNS says, or 100 columns, and has no colour.

    With `record` it keeps what it printed, in colour, for an export.
    """
    from rich.console import Console

    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else _PIPED_COLUMNS
    return Console(record=record, highlight=False, markup=False, emoji=False, width=width, force_jupyter=False)


def safe(text: str, style: str = "") -> Text:
    """Somebody's text, to be shown and not obeyed: no markup is read in it, no escape reaches the terminal."""
    from rich.text import Text

    return Text(plain(text), style=style)


def print_json(value: Any) -> None:
    """Write one JSON document to stdout, as UTF-8 whatever the terminal's encoding is."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=not _is_utf8()))


def warn(text: str) -> None:
    """Write one line to stderr."""
    click.echo(plain(text.replace("\n", " ")), err=True)


def _is_utf8() -> bool:
    return (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
