"""`firsthand transcript erase`: what is to go is listed, asked about, and then nowhere in the folder any more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .failures import Command, Failure
from .transcript_places import PLACE, complain, counted, folder_of, show_line, size_of, wordy_size

if TYPE_CHECKING:
    from ..transcript.erasing import Erasable

__all__ = ["erase"]

_PROMPT = 60


@click.command(cls=Command)
@click.argument("folder", type=PLACE, required=False)
@click.option("--session", metavar="ID", help="This session, and those of its subagents.")
@click.option("--user", metavar="NAME", help="Sessions of this user.")
@click.option(
    "--before", metavar="WHEN", help="Sessions last written before a date (2026-11-30, UTC) or that long ago (90d)."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def erase(
    ctx: click.Context, folder: Path | None, session: str | None, user: str | None, before: str | None, yes: bool
) -> None:
    """Erase sessions from FOLDER (else the setting `transcripts`): those that are all of what is given.

    They are listed and asked about first; mended copies of `check --repair` go with them. Memories in a store (see
    `firsthand recall forget`) and exports are not touched: files in the folder that are called after an erased one
    are named.
    """
    if session is None and user is None and before is None:
        raise click.UsageError("nothing says what to erase: give --session, --user or --before")
    moment = _moment(before) if before is not None else None
    place = folder_of(folder)
    if not place.is_dir():
        raise Failure(f"{place} is a file; name its folder, and the session with --session")
    from ..transcript.erasing import erasable, left_behind
    from ..transcript.erasing import erase as erased

    unread: dict[Path, OSError] = {}
    found = erasable(place, session=session, user=user, before=moment, on_error=unread.setdefault)
    for path, error in unread.items():
        complain(f"{path}: {error.strerror or error}; it is not erased, whoever's it is")
    if not found:
        click.echo(f"Nothing {'else ' if unread else ''}in {place} is to be erased.", err=True)
        ctx.exit(1 if unread else 0)
    _print(found)
    if not yes:
        _ask(found)
    failed: dict[Path, OSError] = {}
    gone = erased(place, session=session, user=user, before=moment, on_error=failed.setdefault)
    click.echo(f"Erased {_counted(gone)} from {place}.")
    for path, error in failed.items():
        if path not in unread:
            complain(f"{path}: {error.strerror or error}; it is not erased")
    for path in left_behind(gone):
        complain(f"{path} is called after an erased file and stays: look at it, and remove it by hand")
    ctx.exit(1 if unread or failed else 0)


def _ask(found: Sequence[Erasable]) -> None:
    try:
        agreed = click.confirm(f"Erase {_counted(found)}? There is no way back", err=True)
    except click.Abort:
        # The question stands on a line that nobody ended.
        click.echo(err=True)
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
    files = f" in {len(found):,} files" if len(found) != len(sessions) else ""
    return f"{counted(len(sessions), 'session')}{files}"


def _print(found: Sequence[Erasable]) -> None:
    """What is to go, with whose it is and what it begins with: an id says nothing to anybody."""
    from ..resume import first_prompt
    from ..transcript.listing import beginning
    from .screen import console, safe
    from .transcript_list import age

    out, now = console(), datetime.now(UTC)
    for file in found:
        words = " ".join((first_prompt(beginning(file.path)[0]) or "(nothing typed)").split())
        facts = [
            f"user {', '.join(sorted(file.users))}" if file.users else "no user",
            age(file.last, now),
            wordy_size(size_of(file.path)),
            *([f"{counted(len(file.others), 'other')} in it stay"] if file.others else []),
        ]
        show_line(out, safe(f"{file.path}: session {', '.join(sorted(file.sessions))}", "bold"))
        show_line(out, safe(f"  {'; '.join(facts)}; {words if len(words) <= _PROMPT else words[:_PROMPT] + '…'}"))
