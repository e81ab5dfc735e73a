"""An upsert into a SQLite store: what is new is embedded before the write lock is taken, then written in groups."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Self

from . import embedding, postings, rows, tables
from .base import Record
from .embedders.base import Embedder

_GROUP = 1024
"""Memories written by one round of statements."""
_EMBEDDED = 256
_HELD = 16 * 1024 * 1024


class Vectors:
    """Vectors by `rows.digest`, in memory up to 16 MB and then in a file without a name."""

    def __init__(self, dimension: int) -> None:
        self._size = dimension * 4
        self._places: dict[bytes, int] = {}
        self._file = tempfile.SpooledTemporaryFile(max_size=_HELD)  # noqa: SIM115 - closed at the end of the block

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def fill(self, embedder: Embedder, new: dict[bytes, str]) -> None:
        """Embed texts and keep their vectors. Raises EmbedderError."""
        digests, texts = list(new), list(new.values())
        for start in range(0, len(texts), _EMBEDDED):
            made = embedding.embed(embedder, texts[start : start + _EMBEDDED])
            for place, said in enumerate(digests[start : start + _EMBEDDED], start):
                self._places[said] = place * self._size
            self._file.write(made.tobytes())

    def get(self, said: bytes) -> bytes | None:
        """The vector of what is `said`, or None."""
        place = self._places.get(said)
        if place is None:
            return None
        self._file.seek(place)
        return self._file.read(self._size)


def unembedded(
    db: tables.Database, namespace: str, records: Sequence[Record], said: Sequence[bytes]
) -> dict[bytes, str]:
    """What an embedder must read of the records that are not there yet, by digest."""
    found = tables.find_namespace(db, namespace)
    return {
        digest: rows.embedding_text(record)
        for record, digest in zip(records, said, strict=True)
        if found is None or not tables.is_known(db, found.id, digest)
    }


class Upsert:
    """One call of upsert, inside its write transaction."""

    def __init__(self, db: tables.Database, namespace_id: int, embedder: Embedder, vectors: Vectors) -> None:
        self._db = db
        self._namespace_id = namespace_id
        self._embedder = embedder
        self._vectors = vectors
        self._now = rows.microseconds(datetime.now(UTC))
        self._waiting: list[tables.New] = []
        self._waiting_by_digest: dict[bytes, Record] = {}
        self._waiting_ids: set[str] = set()

    def write(self, records: Sequence[Record], said: Sequence[bytes]) -> list[Record]:
        """Write the records, in order; what is stored in the end, in the same order."""
        stored = [self._one(record, digest) for record, digest in zip(records, said, strict=True)]
        self._flush()
        return stored

    def _one(self, record: Record, said: bytes) -> Record:
        if record.id is None:
            same = self._waiting_by_digest.get(said) or tables.by_digest(self._db, self._namespace_id, said, self._now)
            return same if same is not None else self._add(record, said, None)
        if record.id in self._waiting_ids:
            self._flush()
        self._remove(tables.expired_with_id(self._db, self._namespace_id, record.id, self._now))
        old = tables.by_ids(self._db, self._namespace_id, [record.id], self._now).get(record.id)
        if old is None:
            return self._add(record, said, None)
        key, before = old
        if rows.to_row(self._filled(record, before)) == rows.to_row(before):
            return before
        vector = self._vector(record, said)
        self._remove([key])
        return self._add(record, said, before, vector)

    def _add(self, record: Record, said: bytes, before: Record | None, vector: bytes | None = None) -> Record:
        filled = self._filled(record, before)
        words = postings.indexed(self._namespace_id, filled)
        self._waiting.append(tables.New(filled, said, words, vector or self._vector(record, said)))
        self._waiting_by_digest.setdefault(said, filled)
        self._waiting_ids.add(str(filled.id))
        event = "added" if before is None else "updated"
        tables.note(self._db, self._namespace_id, str(filled.id), self._now, event, filled)
        if len(self._waiting) >= _GROUP:
            self._flush()
        return filled

    def _filled(self, record: Record, before: Record | None) -> Record:
        created = record.created_at or (before.created_at if before is not None else None) or rows.moment(self._now)
        return replace(record, id=record.id or uuid.uuid4().hex, created_at=created.astimezone(UTC))

    def _vector(self, record: Record, said: bytes) -> bytes:
        vector = self._vectors.get(said) or tables.known_vector(self._db, self._namespace_id, said)
        if vector is None:
            # Another process deleted the equal memory since we looked.
            vector = embedding.embed(self._embedder, [rows.embedding_text(record)])[0].tobytes()
        return vector

    def _remove(self, keys: list[int]) -> None:
        if keys:
            tables.remove(self._db, self._namespace_id, keys)

    def _flush(self) -> None:
        tables.insert(self._db, self._namespace_id, self._waiting)
        self._waiting = []
        self._waiting_by_digest.clear()
        self._waiting_ids.clear()
