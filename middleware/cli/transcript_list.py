"""`firsthand transcript list` and `stats`: what there is, and how much of it was injected."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .failures import Command, Failure
from .transcript_places import (
    PLACE,
    complain,
    counted,
    files_of,
    folder_of,
    place_of,
    progress,
    show_line,
    size_of,
    wordy_size,
)

if TYPE_CHECKING:
    from ..transcript.figures import Figures
    from ..transcript.listing import SessionInfo

__all__ = ["list_", "stats"]

_COUNTS = (
    *("sessions", "records", "turns", "replies", "tool_calls", "sent", "recalled"),
    *("injected", "injected_parts", "blocked"),
)
_SHORTEST_PROMPT = 20
_PIPED_PROMPT = 60
_AGES = ((60, "second"), (60, "minute"), (24, "hour"), (7, "day"), (5, "week"))


@click.command("list", cls=Command)
@click.argument("folder", type=PLACE, required=False)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a list of {session_id, user, first_prompt, turns, size, modified, path, program}.",
)
@click.pass_context
def list_(ctx: click.Context, folder: Path | None, as_json: bool) -> None:
    """List the sessions of FOLDER (else the setting `transcripts`), the last used first, by what was typed first.

    Turns are those of the live branch, ? where there is too much to be read for it. Piped, a session is one line.
    """
    place = folder_of(folder)
    if not place.is_dir():
        raise Failure(f"{place} is a file; name the folder that it is in, or use `firsthand transcript show {place}`")
    from ..transcript.listing import list_sessions

    unread: list[str] = []
    others: list[str] = []
    found = list(
        list_sessions(
            place,
            on_error=lambda path, error: unread.append(f"{path}: {error.strerror or error}"),
            on_foreign=lambda path: others.append(_other(path)),
        )
    )
    if as_json:
        from .screen import print_json

        print_json([{**asdict(info), "path": str(info.path), "modified": info.modified.isoformat()} for info in found])
    elif found:
        _print_sessions(found)
    elif not unread:
        click.echo(f"No transcripts in {place}.", err=True)
    for line in (*others, *unread):
        complain(line)
    ctx.exit(1 if unread else 0)


def _other(path: Path) -> str:
    from ..transcript.foreign import recognise

    try:
        known = recognise(path)
    except OSError:
        known = None
    return f"{path} is {f'a session of {known.program}' if known is not None else 'no transcript'}; left out"


@click.command(cls=Command)
@click.argument("place", metavar="[FOLDER|FILE|SESSION]", type=PLACE, required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one object with every figure.")
@click.pass_context
def stats(ctx: click.Context, place: Path | None, as_json: bool) -> None:
    """Count sessions, turns and tokens, and how much of what the model was sent nobody typed."""
    from ..transcript.figures import Figures
    from ..transcript.located import iter_located
    from .failures import one_line
    from .screen import print_json

    where = place_of(place)
    figures = Figures()
    told: list[str] = []
    unread: list[str] = []
    files = files_of(where, told.append, unread.append)
    with progress("counting", sum(map(size_of, files))) as advance:
        for path in files:
            try:
                before = figures.records
                figures.count(record for _, record in iter_located(path, on_bytes=advance))
                if figures.records == before:
                    told.append(f"{path}: no line of it is a record")
            except OSError as error:
                unread.append(one_line(error))
    for line in (*told, *unread):
        complain(line)
    if as_json:
        print_json(_as_json(figures))
    elif figures.records:
        _print_figures(figures)
    elif not told and not unread:
        complain(f"no transcripts in {where}")
    ctx.exit(1 if unread or not figures.records else 0)


def age(moment: datetime, now: datetime) -> str:
    """How long ago that was, in the largest unit that fits."""
    value = max(0, int((now - moment).total_seconds()))
    for limit, unit in _AGES:
        if value < limit:
            return f"{value} {unit}{'' if value == 1 else 's'} ago"
        value //= limit
    return f"{moment:%Y-%m-%d}"


def _print_sessions(found: list[SessionInfo]) -> None:
    """Columns of which only the prompt is cut: a path is there to be pasted."""
    from rich.cells import cell_len

    from .screen import console, safe

    now, out = datetime.now(UTC), console()
    rows = [_Row("used", "turns", "size", "user", "first prompt", "file")]
    rows += [
        _Row(
            age(info.modified, now),
            "?" if info.turns is None else f"{info.turns:,}",
            wordy_size(info.size),
            info.user or "",
            _prompt(info),
            str(info.path),
        )
        for info in found
    ]
    used, turns, size, user, prompt, file = (max(map(cell_len, column)) for column in zip(*rows, strict=True))
    named = any(info.user for info in found)
    left = out.width - (used + turns + size + (user + 2 if named else 0) + file + 4 * 2)
    prompt = min(prompt, max(_SHORTEST_PROMPT, left) if out.is_terminal else _PIPED_PROMPT)
    for number, row in enumerate(rows):
        line = safe(f"{_fitted(row.used, used)}  {row.turns:>{turns}}  {row.size:>{size}}  ")
        line.append_text(safe(f"{_fitted(row.user, user)}  " if named else ""))
        line.append_text(safe(f"{_fitted(row.prompt, prompt)}  ", "bold")).append_text(safe(row.file, "dim"))
        if not number:
            line.stylize("bold")
        show_line(out, line)


class _Row(NamedTuple):
    used: str
    turns: str
    size: str
    user: str
    prompt: str
    file: str


def _prompt(info: SessionInfo) -> str:
    words = " ".join((info.first_prompt or "").split())
    whose = f"({info.program}) " if info.program is not None else ""
    return f"{whose}{words or '(nothing typed)'}"


def _fitted(text: str, width: int) -> str:
    """A text in so many columns, cut or filled."""
    from rich.cells import cell_len, set_cell_size

    return set_cell_size(text, width) if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"


def _as_json(figures: Figures) -> dict[str, Any]:
    counts = {name: getattr(figures, name) for name in _COUNTS}
    return {
        **counts,
        "tokens": {model: asdict(tokens) for model, tokens in figures.tokens.items()},
        "share": round(figures.share, 4),
        "started": figures.started.isoformat() if figures.started is not None else None,
        "ended": figures.ended.isoformat() if figures.ended is not None else None,
    }


def _print_figures(figures: Figures) -> None:
    from rich.table import Table

    from .screen import console, safe

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    span = "no record has a time"
    if figures.started is not None and figures.ended is not None:
        span = f"{figures.started:%Y-%m-%d %H:%M} to {figures.ended:%Y-%m-%d %H:%M} UTC"
    prompts, replies = counted(figures.turns, "prompt"), counted(figures.replies, "reply", "replies")
    grid.add_row("sessions", f"{figures.sessions:,}")
    grid.add_row(
        "turns",
        ", ".join((prompts, replies, counted(figures.tool_calls, "tool call"))),
    )
    grid.add_row("time", span)
    for model, tokens in sorted(figures.tokens.items()):
        counts = f"{tokens.input:,} tokens in ({tokens.cached:,} cached), {tokens.output:,} out"
        grid.add_row("tokens", safe(f"{model}: {counts}"))
    grid.add_row("sent", f"{figures.sent:,} characters of messages and tool results, each counted once")
    grid.add_row("injected", f"{figures.injected.total():,} characters, {figures.share:.1%} of what was sent")
    for source in sorted(figures.injected):
        grid.add_row("", f"{source}: {figures.injected[source]:,} in {counted(figures.injected_parts[source], 'part')}")
    grid.add_row("recalled", counted(figures.recalled, "memory", "memories"))
    grid.add_row("blocked", counted(figures.blocked.total(), "prompt"))
    for hook, count in sorted(figures.blocked.items()):
        grid.add_row("", safe(f"{hook}: {count:,}"))
    console().print(grid)
