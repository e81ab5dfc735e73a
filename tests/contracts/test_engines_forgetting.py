"""What every engine promises of words that are to be forgotten: an earlier version of a memory holds them no longer."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from recall_store import Holding, Record, Store
from tests.contracts.every_engine import add


def versions(store: Store, *texts: str, id: str = "h1", namespace: str = "alice") -> None:
    for text in texts:
        store.upsert(namespace=namespace, records=[Record(id=id, text=text)])


def past(store: Store, id: str = "h1", namespace: str = "alice") -> list[tuple[str, str | None]]:
    changes = store.history(namespace=namespace, id=id)
    return [(change.event, change.record.text if change.record is not None else None) for change in changes]


def test_words_of_an_earlier_version_are_forgotten_and_the_memory_stays(store: Store) -> None:
    versions(store, "quuxword is the first", "in between", "the Quuxwords again", "replaced now")
    versions(store, "quuxword is mine", "mine is replaced", namespace="bob")
    assert store.forget(namespace="alice", query="first quuxword") == 1
    assert past(store) == [
        ("added", None),
        ("updated", "in between"),
        ("updated", "the Quuxwords again"),
        ("updated", "replaced now"),
    ]
    assert store.forget(namespace="alice", query="quuxword") == 1
    assert [text for _, text in past(store)] == [None, "in between", None, "replaced now"]
    assert store.forget(namespace="alice", query="quuxword") == 0
    assert [record.text for record in store.list(namespace="alice")] == ["replaced now"]
    assert [text for _, text in past(store, namespace="bob")] == ["quuxword is mine", "mine is replaced"]


def test_a_memory_that_holds_the_words_now_goes_whole_and_counts_once(store: Store) -> None:
    versions(store, "quuxword is the first", "nothing of it", "quuxword is back")
    add(store, "another")
    assert store.forget(namespace="alice", query="quuxword") == 1
    assert past(store) == [("added", None), ("updated", None), ("updated", None), ("deleted", None)]
    assert [record.text for record in store.list(namespace="alice")] == ["another"]


def test_what_would_be_forgotten_can_be_looked_at_before(store: Store) -> None:
    versions(store, "quuxword is the first", "quuxword is the second", "replaced now")
    versions(store, "an earlier quuxword", "quuxword is there", id="h2")
    assert store.holding(namespace="alice", query="quuxword") == Holding(
        records=store.get(namespace="alice", ids=["h2"]), earlier={"h1": 2}
    )
    assert [text for _, text in past(store)] == ["quuxword is the first", "quuxword is the second", "replaced now"]
    nothing = Holding(records=[], earlier={})
    assert [store.holding(namespace="alice", query=query) for query in ("", "the", "missing")] == [nothing] * 3
    assert store.holding(namespace="nobody", query="quuxword") == nothing


def test_no_words_forget_no_version(store: Store) -> None:
    versions(store, "the first", "the second")
    assert [store.forget(namespace="alice", query=query) for query in ("", "the", "  ")] == [0, 0, 0]
    assert [text for _, text in past(store)] == ["the first", "the second"]


def test_a_title_and_a_description_of_an_earlier_version_are_looked_at_too(store: Store) -> None:
    store.upsert(namespace="alice", records=[Record(id="h1", text="a", title="quuxword", description="of old")])
    versions(store, "replaced now")
    assert store.forget(namespace="alice", query="old quuxword") == 1
    assert [text for _, text in past(store)] == [None, "replaced now"]


def test_a_forgotten_version_is_not_exported_and_an_import_makes_none_up(store: Store) -> None:
    versions(store, "quuxword is the first", "replaced now")
    store.forget(namespace="alice", query="quuxword")
    [line] = store.export(namespace="alice")
    assert "quuxword" not in line
    assert [event.get("record", "as now") for event in json.loads(line)["history"]] == [None, "as now"]
    store.import_(namespace="bob", lines=[line])
    assert past(store, namespace="bob") == [("added", None), ("updated", "replaced now")]
    assert list(store.export(namespace="bob")) == [line]


def test_a_memory_that_expired_is_not_counted(store: Store) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    store.upsert(namespace="alice", records=[Record(id="h1", text="quuxword", expires_at=yesterday)])
    assert store.holding(namespace="alice", query="quuxword") == Holding(records=[], earlier={})
    assert store.forget(namespace="alice", query="quuxword") == 0
