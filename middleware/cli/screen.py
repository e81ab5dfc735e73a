"""Where a command's output goes: colours on a terminal only, and no terminal escapes out of anybody's text."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from .failures import plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["console", "print_json", "program", "safe", "warn"]

_PIPED_COLUMNS = 100


def console(*, record: bool = False, file: IO[str] | None = None) -> Console:
    """The console on stdout, or `file`; piped, it is as wide as COLUMNS says, or 100 columns, and has no colour.

    With `record` it keeps what it printed, in colour, for an export.
    """
    from rich.console import Console

    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else _PIPED_COLUMNS
    return Console(
        record=record, file=file, highlight=False, markup=False, emoji=False, width=width, force_jupyter=False
    )


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


def program() -> str:
    """What to type to run this program again: `firsthand` where the shell finds it, else the path of this one."""
    started = Path(sys.argv[0])
    if started.stem != "firsthand":
        # `python -m middleware`, or a test.
        started = Path(sys.executable).with_name("firsthand")
        if not started.exists():
            return f"{shlex.quote(sys.executable)} -m middleware"
    found = shutil.which("firsthand")
    here = Path.cwd()
    started = Path(os.path.normpath(here / started))
    if found is not None and Path(os.path.normpath(here / found)) == started:
        return "firsthand"
    return shlex.quote(str(started.relative_to(here) if started.is_relative_to(here) else started))


def _is_utf8() -> bool:
    return (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
