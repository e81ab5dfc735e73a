"""The plans of the PostgreSQL engine's queries: indexes and one partition, whatever the planner thinks."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from recall_store import Record, open_store, postgresql_schema, postgresql_vectors
from recall_store.engines.postgresql import PostgresqlStore
from tests.recall_store.fakes import Fan
from tests.recall_store.postgres import server
from tests.recall_store.using_postgres import found, plans, sql


def test_a_search_reads_the_partition_of_its_namespace_by_its_indexes(store: PostgresqlStore) -> None:
    bucket = postgresql_schema.bucket_of("n")
    beside = [name for name in map(str, range(1000)) if postgresql_schema.bucket_of(name) == bucket][:30]
    for namespace in ("n", *beside):
        records = [Record(text=f"lighthouse number {i}", metadata={"a": i % 2}) for i in range(100)]
        store.upsert(namespace=namespace, records=records)
    store.vacuum()
    for where in (None, {"type": "user"}, {"metadata": {"a": 1}}):
        explained = plans(store, lambda: found(store, "lighthouse 7", where=where))  # noqa: B023
        assert len(explained) >= 4
        for table in ("postings", "vectors", "memories", "namespaces"):
            assert any(f" {table}_{bucket:02} " in plan for plan in explained)
        for plan in explained:
            assert set(re.findall(r" on (?:postings|vectors|memories|namespaces)_(\d\d)", plan)) <= {f"{bucket:02}"}
            assert not any(f"Seq Scan on {table}" in plan for table in ("postings", "vectors", "memories"))
    kept = {"type": "user", "after": datetime(2001, 1, 1, tzinfo=UTC), "metadata": {"a": 1}}
    [id] = [str(record.id) for record in store.list(namespace="n", limit=1)]
    for call in (
        lambda: store.list(namespace="n", limit=5),
        lambda: store.list(namespace="n", where=kept, limit=5, offset=20),
        lambda: store.get(namespace="n", ids=[id, "x"]),
        lambda: store.history(namespace="n", id=id),
        lambda: next(store.export(namespace="n")),
        lambda: list(store.near_duplicates(namespace="n", ids=[id])),
        lambda: store.upsert(namespace="n", records=[Record(text="one more"), Record(id=id, text="new")]),
        lambda: store.forget(namespace="n", query="lighthouse 9"),
        lambda: store.delete(namespace="n", ids=[id]),
    ):
        explained = plans(store, call)
        assert explained
        for plan in explained:
            assert set(re.findall(r" on (?:postings|vectors|memories|history)_(\d\d)", plan)) <= {f"{bucket:02}"}
            assert not any(f"Seq Scan on {table}" in plan for table in ("postings", "vectors", "memories", "history"))


@pytest.mark.parametrize("large", [False, True])
def test_a_filter_is_no_join_of_every_vector_with_every_memory_also_where_no_table_was_counted(
    large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pgvector#259: what the planner thinks of the tables is nothing that an answer may depend on.

    It took 2.7 s for 3,000 memories, and so a timeout for 20,000, until the server had counted them.
    """
    monkeypatch.setattr(postgresql_vectors, "EXACT_BELOW", 50 if large else 20_000)
    sql("DROP SCHEMA IF EXISTS uncounted CASCADE")
    with open_store(server().url("uncounted"), embedder=Fan()) as store:
        assert isinstance(store, PostgresqlStore)
        records = [Record(text=f"point {i}", metadata={"odd": i % 2}) for i in range(400)]
        store.upsert(namespace="n", records=records)
        where = {"metadata": {"odd": 1}}
        if large:
            store.index()
        explained = plans(store, lambda: found(store, "where is point 7", where=where))
        [near] = [plan for plan in explained if "<#>" in plan]
        assert "Join" not in near and "Nested Loop" not in near
        assert ("near_" in near) is large
        assert len(store.search(namespace="n", query="where is point 7", top_k=200, where=where)) == 200
