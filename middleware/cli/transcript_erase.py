"""`firsthand transcript erase`: what is to go is listed, asked about, and then nowhere in the folder any more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .failures import Command, Failure
from .transcript_places import folder_of, size_of, wordy_size

if TYPE_CHECKING:
    from ..transcript.erasing import Erasable

__all__ = ["erase"]


@click.command(cls=Command)
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("--session", metavar="ID", help="This session, and those of its subagents.")
@click.option("--user", metavar="NAME", help="Sessions of this user.")
@click.option(
    "--before", metavar="WHEN", help="Sessions last written before a date (2026-11-30, UTC) or that long ago (90d)."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def erase(folder: Path | None, session: str | None, user: str | None, before: str | None, yes: bool) -> None:
    """Erase sessions from FOLDER (else the setting `transcripts`): those that are all of what is given.

    They are listed and asked about first. Memories in a store and pages that were exported elsewhere are not touched.
    """
    if session is None and user is None and before is None:
        raise click.UsageError("nothing says what to erase: give --session, --user or --before")
    moment = _moment(before) if before is not None else None
    place = folder_of(folder)
    if not place.is_dir():
        raise Failure(f"{place} is a file; name its folder, and the session with --session")
    from ..transcript.erasing import erasable
    from ..transcript.erasing import erase as erased

    found = erasable(place, session=session, user=user, before=moment)
    if not found:
        click.echo(f"Nothing in {place} is to be erased.", err=True)
        return
    _print(found, place)
    if not yes:
        _ask(found)
    gone = erased(place, session=session, user=user, before=moment)
    click.echo(f"Erased {_counted(gone)} from {place}.")


def _ask(found: Sequence[Erasable]) -> None:
    try:
        agreed = click.confirm(f"Erase {_counted(found)}? There is no way back", err=True)
    except click.Abort:
        raise Failure("nothing was erased, since nobody answered; --yes does not ask") from None
    if not agreed:
        raise Failure("nothing was erased")


def _moment(text: str) -> datetime:
    from ..settings import duration

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        pass
    else:
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    try:
        return datetime.now(UTC) - duration(text)
    except (ValueError, OverflowError):
        raise click.UsageError(f"--before: {text!r} is no date and no time span; give 2026-11-30 or 90d") from None


def _counted(found: Sequence[Erasable]) -> str:
    sessions = {name for file in found for name in file.sessions}
    return f"{len(sessions):,} session{'' if len(sessions) == 1 else 's'}"


def _print(found: Sequence[Erasable], place: Path) -> None:
    from rich.table import Table

    from .screen import console, safe

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("session", overflow="fold")
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("file", overflow="fold")
    for file in found:
        path = file.path.relative_to(place) if file.path.is_relative_to(place) else file.path
        stays = f" ({len(file.others):,} others in it stay)" if file.others else ""
        table.add_row(
            safe(", ".join(sorted(file.sessions))), wordy_size(size_of(file.path)), safe(f"{path}{stays}", "dim")
        )
    console().print(table)
