"""What every engine promises: a memory comes back as it went in, and to its own namespace alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from recall_store import Record, Store
from tests.contracts.every_engine import ENGINES, URLS, YESTERDAY, add, found


def test_every_engine_has_a_url_to_be_tested_with() -> None:
    assert set(ENGINES) == set(URLS)


def test_what_is_stored_is_found_with_its_id_time_and_scores(store: Store) -> None:
    [record] = add(store, "The CI runner is called brontes.")
    [match] = store.search(namespace="alice", query="what is the runner called?")
    assert match.record == record
    assert record.id and record.created_at and record.created_at.utcoffset() == timedelta(0)
    assert match.lexical == 1.0
    assert -1 <= match.cosine <= 1 < match.score


def test_every_field_comes_back_as_it_went_in(store: Store) -> None:
    record = Record(
        id="m1",
        text="Text.",
        title="Title",
        description="Description",
        type="project",
        author="assistant",
        source={"session": "s", "position": 3},
        metadata={"tags": ["a", "b"], "nested": {"deep": None}},
        created_at=YESTERDAY,
        expires_at=datetime(2999, 1, 1, tzinfo=UTC),
    )
    store.upsert(namespace="alice", records=[record])
    assert store.get(namespace="alice", ids=["m1"]) == [record]


def test_another_namespace_finds_lists_gets_deletes_and_forgets_nothing(store: Store) -> None:
    [record] = add(store, "my pin is 0000", namespace="uid1")
    assert found(store, "pin", namespace="uid2") == []
    assert store.list(namespace="uid2") == []
    assert store.get(namespace="uid2", ids=[str(record.id)]) == []
    assert store.history(namespace="uid2", id=str(record.id)) == []
    assert store.delete(namespace="uid2", ids=[str(record.id)]) == 0
    assert store.forget(namespace="uid2", query="pin") == 0
    assert found(store, "pin", namespace="uid1") == ["my pin is 0000"]


def test_a_namespace_gets_all_it_asked_for_among_fifty(store: Store) -> None:
    for tenant in range(50):
        records = [Record(text=f"invoice number {i} of the harbour") for i in range(30)]
        store.upsert(namespace=f"tenant{tenant}", records=records)
    matches = store.search(namespace="tenant7", query="harbour invoice", top_k=20)
    assert len(matches) == 20


def test_a_namespace_that_looks_like_another_stays_another(store: Store) -> None:
    add(store, "the boat is green", namespace="1")
    add(store, "1qboat 1qgreen 2qboat", namespace="2")
    add(store, "nothing of the kind", namespace="12")
    assert found(store, "boat", namespace="1") == ["the boat is green"]
    assert found(store, "boat", namespace="12") == []


def test_the_namespaces_that_hold_memories_are_listed(store: Store) -> None:
    [record] = add(store, "x marks it", namespace="bob")
    add(store, "words", namespace="alice")
    assert store.namespaces() == ["alice", "bob"]
    store.delete(namespace="bob", ids=[str(record.id)])
    assert store.namespaces() == ["alice"]
