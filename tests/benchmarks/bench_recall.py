"""How long a search takes over 10,000 memories, against plain peers in the same run; and how good it is.

    python -m tests.benchmarks.bench_recall [--rows 10000] [--rounds 300] [--quality /path/to/locomo.json]

Peers take turns with the store, 20 queries each, so that a busy machine is busy for all. `--quality` reads a LoCoMo
file and prints evidence recall@5 on categories 1 to 4, one namespace a conversation, weights as shipped.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from recall_store import Record, Store, open_store
from recall_store.embedders import load
from recall_store.secrets import find_secret
from recall_store.text import words

TURN = 20
_VERBS = tuple(
    re.split(" ", "fixed moved deleted reviewed deployed renamed measured wrote dropped restarted merged tested")
)
_SYLLABLES = tuple(
    re.split(" ", "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu bra cle dri flo gru pla ste tri")
)


def sentences(count: int, seed: int = 7) -> list[str]:
    """Invented sentences of about 16 words: stop words, a verb, and a vocabulary of 6,000 with Zipf's frequencies."""
    rng = random.Random(seed)
    vocabulary = ["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))) for _ in range(6000)]
    weights = [1 / (rank + 10) for rank in range(len(vocabulary))]
    return [
        f"We {rng.choice(_VERBS)} the {' '.join(rng.choices(vocabulary, weights, k=rng.randint(6, 14)))} and it is fine"
        for _ in range(count)
    ]


def speed(rows: int, rounds: int) -> None:
    """Print p50 and p90 of a search, and of its peers."""
    texts = sentences(rows)
    rng = random.Random(11)
    queries = [
        f"what is it that we said about the {' and '.join(rng.sample(rng.choice(texts).split()[3:-4], k=5))}?"
        for _ in range(rounds)
    ]
    with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/bench.db") as store:
        started = time.perf_counter()
        store.upsert(namespace="bench", records=[Record(text=text) for text in texts])
        print(f"upsert of {rows} memories in one call: {time.perf_counter() - started:.2f} s")
        started = time.perf_counter()
        store.warm(namespace="bench")
        print(f"first load of the vectors, file made: {(time.perf_counter() - started) * 1e3:.1f} ms")
        with open_store(f"sqlite:///{folder}/bench.db") as again:
            started = time.perf_counter()
            again.warm(namespace="bench")
            print(f"load of the vectors, file there: {(time.perf_counter() - started) * 1e3:.1f} ms")
        bare = sqlite3.connect(f"{folder}/bare.db")
        bare.execute("CREATE VIRTUAL TABLE memories USING fts5(body, tokenize = 'porter unicode61')")
        bare.executemany("INSERT INTO memories VALUES (?)", [(text,) for text in texts])
        bare.commit()
        embedder = load("hash")
        matrix = embedder.embed(texts)
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)

        def ask(found: list[str]) -> object:
            expression = " OR ".join(f'"{word}"' for word in found)
            statement = "SELECT rowid, bm25(memories) FROM memories WHERE memories MATCH ? ORDER BY rank LIMIT 5"
            return bare.execute(statement, (expression,)).fetchall()

        def brute(query: str) -> object:
            scores = matrix @ embedder.embed([query])[0]
            top = np.argpartition(scores, -5)[-5:]
            return top[np.argsort(-scores[top])]

        peers: dict[str, Callable[[str], object]] = {
            "recall_store search (lexical + dense)": lambda query: store.search(namespace="bench", query=query),
            "(ours with a filter that keeps all)": lambda query: store.search(
                namespace="bench", query=query, where={"author": "user"}
            ),
            "bare FTS5 BM25, top 5, our stop words dropped": lambda query: ask(words(query)),
            "bare FTS5 BM25, top 5, every word": lambda query: ask(re.findall(r"\w+", query)),
            "numpy float32 brute force": brute,
            "(part of ours) the hash embedder": lambda query: embedder.embed([query]),
        }
        times: dict[str, list[float]] = {name: [] for name in peers}
        for start in range(0, len(queries), TURN):
            for name in rng.sample(list(peers), k=len(peers)):
                for query in queries[start : start + TURN]:
                    started = time.perf_counter()
                    peers[name](query)
                    times[name].append(time.perf_counter() - started)
        bare.close()
    ours = statistics.median(next(iter(times.values())))
    print(f"\n| {rows} memories, {rounds} queries | p50 ms | p90 ms | ours / this |\n|---|---|---|---|")
    for name, taken in times.items():
        middle, ninth = statistics.median(taken), statistics.quantiles(taken, n=10)[-1]
        print(f"| {name} | {middle * 1e3:.3f} | {ninth * 1e3:.3f} | {ours / middle:.2f} |")


def evidence_recall(store: Store, conversation: dict[str, object], namespace: str, top_k: int) -> list[float]:
    """For each question of categories 1 to 4, the share of its evidence among the answers (0 to 1)."""
    turns = [
        turn
        for name, session in conversation["conversation"].items()  # type: ignore[attr-defined]
        if re.fullmatch(r"session_\d+", name)
        for turn in session
    ]
    store.upsert(
        namespace=namespace,
        records=[Record(id=turn["dia_id"], text=f"{turn['speaker']}: {turn['text']}") for turn in turns],
    )
    known = {turn["dia_id"] for turn in turns}
    shares = []
    for question in conversation["qa"]:  # type: ignore[attr-defined]
        wanted = set(question.get("evidence") or []) & known
        if question["category"] == 5 or not wanted:
            continue
        found = {
            match.record.id for match in store.search(namespace=namespace, query=question["question"], top_k=top_k)
        }
        shares.append(len(found & wanted) / len(wanted))
    return shares


def figures(shares: dict[int, list[float]]) -> list[str]:
    """The means by `top_k`, and the part of the questions with any evidence among the first five."""
    means = [statistics.mean(values) for values in shares.values()]
    return [f"{value:.3f}" for value in (*means, statistics.mean(share > 0 for share in shares[5]))]


def quality(path: Path) -> None:
    """Print evidence recall on a LoCoMo file, and how many of its turns the secret rules flag."""
    conversations = json.loads(path.read_text())
    flagged = 0
    print("\n| LoCoMo categories 1-4 | recall@5 | recall@10 | any of it @5 | questions |\n|---|---|---|---|---|")
    totals: dict[int, list[float]] = {5: [], 10: []}
    with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/quality.db") as store:
        for conversation in conversations:
            name = conversation["sample_id"]
            shares = {top_k: evidence_recall(store, conversation, name, top_k) for top_k in totals}
            for top_k, values in shares.items():
                totals[top_k].extend(values)
            row = figures(shares)
            print(f"| {name} | {' | '.join(row)} | {len(shares[5])} |")
            flagged += sum(find_secret(record.text) is not None for record in store.list(namespace=name))
    print(f"| all | {' | '.join(figures(totals))} | {len(totals[5])} |\n\nturns flagged as secrets: {flagged}")


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--quality", type=Path)
    arguments = parser.parse_args()
    speed(arguments.rows, arguments.rounds)
    if arguments.quality is not None:
        quality(arguments.quality)


if __name__ == "__main__":
    main()
