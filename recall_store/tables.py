"""What the SQLite engine says to its tables. Every function takes a connection inside a transaction.

Numbers of 64 bits are kept as SQLite's signed integers; in Python they are unsigned.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import postings, rows
from .asking import HEAD, Head
from .base import Record
from .filters import Filter
from .signs import Keys, row_checksums
from .vector_file import Chunk
from .vectors import Source, State

Database = sqlite3.Connection

_WRAP = 1 << 64
_SIGN = 1 << 63
_CHUNK = 500
_MANY = 1000
_VECTORS = 2048
"""Vectors that are read at once: 2 MB of them at 256 dimensions."""
COLUMNS = ", ".join(f"memories.{name}" for name in rows.COLUMNS)
ALIVE = "memories.namespace_id = ? AND (memories.expires_at IS NULL OR memories.expires_at > ?)"


class Namespace(NamedTuple):
    """A namespace's number, its vectors' state, and the embedder of the store, at one moment."""

    id: int
    state: State
    embedder: str


class New(NamedTuple):
    """A memory to be written: its `rows.digest`, its words, and its vector of length 1 as float32 bytes."""

    record: Record
    said: bytes
    words: postings.Indexed
    vector: bytes


def meta(db: sqlite3.Connection, name: str) -> str | None:
    """A setting of the store."""
    row = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])


def set_meta(db: sqlite3.Connection, name: str, value: str) -> None:
    """Record a setting of the store."""
    db.execute("INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (name, value))


def find_namespace(db: sqlite3.Connection, name: str) -> Namespace | None:
    """The namespace, or None if nothing was ever stored in it."""
    row = db.execute(
        "SELECT id, epoch, last_key, live, total,"
        " (SELECT max(number) FROM removed WHERE removed.namespace_id = namespaces.id),"
        " (SELECT value FROM meta WHERE meta.name = 'embedder') FROM namespaces WHERE name = ?",
        (name,),
    ).fetchone()
    if row is None:
        return None
    state = State(epoch=row[1], last_key=row[2], live=row[3], total=_unsigned(row[4]), deleted=row[5] or 0)
    return Namespace(row[0], state, row[6])


def make_namespace(db: sqlite3.Connection, name: str) -> Namespace:
    """The namespace, made if it is new."""
    db.execute("INSERT OR IGNORE INTO namespaces (name, epoch, last_key, live, total) VALUES (?, 1, 0, 0, 0)", (name,))
    found = find_namespace(db, name)
    assert found is not None  # noqa: S101 - the row was written one statement ago
    return found


def source(db: sqlite3.Connection, namespace_id: int) -> Source:
    """The vectors of a namespace, as its `NamespaceVectors` asks for them."""

    def added(after: int) -> Iterator[Chunk]:
        found = db.execute(
            "SELECT key, vector, checksum, session, position, length, text_length FROM vectors"
            " WHERE namespace_id = ? AND key > ? ORDER BY key",
            (namespace_id, after),
        )
        while some := found.fetchmany(_VECTORS):
            yield _chunk(some)

    def removed() -> list[int]:
        found = db.execute("SELECT key FROM removed WHERE namespace_id = ?", (namespace_id,))
        return [key for (key,) in found]

    return Source(added=added, removed=removed)


@contextlib.contextmanager
def room(db: sqlite3.Connection, count: int) -> Iterator[None]:
    """Give SQLite 32 MB for its pages while many memories are written, or it writes the same ones again and again."""
    if count <= _MANY:
        yield
        return
    before = db.execute("PRAGMA cache_size").fetchone()[0]
    db.execute("PRAGMA cache_size = -32000")
    try:
        yield
    finally:
        db.execute(f"PRAGMA cache_size = {before}")


def insert(db: sqlite3.Connection, namespace_id: int, added: Sequence[New]) -> None:
    """Write new memories, in order: their rows, words and vectors."""
    if not added:
        return
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'memories'").fetchone()
    first = (0 if row is None else row[0]) + 1
    keys = range(first, first + len(added))
    marks = ", ".join("?" * (3 + len(rows.COLUMNS)))
    db.executemany(
        f"INSERT INTO memories (key, namespace_id, digest, {', '.join(rows.COLUMNS)}) VALUES ({marks})",  # noqa: S608
        ((key, namespace_id, new.said, *rows.to_row(new.record)) for key, new in zip(keys, added, strict=True)),
    )
    postings.insert(db, ((key, new.words) for key, new in zip(keys, added, strict=True)))
    checksums = _checksums(list(keys), [new.vector for new in added])
    db.executemany(
        "INSERT INTO vectors (key, namespace_id, vector, checksum, session, position, length, text_length)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (key, namespace_id, new.vector, _signed(checksum), *rows.neighbourhood(new.record), *new.words.lengths)
            for key, checksum, new in zip(keys, checksums, added, strict=True)
        ),
    )
    _count(db, namespace_id, last_key=keys[-1], live=len(added), total=sum(checksums))


def remove(db: sqlite3.Connection, namespace_id: int, keys: Iterable[int]) -> None:
    """Delete memories by key: row, words and vector, with a note for whoever maps the vector file."""
    going = list(keys)
    total, live = 0, 0
    for key in going:
        row = db.execute("DELETE FROM vectors WHERE key = ? RETURNING checksum", (key,)).fetchone()
        if row is not None:
            total += _unsigned(row[0])
            live += 1
            db.execute("INSERT INTO removed (namespace_id, key) VALUES (?, ?)", (namespace_id, key))
    postings.delete(db, going)
    for table in ("memories", "pending"):
        db.executemany(f"DELETE FROM {table} WHERE key = ?", ((key,) for key in going))  # noqa: S608
    if going:
        _count(db, namespace_id, last_key=None, live=-live, total=-total)


def by_ids(db: sqlite3.Connection, namespace_id: int, ids: Sequence[str], now: int) -> dict[str, tuple[int, Record]]:
    """Living memories by id, each with its key."""
    found: dict[str, tuple[int, Record]] = {}
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        statement = f"SELECT key, {COLUMNS} FROM memories WHERE {ALIVE} AND id IN ({', '.join('?' * len(chunk))})"  # noqa: S608
        for key, *row in db.execute(statement, (namespace_id, now, *chunk)):
            found[row[0]] = (key, rows.from_row(row))
    return found


def keys_of(db: sqlite3.Connection, namespace_id: int, ids: Sequence[str], now: int) -> dict[str, int]:
    """The keys of living memories by id. Nothing else of them is read: a damaged one can be deleted."""
    found: dict[str, int] = {}
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        statement = f"SELECT id, key FROM memories WHERE {ALIVE} AND id IN ({', '.join('?' * len(chunk))})"  # noqa: S608
        found.update(db.execute(statement, (namespace_id, now, *chunk)))
    return found


def by_id(db: sqlite3.Connection, namespace_id: int, id: str) -> tuple[int, Record] | None:
    """The memory with this id and its key, also one whose time has come."""
    statement = f"SELECT key, {COLUMNS} FROM memories WHERE namespace_id = ? AND id = ?"  # noqa: S608
    row = db.execute(statement, (namespace_id, id)).fetchone()
    return None if row is None else (row[0], rows.from_row(row[1:]))


def by_keys(db: sqlite3.Connection, keys: Sequence[int]) -> dict[int, Record]:
    """Memories by key. Raises DamagedRowError if one is not there."""
    found: dict[int, Record] = {}
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        statement = f"SELECT key, {COLUMNS} FROM memories WHERE key IN ({', '.join('?' * len(chunk))})"  # noqa: S608
        found.update((key, rows.from_row(row)) for key, *row in db.execute(statement, tuple(chunk)))
    if len(found) < len(set(keys)):
        raise rows.DamagedRowError
    return found


def heads(db: sqlite3.Connection, keys: Sequence[int]) -> list[Head]:
    """What a ranking looks at of memories, without reading their whole texts."""
    found: list[Head] = []
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        statement = (
            f"SELECT key, substr(text, 1, {HEAD}), source, metadata, created_at FROM memories"  # noqa: S608
            f" WHERE key IN ({', '.join('?' * len(chunk))})"
        )
        found.extend(Head(*row) for row in db.execute(statement, tuple(chunk)))
    if not all(isinstance(said, str) for head in found for said in head[1:4]):
        raise rows.DamagedRowError
    return found


def ids_of(db: sqlite3.Connection, keys: Sequence[int], now: int | None) -> dict[str, int]:
    """The ids of memories, each with its key; without those whose time has come by `now`, if given."""
    found: dict[str, int] = {}
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        statement = f"SELECT id, key, expires_at FROM memories WHERE key IN ({', '.join('?' * len(chunk))})"  # noqa: S608
        for id, key, expires_at in db.execute(statement, tuple(chunk)):
            if now is None or expires_at is None or expires_at > now:
                found[id] = key
    return found


def by_digest(db: sqlite3.Connection, namespace_id: int, said: bytes, now: int) -> Record | None:
    """The oldest living memory that says the same, or None."""
    statement = f"SELECT {COLUMNS} FROM memories WHERE {ALIVE} AND digest = ? ORDER BY key LIMIT 1"  # noqa: S608
    row = db.execute(statement, (namespace_id, now, said)).fetchone()
    return None if row is None else rows.from_row(row)


def page(
    db: sqlite3.Connection, namespace_id: int, chosen: Filter, *, now: int, limit: int | None, offset: int
) -> list[Record]:
    """Living memories that a filter keeps, newest first."""
    terms, values = rows.condition(chosen, "memories")
    statement = (
        f"SELECT {COLUMNS} FROM memories WHERE {ALIVE}{terms}"  # noqa: S608
        " ORDER BY memories.created_at DESC, memories.key DESC LIMIT ? OFFSET ?"
    )
    bound = -1 if limit is None else limit
    return [rows.from_row(row) for row in db.execute(statement, (namespace_id, now, *values, bound, offset))]


def known_vector(db: sqlite3.Connection, namespace_id: int, said: bytes) -> bytes | None:
    """The vector of a memory that says the same, or None."""
    row = db.execute(
        "SELECT vector FROM vectors WHERE key ="
        " (SELECT key FROM memories WHERE namespace_id = ? AND digest = ? LIMIT 1)",
        (namespace_id, said),
    ).fetchone()
    return None if row is None else bytes(row[0])


def is_known(db: sqlite3.Connection, namespace_id: int, said: bytes) -> bool:
    """True if a memory that says the same has a vector."""
    statement = "SELECT 1 FROM memories WHERE namespace_id = ? AND digest = ? LIMIT 1"
    return db.execute(statement, (namespace_id, said)).fetchone() is not None


def expired_keys(db: sqlite3.Connection, namespace_id: int, now: int) -> list[int]:
    """The keys of memories whose time has come."""
    statement = "SELECT key FROM memories WHERE namespace_id = ? AND expires_at IS NOT NULL AND expires_at <= ?"
    return [key for (key,) in db.execute(statement, (namespace_id, now))]


def allowed_keys(db: sqlite3.Connection, namespace_id: int, chosen: Filter, now: int) -> Keys:
    """The keys of living memories that a filter keeps."""
    terms, values = rows.condition(chosen, "memories")
    # One text of all the keys, read by numpy: a Python object a row is what takes the time.
    statement = f"SELECT group_concat(key) FROM memories WHERE {ALIVE}{terms}"  # noqa: S608
    joined = db.execute(statement, (namespace_id, now, *values)).fetchone()[0]
    return np.fromstring(joined or "", dtype=np.int64, sep=",")


def new_epoch(db: sqlite3.Connection) -> None:
    """Count every namespace's vectors anew, and have every vector file written anew."""
    db.execute("DELETE FROM removed")
    for (namespace_id,) in db.execute("SELECT id FROM namespaces").fetchall():
        found = db.execute("SELECT checksum FROM vectors WHERE namespace_id = ?", (namespace_id,)).fetchall()
        total = sum(_unsigned(checksum) for (checksum,) in found)
        db.execute(
            "UPDATE namespaces SET epoch = epoch + 1, live = ?, total = ? WHERE id = ?",
            (len(found), _signed(total), namespace_id),
        )


