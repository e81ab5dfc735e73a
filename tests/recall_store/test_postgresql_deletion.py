"""What a PostgreSQL store no longer holds: deleted, expired and damaged memories."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from recall_store import OpenError, Record, rows
from recall_store import postgresql_tables as tables
from recall_store.engines.postgresql import PostgresqlStore
from recall_store.filters import Filter
from recall_store.postgresql_tables import find
from tests.recall_store.using_postgres import add, found, sql


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
