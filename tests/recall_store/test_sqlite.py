"""What is particular to the SQLite engine: files, processes, crashes, and what is imported when."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

import recall_store
from recall_store import BusyError, EmbedderError, OpenError, Record, StoreError, UrlError, open_store, rows, tables
from recall_store.connections import Connections
from recall_store.engines.sqlite import SqliteStore
from recall_store.filters import Filter
from tests.recall_store.fakes import FORKED, LetterEmbedder

WRITER = """
import sys
from recall_store import Record, open_store
url, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with open_store(url) as store:
    for i in range(count):
        store.upsert(namespace="shared", records=[Record(text=f"{name} lighthouse {i}")])
        assert store.search(namespace="shared", query=f"{name} lighthouse {i}")
        if i == 5:
            print("started", flush=True)
"""


def run(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def url_of(folder: Path) -> str:
    return f"sqlite:///{folder}/memories.db"


def intact(path: Path) -> bool:
    db = sqlite3.connect(path)
    try:
        db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
        return bool(db.execute("PRAGMA integrity_check").fetchone() == ("ok",))
    finally:
        db.close()


def test_two_processes_make_and_fill_one_store_together(tmp_path: Path) -> None:
    runs = [run(WRITER, url_of(tmp_path), name, "25") for name in ("one", "two")]
    for process in runs:
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
    with open_store(url_of(tmp_path)) as store:
        assert len(store.list(namespace="shared")) == 50
        assert len(store.search(namespace="shared", query="lighthouse", top_k=100)) == 50
    assert intact(tmp_path / "memories.db")


def test_a_killed_writer_leaves_a_whole_store(tmp_path: Path) -> None:
    process = run(WRITER, url_of(tmp_path), "one", "100000")
    with process:
        assert process.stdout is not None and process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGKILL)
    with open_store(url_of(tmp_path)) as store:
        count = len(store.list(namespace="shared"))
        assert count >= 6
        assert len(store.search(namespace="shared", query="lighthouse", top_k=count + 10)) == count
    assert intact(tmp_path / "memories.db")


def test_what_was_deleted_before_a_kill_stays_deleted(tmp_path: Path) -> None:
    script = """
