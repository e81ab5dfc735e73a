"""Provenance: who wrote what the models received?

What was typed counts once, when it is sent: the history that a client sends again with every request is in neither
figure. Tool results count as nobody's typing.
"""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard

from .page import JOB, MODEL, page
from .panels import CHARS, COUNT, SHARE, Query, bars, lines, number
from .promql import ALL, INJECTED, MODELS, TOKENS, TURNS, TYPED, mean, over_range, per_second, quantile, share

__all__ = ["provenance"]

_PEOPLE: Final = f'{ALL},origin=~"user_query|steer"'


def provenance() -> Dashboard:
    """The dashboard."""
    typed, added = over_range(f"{TYPED}_sum", ALL), over_range(f"{INJECTED}_sum", ALL)
    typed_now, added_now = per_second(f"{TYPED}_sum", ALL), per_second(f"{INJECTED}_sum", ALL)
    all_turns = over_range(TURNS, ALL)
    return page(
        "provenance",
        "Provenance",
        "Who said what? How much of what the models received was typed, and how much did hooks and memories add; "
        "whose turns were they? The texts themselves are in the transcripts, and in no metric.",
        [JOB, MODEL],
        [
            (
                "In this time range",
                [
                    number("Typed", "How many characters came in before anything was added?", CHARS, typed),
                    number(
                        "Injected",
                        "How many characters did hooks and memories add, tags included?",
                        CHARS,
                        added,
                        empty="none",
                    ),
                    number(
                        "Share injected",
                        "Of all new characters that were sent, what share did nobody type?",
                        SHARE,
                        share(added, f"({typed} + ({added} or vector(0)))"),
                        steps=[(0.5, "orange"), (0.8, "red")],
                    ),
                    number(
                        "Turns with hook context",
                        "What share of the turns carried new text from a hook?",
                        SHARE,
                        share(over_range(f"{INJECTED}_count", f'{ALL},source="hook"'), all_turns),
                    ),
                    number(
                        "Turns with memories",
                        "What share of the turns carried a memory that was not sent before?",
                        SHARE,
                        share(over_range(f"{INJECTED}_count", f'{ALL},source="memory"'), all_turns),
                    ),
                    number(
                        "Turns of people",
                        "What share of the turns did a person start (user_query, steer), and not a tool, a timer or a "
                        "retry?",
                        SHARE,
                        share(over_range(TURNS, _PEOPLE), all_turns),
                    ),
                ],
            ),
            (
                "Who wrote it",
                [
                    lines(
                        "Characters by author",
                        "Who writes what the models receive: the person, a hook, the memory?",
                        "suffix:chars/s",
                        Query(expr=typed_now, legend="typed"),
                        Query(expr=per_second(f"{INJECTED}_sum", ALL, by="source"), legend="{{source}}"),
                        stacked=True,
                    ),
                    lines(
                        "Share injected",
                        "Does the part that nobody typed grow? The dashed line is where the alert begins, 80%.",
                        SHARE,
                        Query(expr=share(added_now, f"({typed_now} + ({added_now} or vector(0)))"), legend="injected"),
                        top=1,
                        limit=0.8,
                    ),
                    bars(
                        "Characters by author, whole range",
                        "Who wrote what in this time range?",
                        CHARS,
                        Query(expr=typed, legend="typed"),
                        Query(expr=over_range(f"{INJECTED}_sum", ALL, by="source"), legend="{{source}}"),
                        width=24,
                    ),
                ],
            ),
            (
                "A turn",
                [
                    lines(
                        "Typed characters a turn",
                        "How long is what is typed?",
                        CHARS,
                        Query(expr=mean(TYPED, ALL), legend="mean"),
                        *(Query(expr=quantile(q, TYPED, ALL), legend=f"p{round(q * 100)}") for q in (0.5, 0.95)),
                    ),
                    lines(
                        "Injected characters a turn",
                        "How long is what is added to a turn that has any, by source? A bucket is a factor of 4.",
                        CHARS,
                        Query(expr=mean(INJECTED, ALL, by="source"), legend="{{source}}, mean"),
                        Query(expr=quantile(0.95, INJECTED, ALL, by="source"), legend="{{source}}, p95"),
                    ),
                    lines(
                        "Share of turns with injected text",
                        "How many of the turns get something, and from where?",
                        SHARE,
                        Query(
                            expr=f"clamp_max({per_second(f'{INJECTED}_count', ALL, by='source')} / on () group_left () "
                            f"({per_second(TURNS, ALL)} > 0), 1)",
                            legend="{{source}}",
                        ),
                        top=1,
                    ),
                    lines(
                        "Input tokens a call",
                        "What does a model receive in all, history and injected text included, by model?",
                        "suffix:tokens",
                        Query(
                            expr=mean(TOKENS, f'{MODELS},gen_ai_token_type="input"', by="gen_ai_request_model"),
                            legend="{{gen_ai_request_model}}",
                        ),
                    ),
                ],
            ),
            (
                "Whose turn",
                [
                    lines(
                        "Turns by origin",
                        "Who starts the turns: people (user_query, steer), tools, timers, other agents, or retries?",
                        "suffix:turns/s",
                        Query(expr=per_second(TURNS, ALL, by="origin"), legend="{{origin}}"),
                        stacked=True,
                    ),
                    bars(
                        "Origins and outcomes, whole range",
                        "Whose turns were sent, blocked or failed in this time range?",
                        COUNT,
                        Query(expr=over_range(TURNS, ALL, by="origin, outcome"), legend="{{origin}}: {{outcome}}"),
                    ),
                ],
            ),
        ],
    )
