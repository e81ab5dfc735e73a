"""The embedder of an open SQLite store: the one asked for, or the recorded one, loaded when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from . import embedders, tables
from .connections import Connections
from .embedders.base import Embedder
from .errors import EmbedderError, EmbedderMismatchError, UrlError
from .signs import Floats, unit


class EmbedderInUse:
    """Which embedder the store's vectors are of, and the vectors it makes. Thread-safe."""

    def __init__(self, connections: Connections, wanted: Embedder | None, if_new: str | None = None) -> None:
        """Record `wanted` (else `if_new`, else `hash`) in a new store. Raises EmbedderMismatchError if another than
        `wanted` is recorded.
        """
        self._connections = connections
        self._embedder = wanted
        self._mutex = threading.RLock()
        with connections.reading() as db:
            recorded = tables.meta(db, "embedder")
        if recorded is None:
            chosen = wanted or embedders.load(if_new if if_new is not None else embedders.DEFAULT)
            with connections.writing() as db:
                recorded = tables.meta(db, "embedder")
                if recorded is None:
                    recorded = fingerprint(chosen)
                    record(db, chosen)
        if wanted is not None:
            self.check(recorded)

    def name(self) -> str:
        """The name that the store recorded."""
        with self._connections.reading() as db:
            return tables.meta(db, "embedder_name") or embedders.DEFAULT

    def now(self) -> Embedder:
        """The embedder. The recorded one is loaded late, so that `reindex` can replace one that is no longer there."""
        with self._mutex:
            if self._embedder is None:
                try:
                    self._embedder = embedders.load(self.name())
                except UrlError:
                    raise EmbedderError(
                        f"the store {self._connections.path} was built with an embedder that is not in recall_store."
                        "embedders; pass it to open_store, or run `firsthand recall reindex --embedder NAME`"
                    ) from None
            return self._embedder

    def check(self, recorded: str | None) -> Embedder:
        """The embedder, if it is the `recorded` one. Raises EmbedderMismatchError."""
        embedder = self.now()
        trust(embedder, recorded)
        if recorded != fingerprint(embedder):
            raise EmbedderMismatchError(
                f"the store {self._connections.path} was built with embedder {recorded}, not {fingerprint(embedder)}; "
                f"open it with that one, or {embedders.how_to_change(embedder.name)}"
            )
        return embedder

    def replace(self, embedder: Embedder) -> None:
        """Use another one from now on."""
        with self._mutex:
            self._embedder = embedder


def fingerprint(embedder: Embedder) -> str:
    """What two stores' vectors must share to be compared."""
    return f"{embedder.id} ({embedder.dimension})"


def dimension_in(recorded: str) -> int:
    """The dimension that a fingerprint names; 0 for what is none."""
    named = recorded.rpartition(" (")[2].removesuffix(")")
    return int(named) if named.isascii() and named.isdecimal() else 0


def trust(embedder: Embedder, recorded: str | None) -> None:
    """Tell an embedder what a store recorded of it, so that it need not ask anyone (see `Embedder.assume`)."""
    if recorded is not None and recorded.startswith(f"{embedder.id} (") and isinstance(embedder, Embedder):
        embedder.assume(dimension_in(recorded) or None)


def anew(embedder: Embedder) -> Embedder:
    """`embedder`, which no longer trusts what a store recorded."""
    if isinstance(embedder, Embedder):
        embedder.assume(None)
    return embedder


def record(db: tables.Database, embedder: Embedder) -> None:
    """Write down whose vectors the store holds."""
    tables.set_meta(db, "embedder", fingerprint(embedder))
    tables.set_meta(db, "embedder_name", embedder.name)


def embed(embedder: Embedder, texts: Sequence[str]) -> Floats:
    """One row of length 1 (or 0) a text. Raises EmbedderError for anything else that the embedder returns."""
    try:
        vectors = unit(embedder.embed(texts), embedder.dimension)
    except (TypeError, ValueError):
        vectors = np.zeros((0, 0), np.float32)
    if len(vectors) != len(texts):
        raise EmbedderError(
            f"embedder {embedder.id} did not return {len(texts)} vectors of {embedder.dimension} components; "
            "correct its dimension or its output"
        )
    return vectors
