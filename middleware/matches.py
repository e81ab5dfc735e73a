"""What a store found, as memories to inject: without those that the conversation holds already, each with its age."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from recall_store import Match

from .injection import Memory

__all__ = ["memories_of"]


def memories_of(matches: list[Match], delivered: Any, top_k: int) -> tuple[Memory, ...]:
    """The memories of `matches` that are not in `delivered` (id to version) yet, at most `top_k`."""
    now = datetime.now(UTC)
    found = []
    for match in matches:
        record = match.record
        text = f"{record.title}: {record.text}" if record.title else record.text
        version = f"{hash(text):x}"
        if record.id is not None and delivered.get(record.id) != version:
            found.append(
                Memory(id=record.id, text=text, score=match.score, age=_age(record.created_at, now), version=version)
            )
    return tuple(found[:top_k])


def _age(created: datetime | None, now: datetime) -> str:
    if created is None:
        return ""
    seconds = max(0.0, (now - created).total_seconds())
    for size, word in ((31_557_600, "year"), (2_629_800, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {word}{'' if count == 1 else 's'} ago"
    return "just now"
