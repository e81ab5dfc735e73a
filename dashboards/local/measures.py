"""Metric points into sums a minute: what a cumulative series grew by since its last point, once."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from .cells import MINUTE
from .errors import DashboardError
from .signals import Point

__all__ = ["write_points"]

_NS: Final = 1_000_000_000
_MOST_SERIES: Final = 10_000
"""A client with an unbounded label must not fill the disk; points of further series are refused."""


def write_points(connection: sqlite3.Connection, points: Sequence[Point]) -> None:
    """Add points to their series; one that is no later than the series' last was sent again, and adds nothing.

    Raises `DashboardError` for a point of one series too many.
    """
    if not points:
        return
    room = _room(connection)
    for point in points:
        attributes = json.dumps(point.attributes, sort_keys=True)
        # A process that was started again, or forked, counts anew from a time of its own: a series of its own.
        began = point.began if point.cumulative else 0
        said = repr((point.name, point.unit, point.kind, point.service, point.source, began, attributes))
        digest = hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=16).digest()
        row = connection.execute("SELECT id, at, last FROM metrics WHERE digest = ?", (digest,)).fetchone()
        if row is None and room <= 0:
            raise DashboardError(f"there are {_MOST_SERIES:,} series already; give its attributes fewer values")
        last = json.dumps([point.number, point.total, [number for _, number in point.buckets]])
        if row is None:
            room -= 1
            number = connection.execute(
                """INSERT INTO metrics (digest, name, unit, kind, service, attributes, began, at, last)
                     VALUES (?,?,?,?,?,?,?,?,?)""",
                (digest, point.name, point.unit, point.kind, point.service, attributes, point.began, point.at, last),
            ).lastrowid
            grown = _grown(point, None)
        else:
            number, at, before = row
            if point.at <= at:
                continue
            connection.execute("UPDATE metrics SET at = ?, last = ? WHERE id = ?", (point.at, last, number))
            grown = _grown(point, json.loads(before) if point.cumulative else None)
        _add(connection, number, point, grown)


def _room(connection: sqlite3.Connection) -> int:
    """How many more series there may be. Those of one kind count once: every process that was started has its own."""
    room: int = _MOST_SERIES - connection.execute("SELECT count(*) FROM metrics").fetchone()[0]
    if room > 0:
        return room
    kinds = "SELECT DISTINCT name, unit, kind, service, attributes FROM metrics"
    return _MOST_SERIES - int(connection.execute(f"SELECT count(*) FROM ({kinds})").fetchone()[0])  # noqa: S608


def _grown(point: Point, before: list[Any] | None) -> tuple[int, float, list[int]]:
    counts = [number for _, number in point.buckets]
    if before is None or before[0] > point.number or len(before[2]) != len(counts):
        return point.number, point.total, counts
    return (
        point.number - before[0],
        point.total - before[1],
        [now - then for now, then in zip(counts, before[2], strict=True)],
    )


def _add(connection: sqlite3.Connection, number: int | None, point: Point, grown: tuple[int, float, list[int]]) -> None:
    start = point.at // _NS // MINUTE * MINUTE
    count, total, counts = grown
    if point.kind == "gauge":
        connection.execute(
            "INSERT OR REPLACE INTO metric_sums (metric, start, count, total) VALUES (?,?,?,?)",
            (number, start, 1, point.total),
        )
        return
    if not count and not total:
        return
    row = connection.execute(
        "SELECT buckets FROM metric_sums WHERE metric = ? AND start = ?", (number, start)
    ).fetchone()
    bounds = [bound for bound, _ in point.buckets]
    if row is not None and row[0]:
        held = json.loads(row[0])
        if [bound for bound, _ in held] == bounds:
            counts = [one + had for one, (_, had) in zip(counts, held, strict=True)]
    buckets = json.dumps(list(zip(bounds, counts, strict=True))) if bounds else None
    connection.execute(
        """INSERT INTO metric_sums (metric, start, count, total, buckets) VALUES (?,?,?,?,?)
             ON CONFLICT DO UPDATE SET count = count + excluded.count, total = total + excluded.total,
             buckets = excluded.buckets""",
        (number, start, count, total, buckets),
    )
