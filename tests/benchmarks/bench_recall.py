"""How fast a store is, against plain peers and the memory's bandwidth, all in one run.

    [BENCH_VENVS=/folder] OMP_NUM_THREADS=1 python -m tests.benchmarks.bench_recall [--rows N] [--rounds N] [--million]

Vectors alone against hnswlib, faiss, chroma and sqlite-vec (each from BENCH_VENVS/<name>, an environment with that
package; what is missing there is named) and numpy; then whole searches among as many memories in fifty namespaces and
in one, against a bare FTS5 table; then a bulk upsert, a cold open, and memory. The floor of every ratio is one read of
the float32 vectors at the best rate measured in this run. How good the answers are: bench_quality.
"""

from __future__ import annotations

import argparse
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from recall_store import Record, Store, open_store
from recall_store.embedders import load
from recall_store.embedders.base import Embedder
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


class Known(Embedder):
    """The hash embedder, whose vectors of the benchmark's texts were made before: what is measured is the store."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._real = load("hash")
        self.name, self.id, self.dimension = self._real.name, self._real.id, self._real.dimension
        self.weight, self.floor = self._real.weight, self._real.floor
        self._rows = {text: row for row, text in enumerate(texts)}
        self.matrix = np.concatenate([self._real.embed(texts[i : i + 500]) for i in range(0, len(texts), 500)])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed`."""
        if texts[0] in self._rows:
            return self.matrix[[self._rows[text] for text in texts]]
        return self._real.embed(texts)


def questions(texts: list[str], rounds: int) -> list[str]:
    """Questions of five words of one of the texts, among stop words."""
    rng = random.Random(11)
    return [
        f"what is it that we said about the {' and '.join(rng.sample(rng.choice(texts).split()[3:-4], k=5))}?"
        for _ in range(rounds)
    ]


def whole_searches(rows: int, rounds: int) -> None:
    """Print the table of `store.search`, of opening, of writing and of memory."""
    from tests.benchmarks.recall_vectors import floor_of

    texts = list(dict.fromkeys(sentences(rows)))
    asked = questions(texts, rounds)
    known = Known(texts)
    floor = floor_of(known.matrix)
    lines: list[tuple[str, float, float | None]] = []
    with tempfile.TemporaryDirectory() as folder:
        bare = bare_table(f"{folder}/bare.db", texts)
        for spaces in (50, 1):
            url = f"sqlite:///{folder}/{spaces}.db"
            where = f"in {spaces} namespaces" if spaces > 1 else "in one namespace"
            with open_store(url, embedder=known) as store:
                per = -(-len(texts) // spaces)
                parts = [[Record(text=text) for text in texts[i : i + per]] for i in range(0, len(texts), per)]
                started = time.perf_counter()
                for number, part in enumerate(parts):
                    store.upsert(namespace=str(number), records=part)
                rate = len(texts) / (time.perf_counter() - started)
                print(f"bulk upsert {where}, without the embedder: {rate:,.0f} records/s", flush=True)
                del parts
                for number in range(spaces):
                    store.warm(namespace=str(number))
            lines.append((f"first search after opening, {where}", first_search(url, asked[0]), None))
            with open_store(url) as store:
                for number in range(spaces):
                    store.warm(namespace=str(number))
                times = interleaved(store, spaces, bare, asked)
            for name, taken in times.items():
                if spaces == 1 or name == "search":
                    label = f"search, {where}" if name == "search" else name
                    lines.append((label, statistics.median(taken), statistics.quantiles(taken, n=10)[-1]))
            print(f"memory {where}: {memory(url, spaces, asked)}", flush=True)
        bare.close()
    print(f"\n| {len(texts):,} memories, {rounds} queries | p50 ms | p90 ms | to the floor |\n|---|---|---|---|")
    print(f"| floor: one read of the float32 vectors | {floor * 1e3:.2f} | | 1 |")
    for label, middle, ninth in lines:
        shown = "" if ninth is None else f"{ninth * 1e3:.2f}"
        print(f"| {label} | {middle * 1e3:.2f} | {shown} | {middle / floor:.2f} |")


def bare_table(path: str, texts: list[str]) -> sqlite3.Connection:
    """The texts in an FTS5 table and nothing else."""
    bare = sqlite3.connect(path)
    bare.execute("CREATE VIRTUAL TABLE memories USING fts5(body, tokenize = 'porter unicode61')")
    bare.executemany("INSERT INTO memories VALUES (?)", ((text,) for text in texts))
    bare.commit()
    return bare


def interleaved(store: Store, spaces: int, bare: sqlite3.Connection, asked: list[str]) -> dict[str, list[float]]:
    """Seconds a query, the two taking turns, so that a busy machine is busy for both."""

    def match(query: str) -> object:
        expression = " OR ".join(f'"{word}"' for word in words(query))
        statement = "SELECT rowid, bm25(memories) FROM memories WHERE memories MATCH ? ORDER BY rank LIMIT 5"
        return bare.execute(statement, (expression,)).fetchall()

    rng = random.Random(5)
    peers: dict[str, Callable[[str], object]] = {
        "search": lambda query: store.search(namespace=str(rng.randrange(spaces)), query=query),
        "bare FTS5 BM25 over all, our stop words dropped": match,
    }
    times: dict[str, list[float]] = {name: [] for name in peers}
    for start in range(0, len(asked), TURN):
        for name, ask in peers.items():
            for query in asked[start : start + TURN]:
                started = time.perf_counter()
                ask(query)
                times[name].append(time.perf_counter() - started)
    return times


def first_search(url: str, query: str) -> float:
    """Seconds to open the store and search it once, in a process that has imported it and embedded something."""
    script = (
        "import sys, time\n"
        "from recall_store import open_store\n"
        "import recall_store.engines.sqlite\n"
        "started = time.perf_counter()\n"
        "open_store(sys.argv[1]).search(namespace='0', query=sys.argv[2])\n"
        "print(time.perf_counter() - started)"
    )
    return statistics.median(
        float(subprocess.run([sys.executable, "-c", script, url, query], capture_output=True, text=True).stdout)
        for _ in range(5)
    )


def memory(url: str, spaces: int, asked: list[str]) -> str:
    """What /proc says of a fresh process after all the searches."""
    script = (
        "import sys\n"
        "from recall_store import open_store\n"
        "with open_store(sys.argv[1]) as store:\n"
        "    for number, query in enumerate(sys.argv[3:]):\n"
        "        store.search(namespace=str(number % int(sys.argv[2])), query=query)\n"
        "    print(open('/proc/self/status').read())"
    )
    command = [sys.executable, "-c", script, url, str(spaces), *asked]
    status = subprocess.run(command, capture_output=True, text=True).stdout
    found = dict(re.findall(r"(VmHWM|VmRSS|RssAnon):\s+(\d+) kB", status))
    return ", ".join(f"{name} {int(found[key]) / 1024:.0f} MiB" for name, key in _MEMORY if key in found) or "unknown"


_MEMORY = (("RSS", "VmRSS"), ("most", "VmHWM"), ("anonymous", "RssAnon"))


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--million", action="store_true", help="vectors of a million rows, too (4 GB of memory)")
    arguments = parser.parse_args()
    from tests.benchmarks.recall_vectors import compare

    whole_searches(arguments.rows, arguments.rounds)
    compare(arguments.rows, arguments.rounds)
    if arguments.million:
        compare(1_000_000, min(arguments.rounds, 60))


if __name__ == "__main__":
    main()
