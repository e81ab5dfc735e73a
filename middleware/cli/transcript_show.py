"""`firsthand transcript show`: a transcript as a resumed screen shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .failures import Command, Failure, plain
from .transcript_places import PLACE, complain, file_of, show_line, tell_flaws

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ..transcript import Branch
    from ..transcript.unfolded import Unfolded

__all__ = ["show"]

_MARKS: Mapping[str, tuple[str, str, str]] = {
    "user": ("> ", "bold cyan", "bold"),
    "assistant": ("  ", "", ""),
    "tool_call": ("* ", "yellow", "yellow"),
    "tool_result": ("  = ", "dim", "dim"),
    "notification": ("! ", "blue", "blue"),
    "system": ("# ", "dim", "dim"),
}
"""What stands before a row, its style, and the style of the row's text."""

_NARROWEST = 20


@click.command(cls=Command)
@click.argument("file", metavar="FILE|SESSION", type=PLACE)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a list of {type, text, uuid, sent_to_model, name, call_id, subtype}; with --raw also injected.",
)
@click.option("--raw", is_flag=True, help="Show what the model was sent beside what was typed: the tagged parts too.")
def show(file: Path, as_json: bool, raw: bool) -> None:
    """Show a transcript as a resumed screen does: what people typed, never what was injected.

    SESSION is the id of one in the setting `transcripts`. Each line that somebody typed begins with `> `.
    """
    from ..transcript.unfolded import unfold
    from .screen import console, print_json

    file = file_of(file)
    branch = _read(file, as_json)
    items = unfold(branch.conversation())
    if as_json:
        print_json(list(_rows(items, raw)))
        return
    out = console()
    if len(branch):
        show_line(out, _whose(branch))
    _print(out, items, raw)


def _print(out: Console, items: Iterable[Unfolded], raw: bool) -> None:
    from .screen import safe

    unanswered, above = False, ""
    for item in items:
        kind = item.shown.type if item.shown is not None else "user" if item.media else None
        if kind == "user" or _begins_anew(item, kind, above):
            show_line(out, safe(""))
        if kind == "user" and unanswered and (item.shown is None or item.shown.sent_to_model):
            show_line(out, safe("  (no reply)\n", "dim"))
        if kind is not None:
            unanswered = kind == "user" or (unanswered and kind == "system")
            _show_row(out, item, kind)
            above = kind
        for added in item.injected if raw else ():
            _show_lines(out, "  | ", "  | ", "dim magenta", added.part, "dim magenta")
    if unanswered:
        show_line(out, safe("  (no reply)", "dim"))


def _begins_anew(item: Unfolded, kind: str | None, above: str) -> bool:
    """Whether a row that nobody typed would pass for a part of the answer above it, or of another turn."""
    refused = item.shown is not None and item.shown.subtype == "prompt_blocked"
    return refused or (kind in ("system", "notification") and above not in ("user", "system", "notification"))


def _read(file: Path, as_json: bool) -> Branch:
    """The live branch; flaws go to stderr."""
    from ..transcript import load
    from ..transcript.foreign import recognise
    from .transcript_import import described

    if (known := recognise(file)) is not None:
        if as_json:
            raise Failure(described(file, known))
        click.echo(described(file, known))
        raise click.exceptions.Exit(0)
    branch = load(file)
    if not len(branch) and branch.flaws:
        raise Failure(f"{file} is not a transcript: no line of it is a record; name a .jsonl transcript")
    tell_flaws(file, branch.flaws)
    if not len(branch):
        complain(f"{file}: holds no conversation yet")
    return branch


def _whose(branch: Branch) -> Text:
    """The session and its user, for the first line."""
    from ..transcript.listing import user_of
    from .screen import safe

    session = next((held for record in branch if isinstance(held := record.get("sessionId"), str)), "without an id")
    user = user_of(branch)
    return safe(f"session {session}" + (f", user {user}" if user is not None else ""), "dim")


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


def _show_row(out: Console, item: Unfolded, kind: str) -> None:
    from ..transcript.unfolded import media_label

    mark, style, text_style = _MARKS[kind]
    shown = item.shown
    said = "" if shown is None else f"{shown.name} {shown.text}" if kind == "tool_call" else shown.text
    aside = "  (not sent as a turn of its own)" if shown is not None and _is_aside(shown.type, item) else ""
    text = "\n".join([*([said.rstrip("\n")] if said else []), *map(media_label, item.media)])
    # Every typed line is marked: none of them can pass for the beginning of a reply.
    _show_lines(out, mark, mark if kind == "user" else " " * len(mark), style, f"{text}{aside}", text_style)


def _is_aside(kind: str, item: Unfolded) -> bool:
    return kind == "user" and item.shown is not None and not item.shown.sent_to_model


def _show_lines(out: Console, mark: str, others: str, mark_style: str, text: str, style: str) -> None:
    """Print a text behind its mark; on a terminal the lines that are too long for it are indented as well."""
    from .screen import safe

    if not out.is_terminal:
        # Many times faster than a text with its styles.
        click.echo(plain(mark + text.replace("\n", f"\n{others}")))
        return
    width = max(_NARROWEST, out.width - len(mark))
    number = 0
    for line in text.split("\n"):
        for piece in safe(line, style).wrap(out, width, overflow="fold") if line else [safe("")]:
            show_line(out, safe(others if number else mark, mark_style).append_text(piece))
            number += 1
