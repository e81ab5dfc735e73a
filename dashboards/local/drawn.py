"""What a page draws of a turn: its spans as bars beside one another, its texts as marked pieces, and their shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from middleware.telemetry import names

from .contents import Received, Source
from .queries import SpanView
from .shown import visible

__all__ = ["Bar", "Piece", "Share", "bars", "pieces", "shares"]

LONGEST: Final = 100_000
"""Characters of one text that a page shows; the rest is in the transcript."""

_NAMES: Final[Mapping[Source, str]] = {
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How much of what the model received is of one kind; `left` and `width` are thousandths of the whole."""

    name: str
    kind: str
    chars: int
    left: float
    width: float


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
            kind=_kind_of(part.source),
            text=visible(part.text[:LONGEST]),
            chars=len(part.text),
            injected=part.source not in ("user", "tool", "media"),
            more=max(0, len(part.text) - LONGEST),
        )
        for part in parts
    )


def shares(parts: Sequence[Received]) -> tuple[Share, ...]:
    """Who wrote how much of a message, in the order in which each comes first in it; nothing of an empty one."""
    chars: dict[Source, int] = {}
    for part in parts:
        chars[part.source] = chars.get(part.source, 0) + len(part.text)
    whole = sum(chars.values())
    made, left = [], 0.0
    for source, number in chars.items() if whole else ():
        width = number / whole * 1000
        made.append(
            Share(name=_NAMES[source], kind=_kind_of(source), chars=number, left=round(left, 1), width=round(width, 1))
        )
        left += width
    return tuple(made)


def _kind_of(source: Source) -> str:
    return source.replace(" ", "-")


def _kind(span: SpanView) -> str:
    if span.name == "firsthand.turn":
        return "turn"
    if span.name.startswith("firsthand.hook"):
        return "blocking" if span.attributes.get(names.HOOK_OUTCOME) == "blocking" else "hook"
    if span.name.startswith(("search_memory", "embeddings")):
        return "recall"
    return "call" if "gen_ai.operation.name" in span.attributes else "other"
