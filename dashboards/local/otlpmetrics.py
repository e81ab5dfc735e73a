"""Points of a decoded metric request: sums, gauges and histograms with buckets; other kinds are refused."""

from __future__ import annotations

import itertools
import math
from typing import Any, Literal

from .otlpvalues import FIRST_TIME, LAST_TIME, attributes_of, name_of, resource_of
from .signals import Decoded, Point

__all__ = ["read"]

_CUMULATIVE = 2
_MOST_BUCKETS = 512


def read(request: Any, decoded: Decoded) -> None:
    """Put the points of an `ExportMetricsServiceRequest` into `decoded`."""
    for held in request.resource_metrics:
        service, source = resource_of(held.resource)
        for scoped in held.scope_metrics:
            for metric in scoped.metrics:
                kind = metric.WhichOneof("data")
                if kind == "histogram":
                    _histogram(metric, service, source, decoded)
                elif kind == "sum":
                    _numbers(metric, "sum", metric.sum, service, source, decoded)
                elif kind == "gauge":
                    _numbers(metric, "gauge", metric.gauge, service, source, decoded)
                elif kind is not None:
                    points = getattr(metric, kind).data_points
                    decoded.refuse(f"metric {name_of(metric.name)[:60]!r}: {kind} is not kept here", len(points))


def _histogram(metric: Any, service: str, source: str, decoded: Decoded) -> None:
    cumulative = metric.histogram.aggregation_temporality == _CUMULATIVE
    for point in metric.histogram.data_points:
        bounds = list(point.explicit_bounds)
        counts = list(point.bucket_counts)
        fits = not counts or len(counts) == len(bounds) + 1
        if not fits or len(counts) > _MOST_BUCKETS or not all(map(math.isfinite, [*bounds, point.sum])):
            decoded.refuse(f"metric {name_of(metric.name)[:60]!r}: its buckets do not fit their bounds")
            continue
        if point.count > 2**53 or not _in_time(point):
            decoded.refuse(f"metric {name_of(metric.name)[:60]!r}: a count or a time of it cannot be")
            continue
        buckets = tuple(itertools.zip_longest(bounds, counts)) if counts else ()
        decoded.points.append(
            Point(
                name_of(metric.name), name_of(metric.unit), "histogram", service, source,
                attributes_of(point.attributes), point.start_time_unix_nano, point.time_unix_nano, cumulative,
                point.count, point.sum, buckets,
            )
        )  # fmt: skip


def _numbers(
    metric: Any, kind: Literal["sum", "gauge"], data: Any, service: str, source: str, decoded: Decoded
) -> None:
    cumulative = kind == "sum" and data.aggregation_temporality == _CUMULATIVE
    for point in data.data_points:
        which = point.WhichOneof("value")
        value = float(getattr(point, which)) if which is not None else math.nan
        if not math.isfinite(value) or not _in_time(point):
            decoded.refuse(f"metric {name_of(metric.name)[:60]!r}: a point without a finite value or a time")
            continue
        decoded.points.append(
            Point(
                name_of(metric.name), name_of(metric.unit), kind, service, source, attributes_of(point.attributes),
                point.start_time_unix_nano, point.time_unix_nano, cumulative, 0, value,
            )
        )  # fmt: skip


def _in_time(point: Any) -> bool:
    return bool(FIRST_TIME <= point.time_unix_nano < LAST_TIME and point.start_time_unix_nano < LAST_TIME)
