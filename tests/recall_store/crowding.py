"""Several processes that read and write one store at once, none of which may ever hear that it is locked. By hand:

python -m tests.recall_store.crowding [--processes 8] [--seconds 60]
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from recall_store import Record, open_store

SPACES = ("shared", "other")


def work(url: str, name: str, go_on: Callable[[int], bool]) -> int:
    """Write, find what was written, read, delete and vacuum; return how many rounds it were."""
    rng = random.Random(name)
    rounds = 0
    with open_store(url) as store:
        while go_on(rounds):
            space = rng.choice(SPACES)
            text = f"{name} lighthouse round{rounds} {rng.randrange(10**9)}"
            extra = [Record(text=f"{name} note {rng.random()}") for _ in range(rng.choice((0, 0, 20)))]
            mine = store.upsert(namespace=space, records=[Record(text=text), *extra])
            assert store.search(namespace=space, query=text)[0].record == mine[0]
            assert store.get(namespace=space, ids=[str(mine[0].id)]) == mine[:1]
            store.list(namespace=space, limit=20)
            store.delete(namespace=space, ids=[str(record.id) for record in mine[1:]])
            if rng.random() < 0.02:
                store.vacuum()
            rounds += 1
    return rounds


def crowd(url: str, processes: int, *limit: str) -> list[int]:
    """Run the workers; return the rounds each did. Raises AssertionError with the words of one that failed."""
    command = [sys.executable, "-m", "tests.recall_store.crowding", "--work", url, *limit]
    workers = [
        subprocess.Popen([*command, "--name", f"worker{i}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for i in range(processes)
    ]
    answers = [worker.communicate() for worker in workers]
    failed = [errors for worker, (_, errors) in zip(workers, answers, strict=True) if worker.returncode]
    assert not failed, "\n".join(failed)
    rounds = [int(out) for out, _ in answers]
    with open_store(url) as store:
        kept = [record for space in SPACES for record in store.list(namespace=space)]
        assert len(kept) == sum(rounds), f"{len(kept)} memories of {sum(rounds)} rounds"
        assert all("lighthouse" in record.text for record in kept)
    return rounds


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--work", metavar="URL", help="be a worker")
    parser.add_argument("--name", default="worker")
    arguments = parser.parse_args()
    limit = ["--seconds", str(arguments.seconds)]
    if arguments.work is None:
        with tempfile.TemporaryDirectory() as folder:
            rounds = crowd(f"sqlite:///{folder}/memories.db", arguments.processes, *limit)
        print(f"{arguments.processes} processes, {sum(rounds)} rounds ({min(rounds)} to {max(rounds)} each), no error")
        return
    until = time.monotonic() + arguments.seconds
    if arguments.rounds is not None:
        print(work(arguments.work, arguments.name, lambda done: done < arguments.rounds))
    else:
        print(work(arguments.work, arguments.name, lambda done: time.monotonic() < until))


if __name__ == "__main__":
    main()
