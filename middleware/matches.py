"""What a store found, as memories to inject: without those that the conversation holds already, each with its age."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from recall_store import Match

from .injection import Memory, is_line_of

__all__ = ["age_of", "held_already", "memories_of"]


def memories_of(matches: list[Match], delivered: Any, top_k: int) -> tuple[Memory, ...]:
    """The memories of `matches` that are not in `delivered` yet, at most `top_k`.

    That maps the id of a memory to its version, or to the body of the tagged part in which it was sent.
    """
    now = datetime.now(UTC)
    found = []
    for match in matches:
        record = match.record
        text = _text_of(match)
        if record.id is not None and not _is_held(match, delivered):
            found.append(
                Memory(
                    id=record.id,
                    text=text,
                    score=match.score,
                    age=age_of(record.created_at, now),
                    version=_version_of(text),
                    lexical=match.lexical,
                    cosine=match.cosine,
                )
            )
    return tuple(found[:top_k])


def held_already(matches: list[Match], delivered: Any) -> int:
    """How many of `matches` are in `delivered` as they are now."""
    return sum(_is_held(match, delivered) for match in matches)


def _is_held(match: Match, delivered: Any) -> bool:
    sent = delivered.get(match.record.id)
    if sent is None:
        return False
    text = _text_of(match)
    return bool(sent == _version_of(text) or is_line_of(text, sent))


def _text_of(match: Match) -> str:
    record = match.record
    return f"{record.title}: {record.text}" if record.title else record.text


def _version_of(text: str) -> str:
    return f"{hash(text):x}"


def age_of(created: datetime | None, now: datetime) -> str:
    """How long ago that was, as people say it: "3 days ago"; "" for no moment."""
    if created is None:
        return ""
    seconds = max(0.0, (now - created).total_seconds())
    for size, word in ((31_557_600, "year"), (2_629_800, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {word}{'' if count == 1 else 's'} ago"
    return "just now"
