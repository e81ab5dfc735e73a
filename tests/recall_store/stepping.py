"""A process that is killed before one statement of an operation, for each of its statements. By hand:

python -m tests.recall_store.stepping [--every 1]

`crashing` kills at random moments of many operations; this at every one of a few. The children are forks, so it runs
in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from recall_store import Record, Store, open_store
from recall_store.engines.sqlite import SqliteStore
from tests.recall_store.fakes import LetterEmbedder

KILLED = 9
CHANGED = (Record(id="m5", text="lighthouse changed five"), Record(id="new", text="lighthouse new one"))
OPERATIONS: dict[str, Callable[[Store], Any]] = {
    "reindex": lambda store: store.reindex(embedder="hash"),
    "upsert": lambda store: store.upsert(namespace="n", records=CHANGED),
    "delete": lambda store: store.delete(namespace="n", ids=["m7", "m8"]),
    "forget": lambda store: store.forget(namespace="n", query="keeper 9"),
    "vacuum": lambda store: store.vacuum(),
    "search": lambda store: store.search(namespace="n", query="lighthouse keeper"),
}
State = tuple[tuple[tuple[str, str], ...], str]


def url_of(folder: Path) -> str:
    return f"sqlite:///{folder}/memories.db"


def fill(folder: Path) -> None:
    """A store with two namespaces, one deleted memory, and vector files of an earlier moment."""
    with open_store(url_of(folder), embedder=LetterEmbedder()) as store:
        turns = [
            Record(id=f"m{i}", text=f"lighthouse keeper {i}", source={"session": "s", "position": i})
            for i in range(140)
        ]
        store.upsert(namespace="n", records=turns[:-1])
        store.search(namespace="n", query="lighthouse keeper 5")
        store.upsert(namespace="n", records=turns[-1:])
        store.upsert(namespace="other", records=[Record(id="o", text="another lighthouse")])
        store.delete(namespace="n", ids=["m139"])


def state(folder: Path) -> State:
    """What the store holds and the embedder it names. Raises AssertionError if its parts disagree."""
    with sqlite3.connect(folder / "memories.db") as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        [(embedder,)] = db.execute("SELECT value FROM meta WHERE name = 'embedder'").fetchall()
        counts = {db.execute(f"SELECT count(*) FROM {table}").fetchone() for table in ("memories", "vectors")}
    db.close()
    assert len(counts) == 1
    with open_store(url_of(folder), embedder=LetterEmbedder() if embedder.startswith("letters") else None) as store:
        listed = sorted((str(record.id), record.text) for record in store.list(namespace="n"))
        matches = store.search(namespace="n", query="lighthouse", top_k=1000)
        assert sorted((str(match.record.id), match.record.text) for match in matches) == listed
        assert [match.record.id for match in store.search(namespace="other", query="lighthouse")] == ["o"]
        assert "m139" not in dict(listed)
    return tuple(listed), embedder


def run_until(folder: Path, operation: Callable[[Store], Any], statements: int) -> bool:
    """Do it in a child that is killed before it says one more than so many statements; True if it came to its end."""
    child = os.fork()
    if not child:
        left = statements

        def said(_: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(KILLED)

        store = open_store(url_of(folder), embedder=LetterEmbedder())
        assert isinstance(store, SqliteStore)
        with store._connections.bare() as db:
            pass
        db.set_trace_callback(said)
        operation(store)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, KILLED), f"the child ended with {code}"
    return code == 0


def step(whole: Path, name: str, every: int) -> Iterator[State]:
    """The state after each kill, and at last that after the operation came to its end."""
    statements, ended = 0, False
    while not ended:
        with tempfile.TemporaryDirectory() as copied:
            folder = Path(copied)
            shutil.copytree(whole, folder, dirs_exist_ok=True)
            ended = run_until(folder, OPERATIONS[name], statements)
            yield state(folder)
            if name == "reindex":
                with open_store(url_of(folder)) as store:
                    assert store.reindex(embedder="hash") == 140
                state(folder)
        statements += every


def main() -> None:
    """Run all operations; each leaves what was before or what is after, and nothing between."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1)
    every = parser.parse_args().every
    with tempfile.TemporaryDirectory() as filled:
        whole = Path(filled)
        fill(whole)
        before = state(whole)
        for name in OPERATIONS:
            states = list(step(whole, name, every))
            after = states[-1]
            assert set(states) <= {before, after}, f"{name} left something between"
            assert (after == before) is (name in ("vacuum", "search")), name
            print(f"{name}: {len(states) - 1} kills, {states[:-1].count(before)} left it as it was")


if __name__ == "__main__":
    main()
