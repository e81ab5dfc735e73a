"""What the lists and the page of a turn are told. Moments are seconds since 1970 (UTC), durations seconds.

None means that nobody said it, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .values import Tokens

__all__ = [
    "CallView",
    "HookCallView",
    "LogView",
    "MemoryView",
    "Page",
    "Place",
    "RecallView",
    "SessionSort",
    "SessionSummary",
    "SpanView",
    "Status",
    "TurnDetail",
    "TurnSort",
    "TurnSummary",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """One session; `session` is "" for the turns that belong to none. `title` is how its first prompt begins.

    `typed_chars` and `added_chars` are None without a transcript; `models` are sorted. `unfinished` turns are among
    no count.
    """

    session: str
    title: str | None
    user: str | None
    first: float
    last: float
    turns: int
    blocked: int
    failed: int
    hooks_failed: int
    models: tuple[str, ...]
    duration: float | None
    tokens: Tokens
    cost: float | None
    typed_chars: int | None
    added_chars: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSummary:
    """One turn in a list. `key` (48 hexadecimal digits) names it in an address.

    `outcome` None: it has not ended, as far as was heard. `duration` None: only its transcript tells of it.
    `injection_chars` is of everything that its request carried, earlier turns' blocks included; `added_chars` is what
    was added to this turn's own message. `preview` is how what was typed begins, from the transcript.
    """

    key: str
    started: float
    duration: float | None
    outcome: str | None
    origin: str | None
    session: str
    user: str | None
    service: str | None
    model: str | None
    provider: str | None
    error_type: str | None
    calls: int
    tokens: Tokens
    cost: float | None
    first_chunk: float | None
    hooks: int
    hooks_failed: int
    recalls: int
    matches: int | None
    recall_outcome: str | None
    injection_count: int | None
    injection_chars: int | None
    injection_sources: tuple[str, ...]
    truncated: bool
    suspected: bool
    typed_chars: int | None
    added_chars: int | None
    preview: str | None
    trace_id: str | None
    span_id: str | None
    has_transcript: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Part of a list: `items` from `offset` on, of `total`."""

    items: tuple[Any, ...]
    total: int
    offset: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallView:
    """One model call of a turn."""

    span_id: str
    started: float
    duration: float
    operation: str
    provider: str | None
    model: str | None
    response_model: str | None
    first_chunk: float | None
    tokens: Tokens
    cost: float | None
    finish_reasons: tuple[str, ...]
    error_type: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCallView:
    """One hook call of a turn: metadata, and its error only if content was captured."""

    span_id: str
    started: float
    duration: float
    event: str
    type: str
    name: str
    outcome: str
    success: bool
    exit_code: int | None
    output_chars: int | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallView:
    """One recall of a turn; `query` only if content was captured.

    `matches` memories were sent of those `found`: the request held the others already. None: its span did not say.
    """

    span_id: str
    started: float
    duration: float
    outcome: str
    matches: int | None
    found: int | None
    store: str | None
    error_type: str | None
    query: str | None

    @property
    def held(self) -> int:
        """How many of those found were in the request already."""
        return max(0, self.found - (self.matches or 0)) if self.found is not None else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryView:
    """One memory that was sent along; `score` of the search, the higher the better.

    `lexical` (0 to 1) and `cosine` (-1 to 1) are what it was made of, known only if content was captured.
    """

    id: str
    score: float | None
    lexical: float | None = None
    cosine: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanView:
    """One span of a turn's trace, in the order of the tree; `depth` 0 is a root. `offset` seconds after the turn began.

    `in_turn` says that it is the turn's own span or below it.
    """

    span_id: str
    parent_id: str | None
    name: str
    kind: Literal["internal", "server", "client", "producer", "consumer", "unspecified"]
    depth: int
    offset: float
    duration: float
    failed: bool
    service: str
    scope: str
    in_turn: bool
    attributes: Mapping[str, Any]
    events: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogView:
    """One log event of a turn's trace."""

    at: float
    event: str
    severity: str
    span_id: str | None
    body: str | None
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a turn stands in its transcript: `position` in bytes, `line` from 1, `uuid` of the record."""

    path: str
    position: int
    line: int
    uuid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDetail:
    """Everything about one turn but its texts, which `contents.turn_text` reads from its transcript.

    `added` are the characters that were added to this turn's own message, by source, None where no transcript tells.
    `spans` holds its whole trace, at most 2,000 spans (`spans_cut` says that there are more). `previous` and `next`
    are the keys of the turns beside it in its session.
    """

    turn: TurnSummary
    added: Mapping[str, int] | None
    calls: tuple[CallView, ...]
    hooks: tuple[HookCallView, ...]
    recalls: tuple[RecallView, ...]
    memories: tuple[MemoryView, ...]
    spans: tuple[SpanView, ...]
    spans_cut: bool
    logs: tuple[LogView, ...]
    place: Place | None
    previous: str | None
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What is in the file.

    `spans` is about how many there are, `bytes` the size of the file, `dropped` what exporters said they lost, by
    signal, since the file was begun.
    """

    turns: int
    sessions: int
    spans: int
    transcripts: int
    bytes: int
    newest: float | None
    oldest: float | None
    dropped: Mapping[str, int]


SessionSort: TypeAlias = Literal[
    "last", "first", "session", "turns", "blocked", "failed", "tokens", "duration", "added"
]
TurnSort: TypeAlias = Literal["started", "duration", "tokens", "first_chunk", "hooks", "added", "outcome", "model"]
