"""Which transcripts a command is about, and how far it has come with them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .failures import Failure

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ..transcript.flaws import Flaw
    from ..transcript.located import Located

__all__ = [
    "PLACE",
    "Advance",
    "complain",
    "counted",
    "file_of",
    "files_of",
    "folder_of",
    "place_of",
    "progress",
    "read_each",
    "refuse_foreign",
    "show_line",
    "size_of",
    "tell_flaws",
    "wordy_size",
]

Advance = Callable[[int], None]

_WORTH_A_BAR = 1 << 23
"""Bytes that take long enough to be read for somebody to wonder."""


class _Place(click.Path):
    """A path that is looked at by the command alone, so that whatever is wrong with it is said in the same words."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, readable=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


PLACE = _Place()


def file_of(given: Path) -> Path:
    """The file that was named, or the transcript of the session of that id in the folder of the settings."""
    return given if os.path.lexists(given) else _session_file(given, "file")


def place_of(given: Path | None) -> Path:
    """The folder or file that was named, or the session's of that id, else the folder of the settings."""
    if given is None or os.path.lexists(given):
        return folder_of(given)
    return _session_file(given, "file or folder")


def _session_file(given: Path, wanted: str) -> Path:
    from ..settings import Settings
    from ..transcript import TranscriptFolder, transcripts_in

    setting = Settings.load().transcripts
    if not setting or not Path(setting).is_dir():
        raise Failure(f"{given}: no such {wanted}; check the path, or the setting `transcripts`")
    name = TranscriptFolder(Path(setting)).path(str(given)).name
    found = [path for path in transcripts_in(Path(setting)) if path.name == name]
    if not found:
        raise Failure(f"{given}: no such {wanted}, and no session of that id in {setting}")
    if len(found) > 1:
        raise Failure(f"{given}: {len(found)} files are of that session, {found[0]} and {found[1]}; name one of them")
    return found[0]


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


def files_of(
    place: Path, on_foreign: Callable[[str], object], on_error: Callable[[str], object] | None = None
) -> list[Path]:
    """A file itself, or the transcripts of a folder in both layouts; another program's files are told of instead.

    What cannot be read goes to `on_error`, else to `on_foreign`.
    """
    from ..transcript.foreign import recognise
    from ..transcript.listing import transcripts_in

    found = []
    for path in transcripts_in(place) if place.is_dir() else (place,):
        try:
            known = recognise(path)
        except OSError as error:
            (on_error or on_foreign)(f"{path}: {error.strerror or error}")
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


def complain(text: str) -> None:
    """Write one line to stderr that begins like every other one of this program's."""
    from .screen import warn

    warn(text if text.startswith("firsthand: ") else f"firsthand: {text}")


def tell_flaws(file: Path, flaws: Sequence[Flaw]) -> None:
    """Warn of what reading went around, in the words and with the lines of `transcript check`."""
    from ..transcript.checking import faults_in
    from ..transcript.located import read_located

    if flaws:
        names = {flaw.name for flaw in flaws}
        for fault in faults_in(read_located(file)):
            if fault.name in names:
                complain(f"{file}:{fault.line}: {fault.name}: {fault.detail}")


def refuse_foreign(file: Path) -> None:
    """Fail with what the file is, where it is another program's."""
    from ..transcript.foreign import recognise

    if (known := recognise(file)) is not None:
        raise Failure(_foreign(file, known.program))


def counted(number: int, one: str, many: str = "") -> str:
    """So many of something, in words that fit the number."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


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
