"""The embedded engine: one SQLite file (WAL, FTS5), and a folder of vector files beside it.

The database is the truth; a write of text, words and vector is one transaction. The vector files follow it.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import numpy as np

from .. import embedders, embedding, events, postings, reindexing, rows, searching, tables, writing
from ..arguments import check_count, check_embedder, check_query, check_records
from ..asking import mentions, rerank
from ..base import (
    Change,
    Changes,
    Holding,
    Match,
    Matches,
    Names,
    Progress,
    Record,
    Records,
    Store,
    check_ids,
    check_namespace,
)
from ..connections import BUSY_SECONDS, Connections
from ..embedders.base import Embedder
from ..errors import BusyError, OpenError, UrlError
from ..filters import parse
from ..guard import check_record
from ..ranking import CANDIDATES
from ..text import clip, keywords_only, too_short, words
from ..vector_file import DamagedError
from ..vectors import Answer, NamespaceVectors, View

_OURS = re.compile(r"\d+\.(index|vectors)")
OPEN_NAMESPACES = 256
"""Namespaces whose vectors stay in memory (90 bytes a memory, and its mapped file)."""


def connect(url: str, embedder: str | Embedder | None, if_new: str | None = None, *, make: bool = True) -> SqliteStore:
    """Open `sqlite:///relative.db` or `sqlite:////absolute/path.db`. See `recall_store.open_store`."""
    host, separator, path = url.removeprefix("sqlite://").partition("/")
    if host or not separator or not path.strip("/") or path == ":memory:" or "\0" in path:
        raise UrlError("the store URL names no file; write sqlite:///relative.db or sqlite:////absolute/path.db")
    if not make and not Path(path).exists():
        raise OpenError(f"{path}: no such store; check the path, or make it with `firsthand recall add`")
    return SqliteStore(Path(path), embedder, if_new)


class SqliteStore(Store):
    """See `recall_store.Store` for the contract."""

    def __init__(self, path: Path, embedder: str | Embedder | None = None, if_new: str | None = None) -> None:
        wanted = embedders.load(embedder) if isinstance(embedder, str) else embedder
        if wanted is None and if_new is not None and not path.exists():
            # Before there is a file: one that cannot be loaded leaves none behind.
            embedders.load(if_new)
        self._connections = Connections(path.absolute())
        self._folder = path.absolute().with_name(path.name + "-vectors")
        self._vectors: OrderedDict[int, NamespaceVectors] = OrderedDict()
        self._mutex = threading.Lock()
        try:
            self._embedder = embedding.EmbedderInUse(self._connections, wanted, if_new)
        except BaseException:
            self._connections.close()
            raise

    @property
    def embedder(self) -> str:
        """See `Store.embedder`."""
        return self._embedder.name()

    def upsert(self, *, namespace: str, records: Iterable[Record]) -> Records:
        """See `Store.upsert`."""
        check_namespace(namespace)
        given = check_records(records)
        for record in given:
            check_record(record)
        if not given:
            return []
        said = [rows.digest(record) for record in given]
        with self._connections.reading() as db:
            embedder = self._embedder.check(tables.meta(db, "embedder"))
            seen = writing.look(db, namespace, given, said)
        with writing.Vectors(embedder.dimension) as vectors:
            # Before the write lock is taken: an embedder may be slow.
            vectors.fill(embedder, seen.new)
            with self._connections.writing() as db:
                self._embedder.check(tables.meta(db, "embedder"))
                found = tables.make_namespace(db, namespace)
                return writing.Upsert(db, found, embedder, vectors, seen).write(given, said)

    def search(self, *, namespace: str, query: str, top_k: int = 5, where: Mapping[str, Any] | None = None) -> Matches:
        """See `Store.search`."""
        check_namespace(namespace)
        chosen = parse(where)
        asked = clip(check_query(query))
        top_k = check_count("top_k", top_k)
        if not top_k or too_short(asked):
            return []
        with self._connections.reading() as db:
            found = tables.find_namespace(db, namespace)
            if found is None or not found.state.live:
                return []
            embedder = self._embedder.check(found.embedder)
            now = _now()
            expired = tables.expired_keys(db, found.id, now)
            only = None if chosen.any else tables.allowed_keys(db, found.id, chosen, now)
            places = postings.places(db, found.id, words(asked))
            vector = embedding.embed(embedder, [asked])[0]
            ranked = self._ask(
                db,
                found,
                embedder,
                lambda view: searching.ranked(
                    view,
                    places,
                    vector,
                    embedder=embedder,
                    keywords=keywords_only(asked),
                    top_k=min(max(top_k, CANDIDATES), found.state.live),
                    only=only,
                    expired=np.array(expired, np.int64) if expired else None,
                ),
            )
            if ranked:
                gained = mentions(asked, tables.heads(db, [one.key for one in ranked]))
                ranked = rerank(ranked, gained, top_k)
            records = tables.by_keys(db, [one.key for one in ranked]) if ranked else {}
        return [
            Match(record=records[one.key], score=one.score, lexical=one.lexical, cosine=one.cosine) for one in ranked
        ]

    def get(self, *, namespace: str, ids: Iterable[str]) -> Records:
        """See `Store.get`."""
        check_namespace(namespace)
        asked = check_ids(ids)
        with self._connections.reading() as db:
            found = tables.find_namespace(db, namespace)
            records = tables.by_ids(db, found.id, asked, _now()) if found is not None else {}
        return [records[id][1] for id in asked if id in records]

    def list(
        self, *, namespace: str, where: Mapping[str, Any] | None = None, limit: int | None = None, offset: int = 0
    ) -> Records:
        """See `Store.list`."""
        check_namespace(namespace)
        chosen = parse(where)
        limit, offset = None if limit is None else check_count("limit", limit), check_count("offset", offset)
        with self._connections.reading() as db:
            found = tables.find_namespace(db, namespace)
            if found is None:
                return []
            return tables.page(db, found.id, chosen, now=_now(), limit=limit, offset=offset)

    def delete(self, *, namespace: str, ids: Iterable[str]) -> int:
        """See `Store.delete`."""
        check_namespace(namespace)
        asked = check_ids(ids)
        if not asked:
            return 0
        with self._connections.writing() as db:
            found = tables.find_namespace(db, namespace)
            if found is None:
                return 0
            now = _now()
            going = tables.keys_of(db, found.id, asked, now)
            self._delete(db, found.id, going, now)
        return len(going)

    def forget(self, *, namespace: str, query: str) -> int:
        """See `Store.forget`."""
        check_namespace(namespace)
        asked = words(clip(check_query(query)))
        with self._connections.writing() as db:
            found = tables.find_namespace(db, namespace)
            if found is None:
                return 0
            now = _now()
            going = tables.ids_of(db, postings.with_every_word(db, found.id, asked), now)
            self._delete(db, found.id, going, now)
            earlier = events.earlier(db, found.id, asked)
            events.blank_versions(db, [number for numbers in earlier.values() for number in numbers])
        return len(going.keys() | earlier.keys())

    def holding(self, *, namespace: str, query: str) -> Holding:
        """See `Store.holding`."""
        check_namespace(namespace)
        asked = words(clip(check_query(query)))
        with self._connections.reading() as db:
            found = tables.find_namespace(db, namespace)
            if found is None:
                return Holding(records=[], earlier={})
            going = tables.ids_of(db, postings.with_every_word(db, found.id, asked), _now())
            records = tables.by_keys(db, list(going.values()))
            earlier = events.earlier(db, found.id, asked)
        return Holding(
            records=[*records.values()],
            earlier={id: len(numbers) for id, numbers in earlier.items() if id not in going},
        )

    def history(self, *, namespace: str, id: str) -> Changes:
        """See `Store.history`."""
        check_namespace(namespace)
        asked = check_ids([id])
        with self._connections.reading() as db:
            found = tables.find_namespace(db, namespace)
            return events.read(db, found.id, asked[0]) if found is not None and asked else []

    def histories(self, *, namespace: str, ids: Iterable[str]) -> dict[str, Changes]:
        """See `Store.histories`."""
        check_namespace(namespace)
        asked = check_ids(ids)
        with self._connections.reading() as db:
            found = tables.find_namespace(db, namespace)
            return events.read_all(db, found.id, asked) if found is not None else {}

    def restore(self, *, namespace: str, histories: Mapping[str, Sequence[Change]]) -> None:
        """See `Store.restore`."""
        check_namespace(namespace)
        with self._connections.writing() as db:
            found = tables.find_namespace(db, namespace)
            if found is not None:
                for id in check_ids(histories):
                    events.restore(db, found.id, id, histories[id])

    def namespaces(self) -> Names:
        """See `Store.namespaces`."""
        with self._connections.reading() as db:
            return [name for (name,) in db.execute("SELECT name FROM namespaces WHERE live > 0 ORDER BY name")]

    def reindex(self, *, embedder: str | Embedder | None = None, progress: Progress | None = None) -> int:
        """See `Store.reindex`."""
        check_embedder(embedder)
        target = embedders.load(embedder) if isinstance(embedder, str) else embedder or self._embedder.now()
        embedding.anew(target)
        count = reindexing.reindex(self._connections, target, progress)
        self._embedder.replace(target)
        with self._mutex:
            self._vectors.clear()
        return count

    def vacuum(self) -> None:
        """See `Store.vacuum`."""
        with self._connections.writing() as db:
            now = _now()
            for (namespace_id,) in db.execute("SELECT id FROM namespaces").fetchall():
                expired = tables.expired_keys(db, namespace_id, now)
                self._delete(db, namespace_id, tables.ids_of(db, expired, None), now)
            tables.new_epoch(db)
            postings.optimize(db)
        with self._connections.bare() as db:
            db.execute("VACUUM")
            _empty_log(db, self._connections.path)
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            if _OURS.match(path.name):
                with contextlib.suppress(OSError):
                    path.unlink()
        with self._mutex:
            self._vectors.clear()

    def warm(self, *, namespace: str | None = None) -> None:
        """See `Store.warm`."""
        if namespace is not None:
            check_namespace(namespace)
        embedding.embed(self._embedder.now(), ["warm"])
        with self._connections.reading() as db:
            found = tables.find_namespace(db, namespace) if namespace is not None else None
            if found is not None:
                embedder = self._embedder.check(found.embedder)
                self._namespace_vectors(found, embedder).view(found.state, tables.source(db, found.id))

    def close(self) -> None:
        """See `Store.close`."""
        self._connections.close()
        with self._mutex:
            self._vectors.clear()

    def _delete(self, db: Connection, namespace_id: int, keys: Mapping[str, int], now: int) -> None:
        tables.remove(db, namespace_id, keys.values())
        events.blank(db, namespace_id, keys)
        events.note(db, namespace_id, now, [(id, "deleted", None) for id in keys])

    def _ask(
        self, db: Connection, found: tables.Namespace, embedder: Embedder, question: Callable[[View], Answer]
    ) -> Answer:
        try:
            vectors = self._namespace_vectors(found, embedder)
            return vectors.ask(found.state, tables.source(db, found.id), question)
        except DamagedError:
            raise OpenError(
                f"{self._connections.path} has damaged vectors; call reindex, which makes them anew from the texts"
            ) from None

    def _namespace_vectors(self, found: tables.Namespace, embedder: Embedder) -> NamespaceVectors:
        with self._mutex:
            vectors = self._vectors.get(found.id)
            if vectors is None:
                name = embedding.fingerprint(embedder)
                vectors = NamespaceVectors(self._folder / str(found.id), name, embedder.dimension)
                self._vectors[found.id] = vectors
            self._vectors.move_to_end(found.id)
            while len(self._vectors) > OPEN_NAMESPACES:
                self._vectors.popitem(last=False)
        return vectors


def _empty_log(db: Connection, path: Path) -> None:
    """Cut the write-ahead log to nothing: it holds what was deleted. Waits for readers of another process."""
    deadline = time.monotonic() + BUSY_SECONDS
    while db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() > deadline:
            raise BusyError(f"another process reads {path}, so its log still holds deleted text; vacuum again later")
        time.sleep(0.01)


def _now() -> int:
    return rows.microseconds(datetime.now(UTC))
