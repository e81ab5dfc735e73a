"""No query is a walk over all rows: SQLite says so by its plan, and Python by how many lines it runs."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import Any

import pytest

from recall_store import Record, Store, open_store
from recall_store.engines.sqlite import SqliteStore

LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)
NOW = datetime.now(UTC)
WALKS = ("delete", "export")
"""What is not asked of the same memories twice, and what gives all of them."""
VERBS: dict[str, Callable[[Store], Any]] = {
    "search": lambda store: store.search(namespace="n", query="lighthouse keeper number 7"),
    "search with words of every memory": lambda store: store.search(namespace="n", query="lighthouse keeper"),
    "search by type": lambda store: store.search(namespace="n", query="lighthouse", where={"type": "user"}),
    "search by all": lambda store: store.search(
        namespace="n", query="lighthouse", where={"author": "user", "after": LONG_AGO, "metadata": {"kind": "odd"}}
    ),
    "get": lambda store: store.get(namespace="n", ids=["m3", "m4"]),
    "list": lambda store: store.list(namespace="n", limit=5),
    "list by all": lambda store: store.list(
        namespace="n",
        where={"type": ["user", "project"], "author": "user", "after": LONG_AGO, "metadata": {"kind": "odd"}},
        limit=5,
        offset=20,
    ),
    "list by time": lambda store: store.list(namespace="n", where={"before": NOW}, limit=5),
    "search by time": lambda store: store.search(namespace="n", query="lighthouse", where={"before": NOW}),
    "search by metadata": lambda store: store.search(
        namespace="n", query="lighthouse", where={"metadata": {"kind": "odd"}}
    ),
    "export": lambda store: next(store.export(namespace="n")),
    "histories": lambda store: store.histories(namespace="n", ids=["m3", "m4"]),
    "near duplicates": lambda store: list(store.near_duplicates(namespace="n", ids=["m3"])),
    "warm": lambda store: store.warm(namespace="n"),
    "get what is not there": lambda store: store.get(namespace="n", ids=["x"]),
    "search of nobody": lambda store: store.search(namespace="nobody", query="lighthouse"),
    "history": lambda store: store.history(namespace="n", id="m3"),
    "upsert": lambda store: store.upsert(namespace="n", records=[Record(text="one more"), Record(id="m5", text="new")]),
    "delete": lambda store: store.delete(namespace="n", ids=["m8"]),
    "forget": lambda store: store.forget(namespace="n", query="number 9"),
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Store]]:
    opened: dict[int, Store] = {}
    for size in (300, 3000):
        store = opened[size] = open_store(f"sqlite:///{tmp_path_factory.mktemp('plans')}/memories.db")
        store.upsert(
            namespace="n",
            records=[
                Record(
                    id=f"m{i}",
                    text=f"lighthouse keeper number {i}",
                    source={"session": f"s{i % 9}", "position": i},
                    metadata={"kind": "odd" if i % 2 else "even"},
                    created_at=LONG_AGO + timedelta(days=i),
                )
                for i in range(size)
            ],
        )
        store.upsert(namespace="other", records=[Record(text=f"lighthouse {i}") for i in range(size)])
        for verb in VERBS.values():
            verb(store)
    yield opened
    for store in opened.values():
        store.close()


def lines_run(work: Callable[[], Any]) -> int:
    """How many lines of Python run during `work`; each turn of a loop is one."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("name", [name for name in VERBS if name not in WALKS])
def test_ten_times_the_memories_are_not_more_lines_of_python(stores: dict[int, Store], name: str) -> None:
    few, many = (lines_run(lambda store=stores[size]: VERBS[name](store)) for size in (300, 3000))
    assert many <= few * 1.5 + 300


@pytest.mark.parametrize("name", VERBS)
def test_no_statement_of_a_verb_reads_a_table_from_end_to_end(stores: dict[int, Store], name: str) -> None:
    store = stores[300]
    assert isinstance(store, SqliteStore)
    said: list[str] = []
    with store._connections.bare() as db:
        pass
    db.set_trace_callback(said.append)
    try:
        VERBS[name](store)
    finally:
        db.set_trace_callback(None)
    plans = [step for statement in set(said) for step in plan(db, statement)]
    assert plans
    tables = ("memories", "vectors", "removed", "history", "words", "namespaces", "pending", "meta")
    assert [step for step in plans if any(step == f"SCAN {table}" for table in tables)] == []


def plan(db: sqlite3.Connection, statement: str) -> list[str]:
    """The steps of SQLite's plan for a statement; none for one that reads and writes no table of ours."""
    if not statement.lstrip().upper().startswith(("SELECT", "UPDATE", "DELETE", "INSERT")) or "temp." in statement:
        return []
    return [str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {statement}")]
