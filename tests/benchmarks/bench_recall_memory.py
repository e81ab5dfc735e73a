"""Whether a store grows while it is searched: resident and anonymous memory over many searches in one process.

    python -m tests.benchmarks.bench_recall_memory [--rows 100000] [--searches 100000] [--spaces 50]

`hash` memories in so many namespaces of one SQLite store, every search another question. The limits are the project's
own: under 120 MB resident, of it under 60 MiB anonymous, and no more than 2 MiB grown from the first tenth to the end.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recall_store import Record, open_store
from tests.benchmarks.bench_recall import questions, sentences

RESIDENT, ANONYMOUS, GROWN = 120 * 10**6 / 2**20, 60.0, 2.0
"""Limits in MiB."""


def fill(url: str, rows: int, spaces: int) -> None:
    """Store invented sentences."""
    texts = sentences(rows)
    with open_store(url) as store:
        for number in range(spaces):
            store.upsert(namespace=str(number), records=[Record(text=text) for text in texts[number::spaces]])


def memory() -> tuple[float, float]:
    """Resident and anonymous MiB of this process."""
    gc.collect()
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    resident, anonymous = (int(lines[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon"))
    return resident, anonymous


def search(url: str, rows: int, searches: int, spaces: int) -> int:
    """Search, and print what memory there is on the way; 1 if a limit was passed."""
    asked = questions(sentences(2000), 5000)
    # The questions themselves are no part of the store.
    before = memory()
    marks = sorted({max(searches // 100, 1), searches // 10, searches // 2, searches})
    print(f"\n| searches among {rows:,} in {spaces} | resident MiB | anonymous MiB | ms a search |\n|---|---|---|---|")
    print(f"| none, questions made | {before[0]:.1f} | {before[1]:.1f} | |", flush=True)
    measured = []
    with open_store(url) as store:
        started, last = time.perf_counter(), 0
        for done in range(1, searches + 1):
            question = f"{asked[done % len(asked)]} number {done}"
            store.search(namespace=str(done % spaces), query=question)
            if done in marks:
                each = (time.perf_counter() - started) / (done - last) * 1e3
                measured.append(memory())
                print(f"| {done:,} | {measured[-1][0]:.1f} | {measured[-1][1]:.1f} | {each:.2f} |", flush=True)
                started, last = time.perf_counter(), done
    grown = measured[-1][1] - measured[1][1]
    most = (max(one[0] for one in measured), max(one[1] for one in measured))
    print(
        f"\nmost {most[0]:.1f} of {RESIDENT:.0f} resident, {most[1]:.1f} of {ANONYMOUS:.0f} anonymous;"
        f" grown {grown:.2f} since a tenth of them"
    )
    return int(most[0] > RESIDENT or most[1] > ANONYMOUS or grown > GROWN)


def main() -> int:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--searches", type=int, default=100_000)
    parser.add_argument("--spaces", type=int, default=50)
    parser.add_argument("--url", help="search this store, which is there already")
    arguments = parser.parse_args()
    if arguments.url is not None:
        return search(arguments.url, arguments.rows, arguments.searches, arguments.spaces)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/m.db"
        fill(url, arguments.rows, arguments.spaces)
        given = ("--rows", arguments.rows, "--searches", arguments.searches, "--spaces", arguments.spaces, "--url", url)
        # In a process of its own: what filling it took is not what searching takes.
        command = [sys.executable, "-m", "tests.benchmarks.bench_recall_memory", *map(str, given)]
        return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
