"""Recall: does the store answer in time, and does it find anything?"""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard

from .page import JOB, page
from .panels import CHARS, COUNT, SECONDS, SHARE, Query, bars, heat_of, lines, number
from .promql import ALL, INJECTED, MATCHES, RECALLS, TURNS, mean, over_range, per_second, quantile, share

__all__ = ["recall"]

_CALLS: Final = f"{RECALLS}_count"
_MISSES: Final = f'{ALL},le=~"0|0.0"'
"""The bucket of the recalls that found nothing: `0.0` when scraped from Python, `0` when it came over OTLP."""
_MEMORY: Final = f'{ALL},source="memory"'
_DEADLINE: Final = 0.1
"""The default of the setting `recall_timeout`, in seconds."""


def recall() -> Dashboard:
    """The dashboard."""
    all_recalls = over_range(_CALLS, ALL)
    answered = over_range(f"{MATCHES}_count", ALL)
    missed = over_range(f"{MATCHES}_bucket", _MISSES)
    answered_now = per_second(f"{MATCHES}_count", ALL)
    missed_now = per_second(f"{MATCHES}_bucket", _MISSES)
    return page(
        "recall",
        "Recall",
        "Do memories arrive in time, and are there any? A recall that is late or fails means a turn without memories, "
        "never a stalled or failed one, so nobody hears of it but here.",
        [JOB],
        [
            (
                "In this time range",
                [
                    number("Recalls", "How often was the store asked?", COUNT, all_recalls, empty="no recalls yet"),
                    number(
                        "Hit rate",
                        "What share of the recalls that answered found at least one memory, sent before or not?",
                        SHARE,
                        f"1 - {share(missed, answered)}",
                        empty="no recalls yet",
                    ),
                    number(
                        "Timed out",
                        "What share of the recalls came too late for their turn (setting recall_timeout)?",
                        SHARE,
                        share(over_range(_CALLS, f'{ALL},outcome="timeout"'), all_recalls),
                        steps=[(0.01, "orange"), (0.05, "red")],
                        empty="no recalls yet",
                    ),
                    number(
                        "Failed",
                        "What share of the recalls ended in an error of the store or the embedder?",
                        SHARE,
                        share(over_range(_CALLS, f'{ALL},outcome="error"'), all_recalls),
                        steps=[(0.001, "orange"), (0.05, "red")],
                        empty="no recalls yet",
                    ),
                    number(
                        "p95 of recalls",
                        "How long do the slowest 5% of the recalls take at least? Right to one bucket (a factor of 2).",
                        SECONDS,
                        quantile(0.95, RECALLS, ALL, whole_range=True),
                        steps=[(_DEADLINE, "red")],
                        empty="no recalls yet",
                    ),
                    number(
                        "Turns with memories",
                        "What share of the turns carried a memory that was not sent before?",
                        SHARE,
                        share(over_range(f"{INJECTED}_count", _MEMORY), over_range(TURNS, ALL)),
                    ),
                ],
            ),
            (
                "Outcomes",
                [
                    lines(
                        "Recalls by outcome",
                        "How do the recalls end: ok, timeout, error?",
                        "suffix:recalls/s",
                        Query(expr=per_second(_CALLS, ALL, by="outcome"), legend="{{outcome}}"),
                        stacked=True,
                    ),
                    lines(
                        "Hit rate",
                        "Does the store know something about what is asked, and did that change?",
                        SHARE,
                        Query(
                            expr=f"1 - {share(missed_now, answered_now)}",
                            legend="found at least one",
                        ),
                        top=1,
                    ),
                ],
            ),
            (
                "Latency",
                [
                    lines(
                        "Duration",
                        "How long does a recall take, embedding included? The dashed line is the default of "
                        "recall_timeout, 0.1 s.",
                        SECONDS,
                        *(
                            Query(expr=quantile(q, RECALLS, ALL), legend=f"p{round(q * 100)}")
                            for q in (0.5, 0.95, 0.99)
                        ),
                        limit=_DEADLINE,
                    ),
                    heat_of(
                        "Durations",
                        "Are the slow recalls a group of their own (a cold store, a remote embedder)?",
                        SECONDS,
                        f"sum by (le) (increase({RECALLS}_bucket{{{ALL}}}[$__rate_interval]))",
                    ),
                ],
            ),
            (
                "What was found",
                [
                    lines(
                        "Memories a recall",
                        "How many memories does a recall find, with those that the request held already? Of new ones "
                        "at most recall_top_k, 5 unless set.",
                        "suffix:memories",
                        Query(expr=mean(MATCHES, ALL), legend="mean"),
                        Query(expr=quantile(0.95, MATCHES, ALL), legend="p95"),
                    ),
                    lines(
                        "Characters of memory a turn",
                        "How much do memories add to a turn that has any, tags included?",
                        CHARS,
                        Query(expr=mean(INJECTED, _MEMORY), legend="mean"),
                        Query(expr=quantile(0.95, INJECTED, _MEMORY), legend="p95"),
                    ),
                    bars(
                        "Recalls by outcome, whole range",
                        "What became of the recalls of this time range?",
                        COUNT,
                        Query(expr=over_range(_CALLS, ALL, by="outcome"), legend="{{outcome}}"),
                        width=24,
                    ),
                ],
            ),
        ],
    )
