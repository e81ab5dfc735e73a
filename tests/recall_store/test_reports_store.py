"""What went wrong in other memory stores, by report, and cannot here. For what is asked: test_reports_ranking.py."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from recall_store import BusyError, EmbedderError, EmbedderMismatchError, Record, Store, open_store
from recall_store.connections import Connections
from tests.recall_store.fakes import BrokenEmbedder, LetterEmbedder, WrongShapeEmbedder


class Wide(LetterEmbedder):
    """The same letters in 768 dimensions."""

    id = "wide/1"
    dimension = 768

    def embed(self, texts: object) -> np.ndarray:
        return np.pad(super().embed(texts), ((0, 0), (0, 768 - 26)))  # type: ignore[arg-type]


def url_of(folder: Path) -> str:
    return f"sqlite:///{folder}/memories.db"


def add(store: Store, *texts: str, namespace: str = "n") -> list[Record]:
    return store.upsert(namespace=namespace, records=[Record(text=text) for text in texts])


def found(store: Store, query: str, namespace: str = "n", top_k: int = 5) -> list[str]:
    return [match.record.text for match in store.search(namespace=namespace, query=query, top_k=top_k)]


def pages(path: Path) -> int:
    """Bytes of a database without its history."""
    db = sqlite3.connect(path)
    try:
        return int(db.execute("SELECT sum(pgsize) FROM dbstat WHERE name NOT LIKE '%history%'").fetchone()[0])
    finally:
        db.close()


def run(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_mem0_5405_the_dimension_is_the_embedders(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path), embedder=Wide()) as store:
        add(store, "bob likes tea")
        assert found(store, "bob tea") == ["bob likes tea"]
    stored = sqlite3.connect(tmp_path / "memories.db").execute("SELECT length(vector) FROM vectors").fetchone()
    assert stored == (768 * 4,)


def test_mem0_3675_a_write_whose_vector_fails_fails_whole_and_says_so(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path), embedder=WrongShapeEmbedder()) as store:
        with pytest.raises(EmbedderError, match="4 components"):
            add(store, "bob likes tea")
        assert (store.list(namespace="n"), found(store, "bob")) == ([], [])


def test_open_webui_11279_another_embedder_than_the_recorded_one_is_an_error_that_names_the_way_out(
    tmp_path: Path,
) -> None:
    with open_store(url_of(tmp_path), embedder=Wide()) as store:
        add(store, "bob likes tea")
    with pytest.raises(EmbedderMismatchError, match=r"built with embedder wide/1 \(768\).*reindex"):
        open_store(url_of(tmp_path), embedder=LetterEmbedder())
    with open_store(url_of(tmp_path), embedder=Wide()) as store:
        assert store.reindex(embedder=LetterEmbedder()) == 1
        assert found(store, "bob tea") == ["bob likes tea"]
    with open_store(url_of(tmp_path), embedder=LetterEmbedder()) as store:
        assert found(store, "bob tea") == ["bob likes tea"]


def test_agentuniverse_1034_vectors_of_two_dimensions_are_never_compared(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path), embedder=Wide()) as one, open_store(url_of(tmp_path), embedder=Wide()) as two:
        add(one, "bob likes tea")
        two.reindex(embedder=LetterEmbedder())
        with pytest.raises(EmbedderMismatchError, match="reindex"):
            one.search(namespace="n", query="bob likes tea")


def test_llm_1505_one_degenerate_row_breaks_no_search(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path), embedder=BrokenEmbedder()) as store:
        add(store, "zero row", "nan row", "infinite row", "good row")
        assert sorted(found(store, "row")) == ["good row", "infinite row", "nan row", "zero row"]
        assert sorted(found(store, "zero row")) == ["good row", "infinite row", "nan row", "zero row"]


def test_chroma_7040_and_1209_two_processes_make_one_store_at_the_same_moment(tmp_path: Path) -> None:
    script = """
import sys
from recall_store import Record, open_store
sys.stdin.readline()
with open_store(sys.argv[1]) as store:
    store.upsert(namespace="n", records=[Record(text=sys.argv[2])])
