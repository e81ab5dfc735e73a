"""Memories that are the user's own words: stored once, in a namespace, and found again by what they say.

    with open_store("sqlite:///memories.db") as store:
        store.upsert(namespace="alice", records=[Record(text="The CI runner is called brontes.")])
        store.search(namespace="alice", query="what is the name of our runner?")

Importing this package loads neither numpy nor sqlite-utils; opening a store does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Change, Holding, Match, NearDuplicate, Record, Store
from .errors import (
    ArgumentError,
    BusyError,
    ClosedError,
    EmbedderError,
    EmbedderMismatchError,
    FilterError,
    NamespaceError,
    OpenError,
    RecordError,
    ReservedTagError,
    SecretError,
    StoreError,
    UrlError,
)

if TYPE_CHECKING:
    from .embedders.base import Embedder

__all__ = [
    "ArgumentError",
    "BusyError",
    "Change",
    "ClosedError",
    "EmbedderError",
    "EmbedderMismatchError",
    "FilterError",
    "Holding",
    "Match",
    "NamespaceError",
    "NearDuplicate",
    "OpenError",
    "Record",
    "RecordError",
    "ReservedTagError",
    "SecretError",
    "Store",
    "StoreError",
    "UrlError",
    "open_store",
]


def open_store(
    url: str,
    embedder: str | Embedder | None = None,
    *,
    embedder_if_new: str | None = None,
    make: bool = True,
) -> Store:
    """Open the store at `url`, and make it if it is new and `make` is true. Close it, or use it in a `with`.

    `sqlite:///relative.db`, `sqlite:////absolute/path.db`, or `postgresql://user:password@host/database` with any
    parameter of libpq and `schema`, where its tables are (`firsthand`). `embedder` is the name of a file in
    `recall_store/embedders`, an Embedder of your own, or None for the one recorded in the store. A new store records
    `embedder`, else that of the name `embedder_if_new`, which an old one does not look at, else `hash`.

    Raises UrlError for a scheme or embedder that is not known, OpenError for a file that cannot be opened or is no
    store, or where there is none and `make` is false, EmbedderMismatchError if the store was built with another
    embedder than `embedder`, ArgumentError for what is neither a name nor an Embedder.
    """
    from .engines import connect

    return connect(url, embedder, embedder_if_new, make=make)
