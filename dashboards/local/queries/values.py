"""What the overview is told, and what all pages ask with.

Moments are seconds since 1970 (UTC), durations seconds, sizes characters. None means that nobody said it, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

__all__ = [
    "EVERYTHING",
    "Characters",
    "Filter",
    "HookSummary",
    "ModelSummary",
    "Overview",
    "Pollution",
    "RecallSummary",
    "Spread",
    "Timeline",
    "Tokens",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What to look at; None lets everything through. `start` is inside, `end` is not.

    `session` "" is the turns that belong to no session; `model` "" those that reached no model (blocked ones).
    """

    start: float | None = None
    end: float | None = None
    model: str | None = None
    session: str | None = None


EVERYTHING: Final = Filter()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A distribution of durations, in seconds; percentiles are within 2.2% (`sketch`). None for an empty one."""

    count: int = 0
    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """`input` includes what was read from and written to the cache, and injected text; `reasoning` is of `output`."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Characters:
    """What was sent once each, in characters: `typed` (tool results too) and `injected` by source (tags included).

    `basis` says from where that is known: the transcripts, the metrics (which know no model and no session), or None,
    nowhere.
    """

    typed: int = 0
    injected: Mapping[str, int] = field(default_factory=dict)
    basis: Literal["transcripts", "metrics"] | None = None

    @property
    def share(self) -> float | None:
        """The injected part of what was sent, 0 to 1; None when nothing is known to have been sent."""
        added = sum(self.injected.values())
        return added / (self.typed + added) if self.typed + added else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSummary:
    """The calls of one hook: how many, by outcome, and how long. `failed` are those that did not do their work.

    Outcomes are the middleware's: `success`, `blocking`, `non_blocking_error`, `timeout`, `cancelled`.
    """

    event: str
    type: str
    name: str
    calls: int
    failed: int
    outcomes: Mapping[str, int]
    duration: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSummary:
    """The store was asked `asked` times: hits found something, misses nothing, the others did not end well.

    What the request held already is found as well; `matches` counts what was sent.
    """

    asked: int = 0
    hits: int = 0
    misses: int = 0
    timeouts: int = 0
    errors: int = 0
    matches: int = 0
    duration: Spread = Spread()

    @property
    def hit_rate(self) -> float | None:
        """Of all that were asked, 0 to 1."""
        return self.hits / self.asked if self.asked else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pollution:
    """What was kept out of recall queries: in `recalls` turns a hook's text stood beside what was typed.

    A wrapper that asked the store with the model-bound text would have asked with `chars` characters more; 0 where
    only telemetry tells of the turns, which does not say how much of it was a hook's.
    """

    recalls: int = 0
    chars: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """One model ("" for turns that reached none); `cost` in the prices' currency, None when unknown."""

    model: str
    turns: int
    latency: Spread
    first_chunk: Spread
    tokens: Tokens
    cost: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Columns over time, one value for every stretch from `starts[i]`, `step` seconds long, empty ones included.

    Columns: `turns`, `sent`, `blocked`, `error`, `cancelled` (0 for none); `p50`, `p95`, `p99`, `first_chunk_p50`,
    `first_chunk_p95` (None for none); `input_tokens`, `output_tokens`, `typed`, `injected`, `injected_share` (None),
    `hooks`, `hooks_failed`, `recalls`, `recall_hits`, `recall_p95` (None), `errors`.
    """

    step: int
    starts: tuple[float, ...]
    columns: Mapping[str, tuple[float | None, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Everything on the first page. `start` and `end` are what was really looked at, widened to whole steps.

    `turns` counts every turn that ended, `outcomes` and `origins` say how and of what kind; `latency` is a turn's
    whole duration, hooks and recall included, `call_latency` the model calls'. `cost` None when no price is known of
    what was used; `cost_is_whole` False when it leaves out models without a price.
    """

    start: float
    end: float
    turns: int
    outcomes: Mapping[str, int]
    origins: Mapping[str, int]
    latency: Spread
    call_latency: Spread
    first_chunk: Spread
    tokens: Tokens
    cost: float | None
    cost_is_whole: bool
    currency: str
    characters: Characters
    hooks: tuple[HookSummary, ...]
    recall: RecallSummary
    pollution: Pollution
    errors: Mapping[str, int]
    models: tuple[ModelSummary, ...]
    timeline: Timeline

    @property
    def blocked(self) -> int:
        """Turns that a hook refused."""
        return self.outcomes.get("blocked", 0)
