"""The demo on a screen: for every send, what the model received beside what everything else remembers of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ..injection import HOOK_TAG, MEMORY_TAG, tag_of
from .demo_turns import Send, Trail, Turn
from .screen import program, safe

__all__ = ["picture", "render"]

_WIDEST = 160
_NARROW = 70
"""Columns under which the two sides stand one above the other."""
_TYPED = "bold green"
"""The style of what the person wrote, wherever it turns up."""
_COLOURS = {HOOK_TAG: "magenta", MEMORY_TAG: "cyan"}
_KNOWN = "nothing new: the memory is in this request already"


class _Lines:
    """Lines, each with its bar: also where a line is folded, and where there is no colour."""

    def __init__(self) -> None:
        self._lines: list[tuple[Text, Text]] = []

    def add(self, bar: Text, line: Text) -> None:
        """Add a line; `bar` is one character wide."""
        self._lines.append((bar, line))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for bar, text in self._lines:
            for line in text.wrap(console, max(1, options.max_width - 2), overflow="fold"):
                yield Text.assemble(bar, " ", line)


def render(turns: Sequence[Turn], trail: Trail, transcript: str, out: Console) -> None:
    """Print the turns, whether injected text was found where it must not be, and what to try next."""
    width = min(out.width, _WIDEST)
    narrow = width < _NARROW
    out.print(_legend(narrow), width=width)
    for number, turn in enumerate(turns, 1):
        out.print()
        out.print(Rule(f"turn {number}", style="dim", align="left"), width=width)
        out.print(_labelled("typed", safe(turn.typed, _TYPED)), width=width)
        for send in turn.sends:
            out.print(_send(turn, send, first=send is turn.sends[0], narrow=narrow), width=width)
        out.print(_labelled("answered", safe(turn.answer)), width=width)
    out.print()
    out.print(_verdict(turns, trail), width=width)
    for label, command in (
        ("resume it", (f"{program()} transcript show --raw", shlex.quote(transcript))),
        ("start", (f"{program()} init",)),
    ):
        out.print(Text(label, "dim"))
        # Not folded: it is there to be copied. A path that does not fit has a line of its own.
        fits = len(" ".join(command)) <= width - 2
        out.print(safe(f"  {(' ' if fits else f' {chr(92)}{chr(10)}    ').join(command)}"), soft_wrap=True)


def picture(out: Console) -> str:
    """What a recording console has printed, as an SVG that fetches nothing (rich's own asks a CDN for its font)."""
    return re.sub(r"@font-face \{.*?\}\s*", "", out.export_svg(title="firsthand demo"), flags=re.DOTALL)


def _legend(narrow: bool) -> Text:
    here, there = ("Above", "Below") if narrow else ("Left", "Right")
    return Text.assemble(
        f"{here}: what the model received. {there}: what everything else remembers of it.\n",
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
    lines = _Lines()
    for part in send.parts:
        text = str(part.get("text", f"[{part.get('type')}]"))
        colour = _COLOURS.get(tag_of(text) or "")
        for line in text.splitlines():
            bar = Text(" ") if colour is None else Text("|", colour)
            lines.add(bar, safe(line, colour or (_TYPED if first else "")))
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
        nothing = _KNOWN if send.known else "nothing"
        grid.add_row("recalled", _said("\n".join(send.recalled), _COLOURS[MEMORY_TAG], nothing))
    grid.add_row("resume shows", _said(shown, style))
    return Panel(grid, title="everything else remembers", title_align="left", border_style="dim", padding=(0, 1))


def _said(text: str | None, style: str, nothing: str = "nothing") -> Text:
    return safe(text, style) if text else Text(nothing, "dim")


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
