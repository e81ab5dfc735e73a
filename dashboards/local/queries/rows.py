"""Rows of the file into values of the pages, and filters into SQL. Every value goes in as a parameter."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from ..prices import Prices
from .values import Filter, Tokens
from .views import TurnSummary

__all__ = ["NS", "TURN", "conditions", "holds", "like", "seconds", "source_order", "turn_summary"]

NS: Final = 1_000_000_000

TURN: Final = (
    "key, started, duration, outcome, origin, session, user, service, model, provider, error_type, calls, input_tokens,"
    " output_tokens, cache_read_tokens, cache_write_tokens, first_chunk, hooks, hooks_failed, recalls, matches,"
    " recall_outcome, injection_count, injection_chars, injection_sources, truncated, suspected, typed_chars,"
    " added_chars, preview, trace_id, span_id, file"
)
"""The columns that `turn_summary` reads."""

_SOURCES: Final = ("session hook", "subagent hook", "memory", "hook")


def conditions(where: Filter) -> tuple[list[str], list[Any]]:
    """SQL conditions over `turns`, and their parameters."""
    said: list[str] = []
    values: list[Any] = []
    if where.start is not None:
        said.append("started >= ?")
        values.append(int(where.start * NS))
    if where.end is not None:
        said.append("started < ?")
        values.append(int(where.end * NS))
    for column, value in (("model", where.model), ("session", where.session)):
        if value == "":
            said.append(f"{column} IS NULL")
        elif value is not None:
            said.append(f"{column} = ?")
            values.append(value)
    return said, values


def like(text: str) -> str:
    """A pattern for `LIKE ? ESCAPE '\\'` that finds a text anywhere, whatever signs are in it."""
    for sign in "\\%_":
        text = text.replace(sign, f"\\{sign}")
    return f"%{text}%"


def source_order(source: str) -> tuple[int, str]:
    """Sorts sources of injected text as `middleware` sends them; others come last."""
    return (_SOURCES.index(source) if source in _SOURCES else len(_SOURCES), source)


def holds(column: str, text: str) -> tuple[str, str]:
    """A condition on a column of text that holds `text` somewhere, without regard to case, and its parameter.

    SQLite alone knows the case of ASCII only; `folded` (`database`) knows the others', and takes longer.
    """
    if text.isascii():
        return f"{column} LIKE ? ESCAPE '\\'", like(text)
    return f"folded({column}) LIKE ? ESCAPE '\\'", like(text.casefold())


def seconds(nanoseconds: int | None) -> float | None:
    """None stays None."""
    return None if nanoseconds is None else nanoseconds / NS


def turn_summary(row: sqlite3.Row, prices: Prices) -> TurnSummary:
    """A turn of a list, from the columns of `TURN`."""
    tokens = Tokens(
        input=row["input_tokens"],
        output=row["output_tokens"],
        cache_read=row["cache_read_tokens"],
        cache_write=row["cache_write_tokens"],
    )
    sources = row["injection_sources"]
    return TurnSummary(
        key=row["key"].hex(),
        started=row["started"] / NS,
        duration=seconds(row["duration"]),
        outcome=row["outcome"],
        origin=row["origin"],
        session=row["session"] or "",
        user=row["user"],
        service=row["service"],
        model=row["model"],
        provider=row["provider"],
        error_type=row["error_type"],
        calls=row["calls"],
        tokens=tokens,
        cost=prices.cost(
            row["model"],
            input=tokens.input,
            output=tokens.output,
            cache_read=tokens.cache_read,
            cache_write=tokens.cache_write,
        ),
        first_chunk=seconds(row["first_chunk"]),
        hooks=row["hooks"],
        hooks_failed=row["hooks_failed"],
        recalls=row["recalls"],
        matches=row["matches"],
        recall_outcome=row["recall_outcome"],
        injection_count=row["injection_count"],
        injection_chars=row["injection_chars"],
        injection_sources=tuple(sorted(sources.split(","), key=source_order)) if sources else (),
        truncated=bool(row["truncated"]),
        suspected=bool(row["suspected"]),
        typed_chars=row["typed_chars"],
        added_chars=row["added_chars"],
        preview=row["preview"],
        trace_id=row["trace_id"].hex() if row["trace_id"] is not None else None,
        span_id=row["span_id"].hex() if row["span_id"] is not None else None,
        has_transcript=row["file"] is not None,
    )
