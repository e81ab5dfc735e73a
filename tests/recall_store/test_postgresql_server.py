"""The server of a PostgreSQL store: gone, back again, slow, busy, and closed."""

from __future__ import annotations

import logging

import pytest

from recall_store import BusyError, ClosedError, OpenError, open_store, postgresql_pool
from recall_store.engines.postgresql import PostgresqlStore
from tests.recall_store.postgres import server
from tests.recall_store.using_postgres import SECRET, add, found, sql


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
