"""What the PostgreSQL engine says to its tables. Every function takes a connection inside a transaction.

The bucket stands in a statement as a number, so that a plan knows its partition when it is made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from psycopg import Connection

from . import rows
from .asking import HEAD, Head
from .base import Change, Record
from .filters import Filter
from .postgresql_schema import BUCKETS as BUCKETS
from .postgresql_schema import bucket_of
from .signs import Keys

COLUMNS = ", ".join(rows.COLUMNS)
_STORE_LOCK = "hashtextextended('firsthand embedder ' || current_schema(), 0)"


class Namespace(NamedTuple):
    """A namespace at one moment. `bucket` and `id` find its rows; `last_key`, `epoch` and `removed` say how far it is.

    `embedder` is the fingerprint of the store's embedder, and `generation` the one of its vectors. `expired` are the
    keys of memories whose time has come, where that was asked for.
    """

    bucket: int
    id: int
    last_key: int
    last_event: int
    removed: int
    epoch: int
    live: int
    embedder: str
    generation: int
    expired: Sequence[int] = ()

    @property
    def rows(self) -> str:
        """SQL that is true for its rows, with one value, the number `id`, to fill in."""
        return f"bucket = {self.bucket} AND namespace_id = %s"


def run(db: Connection, statement: str, values: Sequence[Any] = (), *, prepare: bool | None = None) -> list[Any]:
    """The rows of a statement, in PostgreSQL's binary format; values never stand in it."""
    cursor = db.execute(cast(Any, statement), tuple(values), prepare=prepare, binary=True)
    return cursor.fetchall() if cursor.description is not None else []


def copy(db: Connection, table: str, types: Sequence[str], written: Iterable[Sequence[Any]]) -> None:
    """Add rows to a table. A vector is said to be a bytea: what pgvector sends and takes goes through as it is."""
    with db.cursor() as cursor, cursor.copy(cast(Any, f"COPY {table} FROM STDIN (FORMAT BINARY)")) as lines:
        lines.set_types(types)
        for row in written:
            lines.write_row(row)


def meta(db: Connection, name: str) -> str | None:
    """A setting of the store."""
    found = run(db, "SELECT value FROM meta WHERE name = %s", (name,))
    return found[0][0] if found else None


def set_meta(db: Connection, name: str, value: str) -> None:
    """Record a setting of the store."""
    run(
        db,
        "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, value),
    )


def keep_embedder(db: Connection) -> None:
    """Wait for, and keep off until the end of the transaction, whoever changes the embedder of the store."""
    run(db, f"SELECT pg_advisory_xact_lock_shared({_STORE_LOCK})")


def change_embedder(db: Connection) -> None:
    """Wait for, and keep off until the end of the transaction, whoever writes vectors. A long upsert is waited for."""
    run(db, "SET LOCAL lock_timeout = '60s'")
    run(db, f"SELECT pg_advisory_xact_lock({_STORE_LOCK})")


def find(db: Connection, name: str, *, lock: bool = False, now: int | None = None) -> Namespace | None:
    """The namespace, or None if nothing was ever stored in it; with `lock`, nobody else writes to it until the end.

    With `now`, in microseconds since 1970, also what has expired by then.
    """
    bucket = bucket_of(name)
    expired = (
        ""
        if now is None
        else f", ARRAY(SELECT key FROM memories WHERE bucket = {bucket} AND namespace_id = namespaces.id"  # noqa: S608
        " AND expires_at <= %s)"
    )
    found = run(
        db,
        "SELECT id, next_key - 1, next_event - 1, next_removal - 1, epoch, live,"  # noqa: S608
        " (SELECT value FROM meta WHERE meta.name = 'embedder'),"
        f" (SELECT value::integer FROM meta WHERE meta.name = 'generation'){expired}"
        f" FROM namespaces WHERE bucket = {bucket} AND name = %s{' FOR UPDATE OF namespaces' if lock else ''}",
        (name,) if now is None else (now, name),
    )
    return Namespace(bucket, *found[0]) if found else None


def make(db: Connection, name: str) -> Namespace:
    """The namespace, made if it is new, and locked."""
    found = find(db, name, lock=True)
    if found is None:
        run(db, "INSERT INTO namespaces (bucket, name) VALUES (%s, %s) ON CONFLICT DO NOTHING", (bucket_of(name), name))
        found = find(db, name, lock=True)
    if found is None:
        raise RuntimeError("a namespace that was just made is not there")
    return found


def alive(found: Namespace, now: int) -> tuple[str, list[Any]]:
    """SQL that is true for the memories of a namespace whose time has not come, and its values."""
    return f"{found.rows} AND (expires_at IS NULL OR expires_at > %s)", [found.id, now]


def by_ids(db: Connection, found: Namespace, ids: Sequence[str], now: int) -> dict[str, tuple[int, Record]]:
    """Living memories by id, each with its key."""
    where, values = alive(found, now)
    some = run(db, f"SELECT key, {COLUMNS} FROM memories WHERE {where} AND id = ANY(%s)", (*values, list(ids)))  # noqa: S608
    return {row[1]: (row[0], rows.from_row(row[1:])) for row in some}


def keys_of(db: Connection, found: Namespace, ids: Sequence[str], now: int) -> dict[str, int]:
    """The keys of living memories by id. Nothing else of them is read: a damaged one can be deleted."""
    where, values = alive(found, now)
    return dict(run(db, f"SELECT id, key FROM memories WHERE {where} AND id = ANY(%s)", (*values, list(ids))))  # noqa: S608


