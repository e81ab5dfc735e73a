"""The first page, from the counts that ingest keeps: its cost hangs on the number of stretches, not of turns."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ..bundle import count
from ..cells import WIDTHS, Cells
from ..facts import FAILED
from ..otlpvalues import LAST_TIME
from ..prices import NO_PRICES, Prices
from ..sketch import dump, percentiles, size
from ..stored import bundles_of
from ..tally import is_counted
from .metrics import metric_sums
from .values import (
    Characters,
    Filter,
    HookSummary,
    ModelSummary,
    Overview,
    Pollution,
    RecallSummary,
    Spread,
    Timeline,
    Tokens,
)

__all__ = ["overview", "step_of"]

_MOST_STEPS: Final = 200
_NS: Final = 1_000_000_000
_LAST: Final = LAST_TIME / _NS
_KINDS: Final = ("input", "output", "cache_read", "cache_write", "reasoning")
_OUTCOMES: Final = ("sent", "blocked", "error", "cancelled")


class _Row(NamedTuple):
    start: int
    model: str
    series: str
    label: str
    number: int
    total: float
    sketch: bytes | None


class _Sum:
    """A count, a total and a distribution that are being added up."""

    __slots__ = ("count", "sketches", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.sketches: list[bytes] = []

    def add(self, row: _Row) -> None:
        self.count += row.number
        self.total += row.total
        if row.sketch is not None:
            self.sketches.append(row.sketch)

    def merge(self, other: _Sum) -> None:
        self.count += other.count
        self.total += other.total
        self.sketches += other.sketches

    def spread(self) -> Spread:
        timed = size(self.sketches)
        p50, p95, p99 = percentiles(self.sketches, (0.5, 0.95, 0.99))
        return Spread(count=timed, mean=self.total / timed if timed else None, p50=p50, p95=p95, p99=p99)


def step_of(seconds: float) -> int:
    """How long the stretches of a range are: a minute to thirty days, so that there are at most 200."""
    return next((width for width in WIDTHS if seconds / width <= _MOST_STEPS), WIDTHS[-1])


def overview(connection: sqlite3.Connection, where: Filter, *, prices: Prices = NO_PRICES) -> Overview:
    """Everything on the first page; without a `start` since the first turn, without an `end` until now."""
    start, end = _range(connection, where)
    step = step_of(end - start)
    first, last = int(start // step * step), int(-(-end // step) * step)
    rows: Iterable[_Row]
    if where.session is None or is_counted(connection, where.session):
        rows = _stored(connection, first, last, step, where)
    else:
        rows = _counted(connection, first, last, step, where)
    sums: dict[tuple[str, str, str], _Sum] = defaultdict(_Sum)
    over_time: dict[tuple[int, str, str], _Sum] = defaultdict(_Sum)
    for row in rows:
        over_time[row.start, row.series, row.label].add(row)
        sums[row.model, row.series, row.label].add(row)
    whole: dict[tuple[str, str], _Sum] = defaultdict(_Sum)
    for (_, series, label), part in over_time.items():
        whole[series, label].merge(part)
    tokens = {kind: _tokens_of(whole, kind) for kind in _KINDS}
    models = tuple(sorted(_models(sums, prices), key=lambda one: (-one.turns, one.model)))
    costs = [one.cost for one in models if one.tokens.input is not None or one.tokens.output is not None]
    known = [cost for cost in costs if cost is not None]
    plain = where.model is None and where.session is None
    return Overview(
        start=first,
        end=last,
        turns=_all(whole, "turn").count,
        outcomes=_counts(whole, "turn"),
        origins=_counts(whole, "origin"),
        latency=_all(whole, "turn").spread(),
        call_latency=_all(whole, "call").spread(),
        first_chunk=_all(whole, "first_chunk").spread(),
        tokens=Tokens(**tokens),
        cost=sum(known) if known else None,
        cost_is_whole=len(known) == len(costs),
        currency=prices.currency,
        characters=_characters(connection, whole, first, last, plain),
        hooks=tuple(_hooks(whole)),
        recall=_recall(whole),
        pollution=Pollution(recalls=whole["spared", ""].count, chars=round(whole["spared", ""].total)),
        errors=_counts(whole, "error"),
        models=models,
        timeline=_timeline(over_time, first, last, step),
    )


def _range(connection: sqlite3.Connection, where: Filter) -> tuple[float, float]:
    # An address may say anything; what came lies in this century (`otlpvalues`).
    end = min(where.end, _LAST) if where.end is not None else time.time()
    start = max(where.start, 0.0) if where.start is not None else None
    if start is None:
        oldest = connection.execute("SELECT min(start) FROM cells WHERE width = ?", (WIDTHS[0],)).fetchone()[0]
        start = oldest if oldest is not None else end - 3600
    return max(0.0, min(start, end)), max(0.0, end)


def _stored(connection: sqlite3.Connection, first: int, last: int, step: int, where: Filter) -> Iterator[_Row]:
    table = "cells" if where.session is None else "session_cells"
    sql = f"""SELECT start, model, series, label, count, total, sketch FROM {table}
                WHERE width = ? AND start >= ? AND start < ? AND count != 0"""  # noqa: S608
    values: list[object] = [step, first, last]
    for name, value in (("model", where.model), ("session", where.session)):
        if value is not None:
            sql += f" AND {name} = ?"
            values.append(value)
    cursor = connection.cursor()
    cursor.row_factory = None
    return map(_Row._make, cursor.execute(sql, values))


def _counted(connection: sqlite3.Connection, first: int, last: int, step: int, where: Filter) -> Iterable[_Row]:
    """The rows of one session, counted now from its turns, some 80 µs each: it has too few to keep counts of them."""
    cursor = connection.cursor()
    cursor.row_factory = None
    condition = "session = ?" if where.session else "session IS NULL AND ? = ''"
    keys = [
        key
        for (key,) in cursor.execute(
            f"SELECT key FROM turns WHERE {condition} AND started >= ? AND started < ?",  # noqa: S608
            (where.session, first * _NS, last * _NS),
        )
    ]
    cells = Cells(step)
    for bundle in bundles_of(connection, keys).values():
        if where.model is None or bundle.model == where.model:
            count(bundle, cells, 1)
    return (_Row(*key[1:], cell.count, cell.total, dump(cell.sketch)) for key, cell in cells)


def _all(sums: dict[tuple[str, str], _Sum], series: str) -> _Sum:
    whole = _Sum()
    for (name, _), part in sums.items():
        if name == series:
            whole.merge(part)
    return whole


def _counts(sums: dict[tuple[str, str], _Sum], series: str) -> dict[str, int]:
    """By label, the most first."""
    found = [(label, part.count) for (name, label), part in sums.items() if name == series and part.count]
    return dict(sorted(found, key=lambda one: (-one[1], one[0])))


def _tokens_of(sums: dict[tuple[str, str], _Sum], kind: str) -> int | None:
    part = sums.get(("tokens", kind))
    return round(part.total) if part is not None and part.count else None


def _models(sums: dict[tuple[str, str, str], _Sum], prices: Prices) -> Iterator[ModelSummary]:
    for model in {model for model, series, _ in sums if series in ("turn", "call", "tokens")}:
        own: dict[tuple[str, str], _Sum] = defaultdict(_Sum)
        own.update({(series, label): part for (name, series, label), part in sums.items() if name == model})
        tokens = Tokens(**{kind: _tokens_of(own, kind) for kind in _KINDS})
        yield ModelSummary(
            model=model,
            turns=_all(own, "turn").count,
            latency=_all(own, "turn").spread(),
            first_chunk=_all(own, "first_chunk").spread(),
            tokens=tokens,
            cost=prices.cost(
                model,
                input=tokens.input,
                output=tokens.output,
                cache_read=tokens.cache_read,
                cache_write=tokens.cache_write,
            ),
        )


def _characters(
    connection: sqlite3.Connection, sums: dict[tuple[str, str], _Sum], first: int, last: int, plain: bool
) -> Characters:
    typed = sums.get(("typed", ""))
    if typed is not None and typed.count:
        injected = {label: round(part.total) for (name, label), part in sums.items() if name == "injected"}
        return Characters(typed=round(typed.total), injected=injected, basis="transcripts")
    if plain:
        sizes = metric_sums(connection, "firsthand.input.size", first, last)
        added: Counter[str] = Counter()
        for one in metric_sums(connection, "firsthand.injection.size", first, last):
            added[str(one.attributes.get("source", "?"))] += round(one.total)
        if sizes or added:
            return Characters(typed=round(sum(one.total for one in sizes)), injected=dict(added), basis="metrics")
    return Characters()


def _hooks(sums: dict[tuple[str, str], _Sum]) -> Iterator[HookSummary]:
    by_hook: dict[tuple[str, str, str], dict[str, _Sum]] = defaultdict(dict)
    for (series, label), part in sums.items():
        if series == "hook" and part.count:
            event, kind, name, outcome = json.loads(label)
            by_hook[event, kind, name][outcome] = part
    for (event, kind, name), parts in sorted(by_hook.items()):
        whole = _Sum()
        for part in parts.values():
            whole.merge(part)
        yield HookSummary(
            event=event,
            type=kind,
            name=name,
            calls=whole.count,
            failed=sum(part.count for outcome, part in parts.items() if outcome in FAILED),
            outcomes={outcome: part.count for outcome, part in sorted(parts.items())},
            duration=whole.spread(),
        )


def _recall(sums: dict[tuple[str, str], _Sum]) -> RecallSummary:
    by = _counts(sums, "recall")
    whole = _all(sums, "recall")
    return RecallSummary(
        asked=whole.count,
        hits=by.get("hit", 0),
        misses=by.get("miss", 0),
        timeouts=by.get("timeout", 0),
        errors=whole.count - sum(by.get(name, 0) for name in ("hit", "miss", "timeout")),
        matches=round(sums["matches", ""].total) if ("matches", "") in sums else 0,
        duration=whole.spread(),
    )


def _timeline(over_time: dict[tuple[int, str, str], _Sum], first: int, last: int, step: int) -> Timeline:
    by_start: dict[int, dict[tuple[str, str], _Sum]] = defaultdict(dict)
    for (start, series, label), part in over_time.items():
        by_start[start][series, label] = part
    starts = tuple(range(first, last, step))
    columns: dict[str, list[float | None]] = defaultdict(list)
    for start in starts:
        for name, value in _moment(by_start.get(start, {})):
            columns[name].append(value)
    return Timeline(
        step=step,
        starts=tuple(map(float, starts)),
        columns={name: tuple(values) for name, values in columns.items()},
    )


def _moment(sums: dict[tuple[str, str], _Sum]) -> Iterator[tuple[str, float | None]]:
    turns = _all(sums, "turn")
    outcomes = _counts(sums, "turn")
    yield "turns", turns.count
    for outcome in _OUTCOMES:
        yield outcome, outcomes.get(outcome, 0)
    yield from zip(("p50", "p95", "p99"), percentiles(turns.sketches, (0.5, 0.95, 0.99)), strict=True)
    first_chunk = _all(sums, "first_chunk").sketches
    yield from zip(("first_chunk_p50", "first_chunk_p95"), percentiles(first_chunk, (0.5, 0.95)), strict=True)
    yield "input_tokens", _tokens_of(sums, "input") or 0
    yield "output_tokens", _tokens_of(sums, "output") or 0
    typed = _all(sums, "typed").total
    injected = _all(sums, "injected").total
    yield "typed", typed
    yield "injected", injected
    yield "injected_share", injected / (typed + injected) if typed + injected else None
    hooks = {label: part.count for (series, label), part in sums.items() if series == "hook"}
    yield "hooks", sum(hooks.values())
    yield "hooks_failed", sum(number for label, number in hooks.items() if json.loads(label)[3] in FAILED)
    recalls = _all(sums, "recall")
    yield "recalls", recalls.count
    yield "recall_hits", _counts(sums, "recall").get("hit", 0)
    yield "recall_p95", percentiles(recalls.sketches, (0.95,))[0]
    yield "errors", sum(_counts(sums, "error").values())
