"""`firsthand transcript list` and `stats`: what there is, and how much of it was injected."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .failures import Command, Failure
from .transcript_places import files_of, folder_of, progress, size_of, wordy_size

if TYPE_CHECKING:
    from ..transcript.figures import Figures
    from ..transcript.listing import SessionInfo

__all__ = ["list_", "stats"]

_COUNTS = (
    *("sessions", "records", "turns", "replies", "tool_calls", "sent", "recalled"),
    *("injected", "injected_parts", "blocked"),
)
_AGES = ((60, "second"), (60, "minute"), (24, "hour"), (7, "day"), (5, "week"))


@click.command("list", cls=Command)
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option(
    "--json", "as_json", is_flag=True, help="Print a list of {session_id, first_prompt, turns, size, modified, path}."
)
def list_(folder: Path | None, as_json: bool) -> None:
    """List the sessions of FOLDER (else the setting `transcripts`), the last used first, by what was typed first."""
    place = folder_of(folder)
    if not place.is_dir():
        raise Failure(f"{place} is a file; name the folder that it is in, or use `firsthand transcript show {place}`")
    from ..transcript.listing import list_sessions

    found = list(list_sessions(place))
    if as_json:
        from .screen import print_json

        print_json([{**asdict(info), "path": str(info.path), "modified": info.modified.isoformat()} for info in found])
    elif found:
        _print_sessions(found, place)
    else:
        click.echo(f"No transcripts in {place}.", err=True)


@click.command(cls=Command)
@click.argument("place", metavar="[FOLDER|FILE]", type=click.Path(path_type=Path), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one object with every figure.")
def stats(place: Path | None, as_json: bool) -> None:
    """Count sessions, turns and tokens, and how much of what the model was sent nobody typed."""
    from ..transcript.figures import Figures
    from ..transcript.located import iter_located
    from .failures import one_line
    from .screen import print_json, warn

    where = folder_of(place)
    figures = Figures()
    unread: list[str] = []
    files = files_of(where, unread.append)
    with progress("counting", sum(map(size_of, files))) as advance:
        for path in files:
            try:
                before = figures.records
                figures.count(record for _, record in iter_located(path, on_bytes=advance))
                if figures.records == before:
                    unread.append(f"{path}: no line of it is a record")
            except OSError as error:
                unread.append(one_line(error))
    for line in unread:
        warn(line)
    if as_json:
        print_json(_as_json(figures))
    else:
        _print_figures(figures)


def age(moment: datetime, now: datetime) -> str:
    """How long ago that was, in the largest unit that fits."""
    value = max(0, int((now - moment).total_seconds()))
    for limit, unit in _AGES:
        if value < limit:
            return f"{value} {unit}{'' if value == 1 else 's'} ago"
        value //= limit
    return f"{moment:%Y-%m-%d}"


def _print_sessions(found: list[SessionInfo], place: Path) -> None:
    from rich.table import Table

    from .screen import console, safe

    now = datetime.now(UTC)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("used", no_wrap=True)
    table.add_column("turns", justify="right", no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("first prompt", ratio=1, no_wrap=True, overflow="ellipsis")
    table.add_column("file", overflow="fold")
    for info in found:
        prompt = " ".join((info.first_prompt or "").split())
        path = info.path.relative_to(place) if info.path.is_relative_to(place) else info.path
        table.add_row(
            age(info.modified, now),
            "?" if info.turns is None else str(info.turns),
            wordy_size(info.size),
            safe(prompt, "bold") if prompt else safe("(nothing typed)", "dim"),
            safe(str(path), "dim"),
        )
    console().print(table)


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
    grid.add_row("sessions", f"{figures.sessions:,}")
    grid.add_row("turns", f"{figures.turns:,} prompts, {figures.replies:,} replies, {figures.tool_calls:,} tool calls")
    grid.add_row("time", span)
    for model, tokens in sorted(figures.tokens.items()):
        counts = f"{tokens.input:,} tokens in ({tokens.cached:,} cached), {tokens.output:,} out"
        grid.add_row("tokens", safe(f"{model}: {counts}"))
    grid.add_row("sent", f"{figures.sent:,} characters of messages and tool results, each counted once")
    grid.add_row("injected", f"{figures.injected.total():,} characters, {figures.share:.1%} of what was sent")
    for source in sorted(figures.injected):
        parts = figures.injected_parts[source]
        grid.add_row("", f"{source}: {figures.injected[source]:,} in {parts:,} part{'' if parts == 1 else 's'}")
    grid.add_row("recalled", f"{figures.recalled:,} memories")
    grid.add_row("blocked", f"{figures.blocked.total():,} prompts")
    for hook, count in sorted(figures.blocked.items()):
        grid.add_row("", safe(f"{hook}: {count:,}"))
    console().print(grid)
