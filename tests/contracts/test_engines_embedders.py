"""What every engine promises of embedders: one a store, changed by a reindex, and no vector that breaks a search."""

from __future__ import annotations

import pytest

from recall_store import ArgumentError, EmbedderError, EmbedderMismatchError, Record, open_store
from tests.contracts.every_engine import add, found
from tests.recall_store.fakes import BrokenEmbedder, CountingEmbedder, LetterEmbedder, WrongShapeEmbedder


def test_words_that_are_there_are_not_embedded_again(url: str) -> None:
    embedder = CountingEmbedder()
    with open_store(url, embedder=embedder) as store:
        [record] = add(store, "one")
        add(store, "one")
        store.upsert(namespace="alice", records=[record, Record(id=record.id, text="one", metadata={"seen": 2})])
        assert embedder.texts == ["one"]
        assert store.search(namespace="alice", query="one")[0].cosine == pytest.approx(1.0)
        assert store.list(namespace="alice")[0].metadata == {"seen": 2}


def test_an_embedder_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ArgumentError, match=r"^embedder is int; give a name or an Embedder$"):
        open_store(url, 5)  # type: ignore[arg-type]
    with open_store(url) as store, pytest.raises(ArgumentError, match=r"^embedder is object"):
        store.reindex(embedder=object())  # type: ignore[arg-type]


def test_a_store_remembers_its_embedder(url: str) -> None:
    with open_store(url, embedder=LetterEmbedder()) as store:
        add(store, "probe alpha")
    with pytest.raises(EmbedderMismatchError, match="reindex"):
        open_store(url, embedder="hash")
    with open_store(url, embedder=LetterEmbedder()) as store:
        assert found(store, "probe") == ["probe alpha"]


def test_reindex_changes_the_embedder_and_tells_how_far_it_is(url: str) -> None:
    with open_store(url) as store:
        add(store, *(f"lighthouse number {i}" for i in range(300)))
        told: list[tuple[int, int]] = []
        assert store.reindex(embedder=LetterEmbedder(), progress=lambda done, total: told.append((done, total))) == 300
        assert told[-1] == (300, 300) and len(told) > 1
        assert len(found(store, "lighthouse", top_k=400)) == 300
    with open_store(url, embedder=LetterEmbedder()) as store:
        assert len(found(store, "lighthouse", top_k=400)) == 300


def test_an_interrupted_reindex_leaves_the_store_as_it_was_and_goes_on_later(url: str) -> None:
    class Interrupt(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Interrupt

    with open_store(url) as store:
        add(store, *(f"lighthouse number {i}" for i in range(300)))
        with pytest.raises(Interrupt):
            store.reindex(embedder=LetterEmbedder(), progress=stop)
        assert len(found(store, "lighthouse", top_k=400)) == 300
        told: list[int] = []
        store.reindex(embedder=LetterEmbedder(), progress=lambda done, total: told.append(done))
        assert told[0] > 128


def test_vectors_of_nan_zeros_and_infinity_are_stored_and_break_no_search(url: str) -> None:
    with open_store(url, embedder=BrokenEmbedder()) as store:
        add(store, "nan probe", "zero probe", "infinite probe", "good probe")
        assert len(found(store, "probe")) == 4
        assert len(found(store, "nan probe")) == 4


def test_vectors_of_another_shape_are_an_error_and_nothing_is_stored(url: str) -> None:
    with open_store(url, embedder=WrongShapeEmbedder()) as store:
        with pytest.raises(EmbedderError, match="components"):
            add(store, "bob likes tea")
        assert store.list(namespace="alice") == []
