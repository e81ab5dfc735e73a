"""A writer that is killed again and again, and what must be true of its store afterwards. By hand:

    python -m tests.recall_store.crashing [--kills 200] [--seed 1]

The writer says on its output what it begins and what was done; a kill (SIGKILL) hits it wherever it is by then. After
each: every acknowledged write is there, nothing deleted is returned, what was under way is there as a whole or not at
all, and a vector file that was damaged in the meantime costs no answer.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recall_store import EmbedderError, Record, Store, open_store
from tests.recall_store.fakes import LetterEmbedder

SPACES = ("north", "south")
KEPT = 60
"""Memories a namespace, about: above that, the writer deletes."""


def text_of(id: str, version: int) -> str:
    """The text of a memory; its first word is in no other one."""
    return f"{id}v{version} lighthouse keeper wrote about the harbour"


def write(url: str, seed: str) -> None:
    """Upsert, delete, forget, reindex and vacuum for ever; say so before and after."""
    rng = random.Random(seed)
    with open_at_all(url) as store:
        while True:
            space = rng.choice(SPACES)
            known = [str(record.id) for record in store.list(namespace=space)]
            kind = rng.choices(("upsert", "delete", "reindex", "vacuum"), (8, 5 if len(known) > KEPT else 2, 1, 0.5))[0]
            if kind == "upsert":
                ids = [f"m{rng.randrange(10**9)}" for _ in range(rng.choice((1, 1, 5, 40)))]
                ids += rng.sample(known, min(len(known), 2))
                version = rng.randrange(10**6)
                say("upsert", space, ids, version)
                records = [Record(id=id, text=text_of(id, version), source=source_of(id)) for id in ids]
                store.upsert(namespace=space, records=records)
                store.search(namespace=space, query="lighthouse keeper")
            elif kind == "delete":
                ids = rng.sample(known, len(known) // 2)
                say("delete", space, ids, 0)
                store.delete(namespace=space, ids=ids)
            elif kind == "reindex":
                say("reindex", space, [], 0)
                store.reindex(embedder=rng.choice(["hash", LetterEmbedder()]))
            else:
                say("vacuum", space, [], 0)
                store.vacuum()
            say("done", space, [], 0)


def source_of(id: str) -> dict[str, Any]:
    """Three sessions, so that memories come and go between neighbours."""
    return {"session": f"s{int(id[1:]) % 3}", "position": int(id[1:]) / 7}


def say(kind: str, space: str, ids: list[str], version: int) -> None:
    """One line for whoever will kill us."""
    print(json.dumps([kind, space, ids, version]), flush=True)


@contextlib.contextmanager
def open_at_all(url: str) -> Any:
    """The store with the embedder it has by now, which only its own error tells."""
    with contextlib.ExitStack() as stack:
        try:
            store = stack.enter_context(open_store(url, embedder=LetterEmbedder()))
        except EmbedderError:
            store = stack.enter_context(open_store(url, embedder="hash"))
        yield store


class Ledger:
    """What was acknowledged, and what was under way."""

    def __init__(self) -> None:
        self.alive: dict[str, dict[str, int]] = {space: {} for space in SPACES}
        self.gone: dict[str, set[str]] = {space: set() for space in SPACES}
        self.open: tuple[str, str, list[str], int] | None = None

    def read(self, line: str) -> None:
        """Take one line of the writer."""
        kind, space, ids, version = json.loads(line)
        if kind != "done":
            self.open = (kind, space, ids, version)
        elif self.open is not None:
            self.settle(done=True)

    def settle(self, *, done: bool) -> None:
        """What was under way is done, or never was."""
        if done and self.open is not None:
            kind, space, ids, version = self.open
            for id in ids:
                if kind == "upsert":
                    old = self.alive[space].get(id)
                    self.gone[space] |= {text_of(id, old)} if old is not None else set()
                    self.alive[space][id] = version
                elif kind == "delete":
                    self.gone[space].add(text_of(id, self.alive[space].pop(id)))
        self.open = None

    def find_out(self, store: Store) -> None:
        """Whether what was under way when the writer was killed is there: wholly, or not at all."""
        if self.open is not None:
            kind, space, ids, version = self.open
            texts = {record.id: record.text for record in store.get(namespace=space, ids=ids)}
            if kind == "upsert":
                there = {texts.get(id) == text_of(id, version) for id in ids}
                assert len(there) == 1, f"half an upsert: {texts}"
                self.settle(done=there == {True})
            else:
                assert kind != "delete" or len(texts) in (0, len(ids)), "half a deletion"
                self.settle(done=not texts)

    def check(self, store: Store, rng: random.Random) -> None:
        """Everything acknowledged is there and found, and nothing that was deleted."""
        self.find_out(store)
        for space in SPACES:
            wanted = {id: text_of(id, version) for id, version in self.alive[space].items()}
            assert {str(record.id): record.text for record in store.list(namespace=space)} == wanted
            for id in rng.sample(sorted(wanted), min(8, len(wanted))):
                best = store.search(namespace=space, query=wanted[id])[0]
                assert best.record.text == wanted[id] and best.cosine > 0.9999, "an answer is missing"
            for text in rng.sample(sorted(self.gone[space]), min(8, len(self.gone[space]))):
                found = store.search(namespace=space, query=text, top_k=500)
                assert text not in {match.record.text for match in found}, "a deleted memory came back"


def damage(folder: Path, rng: random.Random) -> str:
    """Do something bad to a vector file, most of the time."""
    files = sorted(path for path in folder.glob("*-vectors/*") if path.suffix in (".index", ".vectors"))
    if not files:
        return "nothing"
    path = rng.choice(files)
    raw = bytearray(path.read_bytes())
    kinds: dict[str, Callable[[], object]] = {
        "nothing": lambda: None,
        "cut": lambda: path.write_bytes(bytes(raw[: rng.randrange(len(raw) + 1)])),
        "flip": lambda: path.write_bytes(bytes(flipped(raw, rng))),
        "foreign": lambda: path.write_bytes(rng.randbytes(len(raw))),
        "swap": lambda: path.write_bytes(rng.choice(files).read_bytes()),
        "delete": path.unlink,
    }
    kind = rng.choice(sorted(kinds))
    kinds[kind]()
    return kind


def flipped(raw: bytearray, rng: random.Random) -> bytearray:
    """One bit of it is another one."""
    if raw:
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    return raw


def crash(folder: Path, kills: int, seed: int, told: Callable[[str], None] = lambda line: None) -> int:
    """Kill a writer `kills` times; return how many operations it had done. Raises AssertionError."""
    rng = random.Random(seed)
    url, ledger, done = f"sqlite:///{folder}/memories.db", Ledger(), 0
    for turn in range(kills):
        command = [sys.executable, "-m", "tests.recall_store.crashing", "--write", url, "--seed", str(rng.random())]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(rng.randint(1, 24)):
                ledger.read(writer.stdout.readline())
            # It goes on while the signal is on its way: where it is hit is anybody's guess.
            for _ in range(rng.randrange(20_000)):
                pass
            writer.kill()
            for line in writer.stdout:
                if line.endswith("\n"):
                    ledger.read(line)
                    done += 1
        what = damage(folder, rng)
        with open_at_all(url) as store:
            under_way = ledger.open[0] if ledger.open is not None else "nothing"
            ledger.check(store, rng)
        db = sqlite3.connect(folder / "memories.db")
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
        db.close()
        told(f"{turn + 1}: killed during {under_way}; then to a vector file: {what}")
    return done


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--write", metavar="URL", help="be the writer")
    arguments = parser.parse_args()
    if arguments.write is not None:
        write(arguments.write, arguments.seed)
    else:
        with tempfile.TemporaryDirectory() as folder:
            crash(Path(folder), arguments.kills, int(arguments.seed), print)
        print(f"{arguments.kills} kills: everything acknowledged is there, nothing deleted came back")


if __name__ == "__main__":
    main()
