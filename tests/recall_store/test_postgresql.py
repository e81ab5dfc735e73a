"""What is particular to the PostgreSQL engine: the URL, the server, the schema, the plans, and large namespaces."""

from __future__ import annotations

import logging
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import psycopg
import pytest

from recall_store import (
    BusyError,
    ClosedError,
    OpenError,
    Record,
    Store,
    StoreError,
    UrlError,
    open_store,
    postgresql_pool,
    postgresql_schema,
    postgresql_vectors,
    rows,
)
from recall_store import postgresql_tables as tables
from recall_store.engines.postgresql import PostgresqlStore
from recall_store.filters import Filter
from recall_store.jsonl import keep, records_in
from recall_store.markdown import import_files
from recall_store.postgresql_pool import parse_url
from recall_store.postgresql_tables import find
from tests.recall_store.fakes import LetterEmbedder
from tests.recall_store.postgres import server

SECRET = "hunter2"


@pytest.fixture
def url() -> str:
    return server().empty("engine")


@pytest.fixture
def store(url: str) -> Iterator[PostgresqlStore]:
    with open_store(url) as opened:
        assert isinstance(opened, PostgresqlStore)
        yield opened


def add(store: Store, *texts: str, namespace: str = "n") -> list[Record]:
    return store.upsert(namespace=namespace, records=[Record(text=text) for text in texts])


def found(store: Store, query: str, namespace: str = "n", **more: Any) -> list[str]:
    return [match.record.text for match in store.search(namespace=namespace, query=query, **more)]


def sql(statement: str, *values: object, schema: str = "engine") -> list[Any]:
    with server().connect(schema) as db:
        cursor = db.execute(statement, values or None)
        return cursor.fetchall() if cursor.description is not None else []


# ---- the URL


def test_a_url_is_libpqs_with_a_schema_of_ours() -> None:
    address = parse_url("postgresql://bob:p%40ss@db.example:6432/memories?schema=team_a&sslmode=require")
    assert address.schema == "team_a"
    assert address.shown == "memories on db.example:6432"
    assert address.parameters["password"] == "p@ss"
    assert address.parameters["sslmode"] == "require"
    assert parse_url("postgresql:///memories").schema == "firsthand"


@pytest.mark.parametrize(
    "bad",
    [
        f"postgresql://bob:{SECRET}@[db/memories",
        f"postgresql://bob:{SECRET}%zz@db/memories",
        f"postgresql://bob:{SECRET}@db/memories?nonsense=1",
        f"postgresql://bob:{SECRET}@db/memories?schema=Robert');DROP",
        f"postgresql://bob:{SECRET}@db/memories?schema=",
        f"postgresql://bob:{SECRET}@db/memories?schema=pg_catalog",
    ],
)
def test_a_url_that_cannot_be_read_is_refused_without_a_word_of_it(bad: str) -> None:
    with pytest.raises(UrlError) as caught:
        open_store(bad)
    assert SECRET not in str(caught.value)
    assert str(caught.value).startswith("the store URL")
    # Neither does a traceback show what psycopg said of it.
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (f"postgresql://bob:{SECRET}@127.0.0.1:1/memories", "no connection to memories on 127.0.0.1:1 (Connection"),
        (
            f"postgresql://bob:{SECRET}@/memories?host=/nowhere",
            "no connection to memories on /nowhere:5432 (No such file",
        ),
        (f"postgresql://bob:@/memories?host=/nowhere&password={SECRET}", "no connection to memories on /nowhere:5432"),
    ],
)
def test_a_server_that_is_not_there_is_one_line_that_says_where_and_why(
    bad: str, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(OpenError) as caught:
        open_store(bad)
    assert str(caught.value).startswith(says)
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value) + caplog.text


def test_a_database_that_is_not_there_says_so(url: str) -> None:
    with pytest.raises(OpenError, match='database "nothing_here" does not exist'):
        open_store(url.replace("/postgres?", "/nothing_here?"))


# ---- the server


def test_after_a_restart_of_the_server_the_next_call_works(store: PostgresqlStore) -> None:
    add(store, "probe alpha")
    server().stop()
    server().start()
    assert found(store, "probe") == ["probe alpha"]
    add(store, "probe beta")
    assert sorted(found(store, "probe")) == ["probe alpha", "probe beta"]


