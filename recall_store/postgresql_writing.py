"""Writing into one namespace of a PostgreSQL store, which is locked meanwhile: nobody else writes into it."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from pgvector import Vector
from psycopg import Connection

from . import embedding, rows
from .base import Record
from .embedders.base import Embedder
from .postgresql_tables import Namespace, by_digests, by_ids, copy, expired, known_vectors, run
from .stems import Stems
from .text import words
from .writing import Vectors

TITLE_BITS, DESCRIPTION_BITS, BITS = 42, 21, 21
"""Where `postings.often` keeps how often a word is in the title and in the description; in the text: the last bits."""

_GROUP = 2048
"""Memories written by one round of statements."""
_MEMORY_TYPES = (
    *("int2", "int4", "int8"),
    *("text",) * 8,
    *("int8", "int8", "bytea", "int8", "float8", "int4", "int4", "text[]"),
)


class New(NamedTuple):
    """A memory to be written: its key, `rows.digest` and vector, as pgvector takes it."""

    key: int
    record: Record
    said: bytes
    vector: bytes


class Event(NamedTuple):
    """One event of a history; `at` is in microseconds since 1970."""

    id: str
    event: str
    at: int
    record: Record | None


def now() -> int:
    """This moment, in microseconds since 1970."""
    return rows.microseconds(datetime.now(UTC))


def unembedded(
    db: Connection, found: Namespace | None, records: Sequence[Record], said: Sequence[bytes]
) -> dict[bytes, str]:
    """What an embedder must read of the records that are not there yet, by digest."""
    known: set[bytes] = set()
    if found is not None:
        statement = f"SELECT DISTINCT digest FROM memories WHERE {found.rows} AND digest = ANY(%s)"  # noqa: S608
        known = {bytes(digest) for (digest,) in run(db, statement, (found.id, list(said)))}
    return {
        digest: rows.embedding_text(record) for record, digest in zip(records, said, strict=True) if digest not in known
    }


class Upsert:
    """One call of upsert, inside its transaction, with the namespace locked."""

    def __init__(self, db: Connection, found: Namespace, embedder: Embedder, vectors: Vectors, stems: Stems) -> None:
        self._db = db
        self._found = found
        self._embedder = embedder
        self._vectors = vectors
        self._stems = stems
        self._now = now()
        self._key = self._written = found.last_key
        self._new: dict[int, New] = {}
        self._gone: set[int] = set()
        self._going: list[int] = []
        self._events: list[Event] = []

    def write(self, records: Sequence[Record], said: Sequence[bytes]) -> list[Record]:
        """Write the records, in order; what is stored in the end, in the same order."""
        ids = list(dict.fromkeys(record.id for record in records if record.id is not None))
        self._go(expired(self._db, self._found, self._now, ids).values() if ids else ())
        self._by_id = by_ids(self._db, self._found, ids, self._now) if ids else {}
        self._by_digest = by_digests(self._db, self._found, said, self._now)
        self._known = known_vectors(self._db, self._found, said)
        stored = [self._one(record, digest) for record, digest in zip(records, said, strict=True)]
        self._flush()
        return stored

    def _one(self, record: Record, said: bytes) -> Record:
        if record.id is None:
            same = next((one for key, one in self._by_digest.get(said, ()) if self._is_there(key)), None)
            return same if same is not None else self._add(record, said, None)
        old = self._by_id.get(record.id)
        if old is None:
            return self._add(record, said, None)
        key, before = old
        if rows.to_row(self._filled(record, before)) == rows.to_row(before):
            return before
        if self._new.pop(key, None) is None:
            self._go([key])
        return self._add(record, said, before)

    def _add(self, record: Record, said: bytes, before: Record | None) -> Record:
        filled = self._filled(record, before)
        self._key += 1
        self._new[self._key] = New(self._key, filled, said, self._vector(record, said))
        self._by_id[str(filled.id)] = (self._key, filled)
        self._by_digest.setdefault(said, []).append((self._key, filled))
        event = "added" if before is None else "updated"
        self._events.append(Event(str(filled.id), event, self._now, filled))
        if len(self._new) >= _GROUP:
            self._flush()
        return filled

    def _go(self, keys: Iterable[int]) -> None:
        going = list(keys)
        self._going.extend(going)
        self._gone.update(going)

    def _is_there(self, key: int) -> bool:
        return key in self._new or (key <= self._written and key not in self._gone)

    def _flush(self) -> None:
        remove(self._db, self._found, self._going)
        insert(self._db, self._found, list(self._new.values()), self._stems)
        note(self._db, self._found, self._events)
        self._going, self._events, self._written = [], [], self._key
        self._new.clear()

    def _filled(self, record: Record, before: Record | None) -> Record:
        created = record.created_at or (before.created_at if before is not None else None) or rows.moment(self._now)
        return rows.stored(record, id=record.id or uuid.uuid4().hex, created_at=created.astimezone(UTC))

    def _vector(self, record: Record, said: bytes) -> bytes:
        if said in self._known:
            return self._known[said]
        raw = self._vectors.get(said)
        if raw is None:
            # Another process deleted the equal memory since we looked.
            raw = embedding.embed(self._embedder, [rows.embedding_text(record)])[0].tobytes()
        return packed(raw)


def packed(raw: bytes) -> bytes:
    """A vector of float32 bytes as pgvector takes it."""
    return Vector(np.frombuffer(raw, "<f4")).to_binary()


def insert(db: Connection, found: Namespace, added: Sequence[New], stems: Stems) -> None:
    """Write new memories: their rows, words and vectors. Their keys are greater than every other's."""
    if not added:
        return
    here = (found.bucket, found.id)
    memories: list[tuple[Any, ...]] = []
    postings: list[tuple[Any, ...]] = []
    for new in added:
        often, length, text_length = indexed(new.record, stems)
        session, position = rows.neighbourhood(new.record)
        memories.append(
            (*here, new.key, *rows.to_row(new.record), new.said, session, position, length, text_length, list(often))
        )
        postings.extend((*here, term, new.key, count) for term, count in often.items())
    columns = f"bucket, namespace_id, key, {', '.join(rows.COLUMNS)}, digest, session, position, length, text_length"
    copy(db, f"memories ({columns}, terms)", _MEMORY_TYPES, memories)
    copy(db, "postings", ("int2", "int4", "text", "int8", "int8"), postings)
    vectors = ((*here, found.generation, new.key, new.vector) for new in added)
    copy(db, "vectors", ("int2", "int4", "int4", "int8", "bytea"), vectors)
    run(
        db,
        f"UPDATE namespaces SET next_key = %s, live = live + %s WHERE bucket = {found.bucket} AND id = %s",  # noqa: S608
        (added[-1].key + 1, len(added), found.id),
    )


