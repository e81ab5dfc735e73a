"""The part of bench_recall about vectors alone: the store's first pass and exact rescore against vector indexes."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_store.searching import BY_VECTORS
from recall_store.signs import row_checksums
from recall_store.vector_file import Chunk, VectorFile
from recall_store.vectors import State, View, columns
from tests.benchmarks.recall_peers import PEERS, TOP

TURN = 20
DIMENSION = 256
PEER_LIMIT = {"chroma": 100_000, "sqlite_vec": 1_000_000, "hnswlib": 100_000, "faiss": 1_000_000}
"""Rows above which building a peer takes longer than anybody waits."""

Floats = NDArray[np.float32]


def floor_of(matrix: Floats) -> float:
    """Seconds to read the matrix once, at the best rate that numpy reads memory with here."""
    # 256 MiB: no processor keeps them in its cache.
    words = np.ones(32 * 1024 * 1024, np.uint64)
    times = []
    for _ in range(7):
        started = time.perf_counter()
        np.bitwise_or.reduce(words)
        times.append(time.perf_counter() - started)
    return min(times) * matrix.nbytes / words.nbytes


def made(rows: int, queries: int) -> tuple[Floats, Floats]:
    """Vectors in groups of 20 around as many topics, and queries near some of them; all of length 1."""
    rng = np.random.default_rng(5)
    matrix = np.empty((rows, DIMENSION), np.float32)
    for start in range(0, rows, 20_000):
        count = min(20_000, rows - start)
        topics = np.repeat(rng.standard_normal((-(-count // 20), DIMENSION), np.float32), 20, axis=0)[:count]
        matrix[start : start + count] = topics + 0.7 * rng.standard_normal((count, DIMENSION), np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    near = matrix[rng.integers(0, rows, queries)] + 0.05 * rng.standard_normal((queries, DIMENSION), np.float32)
    return matrix, near / np.linalg.norm(near, axis=1, keepdims=True)


def view_of(matrix: Floats, folder: Path) -> View:
    """The matrix as the files of a namespace."""
    file = VectorFile(folder / "1", "bench/1", DIMENSION)

    def chunks() -> Any:
        for start in range(0, len(matrix), 2048):
            part = matrix[start : start + 2048]
            keys = np.arange(start + 1, start + 1 + len(part), dtype=np.int64)
            ones = np.ones(len(part), np.uint32)
            yield Chunk(keys, part, row_checksums(keys, part), keys, np.full(len(part), np.nan), ones, ones)

    index = file.replace(1, chunks())
    state = State(epoch=1, last_key=len(matrix), deleted=0, live=len(matrix), total=0)
    return View(state, index, file.rows(index), columns(index.array), None)


class Peer:
    """One peer in a process of its own."""

    def __init__(self, name: str, python: Path, vectors: Path, queries: Path) -> None:
        script = Path(__file__).with_name("recall_peers.py")
        self.process = subprocess.Popen(
            [python, script, name, vectors, queries],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.built: float | None = None
        self.answers: list[list[int]] = []

    def ready(self) -> bool:
        """Wait until it is built; False if it could not be."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line:
            said = json.loads(line)
            self.built, self.answers = said["built"], said["answers"]
        return bool(line)

    def ask(self, start: int, count: int) -> list[float]:
        """Seconds each of these queries took."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print(start, count, file=self.process.stdin, flush=True)
        taken: list[float] = json.loads(self.process.stdout.readline())
        return taken

    def end(self) -> None:
        """Let it go."""
        self.process.kill()
        self.process.communicate()


def python_of(name: str) -> Path | None:
    """The Python of the environment BENCH_VENVS/name, or None."""
    path = Path(os.environ.get("BENCH_VENVS", "/nonexistent"), name, "bin", "python")
    return path if path.exists() else None


def compare(rows: int, rounds: int) -> None:
    """Print the table for so many rows."""
    matrix, queries = made(rows, rounds)
    floor = floor_of(matrix)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "vectors.npy", matrix)
        np.save(folder / "queries.npy", queries)
        exact = [np.argsort(-(matrix @ query), kind="stable")[:TOP].tolist() for query in queries]
        started = time.perf_counter()
        view = view_of(matrix, folder)
        built: dict[str, float | None] = {"recall_store": time.perf_counter() - started, "numpy float32": None}

        def ours(query: Floats) -> list[int]:
            found, cosines = view.nearest(query, BY_VECTORS, None)
            return [int(row) for row in found[np.argsort(-cosines)[:TOP]]]

        def brute(query: Floats) -> list[int]:
            scores = matrix @ query
            top = np.argpartition(scores, -TOP)[-TOP:]
            return [int(row) for row in top[np.argsort(-scores[top])]]

        here: dict[str, Callable[[Floats], list[int]]] = {"recall_store": ours, "numpy float32": brute}
        answers, peers, missing = {}, {}, []
        for peer_name in PEERS:
            python = python_of(peer_name)
            if python is None or rows > PEER_LIMIT[peer_name]:
                missing.append(peer_name)
                continue
            peer = Peer(peer_name, python, folder / "vectors.npy", folder / "queries.npy")
            if peer.ready():
                peers[peer_name] = peer
                built[peer_name], answers[peer_name] = peer.built, peer.answers
            else:
                missing.append(peer_name)
                peer.end()
        # Every one has answered everything once before it is measured; ours last, or its file is no longer in memory
        # after the minutes that some peers are built in.
        answers |= {name: [ask(query) for query in queries] for name, ask in here.items()}
        times = interleaved(here, peers, queries)
        for peer in peers.values():
            peer.end()
    print(f"\n| {rows:,} x {DIMENSION}, top {TOP} | p50 ms | p90 ms | to the floor | recall@{TOP} | built in s |")
    print("|---|---|---|---|---|---|")
    rate = f"{matrix.nbytes / floor / 1e9:.1f} GB/s"
    print(f"| floor: one read of the float32 rows ({rate}) | {floor * 1e3:.2f} | | 1 | | |")
    for name, taken in times.items():
        middle, ninth = statistics.median(taken), statistics.quantiles(taken, n=10)[-1]
        kept = statistics.mean(len(set(a) & set(b)) / TOP for a, b in zip(answers[name], exact, strict=True))
        build = built[name]
        print(
            f"| {name} | {middle * 1e3:.2f} | {ninth * 1e3:.2f} | {middle / floor:.2f} | {kept:.3f} |"
            f" {'' if build is None else f'{build:.1f}'} |"
        )
    if missing:
        print(f"\nnot run (not in BENCH_VENVS, or too slow to build): {', '.join(missing)}")


def interleaved(
    here: dict[str, Callable[[Floats], list[int]]], peers: dict[str, Peer], queries: Floats
) -> dict[str, list[float]]:
    """Seconds a query, all taking turns of 20, so that a busy machine is busy for all."""
    rng = random.Random(11)
    times: dict[str, list[float]] = {name: [] for name in (*here, *peers)}
    for start in range(0, len(queries), TURN):
        for name in rng.sample(list(times), k=len(times)):
            if name in peers:
                times[name] += peers[name].ask(start, TURN)
                continue
            for query in queries[start : start + TURN]:
                started = time.perf_counter()
                here[name](query)
                times[name].append(time.perf_counter() - started)
    return times
