"""`firsthand transcript search`: find words in what was said, never in what was injected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .failures import Command, Failure
from .transcript_places import PLACE, complain, files_of, place_of, progress, show_line, size_of

if TYPE_CHECKING:
    from rich.text import Text

    from ..transcript.search import Hit

__all__ = ["search"]

_CONTEXT = 100
"""Characters before and behind the first hit of a long line."""

_PATIENCE = 10.0
_SLOWEST = 1 << 20
"""Seconds that a file may take, and bytes for each of which it gets a second more."""

_TYPES = ("user", "assistant", "tool_call", "tool_result", "notification", "system")


@click.command(cls=Command)
@click.argument("pattern")
@click.argument("place", metavar="[FOLDER|FILE|SESSION]", type=PLACE, required=False)
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
    from .screen import console, print_json

    try:
        expression = re.compile(re.escape(pattern) if fixed else pattern, re.IGNORECASE if ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise click.UsageError(f"PATTERN is no regular expression ({error}); -F searches for it as it is") from None
    where = place_of(place)
    found: list[tuple[Path, Hit]] = []
    told: list[str] = []
    unread: list[str] = []
    files = files_of(where, told.append, unread.append)
    with progress("searching", sum(map(size_of, files))) as advance:
        for path in files:
            try:
                with _deadline(path):
                    hits = hits_in(path, expression, types)
                found += [(path, hit) for hit in hits]
            except TranscriptError as error:
                told.append(one_line(error))
            except OSError as error:
                unread.append(one_line(error))
            advance(size_of(path))
    for line in (*told, *unread):
        complain(line)
    if as_json:
        print_json([_row(hit, path) for path, hit in found])
    else:
        out = console()
        for path, hit in found:
            show_line(out, _line(hit, path))
    if not found and not as_json:
        click.echo(f"Nothing that was said in {where} matches.", err=True)
    ctx.exit(0 if found and not unread else 1)


@contextmanager
def _deadline(path: Path) -> Iterator[None]:
    """Give a pattern up that goes through one file for longer than any plain one would."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: object) -> None:
        raise Failure(f"the pattern takes too long in {path}; make it simpler ((a+)+ tries every way), or use -F")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE + size_of(path) / _SLOWEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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
