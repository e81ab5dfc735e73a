"""`python -m tests.benchmarks.bench_transcript`: what a transcript costs beside the bare system calls.

Append: one record through `TranscriptWriter.append` against one `os.write` of the same bytes to a descriptor of the
same kind, in shuffled rounds. Load: `read` + `walk` + `display` + `replay` of a generated file against a bare
`json.loads` loop and a bare msgspec loop over its lines.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from middleware import injection, records, resume, transcript
from middleware.parts import Message, Part
from middleware.transcript.lines import encode_line

ROUNDS = 3000
TURNS = 5000
SIZES = {"100 B": 100, "10 kB": 10_000, "1 MB": 1_000_000}


def make_record(number: int, parent: str | None, size: int, kind: str = "user") -> records.Record:
    stamp = records.Stamp(
        uuid=f"{number:08d}-0000-4000-8000-000000000000",
        parent=parent,
        session_id="bench",
        timestamp="2026-01-01T00:00:00.000Z",
        cwd="/work",
        version="0.1.0",
    )
    message = Message(role="user", parts=(Part(kind="text", text="x" * size),))
    if kind == "assistant":
        return records.assistant_record(stamp=stamp, parts=records.record_parts(message), model="m")
    block = injection.block_of("branch=main ticket=DEMO-1")
    payload = records.display_payload(message.text, block)
    return records.user_record(stamp=stamp, parts=records.record_parts(message, block), payload=payload)


def timed(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def bench_append(folder: Path, table: Table) -> None:
    for name, size in SIZES.items():
        rounds = ROUNDS if size < 1_000_000 else 150
        record = make_record(1, None, size)
        line = encode_line(record)
        bare = os.open(folder / f"bare-{size}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        runs: dict[str, Callable[[], object]] = {"os.write": lambda fd=bare, line=line: os.write(fd, line)}  # type: ignore[misc]
        runs["encode only"] = lambda record=record: encode_line(record)  # type: ignore[misc]
        folders = []
        for durability in ("os", "group"):
            made = transcript.TranscriptFolder(folder, durability=durability)  # type: ignore[arg-type]
            folders.append(made)
            writer = made.writer(f"{durability}-{size}")
            runs[f"append, {durability}"] = lambda writer=writer, record=record: writer.append(record)  # type: ignore[misc]

        def exclusively(writer: transcript.TranscriptWriter = writer, record: records.Record = record) -> None:
            with writer.exclusive():
                writer.append(record)

        runs["exclusive + append, group"] = exclusively
        times: dict[str, list[float]] = {run: [] for run in runs}
        order = list(runs)
        for _ in range(rounds):
            random.shuffle(order)
            for run in order:
                times[run].append(timed(runs[run]))
        floor = statistics.median(times["os.write"])
        for run in runs:
            middle = statistics.median(times[run])
            high = statistics.quantiles(times[run], n=100)[98]
            table.add_row(
                name,
                run,
                f"{middle * 1e6:.1f}",
                f"{high * 1e6:.1f}",
                f"{(middle - floor) * 1e6:+.1f}",
                f"{middle / floor:.2f}",
            )
        for made in folders:
            made.close()
        os.close(bare)


def bench_load(folder: Path, table: Table) -> None:
    path = folder / "load.jsonl"
    parent = None
    with path.open("wb") as file:
        for number in range(2 * TURNS):
            record = make_record(number, parent, 800, "assistant" if number % 2 else "user")
            parent = record["uuid"]
            file.write(encode_line(record))
    lines = path.read_bytes().splitlines()
    held = transcript.read(path)
    branch = transcript.walk(held.records)[0]
    decode = msgspec.json.Decoder().decode
    runs: dict[str, Callable[[], object]] = {
        "json.loads loop": lambda: [json.loads(line) for line in lines],
        "msgspec loop": lambda: [decode(line) for line in lines],
        "read": lambda: transcript.read(path),
        "walk": lambda: transcript.walk(held.records),
        "display": lambda: resume.display(branch),
        "replay": lambda: resume.replay(branch),
        "read + walk + display": lambda: resume.display(transcript.walk(transcript.read(path).records)[0]),
        "iter_records": lambda: sum(1 for _ in transcript.iter_records(path)),
    }
    times: dict[str, list[float]] = {run: [] for run in runs}
    for _ in range(7):
        for run, function in runs.items():
            times[run].append(timed(function))
    floor, peer = statistics.median(times["msgspec loop"]), statistics.median(times["json.loads loop"])
    for run in runs:
        middle = statistics.median(times[run])
        table.add_row(run, f"{middle * 1e3:.1f}", f"{middle / floor:.2f}", f"{middle / peer:.2f}")


def main() -> None:
    console = Console(width=110)
    with tempfile.TemporaryDirectory() as name:
        appends = Table("record", "what", "p50 µs", "p99 µs", "over os.write", "ratio", title="append")
        bench_append(Path(name), appends)
        console.print(appends)
        loads = Table("what", "ms", "to msgspec", "to json.loads", title=f"load {2 * TURNS} records")
        bench_load(Path(name), loads)
        console.print(loads)


if __name__ == "__main__":
    main()
