"""The demo on a screen: for every send, what the model received beside what everything else remembers of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ..injection import HOOK_TAG, MEMORY_TAG, tag_of
from .demo_turns import Send, Trail, Turn
from .screen import safe

__all__ = ["picture", "render"]

_WIDEST = 160
_NARROW = 70
"""Columns under which the two sides stand one above the other."""
_TYPED = "bold green"
"""The style of what the person wrote, wherever it turns up."""
_COLOURS = {HOOK_TAG: "magenta", MEMORY_TAG: "cyan"}


def render(turns: Sequence[Turn], trail: Trail, transcript: str, out: Console) -> None:
    """Print the turns, whether injected text was found where it must not be, and what to try next."""
    width = min(out.width, _WIDEST)
    out.print(_legend(), width=width)
    for number, turn in enumerate(turns, 1):
        out.print()
        out.print(Rule(f"turn {number}", style="dim", align="left"), width=width)
        out.print(_labelled("typed", safe(turn.typed, _TYPED)), width=width)
        for send in turn.sends:
            out.print(_send(turn, send, first=send is turn.sends[0], narrow=width < _NARROW), width=width)
        out.print(_labelled("answered", safe(turn.answer)), width=width)
    out.print()
    out.print(_verdict(turns, trail), width=width)
    for label, command in (("resume it", f"firsthand transcript show {transcript} --raw"), ("start", "firsthand init")):
        # Not wrapped: it is there to be copied.
        out.print(Text.assemble((f"{label:<9} ", "dim"), safe(command)), soft_wrap=True)


def picture(out: Console) -> str:
    """What a recording console has printed, as an SVG that fetches nothing (rich's own asks a CDN for its font)."""
    return re.sub(r"@font-face \{.*?\}\s*", "", out.export_svg(title="firsthand demo"), flags=re.DOTALL)


def _legend() -> Text:
    return Text.assemble(
        "Left: what the model received. Right: what everything else remembers of it.\n",
        ("| from a hook", _COLOURS[HOOK_TAG]),
        "   ",
        ("| from memory", _COLOURS[MEMORY_TAG]),
        "   tagged by firsthand, for the model alone",
    )


def _send(turn: Turn, send: Send, *, first: bool, narrow: bool) -> RenderableType:
    sides: RenderableType = Group(_received(send, first), _remembered(turn, send, first))
    if not narrow:
        beside = Table.grid(expand=True)
        beside.add_column(ratio=1)
        beside.add_column(ratio=1)
        beside.add_row(_received(send, first), _remembered(turn, send, first))
        sides = beside
    origin = _labelled("origin", Text.assemble(safe(send.origin), ("   trace  ", "dim"), safe(send.trace_id or "none")))
    if first:
        return Group(origin, sides)
    called = [safe(f"{row.name} {row.text}", "yellow") for row in turn.rows if row.type == "tool_call"]
    return Group(*(_labelled("called", call) for call in called), origin, sides)


def _received(send: Send, first: bool) -> Panel:
    lines = Table.grid(padding=(0, 1, 0, 0))
    lines.add_column(width=1)
    lines.add_column(overflow="fold")
    for part in send.parts:
        text = str(part.get("text", f"[{part.get('type')}]"))
        colour = _COLOURS.get(tag_of(text) or "")
        for line in text.splitlines():
            # One row a line, so that the bar stands before each also where there is no colour.
            bar = Text(" ") if colour is None else Text("|", colour)
            lines.add_row(bar, safe(line, colour or (_TYPED if first else "")))
    return Panel(lines, title="the model received", title_align="left", border_style="dim", padding=(0, 1))


def _remembered(turn: Turn, send: Send, first: bool) -> Panel:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    style = _TYPED if first else ""
    shown = turn.displayed if first else "\n".join(row.text for row in turn.rows if row.type == "tool_result")
    grid.add_row("span says", _said(send.span_prompt, style))
    grid.add_row("recall asked", _said(send.recall_query, style))
    if send.recall_query is not None:
        grid.add_row("recalled", _said("\n".join(send.recalled), _COLOURS[MEMORY_TAG]))
    grid.add_row("resume shows", _said(shown, style))
    return Panel(grid, title="everything else remembers", title_align="left", border_style="dim", padding=(0, 1))


def _said(text: str | None, style: str) -> Text:
    return safe(text, style) if text else Text("nothing", "dim")


def _labelled(label: str, text: Text) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(style="dim", no_wrap=True, min_width=9)
    grid.add_column(overflow="fold")
    grid.add_row(label, text)
    return grid


def _verdict(turns: Sequence[Turn], trail: Trail) -> Text:
    found, places = trail.leaks(turns)
    style = "bold red" if found else "bold green"
    return Text.assemble(
        f"{sum(map(len, trail.injected)):,} characters were injected. They are in ",
        (f"{found} of {places}", style),
        " span attributes, recall queries and resumed lines, the model's own answers aside.",
    )
