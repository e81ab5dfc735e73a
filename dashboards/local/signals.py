"""What came over the wire, decoded: spans, log events and metric points, as plain values. Times in ns since 1970."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

__all__ = ["Attributes", "Decoded", "Log", "Point", "Refused", "Span"]

Attributes: TypeAlias = dict[str, Any]
"""Names to strings, booleans, integers, floats, and lists and mappings of these; text is valid UTF-8."""


class Span(NamedTuple):
    """One ended span; `parent_id` is None at a root, ids are 16 and 8 bytes, `events` are JSON objects."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes | None
    name: str
    kind: int
    started: int
    duration: int
    failed: bool
    service: str
    scope: str
    attributes: Attributes
    events: tuple[Mapping[str, Any], ...] = ()


class Log(NamedTuple):
    """One log record; `event` is "" for one that has no name."""

    at: int
    trace_id: bytes | None
    span_id: bytes | None
    event: str
    severity: str
    service: str
    body: str | None
    attributes: Attributes


class Point(NamedTuple):
    """One point of a sum or a histogram; `buckets` are counts by upper bound, the last of which is None (no bound).
    `number` is how many values a histogram has, 0 for other kinds.

    `began` is when counting began: a cumulative point counts from there, a delta point is what came since. `source`
    tells two processes of one service apart.
    """

    name: str
    unit: str
    kind: Literal["sum", "histogram", "gauge"]
    service: str
    source: str
    attributes: Attributes
    began: int
    at: int
    cumulative: bool
    number: int
    total: float
    buckets: tuple[tuple[float | None, int], ...] = ()


@dataclass(slots=True, kw_only=True)
class Refused:
    """How many items of a request were not taken, and why the first of them was not."""

    rejected: int = 0
    why: str = ""

    def refuse(self, why: str, count: int = 1) -> None:
        """Count items that cannot be stored; the first reason is kept."""
        self.rejected += count
        self.why = self.why or why


@dataclass(slots=True, kw_only=True)
class Decoded(Refused):
    """What a request held: the items that are whole, and what of the others is to be told."""

    spans: list[Span] = field(default_factory=list)
    logs: list[Log] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.spans) + len(self.logs) + len(self.points)
