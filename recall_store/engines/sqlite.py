"""The embedded engine: one SQLite file (WAL, FTS5), and a folder of vector files beside it.

The database is the truth; a write of text, words and vector is one transaction. The vector files follow it.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import numpy as np

from .. import embedders, rows, tables
from ..base import Changes, Match, Matches, Names, Progress, Record, Records, Store, check_ids, check_namespace
from ..connections import Connections
from ..embedders.base import Embedder
from ..errors import EmbedderError, EmbedderMismatchError, UrlError
from ..filters import Filter, parse
from ..guard import check_record
from ..ranking import fuse
from ..text import clip, too_short, words
from ..vectors import Floats, Keys, Mask, NamespaceVectors, View, unit

BY_WORDS, BY_VECTORS = 100, 200
"""Rows taken from each side before they are ranked together."""
OPEN_NAMESPACES = 256
"""Namespaces whose vectors stay in memory (40 bytes a memory, and its mapped file)."""
_BATCH = 128


def connect(url: str, embedder: str | Embedder | None) -> SqliteStore:
    """Open `sqlite:///relative.db` or `sqlite:////absolute/path.db`. See `recall_store.open_store`."""
    host, separator, path = url.removeprefix("sqlite://").partition("/")
    if host or not separator or not path.strip("/") or path == ":memory:" or "\0" in path:
        raise UrlError("the store URL names no file; write sqlite:///relative.db or sqlite:////absolute/path.db")
    return SqliteStore(Path(path), embedder)


class SqliteStore(Store):
    """See `recall_store.Store` for the contract."""

    def __init__(self, path: Path, embedder: str | Embedder | None = None) -> None:
        wanted = embedders.load(embedder) if isinstance(embedder, str) else embedder
        self._connections = Connections(path.absolute())
        self._folder = path.absolute().with_name(path.name + "-vectors")
        self._vectors: OrderedDict[int, NamespaceVectors] = OrderedDict()
        self._mutex = threading.RLock()
        self._embedder = wanted
        try:
            self._record_embedder(wanted)
        except BaseException:
            self._connections.close()
            raise

    def upsert(self, *, namespace: str, records: Iterable[Record]) -> Records:
        """See `Store.upsert`."""
        check_namespace(namespace)
        given = list(records)
        for record in given:
            check_record(record)
        said = [rows.digest(record) for record in given]
        if not given:
            return []
        vectors = self._embed_new(namespace, given, said)
        with self._connections.writing() as db:
            self._check_embedder(tables.meta(db, "embedder"))
            found = tables.make_namespace(db, namespace)
            return [
                self._upsert_one(db, found.id, record, digest, vectors)
                for record, digest in zip(given, said, strict=True)
            ]

    def search(self, *, namespace: str, query: str, top_k: int = 5, where: Mapping[str, Any] | None = None) -> Matches:
        """See `Store.search`."""
        check_namespace(namespace)
        chosen = parse(where)
        asked = clip(query)
        if top_k < 1 or too_short(asked):
            return []
        with self._connections.reading() as db:
            found = tables.find_namespace(db, namespace)
            if found is None or not found.state.live:
                return []
            embedder = self._check_embedder(found.embedder)
            top_k = min(top_k, found.state.live)
            now = _now()
            expired = tables.expired_keys(db, found.id, now)
            hits = tables.lexical(
                db,
                found.id,
                words(asked),
                count=max(BY_WORDS, 2 * top_k),
                now=now,
                chosen=chosen if expired or not chosen.any else None,
            )
            only = None if chosen.any else tables.allowed_keys(db, found.id, chosen, now)
            view = self._view(db, found)
            vector = self._unit(embedder, [asked])[0]
            without = np.array(expired, np.int64) if expired else None
            near, cosines = view.nearest(vector, max(BY_VECTORS, 2 * top_k), only=only, without=without)
            keys = np.array([key for key, _ in hits], np.int64)
            other = ~_among(near, keys)
            ranked = fuse(
                keys=np.concatenate([keys, near[other]]),
                lexical=np.concatenate([np.array([score for _, score in hits]), np.zeros(int(other.sum()))]),
                cosine=np.concatenate([view.cosines(keys, vector), cosines[other]]),
                weight=embedder.weight,
                floor=embedder.floor,
                top_k=top_k,
            )
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
            records = tables.by_ids(db, found.id, asked, now)
            self._delete(db, found.id, {id: key for id, (key, _) in records.items()}, now)
        return len(records)

    def forget(self, *, namespace: str, query: str) -> int:
        """See `Store.forget`."""
        check_namespace(namespace)
        with self._connections.writing() as db:
            found = tables.find_namespace(db, namespace)
            if found is None:
                return 0
            now = _now()
            hits = tables.lexical(db, found.id, words(clip(query)), count=-1, now=now, chosen=Filter(), every=True)
            records = {record.id: key for key, record in tables.by_keys(db, [key for key, _ in hits]).items()}
            self._delete(db, found.id, {str(id): key for id, key in records.items()}, now)
        return len(records)

    def history(self, *, namespace: str, id: str) -> Changes:
        """See `Store.history`."""
        check_namespace(namespace)
        asked = check_ids([id])
        with self._connections.reading() as db:
            found = tables.find_namespace(db, namespace)
            return tables.read_history(db, found.id, asked[0]) if found is not None and asked else []

    def namespaces(self) -> Names:
        """See `Store.namespaces`."""
        with self._connections.reading() as db:
            return [name for (name,) in db.execute("SELECT name FROM namespaces WHERE live > 0 ORDER BY name")]

    def reindex(self, *, embedder: str | Embedder | None = None, progress: Progress | None = None) -> int:
        """See `Store.reindex`."""
        target = embedders.load(embedder) if isinstance(embedder, str) else embedder or self._embedder_now()
        name = _fingerprint(target)
        with self._connections.writing() as db:
            if tables.meta(db, "reindex") != name:
                db.execute("DELETE FROM pending")
                tables.set_meta(db, "reindex", name)
            done = int(db.execute("SELECT count(*) FROM pending").fetchone()[0])
            total = int(db.execute("SELECT count(*) FROM memories").fetchone()[0])
        while True:
            with self._connections.reading() as db:
                batch = tables.without_pending(db, _BATCH)
            with self._connections.writing() as db:
                if not batch:
                    return self._finish_reindex(db, target)
                tables.save_pending(db, self._embed_batch(target, batch))
            done += len(batch)
            if progress is not None:
                progress(min(done, total), total)

    def vacuum(self) -> None:
        """See `Store.vacuum`."""
        with self._connections.writing() as db:
            now = _now()
            for (namespace_id,) in db.execute("SELECT id FROM namespaces").fetchall():
                expired = tables.by_keys(db, tables.expired_keys(db, namespace_id, now))
                self._delete(db, namespace_id, {str(record.id): key for key, record in expired.items()}, now)
            tables.new_epoch(db)
            db.execute("INSERT INTO words (words) VALUES ('optimize')")
        with self._connections.bare() as db:
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        for path in self._folder.glob("*.vectors"):
            with contextlib.suppress(OSError):
                path.unlink()

    def warm(self, *, namespace: str | None = None) -> None:
        """See `Store.warm`."""
        if namespace is not None:
            check_namespace(namespace)
        self._unit(self._embedder_now(), ["warm"])
        with self._connections.reading() as db:
            found = tables.find_namespace(db, namespace) if namespace is not None else None
            if found is not None:
                self._check_embedder(found.embedder)
                self._view(db, found)

    def close(self) -> None:
        """See `Store.close`."""
        self._connections.close()
        with self._mutex:
            self._vectors.clear()

    def _upsert_one(
        self, db: Connection, namespace_id: int, record: Record, digest: bytes, vectors: dict[bytes, bytes]
    ) -> Record:
        now = _now()
        vector = vectors.get(digest) or tables.known_vector(db, namespace_id, digest)
        old: tuple[int, Record] | None = None
        if record.id is None:
            same = tables.by_digest(db, namespace_id, digest, now)
            if same is not None:
                return same
        else:
            tables.remove(db, namespace_id, tables.expired_with_id(db, namespace_id, record.id, now))
            old = tables.by_ids(db, namespace_id, [record.id], now).get(record.id)
        created = record.created_at or (old[1].created_at if old is not None else rows.moment(now))
        filled = replace(record, id=record.id or uuid.uuid4().hex, created_at=_utc(created))
        if old is not None:
            if rows.to_row(filled) == rows.to_row(old[1]):
                return old[1]
            tables.remove(db, namespace_id, [old[0]])
        if vector is None:
            # Another process deleted the equal memory since we looked.
            vector = self._unit(self._embedder_now(), [rows.embedding_text(record)])[0].tobytes()
        tables.insert(db, namespace_id, filled, digest, vector)
        tables.note(db, namespace_id, str(filled.id), now, "added" if old is None else "updated", filled)
        return filled

    def _embed_new(self, namespace: str, records: Sequence[Record], said: Sequence[bytes]) -> dict[bytes, bytes]:
        """Vectors for the records that are not there yet, before the write lock is taken: an embedder may be slow."""
        with self._connections.reading() as db:
            self._check_embedder(tables.meta(db, "embedder"))
            found = tables.find_namespace(db, namespace)
            new = {
                digest: rows.embedding_text(record)
                for record, digest in zip(records, said, strict=True)
                if found is None or tables.known_vector(db, found.id, digest) is None
            }
        texts = list(new.values())
        vectors: list[bytes] = []
        for start in range(0, len(texts), _BATCH):
            vectors.extend(row.tobytes() for row in self._unit(self._embedder_now(), texts[start : start + _BATCH]))
        return dict(zip(new, vectors, strict=True))

    def _delete(self, db: Connection, namespace_id: int, keys: Mapping[str, int], now: int) -> None:
        tables.remove(db, namespace_id, keys.values())
        for id in keys:
            tables.forget_history(db, namespace_id, id)
            tables.note(db, namespace_id, id, now, "deleted", None)

    def _embed_batch(self, embedder: Embedder, batch: Sequence[tuple[int, Record]]) -> Iterable[tuple[int, bytes]]:
        vectors = self._unit(embedder, [rows.embedding_text(record) for _, record in batch])
        return [(key, vector.tobytes()) for (key, _), vector in zip(batch, vectors, strict=True)]

    def _finish_reindex(self, db: Connection, target: Embedder) -> int:
        while batch := tables.without_pending(db, _BATCH):
            tables.save_pending(db, self._embed_batch(target, batch))
        count = tables.use_pending(db)
        tables.set_meta(db, "embedder", _fingerprint(target))
        tables.set_meta(db, "embedder_name", target.name)
        db.execute("DELETE FROM meta WHERE name = 'reindex'")
        with self._mutex:
            self._embedder = target
            self._vectors.clear()
        return count

    def _view(self, db: Connection, found: tables.Namespace) -> View:
        embedder = self._embedder_now()
        with self._mutex:
            vectors = self._vectors.get(found.id)
            if vectors is None:
                path = self._folder / f"{found.id}.vectors"
                vectors = NamespaceVectors(path, _fingerprint(embedder), embedder.dimension)
                self._vectors[found.id] = vectors
            self._vectors.move_to_end(found.id)
            while len(self._vectors) > OPEN_NAMESPACES:
                self._vectors.popitem(last=False)
        return vectors.view(found.state, tables.source(db, found.id))

    def _record_embedder(self, wanted: Embedder | None) -> None:
        with self._connections.reading() as db:
            recorded = tables.meta(db, "embedder")
        if recorded is None:
            chosen = wanted or embedders.load(embedders.DEFAULT)
            with self._connections.writing() as db:
                recorded = tables.meta(db, "embedder")
                if recorded is None:
                    recorded = _fingerprint(chosen)
                    tables.set_meta(db, "embedder", recorded)
                    tables.set_meta(db, "embedder_name", chosen.name)
        if wanted is not None:
            self._check_embedder(recorded)

    def _embedder_now(self) -> Embedder:
        """The embedder in use; the recorded one is loaded when it is first needed, so that `reindex` can replace it."""
        with self._mutex:
            if self._embedder is None:
                with self._connections.reading() as db:
                    name = tables.meta(db, "embedder_name") or embedders.DEFAULT
                try:
                    self._embedder = embedders.load(name)
                except UrlError:
                    raise EmbedderError(
                        f"the store {self._connections.path} was built with an embedder that is not in "
                        "recall_store.embedders; pass it to open_store, or call reindex with another"
                    ) from None
            return self._embedder

    def _check_embedder(self, recorded: str | None) -> Embedder:
        embedder = self._embedder_now()
        if recorded != _fingerprint(embedder):
            raise EmbedderMismatchError(
                f"the store {self._connections.path} was built with embedder {recorded}, not {_fingerprint(embedder)}; "
                "open it with that one, or call reindex"
            )
        return embedder

    def _unit(self, embedder: Embedder, texts: Sequence[str]) -> Floats:
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


def _fingerprint(embedder: Embedder) -> str:
    return f"{embedder.id} ({embedder.dimension})"


def _among(keys: Keys, of: Keys) -> Mask:
    """Which of the `keys` are among `of`; several times faster than np.isin for a few hundred."""
    if not len(of):
        return np.zeros(len(keys), bool)
    ordered = np.sort(of)
    return np.equal(ordered[np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)], keys)


def _now() -> int:
    return rows.microseconds(datetime.now(UTC))


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC)
