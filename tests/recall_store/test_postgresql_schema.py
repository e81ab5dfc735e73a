"""The schema of a PostgreSQL store: its versions, its migrations, its partitions, and the roles that may use it."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from recall_store import OpenError, StoreError, open_store, postgresql_schema
from recall_store.engines.postgresql import PostgresqlStore
from tests.recall_store.postgres import server
from tests.recall_store.using_postgres import add, found, sql


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
    sql("CREATE INDEX near_0_999_1 ON vectors_00 (bucket)")  # of a namespace that is no more
    with (
        open_store(url.replace("postgres:", "clerk:")) as store,
        pytest.raises(OpenError, match=r"may not vacuum the tables of .*; do it as their owner"),
    ):
        store.vacuum()
    with open_store(url) as store:
        store.vacuum()
    assert sql("SELECT 1 FROM pg_indexes WHERE indexname = 'near_0_999_1'") == []


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