def test_without_the_server_every_call_is_a_clear_error_and_works_again_with_it(
    store: PostgresqlStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    add(store, "probe alpha")
    server().stop()
    try:
        for call in (
            lambda: found(store, "probe"),
            lambda: add(store, "probe beta"),
            lambda: store.list(namespace="n"),
        ):
            with pytest.raises(
                OpenError, match=r"no connection to postgres on .* check that the server runs"
            ) as caught:
                call()
            assert SECRET not in str(caught.value)
    finally:
        server().start()
    assert found(store, "probe") == ["probe alpha"]
    assert SECRET not in caplog.text


def test_a_connection_that_is_cut_in_the_middle_of_a_write_leaves_nothing_and_says_so(store: PostgresqlStore) -> None:
    add(store, "probe alpha")
    with pytest.raises(OpenError, match="no connection"), store._pool.writing() as db:
        db.execute("DELETE FROM memories")
        sql("SELECT pg_terminate_backend(%s)", db.info.backend_pid)
        db.execute("SELECT 1")
    assert found(store, "probe") == ["probe alpha"]


def test_a_lock_that_another_holds_for_too_long_is_busy(
    store: PostgresqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, "probe alpha")
    monkeypatch.setattr(store._pool, "_begin_writing", store._pool._begin_writing.replace("5000", "50"))
    with server().connect("engine") as other, other.transaction():
        other.execute("SELECT 1 FROM namespaces WHERE name = 'n' FOR UPDATE")
        with pytest.raises(BusyError, match="another process held"):
            add(store, "probe beta")
        assert found(store, "probe") == ["probe alpha"]
        add(store, "elsewhere", namespace="other")
    add(store, "probe beta")


def test_a_statement_timeout_in_the_url_ends_a_slow_read(url: str) -> None:
    with open_store(f"{url}&options=-c%20statement_timeout%3D50") as store:
        assert isinstance(store, PostgresqlStore)
        with pytest.raises(BusyError, match="statement_timeout"), store._pool.reading() as db:
            db.execute("SELECT pg_sleep(60)")
        add(store, "probe alpha")
        assert found(store, "probe") == ["probe alpha"]


def test_a_read_has_a_timeout_of_five_seconds_if_nobody_sets_one(store: PostgresqlStore) -> None:
    with store._pool.reading() as db:
        assert db.execute("SHOW statement_timeout").fetchone() == ("5s",)


def test_a_call_waits_for_a_free_connection_and_then_says_so(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql_pool, "POOL_SIZE", 1)
    monkeypatch.setattr(postgresql_pool, "LOCK_SECONDS", 0.2)
    with open_store(url) as store:
        assert isinstance(store, PostgresqlStore)
        with store._pool.reading(), pytest.raises(BusyError, match="all 1 connections"):
            store.list(namespace="n")
        assert store.list(namespace="n") == []


def test_a_closed_store_says_so(url: str) -> None:
    store = open_store(url)
    store.close()
    store.close()
    for call in (
        lambda: store.list(namespace="n"),
        lambda: store.search(namespace="n", query="words that are new to it"),
        lambda: store.forget(namespace="n", query="words that are new to it"),
        lambda: add(store, "probe alpha"),
        store.vacuum,
        store.reindex,
    ):
        with pytest.raises(ClosedError, match="open it again"):
            call()


def test_closing_gives_every_connection_back(url: str) -> None:
    with open_store(url) as store:
        found(store, "probe")
    left = sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'firsthand' AND state <> 'idle'")
    assert left == [(0,)]


# ---- processes


WRITER = """
import sys
from recall_store import Record, open_store
with open_store(sys.argv[1]) as store:
    for i in range(int(sys.argv[3])):
        store.upsert(namespace="shared", records=[Record(text=f"{sys.argv[2]} lighthouse {i}")])
        assert store.search(namespace="shared", query=f"{sys.argv[2]} lighthouse {i}")
        print(i, flush=True)
"""


def run(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_processes_make_and_fill_one_store_together() -> None:
    sql("DROP SCHEMA IF EXISTS together CASCADE")
    runs = [run(WRITER, server().url("together"), name, "15") for name in ("one", "two", "three")]
    for process in runs:
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
    with open_store(server().url("together")) as store:
        assert len(store.list(namespace="shared")) == 45
        assert len(store.search(namespace="shared", query="lighthouse", top_k=100)) == 45
    assert sql("SELECT number FROM version", schema="together") == [
        (number,) for number in range(1, len(postgresql_schema.MIGRATIONS) + 1)
    ]


def test_what_a_killed_writer_was_told_is_stored_is_there(url: str) -> None:
    process = run(WRITER, url, "one", "100000")
    with process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(5)][-1]
        process.send_signal(signal.SIGKILL)
        told = max([told, *(int(line) for line in process.stdout if line.strip())])
    with open_store(url) as store:
        texts = {record.text for record in store.list(namespace="shared")}
        assert {f"one lighthouse {i}" for i in range(told + 1)} <= texts
        assert len(store.search(namespace="shared", query="lighthouse", top_k=len(texts) + 10)) == len(texts)
    assert sql("SELECT count(*) FROM vectors") == sql("SELECT count(*) FROM memories")
    assert sql("SELECT sum(live) FROM namespaces") == [(len(texts),)]


def test_threads_that_write_into_one_namespace_lose_nothing_and_make_no_twins(store: PostgresqlStore) -> None:
    def write() -> None:
        for i in range(20):
            add(store, f"lighthouse {i}")

    threads = [threading.Thread(target=write) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(record.text for record in store.list(namespace="n")) == sorted(f"lighthouse {i}" for i in range(20))


def test_a_store_that_was_open_before_a_fork_works_in_the_child(url: str) -> None:
    script = """
import os, sys
from recall_store import Record, open_store
with open_store(sys.argv[1]) as store:
    store.upsert(namespace="n", records=[Record(text="probe alpha")])
    child = os.fork()
    if not child:
        store.upsert(namespace="n", records=[Record(text="probe beta")])
        os._exit(0 if len(store.search(namespace="n", query="probe")) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert len(store.search(namespace="n", query="probe")) == 2
"""
    process = run(script, url)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


# ---- the schema


def test_a_schema_of_a_newer_version_is_refused(url: str) -> None:
    open_store(url).close()
    sql("INSERT INTO version (number) VALUES (999)")
    try:
        with pytest.raises(OpenError, match=r"newer version \(schema 999\); upgrade firsthand"):
            open_store(url)
    finally:
        sql("DELETE FROM version WHERE number = 999")


def test_a_schema_with_other_tables_is_refused_and_left_alone() -> None:
    sql("DROP SCHEMA IF EXISTS theirs CASCADE")
    sql("CREATE SCHEMA theirs")
    sql("CREATE TABLE theirs.memories (id integer)")
    with pytest.raises(OpenError, match=r"schema theirs in .* not of a memory store"):
        open_store(server().url("theirs"))
    assert sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'theirs'") == [(1,)]


def test_a_migration_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(db: psycopg.Connection[Any]) -> None:
        db.execute("SELECT 1 / 0")

    sql("DROP SCHEMA IF EXISTS halfway CASCADE")
    with monkeypatch.context() as patch:
        patch.setattr(postgresql_schema, "MIGRATIONS", (*postgresql_schema.MIGRATIONS, fails))
        with pytest.raises(StoreError, match="SQLSTATE 22012"):
            open_store(server().url("halfway"))
    assert sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'halfway'") == [(0,)]
    open_store(server().url("halfway")).close()


def test_a_later_migration_runs_once_over_what_is_there(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(url) as store:
        add(store, "probe alpha")

    def later(db: psycopg.Connection[Any]) -> None:
        db.execute("ALTER TABLE meta ADD COLUMN note text")

    monkeypatch.setattr(postgresql_schema, "MIGRATIONS", (*postgresql_schema.MIGRATIONS, later))
    try:
        for _ in range(2):
            with open_store(url) as store:
                assert found(store, "probe") == ["probe alpha"]
    finally:
        sql("ALTER TABLE meta DROP COLUMN note")
        sql("DELETE FROM version WHERE number >= %s", len(postgresql_schema.MIGRATIONS))


def test_a_store_of_version_1_finds_emoji_and_words_with_unseen_characters_after_it_was_opened(url: str) -> None:
    with open_store(url) as store:
        add(store, "🎉🎉🎉", "the pass\u200bword is in the vault", "the boat is green")
        [[term]] = [store._stems.of(["vault"])]  # type: ignore[attr-defined]
    try:
        sql("DELETE FROM version WHERE number > 1")
        sql("DELETE FROM postings WHERE key IN (1, 2)")
        sql("UPDATE memories SET terms = '{}', length = 0, text_length = 0 WHERE key IN (1, 2)")
        sql("UPDATE memories SET terms = %s WHERE key = 2", [term, "pass", "word"])
        sql("INSERT INTO postings SELECT bucket, namespace_id, 'pass', key, 1 FROM memories WHERE key = 2")
    finally:
        open_store(url).close()
    with open_store(url) as store:
        for query, text in (("🎉🎉🎉", "🎉🎉🎉"), ("password vault", "the pass\u200bword is in the vault")):
            assert found(store, query) == [text]
    assert sql("SELECT length, text_length FROM memories ORDER BY key") == [(3, 3), (2, 2), (2, 2)]
    assert sql("SELECT count(*) FROM postings WHERE term = 'pass'") == [(0,)]
    assert sql("SELECT number FROM version ORDER BY number") == [
        (number,) for number in range(1, len(postgresql_schema.MIGRATIONS) + 1)
    ]


def test_a_role_that_may_only_read_and_write_rows_is_enough_once_the_tables_are_there(url: str) -> None:
    open_store(url).close()
    sql("DROP OWNED BY clerk") if sql("SELECT 1 FROM pg_roles WHERE rolname = 'clerk'") else sql(
        "CREATE ROLE clerk LOGIN"
    )
    sql("GRANT USAGE ON SCHEMA engine TO clerk")
    sql("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA engine TO clerk")
    sql("GRANT USAGE ON ALL SEQUENCES IN SCHEMA engine TO clerk")
    with open_store(url.replace("postgres:", "clerk:")) as store:
        add(store, "probe alpha")
        assert found(store, "probe") == ["probe alpha"]
    sql("REVOKE DELETE ON ALL TABLES IN SCHEMA engine FROM clerk")
    with open_store(url.replace("postgres:", "clerk:")) as store, pytest.raises(OpenError, match="the role may not do"):
        store.delete(namespace="n", ids=[str(store.list(namespace="n")[0].id)])
    sql("GRANT DELETE ON ALL TABLES IN SCHEMA engine TO clerk")
    with (
        open_store(url.replace("postgres:", "clerk:")) as store,
        pytest.raises(OpenError, match=r"may not vacuum the tables of .*; do it as their owner"),
    ):
        store.vacuum()


def test_a_database_without_pgvector_says_who_can_add_it() -> None:
    sql("DROP DATABASE IF EXISTS bare")
    sql("CREATE DATABASE bare")
    if not sql("SELECT 1 FROM pg_roles WHERE rolname = 'owner'"):
        sql("CREATE ROLE owner LOGIN")
    sql("ALTER DATABASE bare OWNER TO owner")
    url = server().url("firsthand").replace("postgres:", "owner:").replace("/postgres?", "/bare?")
    with pytest.raises(
        OpenError, match=r"bare on .* lacks pgvector; have an administrator run CREATE EXTENSION vector"
    ):
        open_store(url)
    with psycopg.connect(host=str(server().socket), user="postgres", dbname="bare", autocommit=True) as db:
        db.execute("CREATE SCHEMA elsewhere; CREATE EXTENSION vector SCHEMA elsewhere")
        db.execute("GRANT USAGE ON SCHEMA elsewhere TO owner")
    with open_store(url) as store:
        add(store, "probe alpha")
        assert found(store, "probe") == ["probe alpha"]
        store.vacuum()
        assert found(store, "probe") == ["probe alpha"]


def test_every_table_that_grows_is_partitioned_by_a_hash_of_the_namespace(store: PostgresqlStore) -> None:
    for i in range(40):
        add(store, "probe alpha", namespace=f"tenant{i}")
    parts = sql("SELECT tableoid::regclass::text, count(*) FROM memories GROUP BY 1")
    assert len(parts) > 8
    assert {name.rpartition("_")[0] for (name, _) in parts} == {"memories"}
    unpartitioned = sql(
        "SELECT relname FROM pg_class WHERE relnamespace = 'engine'::regnamespace AND relkind = 'r'"
        " AND NOT relispartition ORDER BY relname"
    )
    assert [name for (name,) in unpartitioned] == ["meta", "version"]


def test_the_bucket_of_a_namespace_is_the_same_for_ever() -> None:
    assert [postgresql_schema.bucket_of(name) for name in ("alice", "bob", "团队", "")] == [0, 9, 14, 1]


# ---- what is deleted


def test_deleted_words_are_in_no_table_after_vacuum(store: PostgresqlStore) -> None:
    [record] = add(store, "the password hint is zanzibar")
    add(store, "something else")
    store.delete(namespace="n", ids=[str(record.id)])
    store.vacuum()
    sql("CHECKPOINT")
    files = sql(
        "SELECT pg_relation_filepath(oid) FROM pg_class WHERE relnamespace = 'engine'::regnamespace"
        " AND relkind IN ('r', 'i')"
    )
    assert len(files) > 200
    for (path,) in files:
        assert b"zanzibar" not in sql("SELECT pg_read_binary_file(%s)", path)[0][0]


def test_vacuum_removes_what_has_expired_and_notes_of_what_was_removed(store: PostgresqlStore) -> None:
    past = datetime.now(UTC) - timedelta(days=1)
    store.upsert(
        namespace="n", records=[Record(id="old", text="probe alpha", expires_at=past), Record(text="probe beta")]
    )
    store.delete(namespace="n", ids=[str(add(store, "probe gamma")[0].id)])
    store.vacuum()
    assert sql("SELECT text FROM memories") == [("probe beta",)]
    assert sql("SELECT count(*) FROM removed") == [(0,)]
    assert [change.event for change in store.history(namespace="n", id="old")] == ["added", "deleted"]
    assert found(store, "probe") == ["probe beta"]


def test_no_row_of_any_kind_is_left_of_what_was_deleted(store: PostgresqlStore) -> None:
    records = add(store, *(f"lighthouse number {i}" for i in range(30)))
    store.delete(namespace="n", ids=[str(record.id) for record in records])
    for table in ("memories", "postings", "vectors"):
        assert sql(f"SELECT count(*) FROM {table}") == [(0,)]
    assert sql("SELECT count(*) FROM history WHERE record IS NOT NULL") == [(0,)]


# ---- large namespaces


class Circle(LetterEmbedder):
    """A text "... 7" at 7 degrees of a circle of 3,600 tenths."""

    name = "circle"
    id = "circle/1"
    dimension = 2
    weight = 1.0
    floor = -1.0

    def embed(self, texts: Any) -> Any:
        turns = np.array([int(text.split()[-1]) for text in texts]) * (2 * np.pi / 3600)
        return np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float32)


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


class Fan(LetterEmbedder):
    """One of 26 directions by the number in the text."""

    id = "fan/1"

    def embed(self, texts: Any) -> Any:
        return np.eye(26, dtype=np.float32)[[int(text.split()[-1]) % 26 for text in texts]]


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


def test_a_memory_is_there_until_the_microsecond_before_its_time_and_not_at_it(store: PostgresqlStore) -> None:
    at = datetime(2999, 1, 1, tzinfo=UTC)
    moment = rows.microseconds(at)
    [record] = store.upsert(namespace="n", records=[Record(id="m", text="probe alpha", expires_at=at)])
    with store._pool.reading() as db:
        for now, there in ((moment - 1, True), (moment, False), (moment + 1, False), (moment - 10**12, True)):
            here = find(db, "n", now=now)
            assert here is not None
            assert (here.expired == []) is there
            assert ("m" in tables.by_ids(db, here, ["m"], now)) is there
            assert (tables.page(db, here, Filter(), now=now, limit=None, offset=0) == [record]) is there
            assert (rows.digest(record) in tables.by_digests(db, here, [rows.digest(record)], now)) is there
            assert (tables.allowed(db, here, Filter(types=("user",)), now).tolist() == [1]) is there
            assert (tables.expired(db, here, now) == {}) is there


@pytest.mark.parametrize("damage", ["metadata = '{'", "type = 'hook'", "created_at = 9000000000000000000"])
def test_a_memory_that_is_not_as_it_was_stored_is_named_and_can_be_deleted(damage: str, store: PostgresqlStore) -> None:
    store.upsert(namespace="n", records=[Record(id=f"m{i}", text=f"lighthouse {i}") for i in range(5)])
    sql(f"UPDATE memories SET {damage} WHERE id = 'm2'")
    for call in (lambda: found(store, "lighthouse"), lambda: store.list(namespace="n")):
        with pytest.raises(OpenError, match="is damaged: the memory m2 is not as it was stored; delete it"):
            call()
    assert store.delete(namespace="n", ids=["m2"]) == 1
    assert len(found(store, "lighthouse")) == 4


# ---- plans


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
