"""The schema of a SQLite store, as functions in order. Each runs once, inside the transaction of its caller.

memories    one row a memory. `key` is never given twice: a new version of a memory is a new row with a new key
words       FTS5 over index words (see postings); rowid is the memory's key. `places` reads its postings
vectors     float32 components of length 1, little endian, their row checksum, the memory's place in its session and
            its lengths in index words; key is the memory's key
removed     the keys whose vectors were deleted in this epoch, for whoever maps the vector file
namespaces  what the vectors of a namespace are by now (see vectors.State)
history     events; `record` is the memory as JSON, NULL once it was deleted
pending     vectors of an unfinished reindex
meta        the embedder
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import postings, rows, tables
from .text import is_of_new_words

if TYPE_CHECKING:
    from sqlite_utils import Database

    from .base import Record

APPLICATION_ID = 0x46485253
"""`PRAGMA application_id` of our files: "FHRS"."""


def first_schema(db: Database) -> None:
    """Version 1."""
    db.table("meta").create({"name": str, "value": str}, pk="name", if_not_exists=True)
    db.table("namespaces").create(
        {"id": int, "name": str, "epoch": int, "last_key": int, "live": int, "total": int},
        pk="id",
        not_null={"name", "epoch", "last_key", "live", "total"},
        if_not_exists=True,
    )
    db.table("namespaces").create_index(["name"], unique=True, if_not_exists=True)
    # AUTOINCREMENT is what keeps a deleted key from coming back, and sqlite-utils has no word for it.
    for statement in (
        """CREATE TABLE IF NOT EXISTS memories (
             key INTEGER PRIMARY KEY AUTOINCREMENT, namespace_id INTEGER NOT NULL, id TEXT NOT NULL,
             text TEXT NOT NULL, title TEXT NOT NULL, description TEXT NOT NULL, type TEXT NOT NULL,
             author TEXT NOT NULL, source TEXT NOT NULL, metadata TEXT NOT NULL, created_at INTEGER NOT NULL,
             expires_at INTEGER, digest BLOB NOT NULL)""",
        "CREATE UNIQUE INDEX IF NOT EXISTS memories_id ON memories (namespace_id, id)",
        "CREATE INDEX IF NOT EXISTS memories_digest ON memories (namespace_id, digest)",
        "CREATE INDEX IF NOT EXISTS memories_created ON memories (namespace_id, created_at)",
        # Covers every filter but metadata, so that a filtered search reads no texts.
        """CREATE INDEX IF NOT EXISTS memories_filter
             ON memories (namespace_id, type, author, created_at, expires_at)""",
        """CREATE INDEX IF NOT EXISTS memories_expiry ON memories (namespace_id, expires_at)
             WHERE expires_at IS NOT NULL""",
        """CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5
             (title, description, body, tokenize = 'porter unicode61')""",
        """CREATE TABLE IF NOT EXISTS vectors (
             key INTEGER PRIMARY KEY, namespace_id INTEGER NOT NULL, vector BLOB NOT NULL,
             checksum INTEGER NOT NULL)""",
        "CREATE INDEX IF NOT EXISTS vectors_namespace ON vectors (namespace_id, key)",
        """CREATE TABLE IF NOT EXISTS removed (
             number INTEGER PRIMARY KEY AUTOINCREMENT, namespace_id INTEGER NOT NULL, key INTEGER NOT NULL)""",
        "CREATE INDEX IF NOT EXISTS removed_namespace ON removed (namespace_id, number)",
        """CREATE TABLE IF NOT EXISTS history (
             number INTEGER PRIMARY KEY AUTOINCREMENT, namespace_id INTEGER NOT NULL, id TEXT NOT NULL,
             at INTEGER NOT NULL, event TEXT NOT NULL, record TEXT)""",
        "CREATE INDEX IF NOT EXISTS history_id ON history (namespace_id, id, number)",
        """CREATE TABLE IF NOT EXISTS pending
             (key INTEGER PRIMARY KEY, vector BLOB NOT NULL, checksum INTEGER NOT NULL)""",
    ):
        db.execute(statement)


def own_scores(db: Database) -> None:
    """Version 2: words that FTS5 never cuts again, and what BM25 and neighbours need to know of each memory."""
    for statement in (
        "DROP TABLE words",
        postings.CREATE,
        postings.CREATE_PLACES,
        "ALTER TABLE vectors ADD COLUMN session INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE vectors ADD COLUMN position REAL",
        "ALTER TABLE vectors ADD COLUMN length INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE vectors ADD COLUMN text_length INTEGER NOT NULL DEFAULT 0",
        # A reindex that was under way starts again: its checksums are of the old kind.
        "DELETE FROM pending",
        "DELETE FROM meta WHERE name = 'reindex'",
    ):
        db.execute(statement)
    _index(db, lambda record: True)
    tables.new_epoch(db.conn)


def more_words(db: Database) -> None:
    """Version 3: emoji are words, and what nobody sees parts none."""
    # What is of ASCII alone has the words it had, and is not read.
    text = "title || description || text GLOB '*[^' || char(1) || '-' || char(127) || ']*'"
    if _index(db, lambda record: is_of_new_words(rows.embedding_text(record)), f" AND {text}"):
        tables.new_epoch(db.conn)


def _index(db: Database, chosen: Callable[[Record], bool], where: str = "") -> bool:
    """Index the memories that are `chosen` anew; True if there was one."""
    columns = ", ".join(f"memories.{name}" for name in rows.COLUMNS)
    last, changed = 0, False
    while some := db.execute(
        f"SELECT memories.key, memories.namespace_id, vector, {columns} FROM memories"  # noqa: S608
        f" JOIN vectors USING (key) WHERE memories.key > ?{where} ORDER BY memories.key LIMIT 1000",
        (last,),
    ).fetchall():
        last = some[-1][0]
        going = [(row, record) for row in some if chosen(record := rows.from_row(row[3:]))]
        keys = [row[0] for row, _ in going]
        changed = changed or bool(keys)
        words = [postings.indexed(row[1], record) for row, record in going]
        postings.delete(db.conn, keys)
        postings.insert(db.conn, zip(keys, words, strict=True))
        checked = tables.vector_values(keys, [row[2] for row, _ in going])
        db.conn.executemany(
            "UPDATE vectors SET checksum = ?, session = ?, position = ?, length = ?, text_length = ? WHERE key = ?",
            (
                (checksum, *rows.neighbourhood(record), *one.lengths, key)
                for (key, _, checksum), (_, record), one in zip(checked, going, words, strict=True)
            ),
        )
    return changed


MIGRATIONS: tuple[Callable[[Database], None], ...] = (first_schema, own_scores, more_words)


def version(connection: sqlite3.Connection) -> tuple[int, int]:
    """`(application_id, user_version)` of the file; a new file has (0, 0)."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    return application, connection.execute("PRAGMA user_version").fetchone()[0]


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the schema to the newest version, inside the open transaction. Imports nothing if it is there."""
    done = version(connection)[1]
    if done >= len(MIGRATIONS):
        return
    from sqlite_utils import Database

    db = Database(connection, execute_plugins=False)
    for step in MIGRATIONS[done:]:
        step(db)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
