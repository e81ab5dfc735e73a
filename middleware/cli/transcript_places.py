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
    from ..transcript.located import Located

__all__ = ["Advance", "files_of", "folder_of", "progress", "read_each", "refuse_foreign", "size_of", "wordy_size"]

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


def files_of(place: Path) -> list[Path]:
    """A file itself, or the transcripts of a folder in both layouts."""
    if not place.is_dir():
        return [place]
    from ..transcript.listing import transcripts_in

    return list(transcripts_in(place))


@contextmanager
def progress(what: str, total: int, *, least: int = _WORTH_A_BAR) -> Iterator[Advance]:
    """A bar on stderr while long work lasts: on a terminal, and for at least `least` units of it."""
    if total < least or not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
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
        hint = f"; `firsthand transcript import {file}` first" if known.program == "Claude Code" else ""
        raise Failure(f"{file} is a session of {known.program}{hint}")


def wordy_size(size: int) -> str:
    """A size in bytes, as people say it."""
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"


def size_of(path: Path) -> int:
    """Bytes of a file; 0 for one that is gone."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
