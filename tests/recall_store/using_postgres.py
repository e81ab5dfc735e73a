"""What the tests of the PostgreSQL engine share: words in, answers out, and rows and plans as the server has them."""

from __future__ import annotations

from typing import Any, ClassVar

import psycopg

from recall_store import Record, Store
from recall_store.engines.postgresql import PostgresqlStore
from tests.recall_store.postgres import server

SECRET = "hunter2"


def add(store: Store, *texts: str, namespace: str = "n") -> list[Record]:
    return store.upsert(namespace=namespace, records=[Record(text=text) for text in texts])


def found(store: Store, query: str, namespace: str = "n", **more: Any) -> list[str]:
    return [match.record.text for match in store.search(namespace=namespace, query=query, **more)]


def sql(statement: str, *values: object, schema: str = "engine") -> list[Any]:
    with server().connect(schema) as db:
        cursor = db.execute(statement, values or None)
        return cursor.fetchall() if cursor.description is not None else []


class Explaining(psycopg.Cursor[Any]):
    """Keeps the plan of every query."""

    plans: list[str]

    def execute(
        self, query: Any, params: Any = None, *, prepare: bool | None = None, binary: bool | None = None
    ) -> Any:
        if str(query).lstrip("(").startswith("SELECT"):
            super().execute("EXPLAIN (COSTS OFF) " + query, params, prepare=False, binary=False)
            self.plans.append("\n".join(line for (line,) in self.fetchall()))
        return super().execute(query, params, prepare=prepare, binary=binary)


def plans(store: PostgresqlStore, call: Any) -> list[str]:
    """The plans of every query of `call`."""

    class Kept(Explaining):
        plans: ClassVar[list[str]] = []

    with store._pool.reading() as db:
        db.cursor_factory = Kept
    call()
    with store._pool.reading() as db:
        db.cursor_factory = psycopg.Cursor
    return Kept.plans
