"""The engine for more than one machine: PostgreSQL with pgvector, and nothing beside it.

The database is the truth and does the reading; what BM25 needs to know of each memory is also kept in this process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from psycopg import Connection

from .. import embedders, embedding, rows
from .. import postgresql_searching as searching
from .. import postgresql_tables as tables
from .. import postgresql_vectors as near
from .. import postgresql_view as views
from .. import postgresql_writing as writing
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
from ..embedders.base import Embedder
from ..filters import parse
from ..guard import check_record
from ..postgresql_embedding import EmbedderInUse
from ..postgresql_pool import Pool, parse_url
from ..postgresql_reindexing import reindex
from ..postgresql_schema import migrate
from ..postgresql_upkeep import index_large, vacuum
from ..ranking import CANDIDATES
from ..searching import BY_VECTORS
from ..stems import Stems
from ..text import clip, keywords_only, too_short, words
from ..writing import Vectors


def connect(
    url: str, embedder: str | Embedder | None, if_new: str | None = None, *, make: bool = True
) -> PostgresqlStore:
    """Open `postgresql://user:password@host:port/database?schema=name`. See `recall_store.open_store`."""
    return PostgresqlStore(url, embedder, if_new, make=make)


# A class with a method `list` cannot say `list[...]` in its annotations.
Numbers = list[int]


class PostgresqlStore(Store):
    """See `recall_store.Store` for the contract."""

    def __init__(
        self,
        url: str,
        embedder: str | Embedder | None = None,
        if_new: str | None = None,
        *,
        make: bool = True,
    ) -> None:
        wanted = embedders.load(embedder) if isinstance(embedder, str) else embedder
        self._pool = Pool(parse_url(url))
        self._stems = Stems()
        self._views = views.Views()
        try:
            migrate(self._pool, make=make)
            self._embedder = EmbedderInUse(self._pool, wanted, if_new)
        except BaseException:
            self.close()
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
        self._embedder.now()
        with self._pool.reading() as db:
            embedder = self._embedder.check(tables.meta(db, "embedder"))
            new = writing.unembedded(db, tables.find(db, namespace), given, said)
        # Before the namespace is locked: an embedder may be slow.
        with Vectors(embedder.dimension) as vectors:
            vectors.fill(embedder, new)
            with self._pool.writing() as db:
                tables.keep_embedder(db)
                found = tables.make(db, namespace)
                self._embedder.check(found.embedder)
                return writing.Upsert(db, found, embedder, vectors, self._stems).write(given, said)

    def search(self, *, namespace: str, query: str, top_k: int = 5, where: Mapping[str, Any] | None = None) -> Matches:
        """See `Store.search`."""
        check_namespace(namespace)
        chosen = parse(where)
        asked = clip(check_query(query))
        top_k = check_count("top_k", top_k)
        if not top_k or too_short(asked):
            return []
        self._embedder.now()
        stems = list(dict.fromkeys(self._stems.of(words(asked))))
        with self._pool.reading() as db:
            now = writing.now()
            found = tables.find(db, namespace, now=now)
            if found is None or not found.live:
                return []
            embedder = self._embedder.check(found.embedder)
            gone = np.array(found.expired, np.int64)
            only = None if chosen.any else tables.allowed(db, found, chosen, now)
            question = near.Question(
                vector=embedding.embed(embedder, [asked])[0],
                at_most=max(BY_VECTORS, 2 * min(top_k, found.live)),
                chosen=chosen,
                kept=found.live - len(gone) if only is None else len(only),
                expired=gone,
                now=now,
            )
            ranked = searching.ranked(
                db,
                found,
                self._views.of(db, found),
                stems,
                question,
                embedder=embedder,
                keywords=keywords_only(asked),
                top_k=min(max(top_k, CANDIDATES), found.live),
                only=only,
            )
            if ranked:
                gained = mentions(asked, tables.heads(db, found, [one.key for one in ranked]))
                ranked = rerank(ranked, gained, top_k)
            records = tables.by_keys(db, found, [one.key for one in ranked]) if ranked else {}
        return [
            Match(record=records[one.key], score=one.score, lexical=one.lexical, cosine=one.cosine) for one in ranked
        ]

    def get(self, *, namespace: str, ids: Iterable[str]) -> Records:
        """See `Store.get`."""
        check_namespace(namespace)
        asked = check_ids(ids)
        with self._pool.reading() as db:
            found = tables.find(db, namespace)
            records = tables.by_ids(db, found, asked, writing.now()) if found is not None and asked else {}
        return [records[id][1] for id in asked if id in records]

    def list(
        self, *, namespace: str, where: Mapping[str, Any] | None = None, limit: int | None = None, offset: int = 0
    ) -> Records:
        """See `Store.list`."""
        check_namespace(namespace)
        chosen = parse(where)
        limit, offset = None if limit is None else check_count("limit", limit), check_count("offset", offset)
        with self._pool.reading() as db:
            found = tables.find(db, namespace)
            if found is None:
                return []
            return tables.page(db, found, chosen, now=writing.now(), limit=limit, offset=offset)

    def delete(self, *, namespace: str, ids: Iterable[str]) -> int:
        """See `Store.delete`."""
        check_namespace(namespace)
        asked = check_ids(ids)
        if not asked:
            return 0
        with self._pool.writing() as db:
            found = tables.find(db, namespace, lock=True)
            if found is None:
                return 0
            going = tables.keys_of(db, found, asked, writing.now())
            writing.delete(db, found, going)
        return len(going)

    def forget(self, *, namespace: str, query: str) -> int:
        """See `Store.forget`."""
        check_namespace(namespace)
        stems = list(dict.fromkeys(self._stems.of(words(clip(check_query(query))))))
        with self._pool.writing() as db:
            found = tables.find(db, namespace, lock=True)
            if found is None:
                return 0
            going = {str(record.id): key for key, record in _with_every(db, found, stems).items()}
            writing.delete(db, found, going)
            earlier = self._earlier(db, found, stems)
            writing.blank(db, found, earlier)
        return len(going.keys() | earlier.keys())

    def holding(self, *, namespace: str, query: str) -> Holding:
        """See `Store.holding`."""
        check_namespace(namespace)
        stems = list(dict.fromkeys(self._stems.of(words(clip(check_query(query))))))
        with self._pool.reading() as db:
            found = tables.find(db, namespace)
            if found is None:
                return Holding(records=[], earlier={})
            records = [*_with_every(db, found, stems).values()]
            earlier = self._earlier(db, found, stems)
        going = {record.id for record in records}
        return Holding(
            records=records, earlier={id: len(numbers) for id, numbers in earlier.items() if id not in going}
        )

    def history(self, *, namespace: str, id: str) -> Changes:
        """See `Store.history`."""
        return self.histories(namespace=namespace, ids=[id]).get(id, [])

    def histories(self, *, namespace: str, ids: Iterable[str]) -> dict[str, Changes]:
        """See `Store.histories`."""
        check_namespace(namespace)
        asked = check_ids(ids)
        with self._pool.reading() as db:
            found = tables.find(db, namespace)
            return tables.histories(db, found, asked) if found is not None and asked else {}

    def restore(self, *, namespace: str, histories: Mapping[str, Sequence[Change]]) -> None:
        """See `Store.restore`."""
        check_namespace(namespace)
        events = [
            writing.Event(id, change.event, rows.microseconds(change.at), change.record)
            for id in check_ids(histories)
            for change in histories[id]
        ]
        with self._pool.writing() as db:
            found = tables.find(db, namespace, lock=True)
            if found is not None and events:
                writing.restore(db, found, events)

    def index(self) -> None:
        """See `Store.index`."""
        index_large(self._pool)

    def namespaces(self) -> Names:
        """See `Store.namespaces`."""
        with self._pool.reading() as db:
            return sorted(name for (name,) in tables.run(db, "SELECT name FROM namespaces WHERE live > 0"))

    def reindex(self, *, embedder: str | Embedder | None = None, progress: Progress | None = None) -> int:
        """See `Store.reindex`. A large namespace gets its index again."""
        check_embedder(embedder)
        target = embedders.load(embedder) if isinstance(embedder, str) else embedder or self._embedder.now()
        embedding.anew(target)
        count = reindex(self._pool, target, progress)
        self._embedder.replace(target)
        self.index()
        return count

    def vacuum(self) -> None:
        """See `Store.vacuum`. A namespace of 20,000 memories or more gets an HNSW index, if it has none."""
        vacuum(self._pool)
        self.index()

    def warm(self, *, namespace: str | None = None) -> None:
        """See `Store.warm`."""
        if namespace is not None:
            check_namespace(namespace)
        embedding.embed(self._embedder.now(), ["warm"])
        with self._pool.reading() as db:
            found = tables.find(db, namespace) if namespace is not None else None
            if found is not None:
                self._embedder.check(found.embedder)
                self._views.of(db, found)

    def close(self) -> None:
        """See `Store.close`."""
        self._pool.close()
        self._stems.close()
        self._views.clear()

    def _earlier(self, db: Connection, found: tables.Namespace, stems: Sequence[str]) -> dict[str, Numbers]:
        """The numbers of the events that left a version with every stem, which another followed, by id."""
        earlier: dict[str, Numbers] = {}
        wanted = set(stems)
        for id, number, record in tables.versions(db, found) if wanted else ():
            if wanted <= {*self._stems.of(words(rows.version_text(record)))}:
                earlier.setdefault(id, []).append(number)
        return earlier


def _with_every(db: Connection, found: tables.Namespace, stems: list[str]) -> dict[int, Record]:
    """The living memories with every stem, by key."""
    records = tables.by_keys(db, found, views.with_every(db, found, stems).tolist())
    gone = set(tables.expired(db, found, writing.now(), [str(record.id) for record in records.values()]).values())
    return {key: record for key, record in records.items() if key not in gone}
