"""Hooks: how often they run, how they end, and what they cost a turn.

A hook's name is no label, since nobody bounds how many there are: the spans `firsthand.hook <name>` have it.
"""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard

from .page import EVENT, JOB, TYPE, page
from .panels import COUNT, SECONDS, SHARE, Column, Query, heat_of, lines, number, rows
from .promql import ALL, HOOK_CALLS, HOOKS, TURNS, over_range, per_second, quantile, share

__all__ = ["hooks"]

_FAILED: Final = f'{HOOK_CALLS},outcome=~"non_blocking_error|timeout"'
_KEY: Final = "event, type"
_CALLS: Final = f"{HOOKS}_count"


def hooks() -> Dashboard:
    """The dashboard."""
    all_calls = over_range(_CALLS, HOOK_CALLS)
    return page(
        "hooks",
        "Hooks",
        "Do the hooks work, what do they refuse, and how long do they keep a turn waiting? Which hook it was is in "
        "the traces: the spans are called `firsthand.hook <name>`.",
        [JOB, EVENT, TYPE],
        [
            (
                "In this time range",
                [
                    number("Hook calls", "How often was a hook called?", COUNT, all_calls, empty="no calls yet"),
                    number(
                        "Failed",
                        "What share of the calls ended in an error or a timeout, so that the turn went on without "
                        "what the hook had to say?",
                        SHARE,
                        share(over_range(_CALLS, _FAILED), all_calls),
                        steps=[(0.01, "orange"), (0.1, "red")],
                        empty="no calls yet",
                    ),
                    number(
                        "Timed out",
                        "What share of the calls took longer than the hook's timeout allows?",
                        SHARE,
                        share(over_range(_CALLS, f'{HOOK_CALLS},outcome="timeout"'), all_calls),
                        steps=[(0.01, "orange"), (0.1, "red")],
                        empty="no calls yet",
                    ),
                    number(
                        "Blocking",
                        "What share of the calls refused the turn?",
                        SHARE,
                        share(over_range(_CALLS, f'{HOOK_CALLS},outcome="blocking"'), all_calls),
                        steps=[(0.05, "orange"), (0.2, "red")],
                        empty="no calls yet",
                    ),
                    number(
                        "p95 of hook calls",
                        "How long do the slowest 5% of the calls take at least? Right to one bucket (a factor of 2).",
                        SECONDS,
                        quantile(0.95, HOOKS, HOOK_CALLS, whole_range=True),
                        empty="no calls yet",
                    ),
                    number(
                        "Hook time a turn",
                        "How many seconds of hooks does a turn have, all of its hooks added up? They run side by side, "
                        "so that the turn may wait for less.",
                        SECONDS,
                        f"{over_range(f'{HOOKS}_sum', HOOK_CALLS)} / ({over_range(TURNS, ALL)} > 0)",
                    ),
                ],
            ),
            (
                "Outcomes",
                [
                    lines(
                        "Calls by outcome",
                        "How do the calls end: success, blocking, non_blocking_error, timeout, cancelled?",
                        "suffix:calls/s",
                        Query(expr=per_second(_CALLS, HOOK_CALLS, by="outcome"), legend="{{outcome}}"),
                        stacked=True,
                    ),
                    lines(
                        "Share that failed",
                        "Do errors and timeouts rise, and of which event and type?",
                        SHARE,
                        Query(
                            expr=f"{per_second(_CALLS, _FAILED, by=_KEY)} / "
                            f"({per_second(_CALLS, HOOK_CALLS, by=_KEY)} > 0)",
                            legend="{{event}} {{type}}",
                        ),
                        top=1,
                        limit=0.1,
                    ),
                    lines(
                        "Calls by event and type",
                        "What is called, and how often?",
                        "suffix:calls/s",
                        Query(expr=per_second(_CALLS, HOOK_CALLS, by=_KEY), legend="{{event}} {{type}}"),
                        stacked=True,
                    ),
                    lines(
                        "Turns blocked",
                        "How many turns were refused, beside all that there were? One turn may have several blocking "
                        "hooks.",
                        "suffix:turns/s",
                        Query(expr=per_second(TURNS, f'{ALL},outcome="blocked"'), legend="blocked"),
                        Query(expr=per_second(TURNS, ALL), legend="all turns"),
                    ),
                ],
            ),
            (
                "Durations",
                [
                    lines(
                        "Duration",
                        "How long does a hook call take? A turn waits for the slowest of its hooks.",
                        SECONDS,
                        *(
                            Query(expr=quantile(q, HOOKS, HOOK_CALLS), legend=f"p{round(q * 100)}")
                            for q in (0.5, 0.95, 0.99)
                        ),
                    ),
                    heat_of(
                        "Durations",
                        "Is there a second group of slow calls, such as those that run into a timeout?",
                        SECONDS,
                        f"sum by (le) (increase({HOOKS}_bucket{{{HOOK_CALLS}}}[$__rate_interval]))",
                    ),
                    rows(
                        "Hooks",
                        "How do the events and types compare in this time range?",
                        {"event": "Event", "type": "Type"},
                        Column(title="Calls", unit=COUNT, expr=over_range(_CALLS, HOOK_CALLS, by=_KEY)),
                        Column(title="Failed calls", unit=COUNT, expr=over_range(_CALLS, _FAILED, by=_KEY)),
                        Column(
                            title="Blocking",
                            unit=COUNT,
                            expr=over_range(_CALLS, f'{HOOK_CALLS},outcome="blocking"', by=_KEY),
                        ),
                        Column(
                            title="p95 duration",
                            unit=SECONDS,
                            expr=quantile(0.95, HOOKS, HOOK_CALLS, by=_KEY, whole_range=True),
                        ),
                    ),
                ],
            ),
        ],
    )
