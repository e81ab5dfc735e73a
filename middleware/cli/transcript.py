"""`firsthand transcript`: show, list, search, export, check, count, import and erase transcripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .failures import Commands, Failure
from .transcript_check import check
from .transcript_erase import erase
from .transcript_export import export
from .transcript_import import import_
from .transcript_list import list_, stats
from .transcript_places import show_line
from .transcript_search import search

if TYPE_CHECKING:
    from rich.text import Text

    from ..resume import Shown
    from ..transcript.unfolded import Unfolded

__all__ = ["transcript"]

_MARKS: Mapping[str, tuple[str, str, str]] = {
    "user": ("> ", "bold cyan", "bold"),
    "assistant": ("  ", "", ""),
    "tool_call": ("* ", "yellow", "yellow"),
    "tool_result": ("  = ", "dim", "dim"),
    "notification": ("! ", "blue", "blue"),
    "system": ("# ", "dim", "dim"),
}
"""What stands before a row, its style, and the style of the row's text."""


@click.group(cls=Commands)
def transcript() -> None:
    """Show, list, search, export, check, count, import and erase transcripts."""


for _command in (list_, search, export, check, stats, import_, erase):
    transcript.add_command(_command)


@transcript.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a list of {type, text, uuid, sent_to_model, name, call_id, subtype}; with --raw also injected.",
)
@click.option("--raw", is_flag=True, help="Show what the model was sent beside what was typed: the tagged parts too.")
def show(file: Path, as_json: bool, raw: bool) -> None:
    """Show a transcript as a resumed screen does: what people typed, never what was injected."""
    items = _read(file, as_json)
    if as_json:
        from .screen import print_json

        print_json(list(_rows(items, raw)))
        return
    from rich.text import Text

    from .screen import console

    out = console()
    for item in items:
        if item.shown is not None:
            if item.shown.type == "user":
                show_line(out, Text())
            show_line(out, _line(item.shown))
        for added in item.injected if raw else ():
            show_line(out, _injected(added.part))


def _read(file: Path, as_json: bool) -> Iterator[Unfolded]:
    """The rows of the screen with what stands behind them; flaws go to stderr."""
    from ..transcript import load
    from ..transcript.foreign import recognise
    from ..transcript.unfolded import unfold
    from .screen import warn

    if (known := recognise(file)) is not None:
        from .transcript_import import described

        if as_json:
            raise Failure(described(file, known))
        click.echo(described(file, known))
        raise click.exceptions.Exit(0)
    branch = load(file)
    if not len(branch) and branch.flaws:
        raise Failure(f"{file} is not a transcript: no line of it is a record; name a .jsonl transcript")
    for flaw in branch.flaws:
        place = f"{file}:{flaw.line}" if flaw.line is not None else f"{file}"
        warn(f"{place}: {flaw.name}: {flaw.detail}")
    if not len(branch):
        warn(f"{file}: holds no conversation yet")
    return unfold(branch.conversation())


def _rows(items: Iterable[Unfolded], raw: bool) -> Iterator[dict[str, Any]]:
    from msgspec.structs import asdict

    for item in items:
        if item.shown is not None:
            row = asdict(item.shown)
        elif raw and item.injected:
            row = {"type": "unshown", "text": "", "uuid": item.uuid}
        else:
            continue
        yield {**row, "injected": [added.part for added in item.injected]} if raw else row


def _line(row: Shown) -> Text:
    from .screen import safe

    mark, style, text_style = _MARKS[row.type]
    text = f"{row.name} {row.text}" if row.type == "tool_call" else row.text
    indent = "\n" + " " * len(mark)
    line = safe(mark, style)
    line.append_text(safe(text.rstrip("\n").replace("\n", indent), text_style))
    if row.type == "user" and not row.sent_to_model:
        line.append("  (not sent as a turn of its own)", style="dim")
    return line


def _injected(text: str) -> Text:
    from .screen import safe

    return safe("  | " + text.replace("\n", "\n  | "), "dim magenta")