"""
    for turn in range(3):
        url = f"sqlite:///{tmp_path}/{turn}.db"
        runs = [
            subprocess.Popen(
                [sys.executable, "-c", script, url, name], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            for name in ("one", "two", "three")
        ]
        for process in runs:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in runs:
            _, errors = process.communicate(timeout=60)
            assert (process.returncode, errors) == (0, "")
        with open_store(url) as store:
            assert sorted(record.text for record in store.list(namespace="n")) == ["one", "three", "two"]


def test_memorix_291_a_write_waits_up_to_its_bound_and_then_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    connections = Connections(path, busy_seconds=0.2)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    with pytest.raises(BusyError, match=r"memories\.db"), connections.writing():
        pass
    assert time.monotonic() - started >= 0.2
    other.execute("COMMIT")
    with connections.writing() as db:
        db.execute("INSERT INTO meta VALUES ('a', 'b')")
    other.close()
    connections.close()


def test_milvus_lite_264_any_number_of_processes_read_one_store(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store:
        add(store, "probe alpha")
        script = (
            "import sys; from recall_store import open_store\n"
            "with open_store(sys.argv[1]) as store: print(len(store.search(namespace='n', query='probe alpha')))"
        )
        runs = [run(script, url_of(tmp_path)) for _ in range(4)]
        assert [process.communicate(timeout=60) for process in runs] == [("1\n", "")] * 4


def test_megamemory_13_one_process_closes_while_another_reads_and_the_file_stays_whole(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as reader:
        add(reader, "probe alpha")
        stop, failures = threading.Event(), []

        def read() -> None:
            while not stop.is_set():
                if found(reader, "probe alpha") != ["probe alpha"]:
                    failures.append("lost")

        thread = threading.Thread(target=read)
        thread.start()
        for i in range(20):
            with open_store(url_of(tmp_path)) as other:
                add(other, f"note {i}", namespace="other")
        stop.set()
        thread.join()
        assert failures == []
    db = sqlite3.connect(tmp_path / "memories.db")
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


def test_chroma_7510_a_flipped_byte_makes_no_file_larger(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store:
        add(store, *(f"lighthouse {i}" for i in range(200)))
        found(store, "lighthouse")
    folder = tmp_path / "memories.db-vectors"
    before = {path.name: path.stat().st_size for path in folder.iterdir()}
    for path in folder.iterdir():
        raw = bytearray(path.read_bytes())
        for at in range(0, min(len(raw), 256), 3):
            raw[at] ^= 0xFF
        path.write_bytes(bytes(raw))
    with open_store(url_of(tmp_path)) as store:
        assert len(found(store, "lighthouse", top_k=300)) == 200
    assert {path.name: path.stat().st_size for path in folder.iterdir()} == before


def test_ruflo_2815_what_was_deleted_is_shown_by_nothing(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store:
        [record] = add(store, "probe alpha")
        found(store, "probe alpha")
        assert store.delete(namespace="n", ids=[str(record.id)]) == 1
        assert (found(store, "probe alpha"), store.list(namespace="n")) == ([], [])
        assert store.get(namespace="n", ids=[str(record.id)]) == []
        assert [change.record for change in store.history(namespace="n", id=str(record.id))] == [None, None]
        store.vacuum()
        found(store, "probe alpha")
        for path in tmp_path.rglob("*"):
            assert path.is_dir() or b"alpha" not in path.read_bytes()


def test_signetai_1139_a_vacuumed_store_is_no_larger_than_one_that_never_held_more(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store, open_store(f"sqlite:///{tmp_path}/fresh.db") as fresh:
        for turn in range(10):
            gone = add(store, *(f"turn {turn} memory {i} about the harbour" for i in range(200)))
            store.delete(namespace="n", ids=[str(record.id) for record in gone])
        kept = [Record(text=f"kept {i} about the harbour") for i in range(200)]
        for one in (store, fresh):
            one.upsert(namespace="n", records=kept)
            one.vacuum()
        # What is left of a deleted memory is that it was deleted.
        assert pages(tmp_path / "memories.db") <= 1.5 * pages(tmp_path / "fresh.db")


def test_claude_mem_707_a_hundred_open_namespaces_hold_only_their_rows(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store:
        for i in range(100):
            add(store, f"lighthouse {i}", namespace=f"n{i}")
        assert [found(store, "lighthouse", namespace=f"n{i}") for i in range(100)] == [
            [f"lighthouse {i}"] for i in range(100)
        ]
    sizes = [path.stat().st_size for path in (tmp_path / "memories.db-vectors").glob("*.vectors")]
    assert sizes == [1024] * 100


def test_graphiti_963_the_same_ingest_twice_is_one(tmp_path: Path) -> None:
    records = [Record(text=f"fact {i}", source={"session": "s", "position": i}) for i in range(50)]
    with open_store(url_of(tmp_path)) as store:
        first = store.upsert(namespace="n", records=records)
        assert store.upsert(namespace="n", records=records) == first
        assert len(store.list(namespace="n")) == 50


def test_neural_memory_14_near_duplicates_are_reported_and_stay_two(tmp_path: Path) -> None:
    with open_store(url_of(tmp_path)) as store:
        one, two = add(store, "PocketBase runs on port 8090", "PocketBase backend at localhost:8090")
        [pair] = store.near_duplicates(namespace="n")
        assert (pair.record.id, pair.other.id) == (two.id, one.id)
        assert len(store.list(namespace="n")) == 2


def test_deleting_a_memory_takes_its_words_from_its_neighbours(tmp_path: Path) -> None:
    def turn(position: int, text: str) -> Record:
        return Record(id=f"t{position}", text=text, source={"session": "s", "position": position})

    with open_store(url_of(tmp_path)) as store:
        turns = [turn(1, "shall we meet in Zanzibar tonight?"), turn(2, "yes, gladly")]
        turns += [turn(position, f"something else {position}") for position in range(3, 12)]
        store.upsert(namespace="n", records=turns)
        assert found(store, "meet Zanzibar tonight")[:2] == [turns[0].text, turns[1].text]
        store.delete(namespace="n", ids=["t1"])
        assert found(store, "meet Zanzibar tonight") == []
    with open_store(url_of(tmp_path)) as store:
        assert found(store, "meet Zanzibar tonight") == []
