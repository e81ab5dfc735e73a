"""The part of bench_quality that chooses: every number of the ranking on five conversations, measured on the sixth.

Each query is searched once for each weight of the neighbours, without silence, and its numbers are kept; another
weight, bonus, share or floor is then a sort of those.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_store import Store, ranking, searching
from recall_store.embedders.base import Embedder

NEAR = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)
MENTIONS = (0.0, 0.2, 0.3, 0.4, 0.5)
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)
"""Times the embedder's own."""
SHARES = (0.2, 0.3, 0.4, 0.5, 0.6)
FLOORS = tuple(step / 100 for step in range(-16, 9, 2))
"""Beside the embedder's own."""
ALLOWED = (0.045, 0.04, 0.035, 0.03)
"""False answers that are allowed on the conversations that are chosen on."""
DEEP = 100
"""Answers that are looked at anew."""

Floats = NDArray[np.float64]


class Query(NamedTuple):
    """What is asked in one namespace, and the ids that answer it (none: nothing does)."""

    text: str
    wanted: frozenset[str]


class Choice(NamedTuple):
    """One setting of everything that is chosen."""

    near: float
    mention: float
    weight: float
    share: float
    floor: float


class Numbers(NamedTuple):
    """The queries of one namespace, asked once: one entry a query, and one a query and answer.

    `evidence` is 1 for an answer that is wanted; `gained` counts what it names (who, when); `words` and `best` are what
    was weighed against `floor` to be silent: infinite words are enough by themselves.
    """

    evidence: Floats
    lexical: Floats
    cosine: Floats
    gained: Floats
    wanted: Floats
    words: Floats
    best: Floats
    floor: Floats


def ask(store: Store, embedder: Embedder, namespace: str, queries: Sequence[Query]) -> Numbers:
    """Search for each without silence, and keep the numbers."""
    seen: list[tuple[float, float, float]] = []
    plain = ranking.is_answer

    def spy(shared: ranking.Shared, cosine: NDArray[np.float32], *, keywords: bool, floor: float) -> bool:
        best = float(cosine.max())
        words = (ranking.evidence(shared, cosine, keywords=keywords) - best) / ranking.WORDS_SHARE
        seen.append((words, best, ranking.floor_of(shared.living, floor)))
        return True

    rows = np.zeros((4, len(queries), DEEP))
    # What is no answer comes after all that are.
    rows[1] = -1e9
    ranking.is_answer = spy
    try:
        for number, query in enumerate(queries):
            found = store.search(namespace=namespace, query=query.text, top_k=DEEP)
            if len(seen) == number:
                seen.append((float("-inf"), -1.0, 0.0))
            for place, match in enumerate(found):
                cosine = max(match.cosine, 0.0)
                gained = (match.score - match.lexical - embedder.weight * cosine) / ranking.MENTION
                rows[:, number, place] = match.record.id in query.wanted, match.lexical, cosine, gained
    finally:
        ranking.is_answer = plain
    wanted = np.array([len(query.wanted) for query in queries], np.float64)
    return Numbers(*rows, wanted, *np.array(seen, np.float64).reshape(-1, 3).T)


def figures(asked: Numbers, nothing: Numbers, embedder: Embedder, near: float) -> dict[Choice, Floats]:
    """(recall@5, recall@10, false answers) of one namespace for every choice with these neighbours."""
    found = {}
    for mention, times in itertools.product(MENTIONS, WEIGHTS):
        weight = embedder.weight * times
        order = np.argsort(-(asked.lexical + weight * asked.cosine + mention * asked.gained), axis=1, kind="stable")
        hits = np.take_along_axis(asked.evidence, order[:, :10], axis=1)
        five, ten = hits[:, :5].sum(axis=1) / asked.wanted, hits.sum(axis=1) / asked.wanted
        for share, floor in itertools.product(SHARES, FLOORS):
            speaks = said(asked, share, floor)
            found[Choice(near, mention, weight, share, embedder.floor + floor)] = np.array(
                [(five * speaks).mean(), (ten * speaks).mean(), said(nothing, share, floor).mean()]
            )
    return found


def said(asked: Numbers, share: float, floor: float) -> NDArray[np.bool_]:
    """Which queries get an answer."""
    return np.asarray(asked.best + share * asked.words >= asked.floor + floor)


class Table(NamedTuple):
    """(recall@5, recall@10, false answers) of each conversation, a row, for every choice; `sizes` are its questions."""

    choices: list[Choice]
    figures: Floats
    sizes: Floats

    def best(self, allowed: float, without: int | None = None) -> int:
        """Which choice finds most, of those with no more false answers than `allowed`; on all, or all but one."""
        kept = np.arange(len(self.sizes)) != (-1 if without is None else without)
        found = np.average(self.figures[kept], axis=0, weights=self.sizes[kept])
        return int(np.argmax(np.where(found[:, 2] <= allowed, found[:, 0], -1.0)))

    def left_out(self, allowed: float) -> tuple[Floats, list[Choice]]:
        """The figures, each conversation with the choice of the others, and these choices."""
        chosen = [self.best(allowed, number) for number in range(len(self.sizes))]
        rows = [self.figures[number, choice] for number, choice in enumerate(chosen)]
        return np.average(rows, axis=0, weights=self.sizes), [self.choices[choice] for choice in chosen]

    def mean(self, choice: int) -> Floats:
        """The figures of one choice over all questions."""
        return np.asarray(np.average(self.figures[:, choice], axis=0, weights=self.sizes))


def tabled(store: Store, embedder: Embedder, asked: Sequence[tuple[str, Sequence[Query], Sequence[Query]]]) -> Table:
    """Every choice, everywhere.

    `asked`: for each conversation its namespace, its questions, and queries that nothing there answers.
    """
    each: list[dict[Choice, Floats]] = [{} for _ in asked]
    shipped = searching._NEAR
    try:
        for near in NEAR:
            searching._NEAR = (near,) * len(shipped)
            for number, (namespace, right, wrong) in enumerate(asked):
                numbers = [ask(store, embedder, namespace, queries) for queries in (right, wrong)]
                each[number] |= figures(*numbers, embedder, near)
    finally:
        searching._NEAR = shipped
    choices = list(each[0])
    table = np.array([[found[choice] for choice in choices] for found in each])
    return Table(choices, table, np.array([len(right) for _, right, _ in asked], np.float64))
