"""An upsert into a SQLite store: what is new is embedded before the write lock is taken, then written in groups."""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple, Self

from . import embedding, events, postings, rows, tables
from .base import Record
from .embedders.base import Embedder
from .vectors import State

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


class Seen(NamedTuple):
    """What was there before the write lock was taken: the namespace's state, and what must be embedded, by digest."""

    state: State | None
    new: dict[bytes, str]


def look(db: tables.Database, namespace: str, records: Sequence[Record], said: Sequence[bytes]) -> Seen:
    """Which of the records are not there yet."""
    found = tables.find_namespace(db, namespace)
    new = {
        digest: rows.embedding_text(record)
        for record, digest in zip(records, said, strict=True)
        if found is None or not tables.is_known(db, found.id, digest)
    }
    return Seen(None if found is None else found.state, new)


class Upsert:
    """One call of upsert, inside its write transaction."""

    def __init__(
        self, db: tables.Database, found: tables.Namespace, embedder: Embedder, vectors: Vectors, seen: Seen
    ) -> None:
        self._db = db
        self._namespace_id = found.id
        unchanged = seen.state == found.state or (seen.state is None and not found.state.last_key)
        self._surely_new = seen.new if unchanged else {}
        self._embedder = embedder
        self._vectors = vectors
        self._now = rows.microseconds(datetime.now(UTC))
        self._waiting: list[tables.New] = []
        self._events: list[tuple[str, str, Record | None]] = []
        self._written: dict[bytes, Record] = {}
        self._waiting_ids: set[str] = set()

    def write(self, records: Sequence[Record], said: Sequence[bytes]) -> list[Record]:
        """Write the records, in order; what is stored in the end, in the same order."""
        with tables.room(self._db, len(records)):
            stored = [self._one(record, digest) for record, digest in zip(records, said, strict=True)]
            self._flush()
        return stored

    def _one(self, record: Record, said: bytes) -> Record:
        if record.id is None:
            same = None
            if said not in self._surely_new:
                same = tables.by_digest(self._db, self._namespace_id, said, self._now)
            if same is None:
                same = self._written.get(said)
            return same if same is not None else self._add(record, said, None)
        if record.id in self._waiting_ids:
            self._flush()
        old = tables.by_id(self._db, self._namespace_id, record.id)
        if old is None:
            return self._add(record, said, None)
        key, before = old
        expired = before.expires_at is not None and rows.microseconds(before.expires_at) <= self._now
        if not expired and rows.to_row(self._filled(record, before)) == rows.to_row(before):
            return before
        vector = self._vector(record, said)
        tables.remove(self._db, self._namespace_id, [key])
        gone = rows.digest(before)
        if gone in self._written and self._written[gone].id == before.id:
            del self._written[gone]
        return self._add(record, said, None if expired else before, vector)

    def _add(self, record: Record, said: bytes, before: Record | None, vector: bytes | None = None) -> Record:
        filled = self._filled(record, before)
        words = postings.indexed(self._namespace_id, filled)
        self._waiting.append(tables.New(filled, said, words, vector or self._vector(record, said)))
        if filled.expires_at is None or rows.microseconds(filled.expires_at) > self._now:
            self._written.setdefault(said, filled)
        self._waiting_ids.add(str(filled.id))
        self._events.append((str(filled.id), "added" if before is None else "updated", filled))
        if len(self._waiting) >= _GROUP:
            self._flush()
        return filled

    def _filled(self, record: Record, before: Record | None) -> Record:
        created = record.created_at or (before.created_at if before is not None else None) or rows.moment(self._now)
        return rows.stored(record, id=record.id or _new_id(), created_at=created.astimezone(UTC))

    def _vector(self, record: Record, said: bytes) -> bytes:
        vector = self._vectors.get(said) or tables.known_vector(self._db, self._namespace_id, said)
        if vector is None:
            # Another process deleted the equal memory since we looked.
            vector = embedding.embed(self._embedder, [rows.embedding_text(record)])[0].tobytes()
        return vector

    def _flush(self) -> None:
        tables.insert(self._db, self._namespace_id, self._waiting)
        events.note(self._db, self._namespace_id, self._now, self._events)
        self._waiting, self._events = [], []
        self._waiting_ids.clear()


def _new_id() -> str:
    """32 hexadecimal digits: the time, so that new ids stand together in the index, and 64 random bits."""
    return f"{time.time_ns():016x}{secrets.token_hex(8)}"
