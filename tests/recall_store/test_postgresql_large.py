"""Large namespaces of a PostgreSQL store: when they have an index, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recall_store import Record, open_store, postgresql_schema, postgresql_vectors
from recall_store.engines.postgresql import PostgresqlStore
from recall_store.jsonl import keep, records_in
from recall_store.markdown import import_files
from recall_store.postgresql_tables import find
from tests.recall_store.fakes import Circle, Fan, LetterEmbedder
from tests.recall_store.using_postgres import add, found, plans, sql


@pytest.fixture
def large(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresqlStore]:
    """1,200 memories in `n`, which is large here, and as many in `other`, of the same partition."""
    monkeypatch.setattr(postgresql_vectors, "EXACT_BELOW", 400)
    other = next(
        name for name in map(str, range(1000)) if postgresql_schema.bucket_of(name) == postgresql_schema.bucket_of("n")
    )
    with open_store(url, embedder=Circle()) as opened:
        assert isinstance(opened, PostgresqlStore)
        for namespace in ("n", other):
            opened.upsert(
                namespace=namespace,
                records=[
                    Record(text=f"point {i}", type="project" if i % 100 == 7 else "user", metadata={"odd": i % 2})
                    for i in range(1200)
                ],
            )
        opened.vacuum()
        yield opened


def test_a_large_namespace_has_an_index_of_its_own_and_every_question_gets_all_it_asked_for(
    large: PostgresqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sql("SELECT count(*) FROM pg_indexes WHERE schemaname = 'engine' AND indexname LIKE 'near%%'") == [(2,)]
    near = [f"point {i}" for i in (500, 501, 499, 502, 498, 503, 497, 504, 496, 505)]
    # Words that no memory has: what is found is found by its vector.
    assert sorted(found(large, "where is 500", top_k=10)[:5]) == sorted(near[:5])
    assert len(found(large, "where is 500", top_k=10)) == 10
    for where, kept in (({"type": "project"}, 12), ({"metadata": {"odd": 1}}, 600), ({"metadata": {"odd": 7}}, 0)):
        assert len(found(large, "where is 500", top_k=10, where=where)) == min(10, kept)
        assert len(found(large, "where is 500", top_k=40, where=where)) == min(40, kept)
    assert found(large, "where is 500", top_k=3, where={"type": "project"}) == ["point 507", "point 407", "point 607"]


def test_an_index_is_what_a_large_namespace_is_searched_by_and_exactness_what_a_small_one_is(
    large: PostgresqlStore,
) -> None:
    add(large, "point 1", "point 2", namespace="small")
    with large._pool.reading() as db:
        here, small = find(db, "n"), find(db, "small")
        assert here is not None and small is not None
        assert postgresql_vectors.index_of(db, here, 2) == "vector(2)"
        assert postgresql_vectors.index_of(db, small, 2) is None
    explained = plans(large, lambda: found(large, "where is 500", top_k=10))
    assert any(f"Index Scan using near_{here.bucket}_{here.id}_1" in plan for plan in explained)
    explained = plans(large, lambda: found(large, "where is 500", namespace="small", top_k=10))
    assert not any("near_" in plan for plan in explained)


def test_deleted_and_expired_memories_are_in_no_answer_of_an_index(large: PostgresqlStore) -> None:
    points = {record.text: str(record.id) for record in large.list(namespace="n")}
    large.delete(namespace="n", ids=[points[f"point {i}"] for i in range(400, 600)])
    past = datetime.now(UTC) - timedelta(days=1)
    large.upsert(namespace="n", records=[Record(id=points["point 399"], text="point 399", expires_at=past)])
    answers = found(large, "where is 500", top_k=10)
    assert len(answers) == 10
    assert not {f"point {i}" for i in range(399, 600)} & set(answers)


def test_a_large_namespace_can_change_to_an_embedder_of_another_dimension(large: PostgresqlStore) -> None:
    assert large.reindex(embedder=LetterEmbedder()) == 2400
    assert sql("SELECT DISTINCT vector_dims(vector) FROM vectors") == [(26,)]
    assert sql("SELECT count(*) FROM pg_indexes WHERE schemaname = 'engine' AND indexname LIKE 'near%%'") == [(2,)]
    add(large, "zebra")
    assert found(large, "zebra") == ["zebra"]


def test_vacuum_drops_the_index_of_what_is_large_no_more_and_vectors_that_nobody_uses(large: PostgresqlStore) -> None:
    ids = [str(record.id) for record in large.list(namespace="n")]
    large.delete(namespace="n", ids=ids[:1100])
    sql("INSERT INTO vectors SELECT bucket, namespace_id, 0, key, vector FROM vectors WHERE key < 5")
    large.vacuum()
    assert sql("SELECT count(*) FROM pg_indexes WHERE schemaname = 'engine' AND indexname LIKE 'near%%'") == [(1,)]
    assert sql("SELECT DISTINCT generation FROM vectors") == [(1,)]
    assert len(found(large, "where is 500", top_k=100)) == 100


def test_an_index_that_a_crash_left_unfinished_is_not_used_and_made_anew(large: PostgresqlStore) -> None:
    [(name,)] = sql("SELECT min(indexname) FROM pg_indexes WHERE schemaname = 'engine' AND indexname LIKE 'near%%'")
    sql("UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", f"engine.{name}")
    assert len(found(large, "where is 500", top_k=10)) == 10
    large.vacuum()
    assert sql("SELECT indisvalid FROM pg_index WHERE indexrelid = %s::regclass", f"engine.{name}") == [(True,)]


@pytest.mark.parametrize(("dimension", "kind"), [(1, "vector(1)"), (2000, "vector(2000)"), (3072, "halfvec(3072)")])
def test_vectors_of_any_dimension_are_stored_searched_and_indexed(
    url: str, dimension: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Wide(Circle):
        def embed(self, texts: Any) -> Any:
            rows = np.zeros((len(texts), dimension), np.float32)
            for row, text in zip(rows, texts, strict=True):
                row[int(text.split()[-1]) % dimension] = 1
            return rows

    monkeypatch.setattr(postgresql_vectors, "EXACT_BELOW", 20)
    Wide.dimension = dimension
    with open_store(url, embedder=Wide()) as store:
        assert isinstance(store, PostgresqlStore)
        add(store, *(f"point {i}" for i in range(30)))
        exact = store.search(namespace="n", query="where is 7", top_k=1)
        store.vacuum()
        with store._pool.reading() as db:
            here = find(db, "n")
            assert here is not None and postgresql_vectors.index_of(db, here, dimension) == kind
        assert len(store.search(namespace="n", query="where is 7", top_k=10)) == 10
        if dimension > 1:
            assert exact[0].record.text == "point 7"
            assert store.search(namespace="n", query="where is 7", top_k=1) == exact


@pytest.mark.parametrize("way", ["import_", "jsonl", "markdown", "index"])
def test_what_becomes_large_by_an_import_of_any_kind_has_its_index(
    way: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql_vectors, "EXACT_BELOW", 20)
    lines = [f'{{"text": "point {i}"}}' for i in range(30)]
    with open_store(url, embedder=Fan()) as store:
        assert isinstance(store, PostgresqlStore)
        if way == "import_":
            store.import_(namespace="n", lines=lines)
        elif way == "jsonl":
            keep(store, "n", records_in(lines))
        elif way == "markdown":
            for i in range(30):
                (tmp_path / f"{i}.md").write_text(f"---\ntype: user\n---\npoint {i}\n")
            import_files(store, namespace="n", paths=[tmp_path])
        else:
            store.upsert(namespace="n", records=[Record(text=f"point {i}") for i in range(30)])
            store.index()
        with store._pool.reading() as db:
            here = find(db, "n")
            assert here is not None and postgresql_vectors.index_of(db, here, 26) == "vector(26)"


def test_a_vacuum_indexes_what_is_there_also_after_another_process_changed_the_embedder(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql_vectors, "EXACT_BELOW", 20)
    with open_store(url) as one, open_store(url) as two:
        one.upsert(namespace="n", records=[Record(text=f"point {i}") for i in range(30)])
        two.reindex(embedder=Fan())
        one.vacuum()
        assert len(two.search(namespace="n", query="where is point 7", top_k=30)) == 30
