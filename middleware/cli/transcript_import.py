"""`firsthand transcript import`: take sessions of Claude Code over."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .failures import Command, Failure
from .transcript_places import PLACE

if TYPE_CHECKING:
    from ..transcript.foreign import Foreign
    from ..transcript.importing import Arrival

__all__ = ["described", "import_"]


@click.command("import", cls=Command)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=PLACE)
@click.option("--to", "folder", type=PLACE, help="Folder of transcripts; else the setting.")
@click.option("--force", is_flag=True, help="Write over sessions that are there already, unless they are longer.")
def import_(files: tuple[Path, ...], folder: Path | None, force: bool) -> None:
    """Import sessions of Claude Code (~/.claude/projects/*/*.jsonl); what hooks added stays apart from what was typed.

    A file that cannot be imported is told of, and the others are.
    """
    from ..errors import TranscriptError
    from ..settings import Settings
    from ..transcript.importing import import_file
    from .failures import one_line
    from .transcript_places import progress

    settings = Settings.load()
    place = folder if folder is not None else Path(settings.transcripts) if settings.transcripts else None
    if place is None:
        raise click.UsageError(
            "no folder: give --to FOLDER, or set `transcripts` in firsthand.toml or FIRSTHAND_TRANSCRIPTS"
        )
    done, failed = [], []
    with progress("importing", sum(file.stat().st_size for file in files if file.is_file())) as advance:
        for file in files:
            try:
                arrival = import_file(file, place, layout=settings.layout, force=force, on_bytes=advance)
            except FileExistsError as error:
                failed.append(f"{file}: its session is at {error.filename} already; --force writes over it")
            except (TranscriptError, OSError) as error:
                failed.append(one_line(error))
            else:
                done.append(_report(arrival))
    for line in done:
        click.echo(line)
    for line in failed[:-1]:
        click.echo(f"firsthand: {line}", err=True)
    if failed:
        raise Failure(failed[-1])


def described(file: Path, known: Foreign) -> str:
    """Say what a file of another program is, and what can be done with it."""
    from .failures import plain

    facts = [f"session {known.session_id or 'without an id'}", _counted(known.prompts, known.replies)]
    if known.version:
        facts.insert(0, f"version {known.version}")
    if known.started:
        facts.append(f"from {known.started}")
    hint = f"to read it here: firsthand transcript import {file}"
    if known.program != "Claude Code":
        hint = "it is not imported, since it does not tell what hooks added from what was typed"
    return plain(f"{file} is a session of {known.program} ({'; '.join(facts)}); {hint}".replace("\n", " "))


def _counted(prompts: int, replies: int) -> str:
    return f"prompts: {prompts:,}, replies: {replies:,}"


def _report(arrival: Arrival) -> str:
    from ..transcript.figures import Figures
    from .failures import plain

    figures = Figures().count(arrival.session.records)
    taken = f"{_counted(figures.turns, figures.replies)}, hook contexts: {arrival.session.contexts:,}"
    left = ", ".join(f"{what}: {count:,}" for what, count in sorted(arrival.session.left_out.items()) if count)
    return plain(f"{arrival.path}: {taken}" + (f"; left out: {left}" if left else ""))
