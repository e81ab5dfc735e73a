"""No engine lets one namespace feel another, and all engines answer alike. Searched for by hypothesis."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from recall_store import Match, Record, Store, engines, open_store
from tests.recall_store.postgres import server

ENGINES = engines.names()
URLS: dict[str, Callable[[str], str]] = {
    "postgresql": lambda _: server().empty("isolation"),
    "sqlite": lambda folder: f"sqlite:///{folder}/memories.db",
}
WORDS = (
    "harbour",
    "tide",
    "boat",
    "running",
    "runs",
    "green",
    "pier",
    "设备",
    "清单",
    "Ωμέγα",
    "café",
    "sailor",
    "sailors",
    "letter",
    "storm",
)
QUERIES = ("green boats in the harbour", "the sailor runs", "设备清单", "storm letter pier tide", "Ωμέγα café")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
QUIET = settings(
    max_examples=6, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck), database=None
)

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
ids = st.sampled_from([f"m{i}" for i in range(8)])
records = st.builds(
    Record,
    id=ids,
    text=texts,
    title=st.one_of(st.just(""), texts),
    type=st.sampled_from(["user", "project"]),
    source=st.one_of(
        st.just({}), st.fixed_dictionaries({"session": st.sampled_from(["s", "t"]), "position": st.integers(0, 6)})
    ),
    created_at=st.just(NOW),
)


def seen(store: Store, namespace: str) -> list[object]:
    """Everything that a namespace can be asked for, to the bit."""
    answers: list[object] = [store.search(namespace=namespace, query=query, top_k=20) for query in QUERIES]
    answers.append(store.search(namespace=namespace, query=QUERIES[0], where={"type": "project"}))
    listed = store.list(namespace=namespace)
    answers += [listed, list(store.export(namespace=namespace)), store.get(namespace=namespace, ids=["k1", "m1"])]
    answers += [store.history(namespace=namespace, id=id) for id in ("k1", "m1")]
    return [
        *answers,
        list(store.near_duplicates(namespace=namespace, ids=["k1", "k2"])),
        namespace in store.namespaces(),
    ]


def filled(store: Store, namespace: str, seed: int) -> None:
    """Twenty memories, some of one session, some changed and deleted since."""
    rng = random.Random(seed)
    for _ in range(2):
        store.upsert(
            namespace=namespace,
            records=[
                Record(
                    id=f"k{i}",
                    text=" ".join(rng.choices(WORDS, k=6)),
                    title=rng.choice(WORDS),
                    type=rng.choice(["user", "project"]),
                    source={"session": "s", "position": i} if i % 2 else {},
                    created_at=NOW,
                )
                for i in range(20)
            ],
        )
    store.delete(namespace=namespace, ids=["k3", "k4"])


def isolation(engine: str) -> type[RuleBasedStateMachine]:
    class Isolation(RuleBasedStateMachine):
        """Whatever is done in one namespace, nothing changes in another; not even the last bit of a score."""

        def __init__(self) -> None:
            super().__init__()
            self.folder = tempfile.TemporaryDirectory()
            self.url = URLS[engine](self.folder.name)
            self.store = open_store(self.url)
            filled(self.store, "kept", 1)
            self.before = seen(self.store, "kept")

        def teardown(self) -> None:
            self.store.close()
            # What the store kept in memory is gone now.
            with open_store(self.url) as again:
                assert seen(again, "kept") == self.before
            self.folder.cleanup()

        @rule(some=st.lists(records, min_size=1, max_size=5))
        def upsert(self, some: list[Record]) -> None:
            self.store.upsert(namespace="other", records=some)

        @rule(some=st.lists(texts, min_size=1, max_size=30))
        def add(self, some: list[str]) -> None:
            self.store.upsert(namespace="other", records=[Record(text=text) for text in some])

        @rule(some=st.lists(st.one_of(ids, st.sampled_from(["k1", "k2"])), max_size=4))
        def delete(self, some: list[str]) -> None:
            self.store.delete(namespace="other", ids=some)

        @rule(query=st.sampled_from(WORDS))
        def forget(self, query: str) -> None:
            self.store.forget(namespace="other", query=query)

        @rule(query=texts)
        def search(self, query: str) -> None:
            self.store.search(namespace="other", query=query)

        @rule()
        def copy_all_of_it(self) -> None:
            self.store.import_(namespace="other", lines=list(self.store.export(namespace="kept")))

        @invariant()
        def nothing_changed(self) -> None:
            assert seen(self.store, "kept") == self.before

    return Isolation


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_done_in_one_namespace_is_felt_in_another(engine: str) -> None:
    run_state_machine_as_test(isolation(engine), settings=QUIET)


def alike(one: list[Match], other: list[Match]) -> bool:
    """The same memories with the same numbers, in the same order but where scores are equal to 5 places."""

    def numbers(match: Match) -> list[float]:
        return [match.score, match.lexical, match.cosine]

    by_id = {str(match.record.id): numbers(match) for match in other}
    return (
        [str(match.record.id) for match in one] == list(by_id)
        or [round(match.score, 5) for match in one] == [round(match.score, 5) for match in other]
    ) and all(numbers(match) == pytest.approx(by_id.get(str(match.record.id)), abs=1e-5) for match in one)


class Parity(RuleBasedStateMachine):
    """The same calls get the same answers, whatever engine the store is of."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.stores = [open_store(URLS[engine](self.folder.name)) for engine in ENGINES]
        for store in self.stores:
            filled(store, "n", 2)

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        self.folder.cleanup()

    def ask(self, question: Callable[[Store], Any]) -> list[Any]:
        """What every store says."""
        return [question(store) for store in self.stores]

    def agree(self, question: Callable[[Store], Any]) -> None:
        """Every store says the same."""
        first, *rest = self.ask(question)
        assert rest == [first] * len(rest)

    @rule(some=st.lists(records, min_size=1, max_size=5))
    def upsert(self, some: list[Record]) -> None:
        self.agree(lambda store: store.upsert(namespace="n", records=some))

    @rule(some=st.lists(ids, max_size=4))
    def delete(self, some: list[str]) -> None:
        self.agree(lambda store: store.delete(namespace="n", ids=some))

    @rule(query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(" ".join))
    def forget(self, query: str) -> None:
        self.agree(lambda store: store.forget(namespace="n", query=query))

    @rule(query=texts, top_k=st.integers(1, 30), where=st.sampled_from([None, {"type": "project"}]))
    def search(self, query: str, top_k: int, where: dict[str, str] | None) -> None:
        first, *rest = self.ask(lambda store: store.search(namespace="n", query=query, top_k=top_k, where=where))
        for other in rest:
            assert alike(first, other)

    @invariant()
    def all_have_the_same(self) -> None:
        self.agree(lambda store: store.list(namespace="n"))
        for query in QUERIES:
            first, *rest = self.ask(lambda store: store.search(namespace="n", query=query, top_k=20))  # noqa: B023
            for other in rest:
                assert alike(first, other)


def test_every_engine_gives_the_same_answers_in_the_same_order() -> None:
    run_state_machine_as_test(Parity, settings=QUIET)


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "sqlite"])
def test_a_store_can_be_moved_from_sqlite_with_its_ids_its_times_and_its_order(engine: str, tmp_path: Path) -> None:
    with open_store(URLS["sqlite"](str(tmp_path))) as old, open_store(URLS[engine](str(tmp_path))) as new:
        filled(old, "n", 3)
        lines = list(old.export(namespace="n"))
        assert new.import_(namespace="n", lines=lines) == 18
        assert list(new.export(namespace="n")) == lines
        assert new.list(namespace="n") == old.list(namespace="n")
        ids = [f"k{i}" for i in range(20) if i not in (3, 4)]
        assert new.histories(namespace="n", ids=ids) == old.histories(namespace="n", ids=ids)
        assert [change.event for change in new.history(namespace="n", id="k0")] == ["added", "updated"]
        for query in QUERIES:
            assert alike(
                old.search(namespace="n", query=query, top_k=20), new.search(namespace="n", query=query, top_k=20)
            )
        assert new.import_(namespace="n", lines=lines) == 18
        assert list(new.export(namespace="n")) == lines
