"""Writing beside others: what they append, hold, erase or move away, and processes that die or fork."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from middleware import transcript
from middleware.transcript import TranscriptFolder, TranscriptWriter
from middleware.transcript.lines import encode_line

from .writing import make_record, uuids


def test_what_another_process_appended_is_noticed_and_read_once(writer: TranscriptWriter) -> None:
    writer.append(make_record("a", None))
    assert not writer.grew()
    other = TranscriptWriter(writer.path, durability="os")
    other.append(make_record("b", other.tail))
    writer.append(make_record("c", "a"))
    other.append(make_record("d", "b"))
    assert writer.grew()
    assert [record["uuid"] for record in writer.catch_up()] == ["b", "d"]
    assert (writer.tail, writer.grew(), writer.catch_up()) == ("d", False, [])
    other.close()


def test_a_line_that_is_still_being_written_is_left_for_the_next_look(writer: TranscriptWriter) -> None:
    writer.append(make_record("a", None))
    line = b'{"uuid":"b","parentUuid":"a","type":"user"}\n'
    with writer.path.open("ab", buffering=0) as other:
        other.write(line[:20])
        assert writer.grew()
        assert writer.catch_up() == []
        other.write(line[20:])
        assert writer.grew()
        assert [record["uuid"] for record in writer.catch_up()] == ["b"]


def test_a_file_that_appears_after_the_first_look_has_grown(folder: TranscriptFolder, writer: TranscriptWriter) -> None:
    assert writer.tail is None
    other = TranscriptWriter(writer.path, durability="os")
    other.append(make_record("a", None))
    other.close()
    assert writer.grew()
    assert [record["uuid"] for record in writer.catch_up()] == ["a"]


def test_growth_is_noticed_across_a_close(writer: TranscriptWriter) -> None:
    writer.append(make_record("a", None))
    writer.close()
    assert not writer.grew()
    writer.close()
    other = TranscriptWriter(writer.path, durability="os")
    other.append(make_record("b", "a"))
    other.close()
    assert writer.grew()
    assert [record["uuid"] for record in writer.catch_up()] == ["b"]


def test_exclusively_held_the_tail_is_behind_what_others_wrote(writer: TranscriptWriter) -> None:
    writer.append(make_record("a", None))
    other = TranscriptWriter(writer.path, durability="os")
    with other.exclusive(), other.exclusive():
        other.append(make_record("b", other.tail))
    with writer.exclusive():
        assert writer.tail == "b"
        writer.append(make_record("c", writer.tail))
    other.close()
    assert [record["uuid"] for record in writer.catch_up()] == ["b"]
    branch, _ = transcript.walk(transcript.read(writer.path).records)
    assert [record["uuid"] for record in branch] == ["a", "b", "c"]


def test_a_process_that_stands_still_with_the_lock_does_not_stop_a_turn(writer: TranscriptWriter) -> None:
    other = TranscriptWriter(writer.path, durability="os")
    with other.exclusive(), writer.exclusive():
        writer.append(make_record("a", writer.tail))
    other.close()
    assert uuids(writer) == ["a"]


def test_an_erased_file_is_begun_anew_and_a_shortened_one_read_anew(writer: TranscriptWriter) -> None:
    writer.append(make_record("a", None))
    writer.append(make_record("b", "a"))
    writer.path.unlink()
    writer.append(make_record("c", None))
    assert uuids(writer) == ["c"]
    writer.path.write_bytes(b'{"uuid":"z","type":"user"}\n')
    assert writer.grew()
    assert [record["uuid"] for record in writer.catch_up()] == ["z"]


CHILD = """
import sys
from pathlib import Path
from middleware.transcript import TranscriptFolder
folder = TranscriptFolder(Path(sys.argv[1]), durability="os")
writer = folder.writer("s")
name, count, size = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
print("ready", flush=True)
for number in range(count):
    with writer.exclusive():
        record = {"uuid": f"{name}{number}", "parentUuid": writer.tail, "type": "user", "text": name * size}
        writer.append(record)
    if number % 10 == 0:
        print(number, flush=True)
"""


def start(folder: Path, name: str, count: int, size: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", CHILD, str(folder), name, str(count), str(size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def test_two_processes_of_500_records_of_20_kb_make_1000_whole_lines_and_one_chain(tmp_path: Path) -> None:
    children = [start(tmp_path, name, 500, 20_000) for name in "ab"]
    assert [child.communicate()[0] != b"" and child.returncode for child in children] == [0, 0]
    read = transcript.read(tmp_path / "s.jsonl")
    branch, flaws = transcript.walk(read.records)
    assert (len(read.records), read.flaws, len(branch), flaws) == (1000, (), 1000, [])


def test_a_writer_killed_at_random_points_never_costs_more_than_the_record_it_was_writing(tmp_path: Path) -> None:
    chance = random.Random(7)
    for kill in range(12):
        child = start(tmp_path, f"k{kill}-", 100_000, 3_000)
        assert child.stdout is not None
        child.stdout.readline()
        child.stdout.readline()
        time.sleep(chance.random() / 50)
        child.send_signal(signal.SIGKILL)
        child.communicate()
    read = transcript.read(tmp_path / "s.jsonl")
    branch, flaws = transcript.walk(read.records)
    assert flaws == []
    assert len(branch) == len(read.records)
    assert len(read.flaws) <= 12
    assert {record["uuid"].split("-")[0] for record in branch} == {f"k{kill}" for kill in range(12)}


def test_a_forked_child_writes_to_the_same_chain(tmp_path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from middleware.transcript import TranscriptFolder
folder = TranscriptFolder(Path(sys.argv[1]), durability="group")
writer = folder.writer("s")
writer.append({"uuid": "parent", "parentUuid": None, "type": "user"})
pid = os.fork()
name = "child" if pid == 0 else "after"
if pid:
    os.waitpid(pid, 0)
with writer.exclusive():
    writer.append({"uuid": name, "parentUuid": writer.tail, "type": "user"})
folder.close()
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    branch, flaws = transcript.walk(transcript.read(tmp_path / "s.jsonl").records)
    assert ([record["uuid"] for record in branch], flaws) == (["parent", "child", "after"], [])


@pytest.mark.parametrize("way", ["renamed", "linked and removed", "replaced"])
@pytest.mark.parametrize("exclusively", [True, False])
def test_a_file_that_was_moved_away_gets_no_more_records(writer: TranscriptWriter, way: str, exclusively: bool) -> None:
    writer.append(make_record("a", None))
    away = writer.path.with_name("away")
    if way == "linked and removed":
        os.link(writer.path, away)
        writer.path.unlink()
    else:
        writer.path.rename(away)
    if way == "replaced":
        writer.path.write_bytes(encode_line(make_record("z", None)))
    assert writer.grew() is (way == "replaced")
    with writer.exclusive() if exclusively else writer.lock:
        writer.append(make_record("b", writer.tail))
    assert [record["uuid"] for record in transcript.read(away).records] == ["a"]
    assert uuids(writer) == (["z", "b"] if way == "replaced" else ["b"])
    assert transcript.read(writer.path).records[-1]["parentUuid"] == ("z" if way == "replaced" else None)
