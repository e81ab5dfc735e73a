"""`/context`: of what the model got with a turn, what was the person's and who added the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from .screen import safe

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from ..chat.terminal.wire import Added, Ran

__all__ = ["context_view"]

_MOST_LINES: Final = 8
_MOST_COLUMNS: Final = 100
_LONGEST: Final = 500
_SIGNS: Final = {"you": "█", "files": "▓", "hook": "▒", "memory": "░"}
_COLOURS: Final = {"you": "bold cyan", "files": "cyan", "hook": "bold magenta", "memory": "magenta"}
_NAMES: Final = {"you": "your words", "files": "your files", "hook": "hooks", "memory": "memory"}


def context_view(
    sent: Sequence[str], added: Sequence[Added], ran: Sequence[Ran], *, columns: int, whole: bool = False
) -> RenderableType:
    """The last turn by source: a bar of how much each gave, then every added text, folded unless `whole`.

    `sent` are the person's text and then the bodies of files; `ran` are the hooks that ran for the turn.
    """
    from rich.console import Group

    columns = min(columns, _MOST_COLUMNS)
    sizes = {
        "you": len(sent[0]) if sent else 0,
        "files": sum(map(len, sent[1:])),
        "hook": sum(len(one.text) for one in added if one.source == "hook"),
        "memory": sum(len(one.text) for one in added if one.source == "memory"),
    }
    lines: list[RenderableType] = [safe("\nWhat the model got with your last turn", "bold")]
    lines += [_bar(sizes, columns), _legend(sizes)]
    for one in added:
        lines += [safe(""), _title(one, ran), _body(one, whole=whole)]
    if not added:
        lines.append(safe(f"\nNothing was added: the model got your words and no more{_idle(ran)}", "dim"))
    lines.append(safe("\nSpans and recall get your words only; the transcript keeps the rest apart, tagged.", "dim"))
    return Group(*lines)


def _bar(sizes: dict[str, int], columns: int) -> Text:
    """One sign a source, as wide as its share; a source that gave anything is seen."""
    total = sum(sizes.values())
    bar = safe("")
    for source, size in sizes.items():
        width = max(1, round(size / total * (columns - len(sizes)))) if size else 0
        bar.append(_SIGNS[source] * width, style=_COLOURS[source])
    return bar


def _legend(sizes: dict[str, int]) -> Text:
    total = sum(sizes.values()) or 1
    legend = safe("")
    for source, size in sizes.items():
        if size:
            legend.append(f"{_SIGNS[source]} {_NAMES[source]} {size:,}", style=_COLOURS[source])
            legend.append(f" ({size / total:.0%})   ", style="dim")
    legend.append("characters", style="dim")
    return legend


def _title(one: Added, ran: Sequence[Ran]) -> Text:
    title = safe("").append(f"{_SIGNS[one.source]} ", style=_COLOURS[one.source])
    if one.source == "memory":
        count = one.memories
        title.append(f"recalled: {count:,} {'memory' if count == 1 else 'memories'}", style="bold magenta")
    else:
        gave = [hook for hook in ran if hook.gave]
        names = ", ".join(f"{hook.name} ({hook.milliseconds:,.0f} ms)" for hook in gave)
        said = {0: "added at the start", 1: f"added by the hook {names}"}.get(len(gave), f"added by the hooks {names}")
        title.append_text(safe(said, "bold magenta"))
    title.append(f"  {len(one.text):,} characters", style="dim")
    return title


def _body(one: Added, *, whole: bool) -> Table:
    """Its lines behind a bar, what is wrapped too; folded unless `whole`."""
    from rich.table import Table

    table = Table.grid()
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    lines = one.text.split("\n")
    shown = lines if whole or len(lines) <= _MOST_LINES + 1 else lines[:_MOST_LINES]
    for line in shown:
        table.add_row(safe("  │ ", "dim"), safe(line if whole else _folded(line)))
    if len(shown) < len(lines) or (not whole and any(_folded(line) != line for line in shown)):
        more = f"{len(lines) - len(shown):,} more lines" if len(shown) < len(lines) else "long lines are cut"
        table.add_row(safe("  └ ", "dim"), safe(f"{more}: /context all", "dim"))
    return table


def _folded(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _idle(ran: Sequence[Ran]) -> str:
    if not ran:
        return ""
    return f" ({len(ran)} {'hook' if len(ran) == 1 else 'hooks'} ran and gave nothing)"
