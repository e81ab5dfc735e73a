"""Memories that nearly say the same are reported, and stay two."""

from __future__ import annotations

from pathlib import Path

import pytest

from recall_store import Record, open_store
from recall_store.duplicates import alike

PAIRS = [
    ("PocketBase runs on port 8090", "PocketBase backend at localhost:8090", 0.5),
    ("I work at Google for 5 years", "I work at Google for 6 years", 0.75),
    ("the boat is green", "the harbour is closed on Sunday", 0.0),
    ("User likes tea", "tea likes User", 1.0),
    ("the", "the", 0.0),
]


@pytest.mark.parametrize(("one", "other", "similarity"), PAIRS)
def test_two_texts_are_alike_by_the_words_they_share(one: str, other: str, similarity: float) -> None:
    assert alike(Record(text=one), Record(text=other)) == similarity


def test_each_pair_is_reported_once_and_both_memories_stay(tmp_path: Path) -> None:
    texts = [text for one, other, _ in PAIRS[:3] for text in (one, other)]
    with open_store(f"sqlite:///{tmp_path}/memories.db") as store:
        records = store.upsert(namespace="n", records=[Record(text=text) for text in texts])
        found = list(store.near_duplicates(namespace="n"))
        assert sorted((pair.record.text, pair.other.text, pair.similarity) for pair in found) == [
            (texts[3], texts[2], 0.75),
            (texts[1], texts[0], 0.5),
        ]
        assert len(store.list(namespace="n")) == len(texts)
        [pair] = store.near_duplicates(namespace="n", ids=[str(records[0].id)])
        assert (pair.record, pair.other) == (records[0], records[1])
        assert list(store.near_duplicates(namespace="n", at_least=0.9)) == []
        assert list(store.near_duplicates(namespace="other", ids=[str(records[0].id)])) == []
