"""What a page draws of a turn: its spans as bars beside one another, and its texts as marked pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .contents import Received
from .queries import SpanView
from .shown import visible

__all__ = ["Bar", "Piece", "bars", "pieces"]

LONGEST: Final = 100_000
"""Characters of one text that a page shows; the rest is in the transcript."""

_NAMES: Final = {
    "user": "typed",
    "tool": "tool result",
    "media": "attached",
    "memory": "memory",
    "hook": "hook",
    "subagent hook": "subagent hook",
    "session hook": "session hook",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One span as a bar; `left` and `width` are thousandths of the whole drawing, which begins with the first span."""

    span: SpanView
    left: float
    width: float
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of what the model received. `injected` says that nobody typed it; `more` characters are not shown."""

    name: str
    kind: str
    text: str
    chars: int
    injected: bool
    more: int


def bars(spans: Sequence[SpanView]) -> tuple[Bar, ...]:
    """The spans on one line of time, in the order that they were given in."""
    if not spans:
        return ()
    first = min(span.offset for span in spans)
    whole = max(span.offset + span.duration for span in spans) - first
    made = []
    for span in spans:
        left = (span.offset - first) / whole * 1000 if whole > 0 else 0.0
        width = span.duration / whole * 1000 if whole > 0 else 1000.0
        width = min(max(width, 3.0), 1000.0)
        made.append(Bar(span=span, left=round(min(left, 1000 - width), 1), width=round(width, 1), kind=_kind(span)))
    return tuple(made)


def pieces(parts: Sequence[Received]) -> tuple[Piece, ...]:
    """The parts of a message, fit to be shown."""
    return tuple(
        Piece(
            name=_NAMES[part.source],
            kind=part.source.replace(" ", "-"),
            text=visible(part.text[:LONGEST]),
            chars=len(part.text),
            injected=part.source not in ("user", "tool", "media"),
            more=max(0, len(part.text) - LONGEST),
        )
        for part in parts
    )


def _kind(span: SpanView) -> str:
    if span.name == "firsthand.turn":
        return "turn"
    if span.name.startswith("firsthand.hook"):
        return "hook"
    if span.name.startswith(("search_memory", "embeddings")):
        return "recall"
    return "call" if "gen_ai.operation.name" in span.attributes else "other"
