"""Nothing lost, nothing resurrected, nothing unsaid: kills, crowds, damage, full disks. The long runs are by hand."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from recall_store import EmbedderMismatchError, OpenError, Record, StoreError, open_store
from recall_store.engines.sqlite import SqliteStore
from tests.recall_store.crashing import crash
from tests.recall_store.crowding import crowd


def url_of(folder: Path) -> str:
    return f"sqlite:///{folder}/memories.db"


def test_a_writer_killed_three_times_loses_nothing_and_nothing_comes_back(tmp_path: Path) -> None:
    crash(tmp_path, kills=3, seed=5)


def test_eight_processes_at_once_never_hear_that_the_store_is_locked(tmp_path: Path) -> None:
    assert crowd(url_of(tmp_path), 8, "--rounds", "3") == [3] * 8


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("whole")
    with open_store(url_of(folder)) as store:
        records = [Record(text=f"lighthouse number {i}", metadata={"n": i}) for i in range(120)]
        store.upsert(namespace="n", records=records)
        store.vacuum()
    return (folder / "memories.db").read_bytes()


@pytest.mark.parametrize("kind", ["cut", "flip", "page", "other"])
@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_database_is_refused_by_name_or_answers_and_says_nothing_strange(
    whole: bytes, kind: str, seed: int, tmp_path: Path
) -> None:
    rng, raw, folder = random.Random(seed), bytearray(whole), tmp_path
    if kind == "cut":
        del raw[rng.randrange(1, len(raw)) :]
    elif kind == "flip":
        for _ in range(2**seed // 20 + 1):
            raw[rng.randrange(len(raw))] ^= 0xFF
    elif kind == "page":
        page = rng.randrange(len(raw) // 4096)
        raw[page * 4096 : (page + 1) * 4096] = rng.randbytes(4096)
    else:
        raw = bytearray(rng.randbytes(rng.randrange(1, 9000)))
    (folder / "memories.db").write_bytes(bytes(raw))
    try:
        with open_store(url_of(folder)) as store:
            store.search(namespace="n", query="lighthouse number 7")
            store.list(namespace="n")
            store.upsert(namespace="n", records=[Record(text="one more lighthouse")])
            store.delete(namespace="n", ids=[str(record.id) for record in store.list(namespace="n", limit=3)])
            store.vacuum()
    except StoreError as error:
        assert "memories.db" in str(error) and "\n" not in str(error)


def test_a_damaged_vector_in_the_database_is_named_and_reindex_makes_it_anew(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store:
        store.upsert(namespace="n", records=[Record(text=f"lighthouse number {i}") for i in range(20)])
    db = sqlite3.connect(tmp_path / "memories.db")
    db.execute("UPDATE vectors SET vector = zeroblob(length(vector)) WHERE key = 7")
    db.commit()
    db.close()
    with open_store(url_of(tmp_path)) as store:
        with pytest.raises(OpenError, match=r"memories\.db has damaged vectors; call reindex"):
            store.search(namespace="n", query="lighthouse number 6", top_k=20)
        assert store.reindex() == 20
        assert len(store.search(namespace="n", query="lighthouse number 6", top_k=20)) == 20


def test_a_full_disk_is_named_and_the_store_stays_whole(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store:
        assert isinstance(store, SqliteStore)
        store.upsert(namespace="n", records=[Record(text="the boat is green")])
        with store._connections.bare() as db:
            db.execute("PRAGMA max_page_count = 1")
        with pytest.raises(OpenError, match=r"the disk of .*memories\.db is full; free some space"):
            store.upsert(namespace="n", records=[Record(text=f"note {i} " * 50) for i in range(500)])
        with store._connections.bare() as db:
            db.execute("PRAGMA max_page_count = 1000000")
        assert [record.text for record in store.list(namespace="n")] == ["the boat is green"]
        store.upsert(namespace="n", records=[Record(text="there is room again")])


def test_a_disk_without_room_for_the_vector_files_costs_no_answer(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store:
        store.upsert(namespace="n", records=[Record(text=f"lighthouse number {i}") for i in range(300)])
    script = """
