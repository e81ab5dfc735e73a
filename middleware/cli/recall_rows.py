"""Memories in rows that keep an id whole at any width: it is what `forget` and `history` are given."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recall_store import Record

from .recall_places import label

__all__ = ["Row", "print_rows", "table"]

_SHORTEST = 28
"""Columns of a terminal that a memory's words need, before others are left out for them."""
_GAP = 2
_LEFT_OUT = ("cosine", "lexical", "type", "author", "age", "score")
"""What is left out where there is no room, the first first; `--json` has it all."""
_NUMBERS = ("score", "lexical", "cosine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A memory and what stands before it: text by the column's name."""

    cells: dict[str, str]
    record: Record


def print_rows(rows: Sequence[Row]) -> None:
    """Print the rows under a header: as wide as the terminal, or COLUMNS, is; piped without it a line each, uncut."""
    from .screen import console

    if not rows:
        return
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS"):
        _print_lines(rows)
        return
    from rich.cells import cell_len

    out = console()
    ids = max(2, *(cell_len(_id(row).plain) for row in rows))
    widths = {name: max(len(name), *(cell_len(row.cells[name]) for row in rows)) for name in rows[0].cells}
    room = out.width - ids - _GAP - _SHORTEST
    if room < 0:
        for row in rows:
            out.print(_id(row), soft_wrap=True)
            out.print(_words(row), overflow="fold")
        return
    for name in _LEFT_OUT:
        if name in widths and sum(width + _GAP for width in widths.values()) > room:
            del widths[name]
    grid = table(*widths, ratio="memory")
    grid.add_column("id", no_wrap=True, min_width=ids)
    for row in rows:
        grid.add_row(*(row.cells[name] for name in widths), _words(row), _id(row))
    out.print(grid)


def table(*columns: str, ratio: str) -> Any:
    """A table of short columns and one, `ratio`, that takes the rest of the width."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        made.add_column(name, justify="right" if name in _NUMBERS else "left", no_wrap=True)
    made.add_column(ratio, overflow="fold", ratio=1, min_width=_SHORTEST)
    return made


def _print_lines(rows: Sequence[Row]) -> None:
    import click

    from .failures import plain

    names = [*rows[0].cells]
    widths = [max(len(name), *(len(row.cells[name]) for row in rows)) for name in names]
    lines = [[*names, "memory", "id"]]
    lines += [[*(row.cells[name] for name in names), label(row.record), str(row.record.id)] for row in rows]
    for line in lines:
        cells = [
            cell.rjust(width) if name in _NUMBERS else cell.ljust(width)
            for cell, name, width in zip(line, names, widths, strict=False)
        ]
        click.echo(plain("  ".join([*cells, *line[len(names) :]])))


def _id(row: Row) -> Any:
    from .screen import safe

    return safe(str(row.record.id), "dim")


def _words(row: Row) -> Any:
    from .screen import safe

    title = safe(f"{row.record.title}: " if row.record.title else "", "bold")
    return title.append_text(safe(row.record.text))