def index_anew(db: Connection, bucket: int, namespace_id: int, key: int, record: Record, stems: Stems) -> None:
    """Give a memory the words that it has by now."""
    often, length, text_length = indexed(record, stems)
    here = (bucket, namespace_id, key)
    rows_of = "bucket = %s::smallint AND namespace_id = %s AND key = %s"
    run(
        db,
        f"DELETE FROM postings WHERE {rows_of} AND term IN (SELECT unnest(terms) FROM memories WHERE {rows_of})",  # noqa: S608
        (*here, *here),
    )
    run(
        db,
        "UPDATE memories SET terms = %s, length = %s, text_length = %s"  # noqa: S608
        f" WHERE {rows_of}",
        (list(often), length, text_length, *here),
    )
    postings = ((bucket, namespace_id, term, key, count) for term, count in often.items())
    copy(db, "postings", ("int2", "int4", "text", "int8", "int8"), postings)


def remove(db: Connection, found: Namespace, keys: Iterable[int]) -> None:
    """Delete memories by key: row, words and vectors, with a note for whoever keeps the namespace in memory."""
    going = list(keys)
    if not going:
        return
    gone = run(
        db,
        f"DELETE FROM memories WHERE {found.rows} AND key = ANY(%s::bigint[]) RETURNING key, terms",  # noqa: S608
        (found.id, going),
    )
    keys_of: dict[str, list[int]] = {}
    for key, terms in gone:
        for term in terms:
            keys_of.setdefault(term, []).append(key)
    pairs = [(term, key) for term, some in keys_of.items() for key in some]
    run(
        db,
        f"DELETE FROM postings USING unnest(%s::text[], %s::bigint[]) AS going (term, key) WHERE {found.rows}"  # noqa: S608
        " AND postings.term = going.term AND postings.key = going.key",
        ([term for term, _ in pairs], [key for _, key in pairs], found.id),
    )
    run(db, f"DELETE FROM vectors WHERE {found.rows} AND key = ANY(%s::bigint[])", (found.id, going))  # noqa: S608
    run(
        db,
        "WITH counted AS (UPDATE namespaces SET live = live - %s, next_removal = next_removal + %s"  # noqa: S608
        f" WHERE bucket = {found.bucket} AND id = %s RETURNING next_removal)"
        " INSERT INTO removed (bucket, namespace_id, number, key)"
        f" SELECT {found.bucket}, %s, next_removal - place, key"
        " FROM counted, unnest(%s::bigint[]) WITH ORDINALITY AS gone (key, place)",
        (len(gone), len(gone), found.id, found.id, [key for key, _ in gone]),
    )


