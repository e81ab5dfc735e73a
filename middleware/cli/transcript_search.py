"""`firsthand transcript search`: find words in what was said, never in what was injected."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .failures import Command
from .transcript_places import files_of, folder_of, progress, show_line, size_of

if TYPE_CHECKING:
    from rich.text import Text

    from ..transcript.search import Hit

__all__ = ["search"]

_CONTEXT = 100
"""Characters before and behind the first hit of a long line."""

_TYPES = ("user", "assistant", "tool_call", "tool_result", "notification", "system")


@click.command(cls=Command)
@click.argument("pattern")
@click.argument("place", metavar="[FOLDER|FILE]", type=click.Path(path_type=Path), required=False)
@click.option("-i", "--ignore-case", is_flag=True, help="Let small letters match capitals.")
@click.option("-F", "--fixed", is_flag=True, help="PATTERN is plain text, not a regular expression.")
@click.option("-t", "--type", "types", type=click.Choice(_TYPES), multiple=True, help="Only rows of this type.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of {file, line, uuid, type, name, text, spans}.")
@click.pass_context
def search(
    ctx: click.Context,
    pattern: str,
    place: Path | None,
    ignore_case: bool,
    fixed: bool,
    types: tuple[str, ...],
    as_json: bool,
) -> None:
    """Find PATTERN, a regular expression, in the conversations of FOLDER (else the setting `transcripts`).

    What a resumed screen shows is searched, never what was injected. Exit code 1 when nothing is found, as of grep.
    """
    from ..errors import TranscriptError
    from ..transcript.search import hits_in
    from .failures import one_line
    from .screen import console, print_json, warn

    try:
        expression = re.compile(re.escape(pattern) if fixed else pattern, re.IGNORECASE if ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise click.UsageError(f"PATTERN is no regular expression ({error}); -F searches for it as it is") from None
    where = folder_of(place)
    found: list[tuple[Path, Hit]] = []
    unread: list[str] = []
    files = files_of(where, unread.append)
    with progress("searching", sum(map(size_of, files))) as advance:
        for path in files:
            try:
                found += [(path, hit) for hit in hits_in(path, expression, types)]
            except (TranscriptError, OSError) as error:
                unread.append(one_line(error))
            advance(size_of(path))
    for line in unread:
        warn(line)
    if as_json:
        print_json([_row(hit, path) for path, hit in found])
    else:
        out = console()
        for path, hit in found:
            show_line(out, _line(hit, path))
    if not found and not as_json:
        click.echo(f"Nothing that was said in {where} matches.", err=True)
    ctx.exit(0 if found else 1)


def _row(hit: Hit, path: Path) -> dict[str, Any]:
    return {
        "file": str(path),
        "line": hit.line,
        "uuid": hit.row.uuid,
        "type": hit.row.type,
        "name": hit.row.name,
        "text": hit.text,
        "spans": [list(span) for span in hit.spans],
    }


def _line(hit: Hit, path: Path) -> Text:
    from rich.text import Text

    from .screen import safe

    start = max(0, hit.spans[0][0] - _CONTEXT) if hit.spans else 0
    end = min(len(hit.text), (hit.spans[0][1] if hit.spans else 0) + 2 * _CONTEXT)
    line = Text().append_text(safe(f"{path}:{hit.line}", "magenta")).append(": ", style="dim")
    line.append(f"{hit.row.type.replace('_', ' ')} ", style="cyan")
    if hit.row.name:
        line.append_text(safe(f"{hit.row.name} ", "yellow"))
    text = safe(hit.text[start:end])
    for first, last in hit.spans:
        if first < end and last > start:
            text.stylize("bold red", max(first, start) - start, min(last, end) - start)
    line.append("…" if start else "")
    line.append_text(text)
    return line.append("…" if end < len(hit.text) else "")
