"""What a PostgreSQL store needs now and then: an index for a large namespace, and the room of what was deleted."""

from __future__ import annotations

from typing import Any, cast

from psycopg import Connection

from . import postgresql_vectors as near
from . import postgresql_writing as writing
from .embedding import dimension_in
from .errors import OpenError
from .postgresql_pool import Pool
from .postgresql_schema import BUCKETS
from .postgresql_tables import Namespace, expired, find, meta, run

_INDEXING = "hashtextextended('firsthand index ' || current_schema(), 0)"


def index_large(pool: Pool) -> int:
    """Make an HNSW index for every namespace that is large and has none; return how many there are now.

    Other processes read and write meanwhile. An index that a crash left unfinished is made anew.
    """
    with pool.reading() as db:
        names = run(db, "SELECT name FROM namespaces WHERE live >= %s ORDER BY bucket, id", (near.EXACT_BELOW,))
        large = [found for (name,) in names if (found := find(db, name)) is not None]
        large = [found for found in large if 0 < dimension_in(found.embedder) <= near.MOST_COMPONENTS]
        missing = [found for found in large if near.index_of(db, found, dimension_in(found.embedder)) is None]
    if missing:
        with pool.bare() as db:
            run(db, f"SELECT pg_advisory_lock({_INDEXING})")
            for found in missing:
                _index(db, found, dimension_in(found.embedder))
    return len(large)


def drop_stale(pool: Pool) -> None:
    """Remove vectors and indexes of embedders that are no longer in use, and indexes of what is large no more.

    Nobody writes vectors of an older generation than the one in use, and what a reindex makes is of a newer one.
    """
    for bucket in range(BUCKETS):
        with pool.writing() as db:
            used = int(meta(db, "generation") or 0)
            run(db, f"DELETE FROM vectors WHERE bucket = {bucket} AND generation < %s", (used,))  # noqa: S608
    with pool.reading() as db:
        names = run(db, "SELECT name FROM namespaces WHERE live >= %s", (near.EXACT_BELOW // 2,))
        kept = {near.index_name(found) for (name,) in names if (found := find(db, name)) is not None}
        there = run(
            db,
            r"SELECT indexname::text FROM pg_indexes WHERE schemaname = current_schema() AND indexname LIKE 'near\_%%'",
        )
    stale = [name for (name,) in there if name not in kept]
    if stale:
        with pool.bare() as db:
            run(db, f"SELECT pg_advisory_lock({_INDEXING})")
            for name in stale:
                run(db, f'DROP INDEX CONCURRENTLY IF EXISTS "{name}"')


def vacuum(pool: Pool) -> None:
    """Delete what has expired and the notes of what was removed, and give the room of all of it back.

    The tables with texts are written anew, a partition at a time, in which nobody else can read that partition.
    Raises OpenError if the role does not own them.
    """
    with pool.reading() as db:
        names = [name for (name,) in run(db, "SELECT name FROM namespaces ORDER BY bucket, name")]
    for name in names:
        with pool.writing() as db:
            found = find(db, name, lock=True)
            if found is None:
                continue
            writing.delete(db, found, expired(db, found, writing.now()))
            run(db, f"DELETE FROM removed WHERE {found.rows}", (found.id,))  # noqa: S608
            run(
                db,
                f"UPDATE namespaces SET epoch = epoch + 1 WHERE bucket = {found.bucket} AND id = %s",  # noqa: S608
                (found.id,),
            )
    refused: list[str | None] = []
    with pool.bare() as db:
        # To PostgreSQL a table that the role may not vacuum is a warning.
        db.add_notice_handler(
            lambda said: refused.append(said.message_primary) if said.severity_nonlocalized == "WARNING" else None
        )
        for bucket in range(BUCKETS):
            for table in ("memories", "postings", "history"):
                run(db, f"VACUUM (FULL, ANALYZE) {table}_{bucket:02}")
            for table in ("vectors", "removed", "namespaces"):
                run(db, f"VACUUM (ANALYZE) {table}_{bucket:02}")
            # Rewritten tables are read through their indexes alone only after a second look.
            for table in ("memories", "postings"):
                run(db, f"VACUUM {table}_{bucket:02}")
    if refused:
        raise OpenError(f"the role may not vacuum the tables of {pool.shown}; do it as their owner")
    drop_stale(pool)


def _index(db: Connection, found: Namespace, dimension: int) -> None:
    name, kind = near.index_name(found), near.index_cast(dimension)
    if near.index_of(db, found, dimension) is not None:
        return
    run(db, f'DROP INDEX IF EXISTS "{name}"')
    run(db, "SET maintenance_work_mem = '512MB'")
    statement = (
        f'CREATE INDEX CONCURRENTLY "{name}" ON vectors_{found.bucket:02}'
        f" USING hnsw ((vector::{kind}) {kind.partition('(')[0]}_ip_ops)"
        f" WITH (ef_construction = 128) WHERE namespace_id = {found.id} AND generation = {found.generation}"
    )
    db.execute(cast(Any, statement))
    # Until a server has counted them itself, it plans for a few rows.
    run(db, f"ANALYZE memories_{found.bucket:02}, vectors_{found.bucket:02}, postings_{found.bucket:02}")
