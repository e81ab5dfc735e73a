"""Every memory of a PostgreSQL store embedded again: in groups, each kept, so that it can stop and go on at any.

The new vectors are of a generation of their own, which no search reads until all are there; then one number changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from psycopg import Connection

from . import embedding, rows
from . import postgresql_tables as tables
from .base import Progress
from .embedders.base import Embedder
from .errors import BusyError
from .postgresql_embedding import record
from .postgresql_pool import Pool
from .postgresql_upkeep import drop_stale
from .postgresql_writing import packed

_GROUP = 256
_MISSING = (
    f"SELECT bucket, namespace_id, key, {tables.COLUMNS} FROM memories"  # noqa: S608
    " WHERE (bucket, namespace_id, key) > (%s::smallint, %s, %s) AND bucket = %s::smallint AND NOT EXISTS ("
    "SELECT 1 FROM vectors WHERE vectors.bucket = memories.bucket AND vectors.namespace_id = memories.namespace_id"
    " AND vectors.key = memories.key AND generation = %s) ORDER BY bucket, namespace_id, key LIMIT %s"
)


class _Place(NamedTuple):
    bucket: int
    namespace_id: int
    key: int


def reindex(pool: Pool, target: Embedder, progress: Progress | None) -> int:
    """Embed what is not embedded by `target` yet, then use it; return how many memories there are."""
    name = embedding.fingerprint(target)
    with pool.writing() as db:
        tables.change_embedder(db)
        generation = _begin(db, name)
        [(done,)] = tables.run(db, "SELECT count(*) FROM vectors WHERE generation = %s", (generation,))
        [(total,)] = tables.run(db, "SELECT count(*) FROM memories")
    for group in _groups(pool, generation):
        vectors = _embed(target, group)
        with pool.writing() as db:
            if tables.meta(db, "reindex") != name:
                return _overtaken(db, pool, name)
            _keep(db, generation, group, vectors)
        done += len(group)
        if progress is not None:
            progress(min(done, total), total)
    with pool.writing() as db:
        tables.change_embedder(db)
        if tables.meta(db, "reindex") != name:
            return _overtaken(db, pool, name)
        for group in _missing(db, generation):
            _keep(db, generation, group, _embed(target, group))
        record(db, target, generation)
        tables.run(db, "DELETE FROM meta WHERE name IN ('reindex', 'reindex_generation')")
        count = _count(db)
    drop_stale(pool)
    return count


def _begin(db: Connection, name: str) -> int:
    """The generation of the reindex: that of one that was interrupted, if it was with the same embedder."""
    waiting = tables.meta(db, "reindex_generation")
    if waiting is not None and tables.meta(db, "reindex") == name:
        return int(waiting)
    if waiting is not None:
        tables.run(db, "DELETE FROM vectors WHERE generation = %s", (int(waiting),))
    [(last,)] = tables.run(
        db, "SELECT max(value::integer) FROM meta WHERE name IN ('generation', 'reindex_generation')"
    )
    tables.set_meta(db, "reindex", name)
    tables.set_meta(db, "reindex_generation", str(last + 1))
    return int(last) + 1


def _overtaken(db: Connection, pool: Pool, name: str) -> int:
    """Another process finished the same reindex, or began another one, whose vectors are not ours to put in place."""
    if tables.meta(db, "embedder") != name or tables.meta(db, "reindex") is not None:
        raise BusyError(f"another process reindexes {pool.shown} with another embedder; let it end, or try again")
    return _count(db)


def _groups(pool: Pool, generation: int) -> Iterator[Sequence[tuple[Any, ...]]]:
    """The memories without a vector of `generation`, each group read in a transaction of its own."""
    for bucket in range(tables.BUCKETS):
        place = _Place(bucket, 0, 0)
        while True:
            with pool.reading() as db:
                group = tables.run(db, _MISSING, (*place, bucket, generation, _GROUP))
            if not group:
                break
            yield group
            place = _Place(*group[-1][:3])


def _missing(db: Connection, generation: int) -> Iterator[Sequence[tuple[Any, ...]]]:
    """The same, all in one transaction, in which nobody else writes vectors."""
    for bucket in range(tables.BUCKETS):
        while group := tables.run(db, _MISSING, (bucket, 0, 0, bucket, generation, _GROUP)):
            yield group


def _embed(target: Embedder, group: Sequence[tuple[Any, ...]]) -> list[bytes]:
    texts = [rows.embedding_text(rows.from_row(row[3:])) for row in group]
    return [packed(row.tobytes()) for row in embedding.embed(target, texts)]


def _keep(db: Connection, generation: int, group: Sequence[tuple[Any, ...]], vectors: Sequence[bytes]) -> None:
    """Keep vectors of memories that are still there."""
    places = sorted({(row[0], row[1]) for row in group})
    # Whoever deletes a memory holds the same lock: no vector is left behind.
    for bucket, namespace_id in places:
        statement = f"SELECT 1 FROM namespaces WHERE bucket = {bucket} AND id = %s FOR UPDATE"  # noqa: S608
        tables.run(db, statement, (namespace_id,))
        mine = [
            (row[2], vector) for row, vector in zip(group, vectors, strict=True) if row[:2] == (bucket, namespace_id)
        ]
        there = {
            key
            for (key,) in tables.run(
                db,
                f"SELECT key FROM memories WHERE bucket = {bucket} AND namespace_id = %s AND key = ANY(%s::bigint[])"  # noqa: S608
                f" AND NOT EXISTS (SELECT 1 FROM vectors WHERE bucket = {bucket} AND namespace_id = %s"
                " AND vectors.key = memories.key AND generation = %s)",
                (namespace_id, [key for key, _ in mine], namespace_id, generation),
            )
        }
        tables.copy(
            db,
            "vectors",
            ("int2", "int4", "int4", "int8", "bytea"),
            ((bucket, namespace_id, generation, key, vector) for key, vector in mine if key in there),
        )


def _count(db: Connection) -> int:
    [(count,)] = tables.run(db, "SELECT count(*) FROM memories")
    return int(count)