def by_keys(db: Connection, found: Namespace, keys: Sequence[int]) -> dict[int, Record]:
    """Memories by key."""
    statement = f"SELECT key, {COLUMNS} FROM memories WHERE {found.rows} AND key = ANY(%s::bigint[])"  # noqa: S608
    return {row[0]: rows.from_row(row[1:]) for row in run(db, statement, (found.id, list(keys)))}


def heads(db: Connection, found: Namespace, keys: Sequence[int]) -> list[Head]:
    """What a ranking looks at of memories, without reading their whole texts."""
    statement = (
        f"SELECT key, left(text, {HEAD}), source, metadata, created_at FROM memories"  # noqa: S608
        f" WHERE {found.rows} AND key = ANY(%s::bigint[])"
    )
    return [Head(*row) for row in run(db, statement, (found.id, list(keys)))]


def by_digests(
    db: Connection, found: Namespace, said: Sequence[bytes], now: int
) -> dict[bytes, list[tuple[int, Record]]]:
    """Living memories by what they say, each with its key, the oldest first."""
    where, values = alive(found, now)
    statement = f"SELECT digest, key, {COLUMNS} FROM memories WHERE {where} AND digest = ANY(%s) ORDER BY key"  # noqa: S608
    by_digest: dict[bytes, list[tuple[int, Record]]] = {}
    for digest, key, *row in run(db, statement, (*values, list(said))):
        by_digest.setdefault(bytes(digest), []).append((key, rows.from_row(row)))
    return by_digest


def known_vectors(db: Connection, found: Namespace, said: Sequence[bytes]) -> dict[bytes, bytes]:
    """Vectors by what their memories say, as pgvector sends them."""
    statement = (
        f"SELECT digest, vector_send(vector) FROM memories JOIN vectors USING (bucket, namespace_id, key)"  # noqa: S608
        f" WHERE {found.rows} AND generation = %s AND digest = ANY(%s)"
    )
    return {bytes(digest): bytes(raw) for digest, raw in run(db, statement, (found.id, found.generation, list(said)))}


def expired(db: Connection, found: Namespace, now: int, ids: Sequence[str] | None = None) -> dict[str, int]:
    """The memories whose time has come (of `ids`, if given): their ids, each with its key."""
    terms, values = ("", []) if ids is None else (" AND id = ANY(%s)", [list(ids)])
    statement = f"SELECT id, key FROM memories WHERE {found.rows} AND expires_at <= %s{terms}"  # noqa: S608
    return dict(run(db, statement, (found.id, now, *values)))


def page(db: Connection, found: Namespace, chosen: Filter, *, now: int, limit: int | None, offset: int) -> list[Record]:
    """Living memories that a filter keeps, newest first."""
    where, values = alive(found, now)
    terms, more = condition(chosen)
    statement = (
        f"SELECT {COLUMNS} FROM memories WHERE {where}{terms}"  # noqa: S608
        " ORDER BY created_at DESC, key DESC LIMIT %s::bigint OFFSET %s::bigint"
    )
    bounds = (limit, offset)
    return [rows.from_row(row) for row in run(db, statement, (*values, *more, *bounds))]


def allowed(db: Connection, found: Namespace, chosen: Filter, now: int) -> Keys:
    """The keys of living memories that a filter keeps."""
    where, values = alive(found, now)
    terms, more = condition(chosen)
    # One string of all the keys, read by numpy: a Python object a row is what takes the time.
    [(packed,)] = run(
        db,
        f"SELECT string_agg(int8send(key), '') FROM memories WHERE {where}{terms}",  # noqa: S608
        (*values, *more),
    )
    return np.frombuffer(packed or b"", ">i8").astype(np.int64)


def histories(db: Connection, found: Namespace, ids: Sequence[str]) -> dict[str, list[Change]]:
    """The events of memories by id, oldest first."""
    statement = f"SELECT id, event, at, record FROM history WHERE {found.rows} AND id = ANY(%s) ORDER BY number"  # noqa: S608
    by_id: dict[str, list[Change]] = {}
    for id, event, at, record in run(db, statement, (found.id, list(ids))):
        by_id.setdefault(id, []).append(Change(event=event, at=rows.moment(at), record=rows.known(record)))
    return by_id


def versions(db: Connection, found: Namespace) -> Iterator[tuple[str, int, str]]:
    """The events that left a version which another followed: the memory's id, the event's number, and the record."""
    statement = (
        f"SELECT id, number, record FROM history WHERE {found.rows} AND record IS NOT NULL AND EXISTS (SELECT 1"  # noqa: S608
        f" FROM history AS later WHERE later.bucket = {found.bucket} AND later.namespace_id = %s"
        " AND later.id = history.id AND later.number > history.number)"
    )
    with db.cursor(name="versions", binary=True) as reading:
        reading.execute(cast(Any, statement), (found.id, found.id))
        yield from reading


def condition(chosen: Filter) -> tuple[str, list[Any]]:
    """SQL that is true for the memories that `chosen` keeps, starting with AND, and its values."""
    terms: list[str] = []
    values: list[Any] = []
    for column, names in (("type", chosen.types), ("author", chosen.authors)):
        if names:
            terms.append(f"{column} = ANY(%s)")
            values.append(list(names))
    for sign, moment in ((">=", chosen.after), ("<", chosen.before)):
        if moment is not None:
            terms.append(f"created_at {sign} %s")
            values.append(rows.microseconds(moment))
    for key, value in chosen.metadata:
        terms.append("metadata::jsonb -> %s = %s::jsonb")
        values.extend((key, json.dumps(value, ensure_ascii=False)))
    return "".join(f" AND {term}" for term in terms), values
