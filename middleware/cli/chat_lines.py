"""Texts in the width of a terminal, in columns and not in characters: an ideograph takes two. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, chop_cells, set_cell_size

__all__ = ["cut", "facts_in", "last_lines"]

_BETWEEN = " · "


def cut(text: str, width: int) -> str:
    """The text in at most `width` columns; what is left out is told by `…`."""
    if cell_len(text) <= width:
        return text
    return f"{set_cell_size(text, width - 1).rstrip()}…" if width > 0 else ""


def last_lines(text: str, width: int, rows: int) -> list[str]:
    """The last rows of a text that is wrapped at `width` columns."""
    lines: list[str] = []
    for line in reversed(text[-(rows * width + width) * 2 :].split("\n")):
        lines[:0] = chop_cells(line.expandtabs(4), max(2, width)) or [""]
        if len(lines) >= rows:
            break
    return lines[-rows:]


def facts_in(facts: Sequence[str], width: int) -> str:
    """As many of the facts as there is room for, the first ones first, none of them cut but the very first."""
    shown = cut(facts[0], width) if facts else ""
    for fact in facts[1:]:
        longer = f"{shown}{_BETWEEN}{fact}"
        if cell_len(longer) > width:
            break
        shown = longer
    return shown
