"""What metric series grew by in a stretch of time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["MetricSum", "metric_sums"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSum:
    """One series: `count` of a histogram's values (0 for a sum), `total` of them, in the series' unit."""

    name: str
    unit: str
    service: str
    attributes: Mapping[str, Any]
    count: int
    total: float


def metric_sums(
    connection: sqlite3.Connection, name: str, start: float | None = None, end: float | None = None
) -> tuple[MetricSum, ...]:
    """What the series of a metric grew by from `start` to `end`, by whole minutes; those that did not are left out."""
    rows = connection.execute(
        """SELECT metrics.name, unit, service, attributes, sum(count), sum(total)
             FROM metrics JOIN metric_sums ON metric = metrics.id
             WHERE name = ? AND start >= ? AND start < ? AND kind != 'gauge' GROUP BY metrics.id ORDER BY metrics.id""",
        (name, -1 if start is None else int(start // 60 * 60), 2**62 if end is None else end),
    )
    return tuple(
        MetricSum(name=row[0], unit=row[1], service=row[2], attributes=json.loads(row[3]), count=row[4], total=row[5])
        for row in rows
    )
