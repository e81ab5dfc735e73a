"""Every memory of a SQLite store embedded again: in groups, each kept, so that it can stop and go on at any of them.

The new vectors wait in `pending`, where no search reads them, and take the old ones' place in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import embedding, rows, tables
from .base import Progress, Record
from .connections import Connections
from .embedders.base import Embedder
from .errors import BusyError

_GROUP = 128


def reindex(connections: Connections, target: Embedder, progress: Progress | None) -> int:
    """Embed what is not in `pending` yet, then put it all in place; return how many memories there are."""
    name = embedding.fingerprint(target)
    with connections.writing() as db:
        if tables.meta(db, "reindex") != name:
            db.execute("DELETE FROM pending")
            tables.set_meta(db, "reindex", name)
        done = int(db.execute("SELECT count(*) FROM pending").fetchone()[0])
        total = int(db.execute("SELECT count(*) FROM memories").fetchone()[0])
    while True:
        with connections.reading() as db:
            group = _missing(db)
        vectors = _embed(target, group)
        with connections.writing() as db:
            if tables.meta(db, "reindex") != name:
                return _overtaken(db, connections, name)
            if not group:
                return _finish(db, target)
            _keep(db, group, vectors)
        done += len(group)
        if progress is not None:
            progress(min(done, total), total)


def _overtaken(db: tables.Database, connections: Connections, name: str) -> int:
    """Another process finished the same reindex, or began another one, whose vectors are not ours to put in place."""
    if tables.meta(db, "embedder") != name or tables.meta(db, "reindex") is not None:
        raise BusyError(f"another process reindexes {connections.path} with another embedder; let it end, or try again")
    return int(db.execute("SELECT count(*) FROM vectors").fetchone()[0])


def _missing(db: tables.Database) -> list[tuple[int, Record]]:
    statement = (
        f"SELECT memories.key, {tables.COLUMNS} FROM memories LEFT JOIN pending USING (key)"  # noqa: S608
        " WHERE pending.key IS NULL ORDER BY memories.key LIMIT ?"
    )
    return [(key, rows.from_row(row)) for key, *row in db.execute(statement, (_GROUP,))]


def _embed(target: Embedder, group: Sequence[tuple[int, Record]]) -> list[bytes]:
    if not group:
        return []
    return [row.tobytes() for row in embedding.embed(target, [rows.embedding_text(record) for _, record in group])]


def _keep(db: tables.Database, group: Sequence[tuple[int, Record]], vectors: Sequence[bytes]) -> None:
    # A memory that was deleted in the meantime leaves no vector here.
    db.executemany(
        "INSERT OR REPLACE INTO pending (key, vector, checksum) SELECT key, ?2, ?3 FROM memories WHERE key = ?1",
        tables.vector_values([key for key, _ in group], vectors),
    )


def _finish(db: tables.Database, target: Embedder) -> int:
    while group := _missing(db):
        _keep(db, group, _embed(target, group))
    # In a store that was damaged.
    db.execute("DELETE FROM vectors WHERE NOT EXISTS (SELECT 1 FROM memories WHERE memories.key = vectors.key)")
    db.execute(
        "UPDATE vectors SET (vector, checksum) ="
        " (SELECT pending.vector, pending.checksum FROM pending WHERE pending.key = vectors.key)"
    )
    db.execute("DELETE FROM pending")
    tables.new_epoch(db)
    embedding.record(db, target)
    db.execute("DELETE FROM meta WHERE name = 'reindex'")
    return int(db.execute("SELECT count(*) FROM vectors").fetchone()[0])
