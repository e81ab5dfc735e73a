"""A search in PostgreSQL, in many namespaces and in one, by HNSW and exactly, beside SQLite and a bare round trip.

    python -m tests.benchmarks.bench_postgresql [--rows 100000] [--rounds 200] [--dense 100000] [--hnsw]

A server of its own (PostgreSQL 18 with pgvector on a unix socket, everything at its defaults but fsync, which is off)
is started for it. `--dense` is how many vectors in one namespace the index is measured with, those of texts
and random ones, which are harder: build, p50, recall@10, and whether a filter gives all there is. `--hnsw`: only that.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_store import Record, Store, open_store, postgresql_vectors
from recall_store.embedders import load
from recall_store.embedders.base import Embedder
from recall_store.engines.postgresql import PostgresqlStore
from recall_store.filters import Filter
from recall_store.postgresql_tables import find
from tests.benchmarks.bench_recall import TURN, sentences
from tests.recall_store.postgres import server


def table(title: str, times: dict[str, list[float]]) -> None:
    """Print p50 and p90 of each, and how many times the last one's p50 that is."""
    last = statistics.median(list(times.values())[-1])
    print(f"\n| {title} | p50 ms | p90 ms | this / last |\n|---|---|---|---|")
    for name, taken in times.items():
        middle, ninth = statistics.median(taken), statistics.quantiles(taken, n=10)[-1]
        print(f"| {name} | {middle * 1e3:.2f} | {ninth * 1e3:.2f} | {middle / last:.2f} |", flush=True)


def timed(peers: dict[str, Callable[[str], object]], queries: Sequence[str]) -> dict[str, list[float]]:
    """The times of each peer, who take turns."""
    rng = random.Random(3)
    times: dict[str, list[float]] = {name: [] for name in peers}
    for start in range(0, len(queries), TURN):
        for name in rng.sample(list(peers), k=len(peers)):
            for query in queries[start : start + TURN]:
                started = time.perf_counter()
                peers[name](query)
                times[name].append(time.perf_counter() - started)
    return times


def fill(store: Store, texts: Sequence[str], spread: int) -> float:
    """Store the texts in `spread` namespaces; seconds."""
    started = time.perf_counter()
    for part in range(spread):
        store.upsert(namespace=f"tenant{part}", records=[Record(text=text) for text in texts[part::spread]])
    return time.perf_counter() - started


def speed(rows: int, rounds: int) -> None:
    """Print how fast memories are stored and searched, in 50 namespaces and in one."""
    texts = sentences(rows)
    rng = random.Random(11)
    queries = [
        f"what is it that we said about the {' and '.join(rng.sample(rng.choice(texts).split()[3:-4], k=5))}?"
        for _ in range(rounds)
    ]
    with tempfile.TemporaryDirectory() as folder:
        for spread in (50, 1):
            lite = open_store(f"sqlite:///{folder}/{spread}.db")
            store = open_store(server().url(f"spread{spread}"))
            seconds, other = fill(store, texts, spread), fill(lite, texts, spread)
            print(f"\n{rows} memories in {spread}: stored {rows / seconds:.0f}/s, by SQLite {rows / other:.0f}/s")
            started = time.perf_counter()
            found = store.search(namespace="tenant0", query=queries[0])
            print(f"first search, {len(found)} found: {(time.perf_counter() - started) * 1e3:.0f} ms", flush=True)
            started = time.perf_counter()
            store.vacuum()
            print(f"vacuum, with the index of what is large: {time.perf_counter() - started:.1f} s", flush=True)
            bare = server().connect(f"spread{spread}")

            def where(query: str, spread: int = spread) -> str:
                return f"tenant{hash(query) % spread}"

            def ping(_: str, bare: Any = bare) -> object:
                return bare.execute("SELECT 1").fetchall()

            def ours(query: str, store: Store = store) -> object:
                return store.search(namespace=where(query), query=query)

            def filtered(query: str, store: Store = store) -> object:
                return store.search(namespace=where(query), query=query, where={"author": "user"})

            def theirs(query: str, lite: Store = lite) -> object:
                return lite.search(namespace=where(query), query=query)

            peers: dict[str, Callable[[str], object]] = {
                "search in PostgreSQL": ours,
                "the same, with a filter that keeps all": filtered,
                "search in SQLite": theirs,
                "SELECT 1": ping,
            }
            for query in queries[:TURN]:
                for ask in peers.values():
                    ask(query)
            table(f"{rows} memories, {spread} namespaces", timed(peers, queries))
            bare.close()
            store.close()
            lite.close()


