"""`firsthand transcript`: read transcripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .failures import Commands, Failure

if TYPE_CHECKING:
    from rich.text import Text

    from ..resume import Shown

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
    """Read transcripts."""


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
    shown, records = _read(file)
    if as_json:
        from .screen import print_json

        rows = [asdict(row) for row in shown]
        if raw:
            for found, added in zip(rows, _additions(shown, records), strict=True):
                found["injected"] = added
        print_json(rows)
        return
    from .screen import console

    out = console()
    for row, added in zip(shown, _additions(shown, records), strict=True):
        if row.type == "user":
            out.print()
        out.print(_line(row), soft_wrap=True)
        for text in added if raw else ():
            out.print(_injected(text), soft_wrap=True)


def _read(file: Path) -> tuple[list[Shown], dict[str, Mapping[str, Any]]]:
    """The rows of the screen and the branch's records by uuid; flaws go to stderr."""
    from ..errors import TranscriptError
    from ..resume import display
    from ..transcript import read, walk
    from .screen import warn

    held = read(file)
    try:
        branch, flaws = walk(held.records)
    except TranscriptError as error:
        raise TranscriptError(f"{file}: {error}") from None
    if not held.records and held.flaws:
        raise Failure(f"{file} is not a transcript: no line of it is a record; name a .jsonl transcript")
    for flaw in (*held.flaws, *flaws):
        place = f"{file}:{flaw.line}" if flaw.line is not None else f"{file}"
        warn(f"{place}: {flaw.name}: {flaw.detail}")
    if not branch:
        warn(f"{file}: holds no conversation yet")
    return display(branch), {record["uuid"]: record for record in branch}


def _additions(shown: list[Shown], records: Mapping[str, Mapping[str, Any]]) -> Iterator[list[str]]:
    """For each row, the tagged texts of its record, at the last row of the record."""
    from ..injection import kept_parts
    from ..records import ASSISTANT, part_text, parts_of

    for at, row in enumerate(shown):
        record = records.get(row.uuid)
        followed = any(following.uuid == row.uuid for following in shown[at + 1 : at + 2])
        if record is None or record.get("type") == ASSISTANT or followed:
            yield []
            continue
        texts = [part_text(part) for part in parts_of(record)]
        yield [text for text in texts[kept_parts(texts) :] if text is not None]


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
