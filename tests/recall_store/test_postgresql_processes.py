"""Processes and threads that share a PostgreSQL store, killed and forked ones too."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

from recall_store import open_store, postgresql_schema
from recall_store.engines.postgresql import PostgresqlStore
from tests.recall_store.fakes import FORKED
from tests.recall_store.postgres import server
from tests.recall_store.using_postgres import add, sql

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
    process = run(FORKED, url)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
