"""The schema of the dashboard's file, as functions in order. Each runs once, inside the transaction of its caller.

spans     every span that came, once: a client that sends again sends the same ids. Times in ns since 1970, `attributes`
          and `events` as JSON
turns     one row a turn: `firsthand.turn`, what its children said of it, and what its transcript says. `key` is the
          trace and the span id, or a digest where a transcript knows no trace. `outcome` is NULL until it ended
calls     model calls, hook_calls, recalls: the metadata of spans below a turn; `turn` is NULL for a call that is no
          turn's
cells     counts a stretch of time, a model, a series and a label at four widths, with a sketch of a distribution
session_cells the same of one session, of those in counted_sessions
logs      log events, once each by `digest`
metrics   series; metric_sums what they grew by in a minute; `last` is the newest cumulative point
files     the transcripts that are followed, how far they were read, and a digest of the bytes before that
meta      name and value
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

__all__ = ["APPLICATION_ID", "MIGRATIONS", "migrate", "version"]

APPLICATION_ID = 0x46484442
"""`PRAGMA application_id` of our files: "FHDB"."""


def first_schema(db: Database) -> None:
    """Version 1."""
    db.table("meta").create({"name": str, "value": str}, pk="name")
    for statement in (
        """CREATE TABLE spans (
             id INTEGER PRIMARY KEY, trace_id BLOB NOT NULL, span_id BLOB NOT NULL, parent_id BLOB,
             name TEXT NOT NULL, kind INTEGER NOT NULL, started INTEGER NOT NULL, duration INTEGER NOT NULL,
             failed INTEGER NOT NULL, service TEXT NOT NULL, scope TEXT NOT NULL, attributes TEXT NOT NULL,
             events TEXT)""",
        "CREATE UNIQUE INDEX spans_ids ON spans (trace_id, span_id)",
        "CREATE INDEX spans_started ON spans (started)",
        """CREATE TABLE turns (
             id INTEGER PRIMARY KEY, key BLOB NOT NULL, trace_id BLOB, span_id BLOB, started INTEGER NOT NULL,
             duration INTEGER, outcome TEXT, origin TEXT, session TEXT, user TEXT, service TEXT, model TEXT,
             provider TEXT, error_type TEXT, injection_count INTEGER, injection_chars INTEGER, injection_sources TEXT,
             truncated INTEGER, suspected INTEGER, calls INTEGER NOT NULL, input_tokens INTEGER, output_tokens INTEGER,
             cache_read_tokens INTEGER, cache_write_tokens INTEGER, first_chunk INTEGER, hooks INTEGER NOT NULL,
             hooks_failed INTEGER NOT NULL, recalls INTEGER NOT NULL, matches INTEGER, recall_outcome TEXT,
             file INTEGER, position INTEGER, line INTEGER, uuid TEXT, preview TEXT, typed_chars INTEGER,
             added_chars INTEGER, written TEXT)""",
        "CREATE UNIQUE INDEX turns_key ON turns (key)",
        "CREATE INDEX turns_started ON turns (started)",
        """CREATE INDEX turns_session ON turns (session, started, outcome, model, duration, input_tokens, output_tokens,
             cache_read_tokens, cache_write_tokens, hooks_failed, user, typed_chars, added_chars)""",
        "CREATE INDEX turns_file ON turns (file) WHERE file IS NOT NULL",
        """CREATE TABLE calls (
             id INTEGER PRIMARY KEY, turn INTEGER, trace_id BLOB NOT NULL, span_id BLOB NOT NULL,
             started INTEGER NOT NULL, duration INTEGER NOT NULL, operation TEXT NOT NULL, provider TEXT, model TEXT,
             response_model TEXT, session TEXT, first_chunk INTEGER, input_tokens INTEGER, output_tokens INTEGER,
             cache_read_tokens INTEGER, cache_write_tokens INTEGER, reasoning_tokens INTEGER, finish_reasons TEXT,
             error_type TEXT)""",
        "CREATE INDEX calls_turn ON calls (turn)",
        "CREATE INDEX calls_started ON calls (started)",
        """CREATE TABLE hook_calls (
             id INTEGER PRIMARY KEY, turn INTEGER, trace_id BLOB NOT NULL, span_id BLOB NOT NULL,
             started INTEGER NOT NULL, duration INTEGER NOT NULL, event TEXT NOT NULL, type TEXT NOT NULL,
             name TEXT NOT NULL, outcome TEXT NOT NULL, success INTEGER NOT NULL, exit_code INTEGER,
             output_chars INTEGER, error TEXT)""",
        "CREATE INDEX hook_calls_turn ON hook_calls (turn)",
        "CREATE INDEX hook_calls_started ON hook_calls (started)",
        """CREATE TABLE recalls (
             id INTEGER PRIMARY KEY, turn INTEGER, trace_id BLOB NOT NULL, span_id BLOB NOT NULL,
             started INTEGER NOT NULL, duration INTEGER NOT NULL, outcome TEXT NOT NULL, matches INTEGER,
             store TEXT, error_type TEXT)""",
        "CREATE INDEX recalls_turn ON recalls (turn)",
        "CREATE INDEX recalls_started ON recalls (started)",
        """CREATE TABLE cells (
             width INTEGER NOT NULL, start INTEGER NOT NULL, model TEXT NOT NULL, series TEXT NOT NULL,
             label TEXT NOT NULL, count INTEGER NOT NULL, total REAL NOT NULL, sketch BLOB,
             PRIMARY KEY (width, start, model, series, label)) WITHOUT ROWID""",
        """CREATE TABLE logs (
             id INTEGER PRIMARY KEY, digest BLOB NOT NULL, at INTEGER NOT NULL, trace_id BLOB, span_id BLOB,
             event TEXT NOT NULL, severity TEXT NOT NULL, service TEXT NOT NULL, body TEXT,
             attributes TEXT NOT NULL)""",
        "CREATE UNIQUE INDEX logs_digest ON logs (digest)",
        "CREATE INDEX logs_at ON logs (at)",
        "CREATE INDEX logs_trace ON logs (trace_id) WHERE trace_id IS NOT NULL",
        """CREATE TABLE metrics (
             id INTEGER PRIMARY KEY, digest BLOB NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL, kind TEXT NOT NULL,
             service TEXT NOT NULL, attributes TEXT NOT NULL, began INTEGER NOT NULL, at INTEGER NOT NULL,
             last TEXT NOT NULL)""",
        "CREATE UNIQUE INDEX metrics_digest ON metrics (digest)",
        "CREATE INDEX metrics_name ON metrics (name)",
        """CREATE TABLE metric_sums (
             metric INTEGER NOT NULL, start INTEGER NOT NULL, count INTEGER NOT NULL, total REAL NOT NULL,
             buckets TEXT, PRIMARY KEY (metric, start)) WITHOUT ROWID""",
        """CREATE TABLE files (
             id INTEGER PRIMARY KEY, path TEXT NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL,
             lines INTEGER NOT NULL, session TEXT)""",
        "CREATE UNIQUE INDEX files_path ON files (path)",
    ):
        db.execute(statement)


def tails_of_files(db: Database) -> None:
    """Version 2: what was before the point up to which a file was read, so that another in its place is known."""
    db.table("files").add_column("tail", bytes)


def cells_of_sessions(db: Database) -> None:
    """Version 3: counts of large sessions, which `tally` fills."""
    db.execute("CREATE TABLE counted_sessions (session TEXT PRIMARY KEY) WITHOUT ROWID")
    db.execute(
        """CREATE TABLE session_cells (
             session TEXT NOT NULL, width INTEGER NOT NULL, start INTEGER NOT NULL, model TEXT NOT NULL,
             series TEXT NOT NULL, label TEXT NOT NULL, count INTEGER NOT NULL, total REAL NOT NULL, sketch BLOB,
             PRIMARY KEY (session, width, start, model, series, label)) WITHOUT ROWID"""
    )


def found_by_recalls(db: Database) -> None:
    """Version 4: what a recall found, beside what it brought; NULL where the span did not say."""
    db.table("recalls").add_column("found", int)


MIGRATIONS: tuple[Callable[[Database], None], ...] = (first_schema, tails_of_files, cells_of_sessions, found_by_recalls)


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