import resource, signal, sys
from recall_store import open_store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with open_store(sys.argv[1]) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    print(len(store.search(namespace="n", query="lighthouse number 7", top_k=300)))
"""
    ran = subprocess.run([sys.executable, "-c", script, url_of(tmp_path)], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("300\n", "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into any folder")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)):
        pass
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OpenError, match="permissions"):
            open_store(url_of(tmp_path))
    finally:
        tmp_path.chmod(0o700)


def test_a_deleted_memory_is_in_no_byte_on_disk_after_vacuum_while_the_store_is_open_twice(tmp_path: Path) -> None:
    secret = [f"zanzibar{i}" for i in range(200)]
    with open_store(url_of(tmp_path)) as store, open_store(url_of(tmp_path)) as other:
        kept = [Record(text=f"kept {i}", source={"session": "s", "position": i + 0.5}) for i in range(200)]
        gone = [
            Record(text=f"{word} lives here", title=f"{word}title", source={"session": "s", "position": i})
            for i, word in enumerate(secret)
        ]
        stored = store.upsert(namespace="n", records=gone)
        store.upsert(namespace="n", records=kept)
        store.upsert(namespace="n", records=[Record(id=stored[0].id, text="zanzibar0 was changed")])
        other.search(namespace="n", query="zanzibar7")
        vectors = sqlite3.connect(tmp_path / "memories.db").execute("SELECT vector FROM vectors LIMIT 200").fetchall()
        assert store.delete(namespace="n", ids=[str(record.id) for record in stored[:150]]) == 150
        assert store.forget(namespace="n", query="lives here") == 50
        store.vacuum()
        for path in tmp_path.rglob("*"):
            raw = path.read_bytes() if path.is_file() else b""
            assert b"zanzibar" not in raw and not any(vector in raw for (vector,) in vectors[:150])
        assert other.search(namespace="n", query="zanzibar7 zanzibar9") == []
        assert len(other.search(namespace="n", query="kept", top_k=300)) == 200


def test_an_operation_killed_between_two_statements_is_done_or_not_done() -> None:
    """Some of its statements; all of them by hand."""
    command = [sys.executable, "-m", "tests.recall_store.stepping", "--every", "29"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert len(ran.stdout.splitlines()) == 6


DAMAGES = {
    "DELETE FROM memories WHERE key = 3": "a memory",
    "UPDATE memories SET metadata = '{' WHERE key = 3": "the memory m2",
    "UPDATE memories SET source = '[1]' WHERE key = 3": "the memory m2",
    "UPDATE memories SET type = 'hook' WHERE key = 3": "the memory m2",
    "UPDATE memories SET text = x'ff00fe' WHERE key = 3": "a memory",
    "UPDATE memories SET created_at = 9000000000000000000 WHERE key = 3": "the memory m2",
    "UPDATE memories SET created_at = 'yesterday' WHERE key = 3": "the memory m2",
    "UPDATE memories SET expires_at = 9223372036854775807 WHERE key = 3": "the memory m2",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_memory_that_is_not_as_it_was_stored_is_named_and_can_be_deleted(damage: str, tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store:
        records = [Record(id=f"m{i}", text=f"lighthouse {i}", metadata={"a": 1}) for i in range(9)]
        store.upsert(namespace="n", records=records)
        db = sqlite3.connect(tmp_path / "memories.db")
        db.execute(damage)
        db.commit()
        db.close()
        told = rf"memories\.db is damaged: {DAMAGES[damage]} is not as it was stored; delete it, or restore a backup"
        with pytest.raises(OpenError, match=told):
            store.search(namespace="n", query="lighthouse", top_k=9)
        store.delete(namespace="n", ids=["m2"])
        assert store.reindex() == 8
        assert len(store.search(namespace="n", query="lighthouse", top_k=9)) == len(store.list(namespace="n")) == 8


def test_a_history_that_is_not_as_it_was_stored_is_named_and_goes_with_its_memory(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store:
        store.upsert(namespace="n", records=[Record(id="m", text="lighthouse")])
        db = sqlite3.connect(tmp_path / "memories.db")
        db.execute("UPDATE history SET record = '{'")
        db.commit()
        db.close()
        for call in (lambda: store.history(namespace="n", id="m"), lambda: list(store.export(namespace="n"))):
            with pytest.raises(OpenError, match=r"memories\.db is damaged"):
                call()
        assert store.delete(namespace="n", ids=["m"]) == 1
        assert [change.event for change in store.history(namespace="n", id="m")] == ["added", "deleted"]


def test_a_store_that_names_its_embedder_oddly_is_another_embedders(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store:
        store.upsert(namespace="n", records=[Record(text="lighthouse")])
        db = sqlite3.connect(tmp_path / "memories.db")
        db.execute("UPDATE meta SET value = 'hash/1/256 (many)' WHERE name = 'embedder'")
        db.commit()
        db.close()
        with pytest.raises(EmbedderMismatchError, match="reindex"):
            store.search(namespace="n", query="lighthouse")
        assert store.reindex() == 1
        assert len(store.search(namespace="n", query="lighthouse")) == 1
