"""The schema of a PostgreSQL store, as functions in order. Each runs once, in the transaction of its caller.

Every table that grows is partitioned by `bucket`, a hash of the namespace's name, so that a partition can be moved to
another server (a foreign table, or Citus with `bucket` as its distribution column) without a change of the schema.

namespaces  `next_key`, `next_event` and `next_removal` are given out, never again; `live` memories are there; `epoch`
            changes when `removed` is emptied
memories    one row a memory; `terms` are its index words, each once; `length` is how many there are,
            `text_length` those of the text alone; `session` and `position` say who its neighbours are
postings    where a word is: `often` holds how often it is in title, description and text, 21 bits each
removed     the keys that were deleted in this epoch, for whoever keeps the numbers of a namespace in memory
vectors     components of length 1; `generation` tells the vectors of one embedder from those of the next
history     events; `record` is the memory as JSON, NULL once it was deleted
meta        the embedder, and the generation of its vectors
version     the functions below that have run
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from psycopg import Connection, errors, sql

from .errors import OpenError
from .postgresql_pool import Pool

BUCKETS = 16
PARTITIONED = ("namespaces", "memories", "postings", "removed", "vectors", "history")
OLDEST_PGVECTOR = (0, 8)
"""`hnsw.iterative_scan` came with 0.8.0."""


def bucket_of(namespace: str) -> int:
    """The partition of a namespace: the same on every machine, for ever."""
    return blake2b(namespace.encode(), digest_size=2).digest()[0] % BUCKETS


def first_schema(db: Connection) -> None:
    """Version 1."""
    for statement in _FIRST:
        db.execute(statement)  # type: ignore[call-overload, unused-ignore]
    for table in PARTITIONED:
        for bucket in range(BUCKETS):
            db.execute(f"CREATE TABLE {table}_{bucket:02} PARTITION OF {table} FOR VALUES IN ({bucket})")
    for bucket in range(BUCKETS):
        # Vectors of up to 2,000 components stay in their row: a scan of them all follows no pointer a row.
        db.execute(f"ALTER TABLE vectors_{bucket:02} SET (toast_tuple_target = 8160)")


_FIRST = (
    "CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL)",
    "CREATE SEQUENCE namespace_ids AS integer",
    """CREATE TABLE namespaces (
         bucket smallint NOT NULL, id integer NOT NULL DEFAULT nextval('namespace_ids'),
         name text COLLATE "C" NOT NULL, next_key bigint NOT NULL DEFAULT 1, next_event bigint NOT NULL DEFAULT 1,
         next_removal bigint NOT NULL DEFAULT 1, epoch bigint NOT NULL DEFAULT 1, live bigint NOT NULL DEFAULT 0,
         PRIMARY KEY (bucket, id), UNIQUE (bucket, name)) PARTITION BY LIST (bucket)""",
    # What a ranking asks of every memory is in the index, so that it reads no texts.
    """CREATE TABLE memories (
         bucket smallint NOT NULL, namespace_id integer NOT NULL, key bigint NOT NULL, id text COLLATE "C" NOT NULL,
         text text NOT NULL, title text NOT NULL, description text NOT NULL, type text NOT NULL, author text NOT NULL,
         source text NOT NULL, metadata text NOT NULL, created_at bigint NOT NULL, expires_at bigint,
         digest bytea NOT NULL, session bigint NOT NULL, position double precision, length integer NOT NULL,
         text_length integer NOT NULL, terms text[] COLLATE "C" NOT NULL,
         PRIMARY KEY (bucket, namespace_id, key) INCLUDE (session, position, length, text_length),
         UNIQUE (bucket, namespace_id, id)) PARTITION BY LIST (bucket)""",
    "CREATE INDEX ON memories (namespace_id, digest)",
    "CREATE INDEX ON memories (namespace_id, created_at DESC, key DESC)",
    "CREATE INDEX ON memories (namespace_id, expires_at) WHERE expires_at IS NOT NULL",
    """CREATE TABLE postings (
         bucket smallint NOT NULL, namespace_id integer NOT NULL, term text COLLATE "C" NOT NULL, key bigint NOT NULL,
         often bigint NOT NULL) PARTITION BY LIST (bucket)""",
    "CREATE INDEX ON postings (namespace_id, term, key) INCLUDE (often)",
    """CREATE TABLE removed (
         bucket smallint NOT NULL, namespace_id integer NOT NULL, number bigint NOT NULL, key bigint NOT NULL,
         PRIMARY KEY (bucket, namespace_id, number)) PARTITION BY LIST (bucket)""",
    """CREATE TABLE vectors (
         bucket smallint NOT NULL, namespace_id integer NOT NULL, generation integer NOT NULL, key bigint NOT NULL,
         vector vector NOT NULL, PRIMARY KEY (bucket, namespace_id, generation, key)) PARTITION BY LIST (bucket)""",
    """CREATE TABLE history (
         bucket smallint NOT NULL, namespace_id integer NOT NULL, id text COLLATE "C" NOT NULL, number bigint NOT NULL,
         at bigint NOT NULL, event text NOT NULL, record text,
         PRIMARY KEY (bucket, namespace_id, id, number)) PARTITION BY LIST (bucket)""",
)


def more_words(db: Connection) -> None:
    """Version 2: emoji are words, and what nobody sees parts none (version 3 of a SQLite store)."""
    from . import postgresql_tables as tables
    from . import postgresql_writing as writing
    from . import rows
    from .stems import Stems
    from .text import is_of_new_words

    stems, touched = Stems(), set()
    with db.cursor(name="memories") as reading:
        # What is of ASCII alone has the words it had, and is not read.
        said = "concat(title, description, text)"
        statement = (
            f"SELECT bucket, namespace_id, key, {tables.COLUMNS} FROM memories"  # noqa: S608
            f" WHERE octet_length({said}) <> length({said})"
        )
        reading.execute(statement)  # type: ignore[arg-type, call-overload, unused-ignore]
        for bucket, namespace_id, key, *row in reading:
            record = rows.from_row(row)
            if is_of_new_words(rows.embedding_text(record)):
                writing.index_anew(db, bucket, namespace_id, key, record, stems)
                touched.add((bucket, namespace_id))
    stems.close()
    for place in touched:
        db.execute("DELETE FROM removed WHERE bucket = %s AND namespace_id = %s", place)
        db.execute("UPDATE namespaces SET epoch = epoch + 1 WHERE bucket = %s AND id = %s", place)


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (first_schema, more_words)


def migrate(pool: Pool, *, make: bool = True) -> None:
    """Bring the schema to the newest version, one process at a time. Raises OpenError; nothing is half done then.

    A role without the right to make tables is enough once they are there. Without `make` there must be a store.
    """
    schema, shown = pool.address.schema, pool.shown
    with pool.writing() as db:
        types = _types(db)
        done = _version(db, schema)
    if done is None and not make:
        raise OpenError(
            f"{shown}: no such store in the schema {schema}; check the database and ?schema=, or make it with"
            " `firsthand recall add`"
        )
    if done is None or done < len(MIGRATIONS) or types is None:
        with pool.writing() as db:
            db.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"firsthand {schema}",))
            types = _types(db) or _make_types(db, shown)
            done = _version(db, schema)
            if done is None:
                _make_schema(db, schema, shown)
                done = 0
            if types[0] not in (schema, "public"):
                db.execute(
                    sql.SQL("SET LOCAL search_path = {}, public, {}").format(*map(sql.Identifier, (schema, types[0])))
                )
            for number, step in enumerate(MIGRATIONS[done:], done + 1):
                step(db)
                db.execute("INSERT INTO version (number) VALUES (%s)", (number,))
            done = max(done, len(MIGRATIONS))
    if done > len(MIGRATIONS):
        raise OpenError(f"the store in {shown} was written by a newer version (schema {done}); upgrade firsthand")
    if types is not None and types[0] not in (schema, "public"):
        pool.look_for_types_in(types[0])


def _types(db: Connection) -> tuple[str, str] | None:
    """The schema and the version of pgvector in this database, or None."""
    found: Any = db.execute(
        "SELECT nspname, extversion FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace"
        " WHERE extname = 'vector'"
    ).fetchone()
    return None if found is None else (str(found[0]), str(found[1]))


def _make_types(db: Connection, shown: str) -> tuple[str, str]:
    try:
        db.execute("CREATE EXTENSION vector SCHEMA public")
    except errors.InsufficientPrivilege:
        raise OpenError(f"{shown} lacks pgvector; have an administrator run CREATE EXTENSION vector there") from None
    except (errors.FeatureNotSupported, errors.UndefinedFile):
        raise OpenError(f"the server of {shown} lacks pgvector; install its package there (0.8 or later)") from None
    found = _types(db)
    if found is None or tuple(map(int, found[1].split(".")[:2])) < OLDEST_PGVECTOR:
        raise OpenError(f"pgvector in {shown} is older than 0.8; run ALTER EXTENSION vector UPDATE there")
    return found


def _version(db: Connection, schema: str) -> int | None:
    """How many migrations have run; None without a version table."""
    if db.execute("SELECT to_regclass(%s)", (f"{schema}.version",)).fetchone() == (None,):
        return None
    row = db.execute("SELECT coalesce(max(number), 0) FROM version").fetchone()
    return 0 if row is None else int(row[0])


def _make_schema(db: Connection, schema: str, shown: str) -> None:
    tables = db.execute("SELECT count(*) FROM pg_tables WHERE schemaname = %s", (schema,)).fetchone()
    if tables != (0,):
        raise OpenError(f"the schema {schema} in {shown} has tables, but not of a memory store; give another ?schema=")
    db.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
    db.execute("CREATE TABLE version (number integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())")
