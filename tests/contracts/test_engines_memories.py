"""What every engine promises of memories: equal ones are one, and what was changed, deleted or has expired is gone."""

from __future__ import annotations

from recall_store import Record, Store, open_store
from tests.contracts.every_engine import YESTERDAY, add, found


def test_five_equal_upserts_are_one_memory(store: Store) -> None:
    ids = {add(store, "User likes tea")[0].id for _ in range(5)}
    assert len(ids) == 1
    assert len(store.list(namespace="alice")) == 1


def test_blanks_and_width_do_not_make_another_memory(store: Store) -> None:
    [first] = add(store, "User likes tea")
    assert add(store, " User  likes\nｔｅａ ") == [first]


def test_equal_records_in_one_call_are_one_memory(store: Store) -> None:
    first, second = add(store, "User likes tea", "User likes tea")
    assert first == second


def test_a_change_of_one_number_is_another_memory(store: Store) -> None:
    add(store, "I work at Google for 5 years", "I work at Google for 6 years")
    assert len(store.list(namespace="alice")) == 2


def test_near_duplicates_are_not_merged(store: Store) -> None:
    add(store, "PocketBase runs on port 8090", "PocketBase backend at localhost:8090")
    assert len(found(store, "PocketBase 8090")) == 2


def test_an_update_keeps_the_id_the_creation_time_and_the_old_text_in_history(store: Store) -> None:
    [old] = add(store, "I work at Google for 5 years")
    [new] = store.upsert(namespace="alice", records=[Record(id=old.id, text="I work at Google for 6 years")])
    assert (new.id, new.created_at) == (old.id, old.created_at)
    assert found(store, "Google") == ["I work at Google for 6 years"]
    changes = store.history(namespace="alice", id=str(old.id))
    assert [(change.event, change.record) for change in changes] == [("added", old), ("updated", new)]


def test_an_equal_record_with_its_id_changes_nothing(store: Store) -> None:
    [record] = add(store, "one")
    assert store.upsert(namespace="alice", records=[record]) == [record]
    assert [change.event for change in store.history(namespace="alice", id=str(record.id))] == ["added"]


def test_a_deleted_memory_is_gone_from_every_answer_and_its_words_from_history(store: Store) -> None:
    [record] = add(store, "probe alpha")
    add(store, "probe beta")
    assert store.delete(namespace="alice", ids=[str(record.id), "unknown"]) == 1
    assert found(store, "probe alpha") == ["probe beta"]
    assert store.get(namespace="alice", ids=[str(record.id)]) == []
    assert [(c.event, c.record) for c in store.history(namespace="alice", id=str(record.id))] == [
        ("added", None),
        ("deleted", None),
    ]


def test_a_deleted_memory_can_be_added_again(store: Store) -> None:
    [record] = add(store, "probe alpha")
    store.delete(namespace="alice", ids=[str(record.id)])
    add(store, "probe alpha")
    assert found(store, "probe alpha") == ["probe alpha"]


def test_vacuum_and_reopening_keep_the_living_and_nothing_else(store: Store, url: str) -> None:
    records = add(store, *(f"lighthouse number {i}" for i in range(20)))
    store.delete(namespace="alice", ids=[str(record.id) for record in records[:10]])
    store.vacuum()
    kept = sorted(f"lighthouse number {i}" for i in range(10, 20))
    assert sorted(found(store, "lighthouse", top_k=50)) == kept
    with open_store(url) as again:
        assert sorted(found(again, "lighthouse", top_k=50)) == kept


def test_forget_deletes_what_holds_all_the_words(store: Store) -> None:
    add(store, "I like green tea", "I like black tea", "my boat is green")
    assert store.forget(namespace="alice", query="green tea") == 1
    assert store.forget(namespace="alice", query="the of") == 0
    assert sorted(record.text for record in store.list(namespace="alice")) == ["I like black tea", "my boat is green"]


def test_an_expired_memory_is_in_no_answer(store: Store) -> None:
    store.upsert(namespace="alice", records=[Record(id="old", text="the parking spot is B4", expires_at=YESTERDAY)])
    add(store, "the parking garage closes at ten")
    assert found(store, "parking spot") == ["the parking garage closes at ten"]
    assert store.get(namespace="alice", ids=["old"]) == []
    assert len(store.list(namespace="alice")) == 1
    store.upsert(namespace="alice", records=[Record(id="old", text="the parking spot is C1")])
    assert found(store, "parking spot")[0] == "the parking spot is C1"


def test_an_expired_memory_lends_no_word_to_its_neighbours_and_counts_in_no_score(store: Store) -> None:
    def filled(namespace: str, *more: Record) -> list[tuple[str | None, float]]:
        kept = [
            Record(id="b", text="green boat in the harbour", source={"session": "s", "position": 2}),
            Record(id="c", text="green boat in the harbour today"),
            *(Record(id=f"n{i}", text=f"the zeppelin flies at {i} o'clock") for i in range(5)),
        ]
        store.upsert(namespace=namespace, records=[*more, *kept])
        matches = store.search(namespace=namespace, query="zanzibar quagga green boat harbour zeppelin", top_k=20)
        return [(match.record.id, match.score) for match in matches]

    gone = Record(id="a", text="zanzibar quagga", source={"session": "s", "position": 1}, expires_at=YESTERDAY)
    assert filled("with", gone) == filled("without") != []


def test_a_record_without_an_id_is_the_oldest_memory_that_says_it_also_when_another_comes_with_it(store: Store) -> None:
    store.upsert(namespace="alice", records=[Record(text="tea", id="x")])
    stored = store.upsert(namespace="alice", records=[Record(text="tea", id="y"), Record(text="tea")])
    assert [record.id for record in stored] == ["y", "x"]
