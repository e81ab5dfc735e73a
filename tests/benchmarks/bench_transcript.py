"""`python -m tests.benchmarks.bench_transcript`: what a transcript costs beside the bare system calls.

Append: one record through `TranscriptWriter.append` against one `os.write` of the same bytes to a descriptor of the
same kind, in shuffled rounds. Load: the rows of a generated file of 120 MB and 200,000 records, by `load` and `rows`,
against a bare `json.loads` loop and a bare msgspec loop over its lines, in turn; and the most memory that a process
which does nothing else takes for it. List: the sessions of 1,000 files, 100 of which are of 5 MB.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from middleware import injection, records, resume, transcript
from middleware.parts import Message, Part
from middleware.transcript.lines import encode_line

ROUNDS = 3000
RECORDS = 200_000
SIZES = {"100 B": 100, "10 kB": 10_000, "1 MB": 1_000_000}


def record_of(size: int) -> records.Record:
    stamp = records.Stamp(
        uuid="00000001-0000-4000-8000-000000000000",
        parent=None,
        session_id="bench",
        timestamp="2026-01-01T00:00:00.000Z",
        cwd="/work",
        version="0.1.0",
    )
    message = Message(role="user", parts=(Part(kind="text", text="x" * size),))
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
        record = record_of(size)
        line = encode_line(record)
        bare = os.open(folder / f"bare-{size}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        runs: dict[str, Callable[[], object]] = {"os.write": lambda fd=bare, line=line: os.write(fd, line)}  # type: ignore[misc]
        runs["encode only"] = lambda record=record: encode_line(record)  # type: ignore[misc]
        folders = []
        for durability in ("os", "group"):
            made = transcript.TranscriptFolder(folder, durability=durability)
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


def made_file(path: Path, records_wanted: int) -> None:
    """Turns of four records: a question with injected context, a tool call, its result, an answer; dead branches."""
    chance, parent, kept = random.Random(3), None, None
    with path.open("wb") as file:
        for number in range(records_wanted):
            if number % 1000 == 900:
                kept = parent
            elif number % 1000 == 940:
                # What came since is rewound.
                parent = kept
            record = made_record(number, str(uuid.UUID(int=chance.getrandbits(128), version=4)), parent)
            parent = record["uuid"]
            file.write(encode_line(record))


def made_record(number: int, identity: str, parent: str | None) -> records.Record:
    stamp = records.Stamp(
        uuid=identity,
        parent=parent,
        session_id="bench-session",
        timestamp="2026-01-01T00:00:00.000Z",
        cwd="/work/project",
        version="0.1.0",
        prompt_id=f"bench-session########{number // 4}",
    )
    call = f"call-{number - number % 4}"
    match number % 4:
        case 0:
            message = Message(role="user", parts=(Part(kind="text", text="please look at this " + "x" * 70),))
            block = injection.block_of("branch=main ticket=DEMO-1 " + "c" * 40)
            payload = records.display_payload(message.text, block)
            return records.user_record(stamp=stamp, parts=records.record_parts(message, block), payload=payload)
        case 1:
            said = Part(kind="text", text="I will look. " + "y" * 50)
            asked = Part(kind="tool_call", id=call, name="read_file", text='{"path":"a.txt"}')
            return records.assistant_record(
                stamp=stamp, parts=records.record_parts(Message(role="assistant", parts=(said, asked))), model="m"
            )
        case 2:
            answer = Part(kind="tool_response", id=call, name="read_file", text="line one\nline two " + "z" * 160)
            return records.tool_result_record(
                stamp=stamp,
                parts=records.record_parts(Message(role="tool", parts=(answer,))),
                tool_call_result={"callId": call, "status": "success"},
            )
        case _:
            message = Message(role="assistant", parts=(Part(kind="text", text="The answer: " + "w" * 160),))
            return records.assistant_record(stamp=stamp, parts=records.record_parts(message), model="m")


def rows_of(path: Path) -> int:
    return sum(1 for _ in resume.rows(transcript.load(path).conversation()))


def bench_load(path: Path, table: Table) -> None:
    decode = msgspec.json.Decoder().decode

    def loop(read: Callable[[bytes], object]) -> None:
        with path.open("rb") as file:
            for line in file:
                read(line)

    runs: dict[str, Callable[[], object]] = {
        "json.loads loop": lambda: loop(json.loads),
        "msgspec loop": lambda: loop(decode),
        "load": lambda: transcript.load(path),
        "load + rows": lambda: rows_of(path),
        "load + replay": lambda: resume.replay(transcript.load(path).conversation()),
    }
    times: dict[str, list[float]] = {run: [] for run in runs}
    for _ in range(5):
        for run, function in runs.items():
            times[run].append(timed(function))
    floor, peer = statistics.median(times["msgspec loop"]), statistics.median(times["json.loads loop"])
    for run in runs:
        middle = statistics.median(times[run])
        table.add_row(run, f"{middle * 1e3:.0f}", f"{middle / floor:.2f}", f"{middle / peer:.2f}")


def memory_over_baseline(path: Path) -> float:
    """The most memory in MB that a process takes for the rows of a file, over what it took before."""
    code = (
        "import re, sys; from pathlib import Path; from tests.benchmarks.bench_transcript import rows_of\n"
        "peak = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])\n"
        "before = peak(); rows_of(Path(sys.argv[1])); print((peak() - before) / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=True)
    return float(done.stdout)


def made_sessions(folder: Path) -> None:
    """900 sessions of some turns and 100 of 5 MB."""
    for number in range(1000):
        with (folder / f"session-{number}.jsonl").open("wb") as file:
            parent = None
            for at in range(8000 if number % 10 == 0 else 40):
                record = made_record(at, f"{number:08d}-0000-4000-8000-{at:012d}", parent)
                parent = record["uuid"]
                file.write(encode_line(record))


def main() -> None:
    console = Console(width=110)
    with tempfile.TemporaryDirectory() as name:
        appends = Table("record", "what", "p50 µs", "p99 µs", "over os.write", "ratio", title="append")
        bench_append(Path(name), appends)
        console.print(appends)
        path = Path(name) / "load.jsonl"
        made_file(path, RECORDS)
        loads = Table(
            "what",
            "ms",
            "to msgspec",
            "to json.loads",
            title=f"{RECORDS:,} records, {path.stat().st_size / 1e6:.0f} MB",
        )
        bench_load(path, loads)
        console.print(loads)
        console.print(f"load + rows: {memory_over_baseline(path):.0f} MB over baseline at most")
        folder = Path(name) / "sessions"
        folder.mkdir()
        made_sessions(folder)
        size = sum(file.stat().st_size for file in folder.iterdir())
        seconds = statistics.median(timed(lambda: list(transcript.list_sessions(folder))) for _ in range(5))
        console.print(f"list 1,000 sessions of {size / 1e6:.0f} MB: {seconds * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
