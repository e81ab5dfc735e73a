"""What the SQLite engine says to its tables. Every function takes a connection inside a transaction.

Numbers of 64 bits are kept as SQLite's signed integers; in Python they are unsigned.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import rows
from .base import Change, Record
from .filters import Filter
from .text import index_text, match_expression
from .vector_file import StoredVector, row_checksum
from .vectors import Keys, Source, State

_WRAP = 1 << 64
_SIGN = 1 << 63
_CHUNK = 500
COLUMNS = ", ".join(f"memories.{name}" for name in rows.COLUMNS)
ALIVE = "memories.namespace_id = ? AND (memories.expires_at IS NULL OR memories.expires_at > ?)"


class Namespace(NamedTuple):
    """A namespace's number, its vectors' state, and the embedder of the store, at one moment."""

    id: int
    state: State
    embedder: str


def prefix(namespace_id: int) -> str:
    """What every index word of a namespace starts with: one namespace's words are other words than the next one's.

    Digits and a consonant only, so that the Porter stemmer treats the word as it would without.
    """
    return f"{namespace_id}q"


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

    def added(after: int) -> list[StoredVector]:
        found = db.execute(
            "SELECT key, vector, checksum FROM vectors WHERE namespace_id = ? AND key > ? ORDER BY key",
            (namespace_id, after),
        )
        return [StoredVector(key, vector, _unsigned(checksum)) for key, vector, checksum in found]

    def removed() -> list[int]:
        found = db.execute("SELECT key FROM removed WHERE namespace_id = ?", (namespace_id,))
        return [key for (key,) in found]

    return Source(added=added, removed=removed)


def insert(db: sqlite3.Connection, namespace_id: int, record: Record, said: bytes, vector: bytes) -> int:
    """Write one new memory: its row, words and vector. Returns its key."""
    values = (namespace_id, said, *rows.to_row(record))
    marks = ", ".join("?" * len(values))
    key = db.execute(
        f"INSERT INTO memories (namespace_id, digest, {', '.join(rows.COLUMNS)}) VALUES ({marks})",  # noqa: S608
        values,
    ).lastrowid
    assert key is not None  # noqa: S101 - an INSERT has a rowid
    start = prefix(namespace_id)
    indexed = [index_text(part, start) for part in (record.title, record.description, record.text)]
    db.execute("INSERT INTO words (rowid, title, description, body) VALUES (?, ?, ?, ?)", (key, *indexed))
    checksum = row_checksum(key, vector)
    db.execute("INSERT INTO vectors VALUES (?, ?, ?, ?)", (key, namespace_id, vector, _signed(checksum)))
    total = _unsigned(db.execute("SELECT total FROM namespaces WHERE id = ?", (namespace_id,)).fetchone()[0])
    db.execute(
        "UPDATE namespaces SET last_key = ?, live = live + 1, total = ? WHERE id = ?",
        (key, _signed(total + checksum), namespace_id),
    )
    return key


def remove(db: sqlite3.Connection, namespace_id: int, keys: Iterable[int]) -> None:
    """Delete memories by key: row, words and vector, with a note for whoever maps the vector file."""
    going = list(keys)
    if not going:
        return
    gone, live = 0, 0
    for key in going:
        row = db.execute("DELETE FROM vectors WHERE key = ? RETURNING checksum", (key,)).fetchone()
        if row is not None:
            gone += _unsigned(row[0])
            live += 1
            db.execute("INSERT INTO removed (namespace_id, key) VALUES (?, ?)", (namespace_id, key))
        db.execute("DELETE FROM words WHERE rowid = ?", (key,))
        db.execute("DELETE FROM memories WHERE key = ?", (key,))
    total = _unsigned(db.execute("SELECT total FROM namespaces WHERE id = ?", (namespace_id,)).fetchone()[0])
    db.execute(
        "UPDATE namespaces SET live = live - ?, total = ? WHERE id = ?", (live, _signed(total - gone), namespace_id)
    )


def forget_history(db: sqlite3.Connection, namespace_id: int, id: str) -> None:
    """Blank the texts of a memory's history."""
    db.execute("UPDATE history SET record = NULL WHERE namespace_id = ? AND id = ?", (namespace_id, id))


def note(db: sqlite3.Connection, namespace_id: int, id: str, at: int, event: str, record: Record | None) -> None:
    """Add an event to a memory's history."""
    written = None if record is None else rows.to_json(record)
    db.execute(
        "INSERT INTO history (namespace_id, id, at, event, record) VALUES (?, ?, ?, ?, ?)",
        (namespace_id, id, at, event, written),
    )


def read_history(db: sqlite3.Connection, namespace_id: int, id: str) -> list[Change]:
    """The events of a memory, oldest first."""
    found = db.execute(
        "SELECT event, at, record FROM history WHERE namespace_id = ? AND id = ? ORDER BY number", (namespace_id, id)
    )
    return [
        Change(event=event, at=rows.moment(at), record=None if record is None else rows.from_json(record))
        for event, at, record in found
    ]


