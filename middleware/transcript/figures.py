"""Counts what is in transcripts: turns, tokens, and how much of what the model was sent nobody typed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ..records import ASSISTANT, SESSION_START, SYSTEM, TOOL_RESULT, USER, part_text, parts_of
from .unfolded import injected_in

__all__ = ["Figures", "Tokens"]


@dataclass(slots=True, kw_only=True)
class Tokens:
    """Tokens of one model, as the provider counted them; `cached` are among `input`."""

    input: int = 0
    output: int = 0
    cached: int = 0


@dataclass(slots=True, kw_only=True)
class Figures:
    """A running count; sizes are in characters.

    `sent` is every message of the user's side once, tool results and injected parts included; `injected` counts
    the latter by source, `injected_parts` their number. `blocked` counts refused prompts by hook.
    """

    sessions: int = 0
    records: int = 0
    turns: int = 0
    replies: int = 0
    tool_calls: int = 0
    sent: int = 0
    recalled: int = 0
    injected: Counter[str] = field(default_factory=Counter)
    injected_parts: Counter[str] = field(default_factory=Counter)
    blocked: Counter[str] = field(default_factory=Counter)
    tokens: dict[str, Tokens] = field(default_factory=dict)
    started: datetime | None = None
    ended: datetime | None = None

    @property
    def share(self) -> float:
        """The injected part of what was sent, 0 to 1."""
        return self.injected.total() / self.sent if self.sent else 0.0

    def count(self, records: Iterable[Mapping[str, Any]]) -> Figures:
        """Add the records of one session; what two of them say with one uuid counts once."""
        seen: set[str] = set()
        before = self.records
        for record in records:
            self.records += 1
            uuid = str(record.get("uuid"))
            self._count_time(record.get("timestamp"))
            if record.get("type") == ASSISTANT:
                # A reply may be written in fragments of one uuid, each with parts and the last with the usage.
                self._count_reply(record, uuid in seen)
            elif uuid not in seen:
                self._count_sent(record)
            seen.add(uuid)
        self.sessions += self.records > before
        return self

    def _count_sent(self, record: Mapping[str, Any]) -> None:
        kind, subtype, payload = record.get("type"), record.get("subtype"), record.get("systemPayload")
        payload = payload if isinstance(payload, Mapping) else {}
        added = injected_in(record)
        for item in added:
            self.injected[item.source] += len(item.part)
            self.injected_parts[item.source] += 1
        if kind in (USER, TOOL_RESULT):
            self.sent += sum(map(_size, parts_of(record)))
        elif kind == SYSTEM and subtype == SESSION_START:
            self.sent += sum(len(item.part) for item in added)
        elif kind == SYSTEM and subtype == "prompt_blocked":
            self.blocked[str(payload.get("hook") or "?")] += 1
        self.turns += kind == USER and subtype is None
        recall = payload.get("recall")
        self.recalled += len(recall) if isinstance(recall, list) else 0

    def _count_reply(self, record: Mapping[str, Any], again: bool) -> None:
        self.replies += not again
        self.tool_calls += sum(isinstance(part, Mapping) and "functionCall" in part for part in parts_of(record))
        usage = record.get("usageMetadata")
        if isinstance(usage, Mapping):
            model = record.get("model")
            held = self.tokens.setdefault(model if isinstance(model, str) else "unknown", Tokens())
            held.input += _whole(usage.get("promptTokenCount"))
            held.output += _whole(usage.get("candidatesTokenCount"))
            held.cached += _whole(usage.get("cachedContentTokenCount"))

    def _count_time(self, stamp: object) -> None:
        moment = _moment(stamp)
        if moment is not None:
            self.started = moment if self.started is None else min(self.started, moment)
            self.ended = moment if self.ended is None else max(self.ended, moment)


def _size(part: Any) -> int:
    text = part_text(part)
    if text is not None:
        return len(text)
    answer = part.get("functionResponse") if isinstance(part, Mapping) else None
    response = answer.get("response") if isinstance(answer, Mapping) else None
    if not isinstance(response, Mapping):
        return 0
    return sum(len(value) for value in response.values() if isinstance(value, str))


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _moment(stamp: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(stamp) if isinstance(stamp, str) else None
        return moment.astimezone(UTC) if moment is not None and moment.tzinfo else None
    except (ValueError, OverflowError):
        return None