def delete(db: Connection, found: Namespace, keys: Mapping[str, int]) -> None:
    """Delete memories by id and key, and their texts in history."""
    if not keys:
        return
    remove(db, found, keys.values())
    run(db, f"UPDATE history SET record = NULL WHERE {found.rows} AND id = ANY(%s)", (found.id, list(keys)))  # noqa: S608
    at = now()
    note(db, found, [Event(id, "deleted", at, None) for id in keys])


def blank(db: Connection, found: Namespace, versions: Mapping[str, Sequence[int]]) -> None:
    """Blank the texts of events, by the memory's id and the events' numbers."""
    pairs = [(id, number) for id, numbers in versions.items() for number in numbers]
    run(
        db,
        f"UPDATE history SET record = NULL FROM unnest(%s::text[], %s::bigint[]) AS blanked (id, number)"  # noqa: S608
        f" WHERE {found.rows} AND history.id = blanked.id AND history.number = blanked.number",
        ([id for id, _ in pairs], [number for _, number in pairs], found.id),
    )


def restore(db: Connection, found: Namespace, events: Sequence[Event]) -> None:
    """Put events in the place of the only "added" of their memories; memories with another history keep it."""
    ids = list({event.id for event in events})
    only = run(
        db,
        f"WITH alone AS (SELECT id FROM history WHERE {found.rows} AND id = ANY(%s) GROUP BY id"  # noqa: S608
        " HAVING count(*) = 1 AND min(event) = 'added')"
        f" DELETE FROM history USING alone WHERE {found.rows} AND history.id = alone.id RETURNING history.id",
        (found.id, ids, found.id),
    )
    there = {id for (id,) in only}
    note(db, found, [event for event in events if event.id in there])


def note(db: Connection, found: Namespace, events: Sequence[Event]) -> None:
    """Add to the histories of memories."""
    if not events:
        return
    [(after,)] = run(
        db,
        f"UPDATE namespaces SET next_event = next_event + %s WHERE bucket = {found.bucket} AND id = %s"  # noqa: S608
        " RETURNING next_event",
        (len(events), found.id),
    )
    written = (
        (found.bucket, found.id, one.id, number, one.at, one.event, one.record and rows.to_json(one.record))
        for number, one in enumerate(events, after - len(events))
    )
    copy(db, "history", ("int2", "int4", "text", "int8", "int8", "text", "text"), written)


def indexed(record: Record, stems: Stems) -> tuple[dict[str, int], int, int]:
    """How often each stem is in the columns (see BITS), and how many words there are: in all, and in the text."""
    often: Counter[str] = Counter()
    lengths = []
    for column, shift in ((record.title, TITLE_BITS), (record.description, DESCRIPTION_BITS), (record.text, 0)):
        found = stems.of(words(column)) if column else []
        lengths.append(len(found))
        for stem, count in Counter(found).items():
            often[stem] += count << shift
    return often, sum(lengths), lengths[-1]
