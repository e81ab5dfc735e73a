"""What every engine promises of stores that are open twice, used by many threads, or closed."""

from __future__ import annotations

import threading

import pytest

from recall_store import ClosedError, Store, open_store
from tests.contracts.every_engine import add, found


def test_two_open_stores_see_each_others_writes_and_deletions(url: str) -> None:
    with open_store(url) as one, open_store(url) as two:
        [record] = add(one, "probe alpha")
        assert found(two, "probe") == ["probe alpha"]
        add(two, "probe beta")
        assert sorted(found(one, "probe")) == ["probe alpha", "probe beta"]
        two.delete(namespace="alice", ids=[str(record.id)])
        assert found(one, "probe") == ["probe beta"]
        one.vacuum()
        assert found(two, "probe") == ["probe beta"]


def test_many_threads_may_write_search_and_delete_at_once(store: Store) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(10):
                [record] = add(store, f"thread {number} lighthouse {i}")
                assert record.text in found(store, f"thread {number} lighthouse {i}", top_k=200)
                if i % 2:
                    store.delete(namespace="alice", ids=[str(record.id)])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(store.list(namespace="alice")) == 40


def test_a_closed_store_says_so_and_may_be_closed_again(url: str) -> None:
    store = open_store(url)
    store.close()
    store.close()
    with pytest.raises(ClosedError):
        store.search(namespace="alice", query="words")