def vector_values(keys: Sequence[int], vectors: Sequence[bytes]) -> Iterator[tuple[int, bytes, int]]:
    """Key, vector and checksum as the tables keep them."""
    checksums = _checksums(keys, vectors)
    return ((key, vector, _signed(one)) for key, vector, one in zip(keys, vectors, checksums, strict=True))


def _count(db: sqlite3.Connection, namespace_id: int, *, last_key: int | None, live: int, total: int) -> None:
    now = _unsigned(db.execute("SELECT total FROM namespaces WHERE id = ?", (namespace_id,)).fetchone()[0])
    db.execute(
        "UPDATE namespaces SET last_key = coalesce(?, last_key), live = live + ?, total = ? WHERE id = ?",
        (last_key, live, _signed(now + total), namespace_id),
    )


def _checksums(keys: Sequence[int], vectors: Sequence[bytes]) -> list[int]:
    if not keys:
        return []
    array = np.frombuffer(b"".join(vectors), "<f4").reshape(len(keys), -1)
    sums: list[int] = row_checksums(np.array(keys, np.int64), array).tolist()
    return sums


def _chunk(found: Sequence[tuple[Any, ...]]) -> Chunk:
    keys, vectors, checksums, sessions, positions, lengths, texts = zip(*found, strict=True)
    return Chunk(
        keys=np.array(keys, np.int64),
        vectors=np.frombuffer(b"".join(vectors), "<f4").reshape(len(keys), -1),
        checksums=np.array(checksums, np.int64).view(np.uint64),
        sessions=np.array(sessions, np.int64),
        positions=np.array(positions, np.float64),
        lengths=np.array(lengths, np.uint32),
        texts=np.array(texts, np.uint32),
    )


def _signed(value: int) -> int:
    value %= _WRAP
    return value - _WRAP if value >= _SIGN else value


def _unsigned(value: int) -> int:
    return value % _WRAP
