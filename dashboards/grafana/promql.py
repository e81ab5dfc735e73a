"""The PromQL that the panels share. A selector is what stands between the braces; the variables `$job`, `$model`,
`$event` and `$type` take `.*` for "all", which a series without that label matches too.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ALL",
    "CALLS",
    "DROPPED",
    "FIRST_CHUNK",
    "HOOKS",
    "HOOK_CALLS",
    "INJECTED",
    "MATCHES",
    "MODELS",
    "RECALLS",
    "TOKENS",
    "TURNS",
    "TYPED",
    "mean",
    "over_range",
    "per_second",
    "quantile",
    "share",
]

TURNS: Final = "firsthand_turn_count_total"
TYPED: Final = "firsthand_input_size"
INJECTED: Final = "firsthand_injection_size"
HOOKS: Final = "firsthand_hook_duration_seconds"
RECALLS: Final = "firsthand_recall_duration_seconds"
MATCHES: Final = "firsthand_recall_matches"
CALLS: Final = "gen_ai_client_operation_duration_seconds"
FIRST_CHUNK: Final = "gen_ai_client_operation_time_to_first_chunk_seconds"
TOKENS: Final = "gen_ai_client_token_usage"
DROPPED: Final = "firsthand_export_dropped_total"

ALL: Final = 'job=~"$job"'
MODELS: Final = 'job=~"$job",gen_ai_request_model=~"$model"'
HOOK_CALLS: Final = 'job=~"$job",event=~"$event",type=~"$type"'

_NOW: Final = "$__rate_interval"
_RANGE: Final = "$__range"


def per_second(series: str, selector: str, *, by: str = "") -> str:
    """How fast a counter grows.

    >>> per_second("x_total", "", by="outcome")
    'sum by (outcome) (rate(x_total{}[$__rate_interval]))'
    """
    return f"{_sum(by)}(rate({series}{{{selector}}}[{_NOW}]))"


def over_range(series: str, selector: str, *, by: str = "") -> str:
    """By how much a counter grew in the time range that is shown."""
    return f"{_sum(by)}(increase({series}{{{selector}}}[{_RANGE}]))"


def quantile(q: float, histogram: str, selector: str, *, by: str = "", whole_range: bool = False) -> str:
    """A quantile of a histogram, right to one of its buckets."""
    labels = f"le, {by}" if by else "le"
    return (
        f"histogram_quantile({q}, sum by ({labels}) "
        f"(rate({histogram}_bucket{{{selector}}}[{_RANGE if whole_range else _NOW}])))"
    )


def mean(histogram: str, selector: str, *, by: str = "") -> str:
    """The mean of what a histogram recorded."""
    return (
        f"{per_second(histogram + '_sum', selector, by=by)} / ({per_second(histogram + '_count', selector, by=by)} > 0)"
    )


def share(part: str, whole: str) -> str:
    """A part of a whole, from 0 to 1: 0 when the part never was, nothing while the whole is nothing.

    Prometheus estimates both on their own, so that a part that is nearly all may come out larger than the whole.
    """
    return f"clamp_max(({part} or vector(0)) / ({whole} > 0), 1)"


def _sum(by: str) -> str:
    return f"sum by ({by}) " if by else "sum"
