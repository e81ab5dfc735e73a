"""Turns: how many, how they ended, how fast the models answered, and what they used."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard

from .page import JOB, MODEL, page
from .panels import COUNT, SECONDS, SHARE, Column, Query, bars, heat_of, lines, number, rows
from .promql import (
    ALL,
    CALLS,
    DROPPED,
    FIRST_CHUNK,
    MODELS,
    TOKENS,
    TURNS,
    mean,
    over_range,
    per_second,
    quantile,
    share,
)

__all__ = ["turns"]

_FAILED: Final = f'{MODELS},error_type!=""'
_MODEL: Final = "gen_ai_request_model"


def turns() -> Dashboard:
    """The dashboard; a model call may belong to no turn (an embedding, a title), so the two are counted apart."""
    ended = {name: over_range(TURNS, f'{ALL},outcome="{name}"') for name in ("blocked", "error", "cancelled")}
    all_turns = over_range(TURNS, ALL)
    return page(
        "turns",
        "Turns",
        "Is it working, how fast is it, and what does it use? Turns by outcome and origin; model calls by latency, "
        "error and tokens.",
        [JOB, MODEL],
        [
            (
                "In this time range",
                [
                    number("Turns", "How many turns were there, whatever became of them?", COUNT, all_turns),
                    number(
                        "Blocked",
                        "What share of the turns did a hook refuse, so that no model saw them?",
                        SHARE,
                        share(ended["blocked"], all_turns),
                        steps=[(0.05, "orange"), (0.2, "red")],
                    ),
                    number(
                        "Failed",
                        "What share of the turns ended in an error? Cancelled ones are not in it.",
                        SHARE,
                        share(ended["error"], all_turns),
                        steps=[(0.01, "orange"), (0.05, "red")],
                    ),
                    number(
                        "p95 of model calls",
                        "How long do the slowest 5% of the calls take at least? Right to one bucket (a factor of 2).",
                        SECONDS,
                        quantile(0.95, CALLS, MODELS, whole_range=True),
                    ),
                    number(
                        "Tokens",
                        "How many tokens were used, input and output together, as far as the provider reported them?",
                        COUNT,
                        over_range(f"{TOKENS}_sum", MODELS),
                    ),
                    number(
                        "Not exported",
                        "How many spans and log records never reached their server? Above 0 the traces are incomplete; "
                        "these figures are not.",
                        COUNT,
                        over_range(DROPPED, ALL),
                        steps=[(1, "red")],
                        empty="none",
                    ),
                ],
            ),
            (
                "Turns",
                [
                    lines(
                        "Turns by outcome",
                        "How many turns a second are sent, blocked by a hook, failed or cancelled?",
                        "suffix:turns/s",
                        Query(expr=per_second(TURNS, ALL, by="outcome"), legend="{{outcome}}"),
                        stacked=True,
                    ),
                    lines(
                        "Turns by origin",
                        "Who starts the turns: people (user_query, steer), tools, timers, other agents, or retries?",
                        "suffix:turns/s",
                        Query(expr=per_second(TURNS, ALL, by="origin"), legend="{{origin}}"),
                        stacked=True,
                    ),
                ],
            ),
            (
                "Model calls",
                [
                    lines(
                        "Latency",
                        "How long does a model call take, from the request to the end of the answer? Each line is "
                        "right to one bucket (a factor of 2).",
                        SECONDS,
                        *(
                            Query(expr=quantile(q, CALLS, MODELS), legend=f"p{round(q * 100)}")
                            for q in (0.5, 0.95, 0.99)
                        ),
                    ),
                    lines(
                        "p95 latency by model",
                        "Which model is slow?",
                        SECONDS,
                        Query(expr=quantile(0.95, CALLS, MODELS, by=_MODEL), legend="{{gen_ai_request_model}}"),
                    ),
                    lines(
                        "Time to the first chunk",
                        "How long does somebody who reads a streamed answer look at nothing?",
                        SECONDS,
                        *(
                            Query(expr=quantile(q, FIRST_CHUNK, MODELS), legend=f"p{round(q * 100)}")
                            for q in (0.5, 0.95)
                        ),
                    ),
                    heat_of(
                        "Latencies",
                        "Is there one kind of call or several, and did that change? Each row is a bucket.",
                        SECONDS,
                        f"sum by (le) (increase({CALLS}_bucket{{{MODELS}}}[$__rate_interval]))",
                    ),
                    lines(
                        "Failed calls by type",
                        "What goes wrong in the calls: which status code or exception, and since when?",
                        "suffix:calls/s",
                        Query(
                            expr=per_second(f"{CALLS}_count", _FAILED, by="error_type, gen_ai_provider_name"),
                            legend="{{error_type}} ({{gen_ai_provider_name}})",
                        ),
                        stacked=True,
                    ),
                    lines(
                        "Calls by provider",
                        "Whom is called how often, and for what?",
                        "suffix:calls/s",
                        Query(
                            expr=per_second(f"{CALLS}_count", MODELS, by="gen_ai_provider_name, gen_ai_operation_name"),
                            legend="{{gen_ai_provider_name}} {{gen_ai_operation_name}}",
                        ),
                        stacked=True,
                    ),
                ],
            ),
            (
                "Tokens",
                [
                    lines(
                        "Tokens a call",
                        "How large are requests and answers? Injected text is part of the input.",
                        "suffix:tokens",
                        Query(expr=mean(TOKENS, MODELS, by="gen_ai_token_type"), legend="{{gen_ai_token_type}}, mean"),
                    ),
                    bars(
                        "Tokens by model",
                        "Which model used the tokens of this time range?",
                        COUNT,
                        Query(
                            expr=over_range(f"{TOKENS}_sum", MODELS, by=f"{_MODEL}, gen_ai_token_type"),
                            legend="{{gen_ai_request_model}} {{gen_ai_token_type}}",
                        ),
                    ),
                    rows(
                        "Models",
                        "How do the models compare in this time range?",
                        {_MODEL: "Model"},
                        Column(title="Calls", unit=COUNT, expr=over_range(f"{CALLS}_count", MODELS, by=_MODEL)),
                        Column(title="Failed calls", unit=COUNT, expr=over_range(f"{CALLS}_count", _FAILED, by=_MODEL)),
                        Column(
                            title="p95 latency",
                            unit=SECONDS,
                            expr=quantile(0.95, CALLS, MODELS, by=_MODEL, whole_range=True),
                        ),
                        Column(title="Tokens", unit=COUNT, expr=over_range(f"{TOKENS}_sum", MODELS, by=_MODEL)),
                    ),
                ],
            ),
        ],
    )
