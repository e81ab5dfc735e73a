"""Vector indexes to compare with, each run by the Python of an environment of its own: no import of this project.

    PYTHON recall_peers.py NAME VECTORS.npy QUERIES.npy

Prints how long building took and the answers (ten row numbers a query) as one line of JSON; then, for each line
`START COUNT` on its input, how many seconds each of these queries took.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

Ask = Callable[[Any], list[int]]
TOP = 10


def hnswlib(vectors: Any) -> Ask:
    """HNSW, M 16, ef_construction 200, ef 50."""
    import hnswlib as library

    index = library.Index(space="ip", dim=vectors.shape[1])
    index.init_index(max_elements=len(vectors), ef_construction=200, M=16)
    index.add_items(vectors, num_threads=1)
    index.set_ef(50)
    index.set_num_threads(1)
    return lambda query: index.knn_query(query, k=TOP)[0][0].tolist()


def faiss(vectors: Any) -> Ask:
    """IndexFlatIP, exact."""
    import faiss as library

    library.omp_set_num_threads(1)
    index = library.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return lambda query: index.search(query[None, :], TOP)[1][0].tolist()


def chroma(vectors: Any) -> Ask:
    """A persistent collection, cosine, as installed."""
    import chromadb

    folder = tempfile.mkdtemp()
    client = chromadb.PersistentClient(folder, chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection("bench", metadata={"hnsw:space": "cosine"})
    for start in range(0, len(vectors), 5000):
        part = vectors[start : start + 5000]
        collection.add(ids=[str(i) for i in range(start, start + len(part))], embeddings=part)

    def ask(query: Any) -> list[int]:
        found = collection.query(query_embeddings=query[None, :], n_results=TOP, include=[])
        return [int(id) for id in found["ids"][0]]

    return ask


def sqlite_vec(vectors: Any) -> Ask:
    """A vec0 table in a file, exact; through apsw, since many a `sqlite3` loads no extension."""
    import apsw
    import sqlite_vec as library

    db = apsw.Connection(str(Path(tempfile.mkdtemp(), "bench.db")))
    db.enable_load_extension(True)
    db.load_extension(library.loadable_path())
    db.execute(f"CREATE VIRTUAL TABLE v USING vec0 (e float[{vectors.shape[1]}])")
    db.execute("BEGIN")
    for key, row in enumerate(vectors):
        db.execute("INSERT INTO v (rowid, e) VALUES (?, ?)", (key, row.tobytes()))
    db.execute("COMMIT")
    statement = f"SELECT rowid FROM v WHERE e MATCH ? AND k = {TOP} ORDER BY distance"
    return lambda query: [row[0] for row in db.execute(statement, (query.tobytes(),))]


PEERS: dict[str, Callable[[Any], Ask]] = {
    "hnswlib": hnswlib,
    "faiss": faiss,
    "chroma": chroma,
    "sqlite_vec": sqlite_vec,
}


def main(name: str, vectors: str, queries: str) -> None:
    """Build, answer all, then measure on request."""
    asked = np.load(queries)
    started = time.perf_counter()
    ask = PEERS[name](np.load(vectors))
    built = time.perf_counter() - started
    print(json.dumps({"built": built, "answers": [ask(query) for query in asked]}), flush=True)
    for line in sys.stdin:
        start, count = map(int, line.split())
        taken = []
        for query in asked[start : start + count]:
            started = time.perf_counter()
            ask(query)
            taken.append(time.perf_counter() - started)
        print(json.dumps(taken), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
