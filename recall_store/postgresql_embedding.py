"""The embedder of an open PostgreSQL store: the one asked for, or the recorded one, loaded when it is first needed."""

from __future__ import annotations

import threading

from psycopg import Connection

from . import embedders
from .embedders.base import Embedder
from .embedding import fingerprint, trust
from .errors import EmbedderError, EmbedderMismatchError, UrlError
from .postgresql_pool import Pool
from .postgresql_tables import change_embedder, meta, set_meta


class EmbedderInUse:
    """Which embedder the store's vectors are of. Thread-safe."""

    def __init__(self, pool: Pool, wanted: Embedder | None, if_new: str | None = None) -> None:
        """Record `wanted` (else `if_new`, else `hash`) in a new store. Raises EmbedderMismatchError if another than
        `wanted` is recorded.
        """
        self._pool = pool
        self._embedder = wanted
        self._mutex = threading.RLock()
        with pool.reading() as db:
            recorded = meta(db, "embedder")
        if recorded is None:
            chosen = wanted or embedders.load(if_new if if_new is not None else embedders.DEFAULT)
            with pool.writing() as db:
                change_embedder(db)
                recorded = meta(db, "embedder")
                if recorded is None:
                    recorded = record(db, chosen, 1)
        if wanted is not None:
            self.check(recorded)

    def name(self) -> str:
        """The name that the store recorded."""
        with self._pool.reading() as db:
            return meta(db, "embedder_name") or embedders.DEFAULT

    def now(self) -> Embedder:
        """The embedder. The recorded one is loaded late, so that `reindex` can replace one that is no longer there.

        Call it before a connection is borrowed: it may need one.
        """
        with self._mutex:
            if self._embedder is None:
                try:
                    self._embedder = embedders.load(self.name())
                except UrlError:
                    raise EmbedderError(
                        f"the store in {self._pool.shown} was built with an embedder that is not in recall_store."
                        "embedders; pass it to open_store, or run `firsthand recall reindex --embedder NAME`"
                    ) from None
            return self._embedder

    def check(self, recorded: str | None) -> Embedder:
        """The embedder, if it is the `recorded` one. Raises EmbedderMismatchError."""
        embedder = self.now()
        trust(embedder, recorded)
        if recorded != fingerprint(embedder):
            raise EmbedderMismatchError(
                f"the store in {self._pool.shown} was built with embedder {recorded}, not {fingerprint(embedder)}; "
                f"open it with that one, or {embedders.how_to_change(embedder.name)}"
            )
        return embedder

    def replace(self, embedder: Embedder) -> None:
        """Use another one from now on."""
        with self._mutex:
            self._embedder = embedder


def record(db: Connection, embedder: Embedder, generation: int) -> str:
    """Write down whose vectors the store holds, and in which generation; return the fingerprint."""
    name = fingerprint(embedder)
    for key, value in (("embedder", name), ("embedder_name", embedder.name), ("generation", str(generation))):
        set_meta(db, key, value)
    return name
