"""Which transcripts a command is about, and how far it has come with them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .failures import Failure

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ..transcript.located import Located

__all__ = [
    "Advance",
    "files_of",
    "folder_of",
    "progress",
    "read_each",
    "refuse_foreign",
    "show_line",
    "size_of",
    "wordy_size",
]

Advance = Callable[[int], None]

_WORTH_A_BAR = 1 << 23
"""Bytes that take long enough to be read for somebody to wonder."""


def folder_of(given: Path | None) -> Path:
    """The folder that was named, else that of the settings; it must be there."""
    if given is None:
        from ..settings import Settings

        setting = Settings.load().transcripts
        if not setting:
            raise click.UsageError(
                "no folder: name one, or set `transcripts` in firsthand.toml or FIRSTHAND_TRANSCRIPTS"
            )
        given = Path(setting)
    if not given.exists():
        raise Failure(f"{given}: no such folder; check the path, or the setting `transcripts`")
    return given


def files_of(place: Path, on_foreign: Callable[[str], object]) -> list[Path]:
    """A file itself, or the transcripts of a folder in both layouts; another program's files are told of instead."""
    from ..transcript.foreign import recognise
    from ..transcript.listing import transcripts_in

    found = []
    for path in transcripts_in(place) if place.is_dir() else (place,):
        try:
            known = recognise(path)
        except OSError as error:
            on_foreign(f"{path}: {error.strerror or error}")
            continue
        if known is None:
            found.append(path)
        else:
            on_foreign(_foreign(path, known.program))
    return found


@contextmanager
def progress(what: str, total: int, *, least: int = _WORTH_A_BAR) -> Iterator[Advance]:
    """A bar on stderr while long work lasts: on a terminal, and for at least `least` units of it."""
    if total < least or not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    # Redirected, what is printed meanwhile would go where the bar is, also when stdout is a file.
    with Progress(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)


def read_each(files: Sequence[Path], what: str, on_error: Callable[[str], None]) -> Iterator[Located]:
    """Read file after file under one bar; what cannot be read is told of, and the others are read."""
    from ..transcript.located import read_located

    with progress(what, sum(map(size_of, files))) as advance:
        for path in files:
            try:
                held = read_located(path, advance)
            except OSError as error:
                on_error(f"{path}: {error.strerror or error}")
                continue
            yield held


def refuse_foreign(file: Path) -> None:
    """Fail with what the file is, where it is another program's."""
    from ..transcript.foreign import recognise

    if (known := recognise(file)) is not None:
        raise Failure(_foreign(file, known.program))


def wordy_size(size: int) -> str:
    """A size in bytes, as people say it."""
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"


def _foreign(path: Path, program: str) -> str:
    hint = f"; `firsthand transcript import {path}` first" if program == "Claude Code" else ""
    return f"{path} is a session of {program}{hint}"


def show_line(out: Console, line: Text) -> None:
    """Print a line, not folded; piped, it is written as it is, which is many times faster."""
    if out.is_terminal:
        out.print(line, soft_wrap=True)
    else:
        click.echo(line.plain)


def size_of(path: Path) -> int:
    """Bytes of a file; 0 for one that is gone."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
