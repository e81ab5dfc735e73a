"""`firsthand transcript check`: what is wrong with a transcript, line by line, and a mended copy of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .failures import Command
from .transcript_places import PLACE, complain, files_of, place_of, read_each

if TYPE_CHECKING:
    from ..transcript.located import Located

__all__ = ["check"]


@click.command(cls=Command)
@click.argument("place", metavar="[FOLDER|FILE|SESSION]", type=PLACE, required=False)
@click.option("--repair", is_flag=True, help="Write a mended copy beside each file with faults, and say what was lost.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of {file, line, name, detail}.")
@click.pass_context
def check(ctx: click.Context, place: Path | None, repair: bool, as_json: bool) -> None:
    """Report every fault of FILE, or of the transcripts in FOLDER (else the setting), with its line.

    Exit code 1 when there is any. With --repair the file itself is left as it is, and FILE.repaired is written:
    look at it, and move it over FILE to have it count.
    """
    from ..transcript.checking import faults_in
    from .failures import plain
    from .screen import print_json

    if repair and as_json:
        raise click.UsageError("--repair says in words what was lost; use it without --json")
    rows: list[dict[str, Any]] = []
    unread: list[str] = []
    said: list[str] = []
    with_faults = checked = 0
    where = place_of(place)
    for held in read_each(files_of(where, unread.append), "checking", unread.append):
        checked += 1
        faults = faults_in(held)
        with_faults += bool(faults)
        for fault in faults:
            rows.append({"file": str(held.path), "line": fault.line, "name": fault.name, "detail": fault.detail})
            said.append(f"{held.path}:{fault.line}: {fault.name}: {fault.detail}")
        if faults and repair:
            _mend(held, said.append, unread.append)
    for line in unread:
        complain(line)
    if as_json:
        print_json(rows)
    else:
        for line in said:
            click.echo(plain(line.replace("\n", " ")))
        files = f"{checked:,} file{'' if checked == 1 else 's'}"
        faults_said = f"{len(rows):,} fault{'' if len(rows) == 1 else 's'} in {with_faults:,} of {files}"
        nothing = f"no faults in {files}" if checked else f"no transcripts in {where}"
        click.echo(faults_said if rows else nothing)
    ctx.exit(1 if rows or unread else 0)


def _mend(held: Located, say: Callable[[str], object], complain: Callable[[str], object]) -> None:
    from ..errors import TranscriptError
    from ..transcript.lines import encode_line
    from ..transcript.listing import REPAIRED
    from ..transcript.newfile import write_new
    from ..transcript.repair import repair as mend

    if not held.records:
        complain(f"{held.path}: nothing of it can be read; no copy is written")
        return
    path = held.path.with_name(f"{held.path.name.removesuffix('.jsonl')}{REPAIRED}")
    try:
        repaired = mend(held)
        write_new(path, map(encode_line, repaired.records))
    except TranscriptError as error:
        complain(f"{error}; no copy is written")
    except FileExistsError:
        complain(f"{path} is there already, from an earlier repair; look at it, then move or remove it")
    else:
        say(f"  wrote {path}: {len(repaired.records):,} records")
        for note in repaired.notes:
            say(f"  {note}")