import os, signal, sys
from recall_store import Record, open_store
store = open_store(sys.argv[1])
a, b = store.upsert(namespace="n", records=[Record(text="probe alpha"), Record(text="probe beta")])
store.search(namespace="n", query="probe")
store.delete(namespace="n", ids=[a.id])
os.kill(os.getpid(), signal.SIGKILL)
"""
    process = run(script, url_of(tmp_path))
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    with open_store(url_of(tmp_path)) as store:
        assert [match.record.text for match in store.search(namespace="n", query="probe alpha")] == ["probe beta"]


def test_every_file_is_private(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        with open_store(url_of(tmp_path)) as store:
            store.upsert(namespace="n", records=[Record(text="probe alpha")])
            store.search(namespace="n", query="probe")
            files = [path for path in tmp_path.rglob("*") if path.is_file()]
            assert len(files) >= 4
            assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    finally:
        os.umask(old)


def test_deleted_words_are_in_no_file_after_vacuum(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store:
        [record] = store.upsert(namespace="n", records=[Record(text="the password hint is zanzibar")])
        store.upsert(namespace="n", records=[Record(text="something else")])
        store.search(namespace="n", query="zanzibar")
        store.delete(namespace="n", ids=[str(record.id)])
        store.vacuum()
        for path in tmp_path.rglob("*"):
            assert path.is_dir() or b"zanzibar" not in path.read_bytes()


def test_a_vacuum_deletes_no_file_of_somebody_else(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store:
        store.upsert(namespace="n", records=[Record(text="probe alpha")])
        store.search(namespace="n", query="probe")
        folder = tmp_path / "memories.db-vectors"
        (folder / "notes.txt").write_text("mine")
        (folder / "1.index8half").write_text("of a rebuild that was killed")
        store.vacuum()
        assert sorted(path.name for path in folder.iterdir()) == ["1.lock", "notes.txt"]


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_store_whose_file_is_gone_takes_nothing_that_would_be_lost(how: str, tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    with open_store(url_of(tmp_path)) as store:
        store.upsert(namespace="n", records=[Record(text="probe alpha")])
        if how == "deleted":
            path.unlink()
        else:
            path.rename(tmp_path / "old.db")
        if how == "replaced":
            with open_store(url_of(tmp_path)) as other:
                other.upsert(namespace="n", records=[Record(text="probe beta")])
        for call in (
            lambda: store.upsert(namespace="n", records=[Record(text="probe gamma")]),
            lambda: store.search(namespace="n", query="probe"),
            store.vacuum,
        ):
            with pytest.raises(OpenError, match=r"memories\.db was moved, deleted or replaced while it was open"):
                call()
        assert path.exists() is (how == "replaced")
        if how == "moved":
            (tmp_path / "old.db").rename(path)
            assert len(store.search(namespace="n", query="probe")) == 1


def test_a_memory_is_there_until_the_microsecond_before_its_time_and_not_at_it(tmp_path: Path) -> None:
    at = datetime(2999, 1, 1, tzinfo=UTC)
    moment = rows.microseconds(at)
    with open_store(url_of(tmp_path)) as store:
        assert isinstance(store, SqliteStore)
        [record] = store.upsert(namespace="n", records=[Record(id="m", text="probe alpha", expires_at=at)])
        with store._connections.reading() as db:
            for now, there in ((moment - 1, True), (moment, False), (moment + 1, False), (moment - 10**12, True)):
                assert ("m" in tables.by_ids(db, 1, ["m"], now)) is there
                assert (tables.page(db, 1, Filter(), now=now, limit=None, offset=0) == [record]) is there
                assert (tables.by_digest(db, 1, rows.digest(record), now) is not None) is there
                assert (tables.allowed_keys(db, 1, Filter(types=("user",)), now).tolist() == [1]) is there
                assert (tables.expired_keys(db, 1, now) == []) is there
                assert (tables.ids_of(db, [1], now) == {"m": 1}) is there


def test_vacuum_gives_the_room_of_deleted_memories_back(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store:
        for turn in range(3):
            records = store.upsert(namespace="n", records=[Record(text=f"note {turn} {i}") for i in range(500)])
            store.delete(namespace="n", ids=[str(record.id) for record in records])
        store.upsert(namespace="n", records=[Record(text=f"kept {i}") for i in range(100)])
        before = (tmp_path / "memories.db").stat().st_size
        store.vacuum()
        assert (tmp_path / "memories.db").stat().st_size < before / 2


def test_a_write_waits_for_another_process(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store:
        other = sqlite3.connect(tmp_path / "memories.db", check_same_thread=False, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        later = threading.Timer(0.5, lambda: other.execute("COMMIT"))
        later.start()
        store.upsert(namespace="n", records=[Record(text="probe alpha")])
        later.join()
        other.close()
        assert len(store.list(namespace="n")) == 1


def test_a_write_that_waited_for_too_long_says_who_holds_what(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    connections = Connections(path, busy_seconds=0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(BusyError, match=r"another process held .*memories\.db for over 0\.05 s"), connections.writing():
        pass
    other.close()
    connections.close()


def test_reading_goes_on_while_another_process_writes(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store:
        store.upsert(namespace="n", records=[Record(text="probe alpha")])
        other = sqlite3.connect(tmp_path / "memories.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert len(store.search(namespace="n", query="probe")) == 1
        other.close()


def test_a_store_that_was_open_before_a_fork_works_in_the_child(tmp_path: Path) -> None:
    process = run(FORKED, url_of(tmp_path))
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "memories.db",
        "mysql://x/y",
        "sqlite://",
        "sqlite:///",
        "sqlite://host/x.db",
        "sqlite:///:memory:",
        "://x",
        "../sqlite:///x",
        "base:///x",
        "sqlite:///a\x00b",
        None,
    ],
)
def test_a_url_that_names_no_store_is_refused_in_one_line(url: str | None) -> None:
    with pytest.raises(UrlError) as refused:
        open_store(url)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value) and "sqlite:///" in str(refused.value)


def test_an_embedder_that_does_not_exist_is_refused_before_a_file_is_made(tmp_path: Path) -> None:
    with pytest.raises(UrlError, match="hash"):
        open_store(url_of(tmp_path), embedder="nothing")
    assert list(tmp_path.iterdir()) == []


def test_a_relative_url_is_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store("sqlite:///relative.db"):
        assert (tmp_path / "relative.db").exists()


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    path.write_text("dear diary, " * 1000)
    with pytest.raises(OpenError, match="not a database"):
        open_store(url_of(tmp_path))
    assert path.read_text() == "dear diary, " * 1000


def test_a_database_of_another_program_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE diary (page TEXT)")
    db.commit()
    db.close()
    before = path.read_bytes()
    with pytest.raises(OpenError, match="not a memory store"):
        open_store(url_of(tmp_path))
    assert path.read_bytes() == before


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)):
        pass
    db = sqlite3.connect(tmp_path / "memories.db")
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(OpenError, match="upgrade"):
        open_store(url_of(tmp_path))


def test_a_folder_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OpenError, match="is a folder"):
        open_store(f"sqlite:///{tmp_path}")
    with pytest.raises(OpenError, match="does not exist"):
        open_store(f"sqlite:///{tmp_path}/no/memories.db")


def test_a_store_whose_embedder_is_no_longer_there_can_be_read_and_reindexed(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path), embedder=LetterEmbedder()) as store:
        [record] = store.upsert(namespace="n", records=[Record(text="probe alpha")])
    with open_store(url_of(tmp_path)) as store:
        assert store.list(namespace="n") == [record]
        with pytest.raises(EmbedderError, match="reindex"):
            store.search(namespace="n", query="probe")
        assert store.reindex(embedder="hash") == 1
        assert len(store.search(namespace="n", query="probe")) == 1


def test_a_store_that_another_process_reindexed_says_so(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as one, open_store(url_of(tmp_path)) as two:
        one.upsert(namespace="n", records=[Record(text="probe alpha")])
        two.reindex(embedder=LetterEmbedder())
        with pytest.raises(EmbedderError, match="reindex"):
            one.search(namespace="n", query="probe")
        with pytest.raises(EmbedderError, match="reindex"):
            one.upsert(namespace="n", records=[Record(text="probe beta")])


def test_no_error_is_more_than_one_line_or_holds_what_was_asked(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store, pytest.raises(StoreError) as refused:
        store.search(namespace="n", query="zanzibar", where={"zanzibar": 1})
    assert "\n" not in str(refused.value) and "zanzibar" not in str(refused.value)


def test_importing_the_package_loads_neither_numpy_nor_sqlite_utils_nor_detect_secrets() -> None:
    script = (
        "import sys, recall_store, recall_store.reserved; print([m for m in sys.modules if m in "
        "('numpy', 'sqlite_utils', 'detect_secrets', 'sqlite3', 'middleware')])"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_opening_a_store_that_exists_does_not_load_sqlite_utils(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)):
        pass
    script = (
        "import sys; from recall_store import open_store; open_store(sys.argv[1]).close(); "
        "print('sqlite_utils' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script, url_of(tmp_path)], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_all_is_exactly_the_public_names() -> None:
    assert sorted(recall_store.__all__) == recall_store.__all__
    assert all(getattr(recall_store, name).__doc__ for name in recall_store.__all__)
