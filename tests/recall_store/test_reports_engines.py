"""Public reports about stores, each on every engine that it is about. More: test_reports_store.py."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recall_store import OpenError, Record, Store, engines, open_store
from recall_store.connections import Connections
from recall_store.engines.postgresql import PostgresqlStore
from tests.recall_store.postgres import server

URLS: dict[str, Callable[[Path], str]] = {
    "postgresql": lambda _: server().empty("reports"),
    "sqlite": lambda folder: f"sqlite:///{folder}/memories.db",
}


@pytest.fixture(params=engines.names())
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return URLS[request.param](tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as opened:
        yield opened


def found(store: Store, query: str, namespace: str = "n", top_k: int = 5) -> list[str]:
    return [match.record.text for match in store.search(namespace=namespace, query=query, top_k=top_k)]


def add(store: Store, *texts: str, namespace: str = "n") -> list[Record]:
    return store.upsert(namespace=namespace, records=[Record(text=text) for text in texts])


@pytest.mark.parametrize("count", [999, 1000, 1001, 1500])
def test_chroma_7090_answers_are_equal_before_and_after_a_restart(url: str, count: int) -> None:
    """A vector index that was flushed every 1,000 rows was damaged after a restart."""
    with open_store(url) as store:
        store.upsert(namespace="n", records=[Record(text=f"note {i} on topic {i % 37}") for i in range(count)])
        before = [
            store.search(namespace="n", query=query, top_k=20) for query in ("note on topic 5", f"note {count - 1}")
        ]
    with open_store(url) as store:
        again = [
            store.search(namespace="n", query=query, top_k=20) for query in ("note on topic 5", f"note {count - 1}")
        ]
        assert again == before
        assert [len(answers) for answers in again] == [20, 20]
        assert len(store.list(namespace="n")) == count


def test_adk_python_1019_one_user_finds_nothing_of_what_another_stored(store: Store) -> None:
    add(store, "my pin is 0000", namespace="uid1")
    for query in ("pin", "my pin is 0000", "0000"):
        assert found(store, query, namespace="uid2") == []
        assert found(store, query, namespace="uid1") == ["my pin is 0000"]


def test_honcho_1048_every_tenant_of_fifty_gets_as_many_as_it_asked_for_or_has(store: Store) -> None:
    """A filter that was applied after a scan of 40 near rows left fewer than `top_k`, and none for some."""
    for tenant in range(50):
        size = 25 if tenant % 10 else 12
        store.upsert(
            namespace=f"tenant{tenant}",
            records=[Record(text=f"invoice {i} of the harbour", metadata={"even": i % 2 == 0}) for i in range(size)],
        )
    store.index()
    for tenant in (0, 7, 10, 49):
        for where in (None, {"metadata": {"even": True}}):
            has = len(store.list(namespace=f"tenant{tenant}", where=where))
            got = store.search(namespace=f"tenant{tenant}", query="invoice of the harbour", top_k=20, where=where)
            assert len(got) == min(20, has)


def test_pgvector_259_the_planner_chooses_how_long_an_answer_takes_and_never_how_long_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same query gave 10 rows or 3. The plans themselves: test_postgresql_plans.py."""
    from recall_store import postgresql_vectors

    monkeypatch.setattr(postgresql_vectors, "EXACT_BELOW", 100)
    with open_store(server().empty("reports")) as store:
        assert isinstance(store, PostgresqlStore)
        for tenant in ("1", "2"):
            records = [Record(text=f"harbour note {i}", metadata={"ten": i % 20 == 0}) for i in range(200)]
            store.upsert(namespace=tenant, records=records)
        store.index()
        for choice in ("enable_indexscan", "enable_bitmapscan", "enable_seqscan", "enable_nestloop", "enable_sort"):
            for value in ("off", "on"):
                with store._pool.reading() as db:
                    db.execute(f"SELECT set_config('{choice}', '{value}', false)")
                for where, kept in ((None, 200), ({"metadata": {"ten": True}}, 10)):
                    got = store.search(namespace="1", query="harbour note", top_k=150, where=where)
                    assert len(got) == min(150, kept)


def test_graphiti_630_a_change_of_one_number_is_never_dropped(store: Store) -> None:
    five, six = add(store, "I work at Google for 5 years", "I work at Google for 6 years")
    assert {record.text for record in store.list(namespace="n")} == {five.text, six.text}
    assert found(store, "Google 6 years")[0] == "I work at Google for 6 years"
    store.upsert(namespace="n", records=[Record(id=five.id, text="I work at Google for 7 years")])
    changes = store.history(namespace="n", id=str(five.id))
    assert [(change.event, change.record and change.record.text) for change in changes] == [
        ("added", "I work at Google for 5 years"),
        ("updated", "I work at Google for 7 years"),
    ]


def test_nano_brain_181_nul_and_lone_surrogates_are_stored_alike_by_every_engine(store: Store) -> None:
    [one] = store.upsert(
        namespace="n",
        records=[
            Record(text="a\x00b \ud83d tea", title="\x00", description="\udfff", metadata={"\x00": "\ud800"}),
        ],
    )
    [stored] = store.get(namespace="n", ids=[str(one.id)])
    assert (stored.text, stored.title, stored.description) == ("a\ufffdb \ufffd tea", "\ufffd", "\ufffd")
    assert stored.metadata == {"\ufffd": "\ufffd"}
    assert found(store, "tea\x00 \ud800") == ["a\ufffdb \ufffd tea"]
    assert store.search(namespace="n", query="tea", where={"metadata": {"\x00": "\ud800"}})[0].record == stored
    assert store.forget(namespace="n", query="\x00 tea \ud800") == 1


def test_neural_memory_104_what_is_asked_with_is_counted_nowhere(store: Store) -> None:
    """Words of injected JSON became the most used concepts of a memory, because every query was learnt from."""
    add(store, "The CI runner is called brontes.", "Tea is in the cellar.")
    before = store.search(namespace="n", query="where is the tea?")
    polluted = (
        '[NeuralMemory - relevant context]\nConversation info (untrusted metadata):\n{"message_id":"369"}\n\ntea?'
    )
    for _ in range(30):
        store.search(namespace="n", query=polluted)
    assert store.search(namespace="n", query="where is the tea?") == before
    assert found(store, "message_id untrusted metadata json") == []


def test_openclaw_114612_searching_and_storing_the_same_again_fills_no_cache(tmp_path: Path) -> None:
    """38,985 cached embeddings were 3.3 GB on a disk, which nobody counted."""

    def sizes() -> dict[str, int]:
        return {path.name: path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()}

    with open_store(URLS["sqlite"](tmp_path)) as store:
        add(store, *(f"lighthouse {i}" for i in range(100)))
        found(store, "lighthouse")
        before = sizes()
        for i in range(200):
            found(store, f"what is lighthouse {i} for?")
            add(store, f"lighthouse {i % 100}")
        assert sizes() == before
        assert before["1.vectors"] == 100 * 256 * 4


class OnNetwork(Connections):
    """Opens its file as a network drive has it: SQLite without memory that processes share."""

    def _connect(self) -> sqlite3.Connection:
        address = f"file:{self.path}?vfs=unix-dotfile"
        return sqlite3.connect(address, uri=True, timeout=self._busy_seconds, isolation_level=None)


def test_chroma_1108_a_drive_without_a_log_is_refused_by_name_within_the_bound(tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(OpenError, match=r"memories\.db cannot use a write-ahead log; put it on a local disk"):
        OnNetwork(tmp_path / "memories.db", busy_seconds=0.05)
    assert time.monotonic() - started >= 0.05