class Given(Embedder):
    """The vectors it was made with, by the number in the text."""

    name = "given"
    id = "given/1"
    weight = 1.0
    floor = -1.0

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self.vectors = vectors
        self.dimension = vectors.shape[1]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed`."""
        return self.vectors[[int(text.split()[-1]) for text in texts]]


def index(rows: int, rounds: int) -> None:
    """Print recall@10 and time of the HNSW index against the exact search."""
    for title, vectors in (
        ("texts (hash)", load("hash").embed(sentences(rows + rounds, seed=5))),
        ("random", np.random.default_rng(5).standard_normal((rows + rounds, 256)).astype(np.float32)),
    ):
        given = Given(vectors)
        name = f"dense_{title.split()[0]}"
        with open_store(server().url(name), embedder=given) as store:
            assert isinstance(store, PostgresqlStore)
            records = [Record(text=f"vector {i}", metadata=kinds(i, rows)) for i in range(rows)]
            started = time.perf_counter()
            store.upsert(namespace="n", records=records)
            stored = time.perf_counter() - started
            started = time.perf_counter()
            store.index()
            built = time.perf_counter() - started
            hits, times = 0, {"HNSW": [], "exact": []}  # type: ignore[var-annotated]
            for i in range(rows, rows + rounds):
                unit = vectors[i] / np.linalg.norm(vectors[i])
                answers = {}
                for kind in times:
                    with store._pool.reading() as db:
                        here = find(db, "n")
                        assert here is not None
                        kept = rows if kind == "HNSW" else 1
                        asked = postgresql_vectors.Question(unit, 200, Filter(), kept, np.zeros(0, np.int64), 0)
                        started = time.perf_counter()
                        close, _ = postgresql_vectors.nearest(db, here, asked, np.zeros(0, np.int64))
                        answers[kind] = close.keys[:10].tolist()
                        times[kind].append(time.perf_counter() - started)
                hits += len(set(answers["HNSW"]) & set(answers["exact"]))
            table(f"{rows} vectors of 256, {title}; the 200 nearest", times)
            print(
                f"\nrecall@10 of HNSW: {hits / rounds / 10:.4f}; stored in {stored:.0f} s, index built in {built:.0f} s"
            )
            filtered(store, rows, rounds)


def kinds(number: int, rows: int) -> dict[str, bool]:
    """Ten memories are rare, every third is common."""
    rare = {"rare": True} if number % (rows // 10) == 7 else {}
    return {**rare, "common": True} if number % 3 == 0 else {**rare}


def filtered(store: Store, rows: int, rounds: int) -> None:
    """Print how many are returned of ten that a filter keeps, and of the best that one of a third of all keeps."""
    print("| filter keeps | asked for | least returned | p50 ms |\n|---|---|---|---|")
    for kind, kept, top_k in (("rare", 10, 10), ("common", -(-rows // 3), 10), ("common", -(-rows // 3), 400)):
        counts, times = [], []
        for i in range(rows, rows + min(rounds, 50)):
            started = time.perf_counter()
            found = store.search(namespace="n", query=f"vector {i}", top_k=top_k, where={"metadata": {kind: True}})
            times.append(time.perf_counter() - started)
            assert all(match.record.metadata.get(kind) for match in found)
            counts.append(len(found))
        print(f"| {kept} of {rows} | {top_k} | {min(counts)} | {statistics.median(times) * 1e3:.1f} |", flush=True)


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--dense", type=int, default=100_000)
    parser.add_argument("--hnsw", action="store_true", help="only what --dense is about")
    arguments = parser.parse_args()
    if arguments.rows and not arguments.hnsw:
        speed(arguments.rows, arguments.rounds)
    if arguments.dense:
        index(arguments.dense, arguments.rounds)


if __name__ == "__main__":
    main()
