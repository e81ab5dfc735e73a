"""A reindex that stops, is overtaken, or meets writes on its way."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from recall_store import BusyError, Record, Store, open_store
from tests.recall_store.fakes import CountingEmbedder, LetterEmbedder


class Stop(Exception):
    """What a test raises to stop a reindex."""


class OtherLetters(LetterEmbedder):
    """As many dimensions, another embedder."""

    id = "letters/2"


def stop(done: int, total: int) -> None:
    raise Stop


def add(store: Store, *texts: str) -> list[Record]:
    return store.upsert(namespace="n", records=[Record(id=text.replace(" ", "-"), text=text) for text in texts])


def found(store: Store, query: str) -> set[str]:
    return {match.record.text for match in store.search(namespace="n", query=query, top_k=1000)}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/memories.db"


@pytest.fixture
def half_done(url: str) -> Iterator[Store]:
    """300 memories, of which a stopped reindex has embedded the first group."""
    with open_store(url) as store:
        add(store, *(f"lighthouse number {i}" for i in range(300)))
        with pytest.raises(Stop):
            store.reindex(embedder=LetterEmbedder(), progress=stop)
        yield store


def test_what_is_written_and_deleted_between_two_halves_is_in_the_end_as_it_should_be(half_done: Store) -> None:
    half_done.delete(namespace="n", ids=["lighthouse-number-3", "lighthouse-number-299"])
    half_done.upsert(namespace="n", records=[Record(id="lighthouse-number-5", text="lighthouse renamed")])
    add(half_done, "lighthouse new")
    assert half_done.reindex(embedder=LetterEmbedder()) == 299
    texts = found(half_done, "lighthouse")
    assert len(texts) == 299
    assert {"lighthouse renamed", "lighthouse new"} <= texts
    assert texts.isdisjoint({"lighthouse number 3", "lighthouse number 5", "lighthouse number 299"})
    [match] = half_done.search(namespace="n", query="lighthouse renamed", top_k=1)
    assert match.cosine == pytest.approx(1.0)


def test_a_half_done_reindex_keeps_no_vector_of_a_deleted_memory(half_done: Store, tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "memories.db")
    kept = [vector for (vector,) in db.execute("SELECT vector FROM pending WHERE key = 4")]
    assert len(kept) == 1
    half_done.delete(namespace="n", ids=["lighthouse-number-3"])
    assert db.execute("SELECT count(*) FROM pending WHERE key = 4").fetchone() == (0,)
    db.close()


def test_a_reindex_with_another_embedder_starts_anew(half_done: Store) -> None:
    counting = CountingEmbedder()
    counting.id = "letters/3"
    assert half_done.reindex(embedder=counting) == 300
    assert len(counting.texts) == 300
    assert len(found(half_done, "lighthouse")) == 300


def test_a_reindex_that_another_one_overtook_never_mixes_their_vectors(url: str) -> None:
    with open_store(url) as store, open_store(url) as other:
        add(store, *(f"lighthouse number {i}" for i in range(300)))

        def overtake(done: int, total: int) -> None:
            with pytest.raises(Stop):
                other.reindex(embedder=OtherLetters(), progress=stop)

        with pytest.raises(BusyError, match="another process reindexes"):
            store.reindex(embedder=LetterEmbedder(), progress=overtake)
        assert len(found(store, "lighthouse")) == 300
        assert other.reindex(embedder=OtherLetters()) == 300
        assert len(found(other, "lighthouse")) == 300


def test_two_of_the_same_reindex_at_once_end_as_one(url: str) -> None:
    with open_store(url) as store, open_store(url) as other:
        add(store, *(f"lighthouse number {i}" for i in range(300)))
        turns: list[int] = []

        def both(done: int, total: int) -> None:
            if not turns:
                turns.append(other.reindex(embedder=LetterEmbedder()))

        assert store.reindex(embedder=LetterEmbedder(), progress=both) == 300
        assert turns == [300]
        assert len(found(store, "lighthouse")) == len(found(other, "lighthouse")) == 300


def test_a_reindex_with_the_same_embedder_makes_every_vector_anew(url: str) -> None:
    counting = CountingEmbedder()
    with open_store(url, embedder=counting) as store:
        add(store, "one lighthouse", "two lighthouses")
        counting.texts.clear()
        assert store.reindex() == 2
        assert sorted(counting.texts) == ["one lighthouse", "two lighthouses"]


def test_an_empty_store_is_reindexed_at_once(url: str) -> None:
    with open_store(url) as store:
        assert store.reindex(embedder=LetterEmbedder()) == 0
        add(store, "one lighthouse")
        assert found(store, "lighthouse") == {"one lighthouse"}
