"""`python -m tests.transcript.crashing [KILLS]`: two processes append to transcripts and are killed, again and again.

A process tells the uuid of a record on a pipe once `append` has returned. After each kill every record that was told is
in the file, whole; what was lost is at most the record that was being written; and the file resumes.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from middleware import transcript
from middleware.session import Session
from middleware.transcript import TranscriptFolder

SESSIONS = ("one", "two", "three")
WORKERS = 2
_LONGEST = 0.03


@dataclass(kw_only=True)
class Crashes:
    """What came of the kills: `lost` and `corrupt` are uuids, by session; `torn` counts the lines cut in two."""

    kills: int = 0
    acknowledged: int = 0
    torn: int = 0
    lost: dict[str, list[str]] = field(default_factory=dict)
    corrupt: dict[str, list[str]] = field(default_factory=dict)
    flaws: dict[str, list[str]] = field(default_factory=dict)


def text_of(uuid: str) -> str:
    """The text of a record: long, and told by its uuid."""
    return uuid * (1 + sum(uuid.encode()) % 400)


def work(folder: Path, name: str, told: int) -> None:
    """Append to the sessions in turn, and tell each record's uuid when `append` has returned."""
    made = TranscriptFolder(folder, durability="os")
    number = 0
    while True:
        session = SESSIONS[number % len(SESSIONS)]
        uuid = f"{session}-{name}-{number}"
        writer = made.writer(session)
        with writer.exclusive():
            parts = {"role": "user", "parts": [{"text": text_of(uuid)}]}
            line = {"uuid": uuid, "parentUuid": writer.tail, "sessionId": session, "type": "user", "message": parts}
            writer.append(line)
        os.write(told, uuid.encode() + b"\n")
        number += 1


def start(folder: Path, name: str) -> tuple[int, int]:
    """A process of its own, and the end of the pipe that it tells on."""
    here, there = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(here)
            work(folder, name, there)
        finally:
            os._exit(1)
    os.close(there)
    return pid, here


def crash(folder: Path, kills: int, seed: int = 1) -> Crashes:
    """Kill `kills` processes at random moments, while another one goes on."""
    chance = random.Random(seed)
    told: dict[str, set[str]] = {session: set() for session in SESSIONS}
    running = [start(folder, f"w{number}") for number in range(WORKERS)]
    for kill in range(kills):
        time.sleep(chance.random() * _LONGEST)
        pid, pipe = running.pop(chance.randrange(len(running)))
        end(pid, pipe, told)
        running.append(start(folder, f"k{kill}"))
    for pid, pipe in running:
        end(pid, pipe, told)
    return judged(folder, kills, told)


def end(pid: int, pipe: int, told: dict[str, set[str]]) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with os.fdopen(pipe, "rb") as file:
        for uuid in file.read().decode().split("\n")[:-1]:
            told[uuid.partition("-")[0]].add(uuid)


def judged(folder: Path, kills: int, told: dict[str, set[str]]) -> Crashes:
    found = Crashes(kills=kills, acknowledged=sum(map(len, told.values())))
    for session, uuids in told.items():
        path = folder / f"{session}.jsonl"
        branch = transcript.load(path)
        found.torn += sum(flaw.name == "invalid_record" for flaw in branch.flaws)
        found.flaws[session] = sorted({flaw.name for flaw in branch.flaws} - {"invalid_record"})
        read = {record["uuid"]: record["message"]["parts"][0]["text"] for record in branch}
        found.lost[session] = sorted(uuids - read.keys())
        found.corrupt[session] = sorted(uuid for uuid, text in read.items() if text != text_of(uuid))
        assert len(Session.resume(path).history()) == len(read)
    return found


def main(arguments: Iterable[str] = ()) -> None:
    kills = int(next(iter(arguments), "200"))
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        found = crash(Path(name), kills)
    print(f"{found.kills} kills in {time.monotonic() - started:.1f} s, {found.acknowledged} records acknowledged")
    print(f"lost {sum(map(len, found.lost.values()))}, corrupt {sum(map(len, found.corrupt.values()))}, ", end="")
    print(f"lines cut in two {found.torn}, flaws of the chain {sum(map(len, found.flaws.values()))}")


if __name__ == "__main__":
    main(sys.argv[1:])
