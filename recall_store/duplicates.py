"""Memories that nearly say the same. They are reported and never merged: one number may be the difference.

Works on any engine: candidates come from its search, and how alike two texts are is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .base import NearDuplicate, Record, Store
from .rows import embedding_text
from .text import words

CANDIDATES = 10
"""Memories that are compared with each one."""
_PAGE = 256


def alike(one: Record, other: Record) -> float:
    """Dice's coefficient of the two sets of index words: 1 for the same words, 0 for none in common."""
    mine, theirs = set(words(embedding_text(one))), set(words(embedding_text(other)))
    together = len(mine) + len(theirs)
    return 2 * len(mine & theirs) / together if together else 0.0


def report(store: Store, namespace: str, ids: Iterable[str] | None, at_least: float) -> Iterator[NearDuplicate]:
    """See `Store.near_duplicates`."""
    told: set[frozenset[str | None]] = set()
    asked = _every(store, namespace) if ids is None else iter(store.get(namespace=namespace, ids=ids))
    for record in asked:
        for match in store.search(namespace=namespace, query=embedding_text(record), top_k=CANDIDATES):
            pair = frozenset((record.id, match.record.id))
            similarity = alike(record, match.record)
            if len(pair) == 2 and pair not in told and similarity >= at_least:
                told.add(pair)
                yield NearDuplicate(record=record, other=match.record, similarity=similarity)


def _every(store: Store, namespace: str) -> Iterator[Record]:
    offset = 0
    while page := store.list(namespace=namespace, limit=_PAGE, offset=offset):
        yield from page
        offset += len(page)