def by_ids(db: sqlite3.Connection, namespace_id: int, ids: Sequence[str], now: int) -> dict[str, tuple[int, Record]]:
    """Living memories by id, each with its key."""
    found: dict[str, tuple[int, Record]] = {}
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        statement = f"SELECT key, {COLUMNS} FROM memories WHERE {ALIVE} AND id IN ({', '.join('?' * len(chunk))})"  # noqa: S608
        for key, *row in db.execute(statement, (namespace_id, now, *chunk)):
            found[row[0]] = (key, rows.from_row(row))
    return found


def by_keys(db: sqlite3.Connection, keys: Sequence[int]) -> dict[int, Record]:
    """Memories by key."""
    found: dict[int, Record] = {}
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        statement = f"SELECT key, {COLUMNS} FROM memories WHERE key IN ({', '.join('?' * len(chunk))})"  # noqa: S608
        found.update((key, rows.from_row(row)) for key, *row in db.execute(statement, tuple(chunk)))
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
    bound = -1 if limit is None else max(limit, 0)
    return [rows.from_row(row) for row in db.execute(statement, (namespace_id, now, *values, bound, max(offset, 0)))]


def known_vector(db: sqlite3.Connection, namespace_id: int, said: bytes) -> bytes | None:
    """The vector of a memory that says the same, or None."""
    row = db.execute(
        "SELECT vector FROM vectors WHERE key ="
        " (SELECT key FROM memories WHERE namespace_id = ? AND digest = ? LIMIT 1)",
        (namespace_id, said),
    ).fetchone()
    return None if row is None else bytes(row[0])


def expired_with_id(db: sqlite3.Connection, namespace_id: int, id: str, now: int) -> list[int]:
    """The key of the memory with this id, if its time has come."""
    statement = "SELECT key FROM memories WHERE namespace_id = ? AND id = ? AND expires_at <= ?"
    return [key for (key,) in db.execute(statement, (namespace_id, id, now))]


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


def lexical(
    db: sqlite3.Connection,
    namespace_id: int,
    query_words: Sequence[str],
    *,
    count: int,
    now: int,
    chosen: Filter | None,
    every: bool = False,
) -> list[tuple[int, float]]:
    """The best `count` (key, BM25) with any of the words (or `every` one), best first; greater is better.

    `chosen` is given if some memories must be left out: by it, or because their time has come.
    """
    expression = match_expression(query_words, prefix(namespace_id), every=every)
    if not expression:
        return []
    join, terms = "", ""
    values: list[Any] = []
    if chosen is not None:
        # CROSS JOIN keeps the full-text table outside: the other way round is one full-text query a memory.
        terms, values = rows.condition(chosen, "memories")
        join, terms = " CROSS JOIN memories ON memories.key = words.rowid", f" AND {ALIVE}{terms}"
        values = [namespace_id, now, *values]
    statement = (
        "SELECT words.rowid, -bm25(words, 4.0, 3.0, 1.0) AS score "  # noqa: S608
        f"FROM words{join} WHERE words MATCH ?{terms} ORDER BY score DESC LIMIT ?"
    )
    return db.execute(statement, (expression, *values, count)).fetchall()


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


def save_pending(db: sqlite3.Connection, vectors: Iterable[tuple[int, bytes]]) -> None:
    """Keep vectors of a reindex that is under way."""
    db.executemany(
        "INSERT OR REPLACE INTO pending VALUES (?, ?, ?)",
        [(key, vector, _signed(row_checksum(key, vector))) for key, vector in vectors],
    )


def without_pending(db: sqlite3.Connection, limit: int) -> list[tuple[int, Record]]:
    """Memories that the reindex under way has not embedded yet, with their keys."""
    statement = (
        f"SELECT memories.key, {COLUMNS} FROM memories LEFT JOIN pending USING (key)"  # noqa: S608
        " WHERE pending.key IS NULL ORDER BY memories.key LIMIT ?"
    )
    return [(key, rows.from_row(row)) for key, *row in db.execute(statement, (limit,))]


def use_pending(db: sqlite3.Connection) -> int:
    """Put the vectors of a finished reindex in place of the old ones; return how many there are."""
    db.execute("DELETE FROM vectors")
    db.execute(
        "INSERT INTO vectors (key, namespace_id, vector, checksum)"
        " SELECT memories.key, namespace_id, vector, checksum FROM memories JOIN pending USING (key)"
    )
    db.execute("DELETE FROM pending")
    new_epoch(db)
    return int(db.execute("SELECT count(*) FROM vectors").fetchone()[0])


def _signed(value: int) -> int:
    value %= _WRAP
    return value - _WRAP if value >= _SIGN else value


def _unsigned(value: int) -> int:
    return value % _WRAP
