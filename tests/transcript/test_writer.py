"""Writing: whole lines, one chain, nothing fused, nothing lost, whoever else writes or dies."""

from __future__ import annotations

import errno
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middleware import records, resume, transcript
from middleware.injection import block_of
from middleware.parts import Message, Part
from middleware.transcript import TranscriptFolder, TranscriptWriter
from middleware.transcript.lines import encode_line
from middleware.transcript.syncing import GroupSync


def make_record(uuid: str, parent: str | None, text: str = "x", **fields: Any) -> records.Record:
    stamp = records.Stamp(
        uuid=uuid, parent=parent, session_id="s", timestamp="2026-01-01T00:00:00.000Z", cwd="/w", version="1"
    )
    return {**records.user_record(stamp=stamp, parts=[{"text": text}]), **fields}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[TranscriptFolder]:
    made = TranscriptFolder(tmp_path / "t", durability="os")
    yield made
    made.close()


@pytest.fixture
def writer(folder: TranscriptFolder) -> TranscriptWriter:
    return folder.writer("s")


def uuids(writer: TranscriptWriter) -> list[str]:
    return [record["uuid"] for record in transcript.read(writer.path).records]


def test_each_record_is_one_line_and_the_tail_is_the_last_one(writer: TranscriptWriter) -> None:
    assert writer.tail is None
    assert not writer.path.exists()
    writer.append(make_record("a", writer.tail))
    writer.append(make_record("b", writer.tail))
    assert writer.tail == "b"
    assert writer.path.read_bytes().count(b"\n") == 2
    branch, flaws = transcript.walk(transcript.read(writer.path).records)
    assert ([record["uuid"] for record in branch], flaws) == (["a", "b"], [])


def test_an_artifact_does_not_move_the_tail(writer: TranscriptWriter) -> None:
    writer.append(make_record("a", None))
    writer.append(make_record("x", "a", type="system", subtype="session_artifact_event"))
    assert writer.tail == "a"
    writer.close()
    assert TranscriptWriter(writer.path, durability="os").tail == "a"


def test_files_are_0600_and_made_folders_0700_and_those_that_were_there_keep_their_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    folder = TranscriptFolder(tmp_path / "a" / "b", durability="os")
    folder.writer("s").append(make_record("a", None))
    folder.close()
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path, tmp_path / "a", tmp_path / "a/b", folder.path("s"))]
    assert modes == [0o755, 0o700, 0o700, 0o600]


@pytest.mark.parametrize("torn", [b'{"uuid":"b","par', b'{"uuid":"b","type":"user"}', b"\0\0\0", "é".encode()[:1]])
def test_a_torn_tail_is_closed_with_a_newline_and_no_byte_before_it_changes(
    writer: TranscriptWriter, torn: bytes
) -> None:
    writer.append(make_record("a", None))
    writer.close()
    before = writer.path.read_bytes() + torn
    writer.path.write_bytes(before)
    fresh = TranscriptWriter(writer.path, durability="os")
    fresh.append(make_record("c", fresh.tail))
    fresh.append(make_record("d", fresh.tail))
    fresh.close()
    after = writer.path.read_bytes()
    assert after.startswith(before + b"\n{")
    assert uuids(writer)[-2:] == ["c", "d"]
    assert b"\n\n" not in after


def test_a_line_that_another_writer_left_torn_later_is_not_fused_either(writer: TranscriptWriter) -> None:
    writer.append(make_record("a", None))
    with writer.path.open("ab") as other:
        other.write(b'{"uuid":"dead')
    writer.append(make_record("b", "a"))
    assert uuids(writer) == ["a", "b"]


def test_a_full_disk_raises_and_the_next_append_starts_on_a_line_of_its_own(writer: TranscriptWriter) -> None:
    writer.append(make_record("a", None))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (writer.path.stat().st_size + 100, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            writer.append(make_record("b", writer.tail, "y" * 5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert writer.tail == "a"
    writer.append(make_record("c", writer.tail))
    branch, flaws = transcript.walk(transcript.read(writer.path).records)
    assert ([record["uuid"] for record in branch], flaws) == (["a", "c"], [])
    assert [flaw.line for flaw in transcript.read(writer.path).flaws] == [2]


def test_lone_surrogates_and_nul_are_replaced_in_the_file_and_not_in_the_record(writer: TranscriptWriter) -> None:
    record = make_record("a", None, "half \ud800 and \x00 and \\u0000", extra={"k\udfff": ["\ud83d\ude00"]})
    writer.append(record)
    (read,) = transcript.read(writer.path).records
    assert read["message"]["parts"] == [{"text": "half \ufffd and \ufffd and \\u0000"}]
    assert read["extra"] == {"k\ufffd": ["\U0001f600"]}
    assert record["message"]["parts"] == [{"text": "half \ud800 and \x00 and \\u0000"}]


@pytest.mark.parametrize("value", [b"raw", bytearray(b"raw"), memoryview(b"raw"), object()])
def test_bytes_are_refused_and_nothing_is_written(writer: TranscriptWriter, value: object) -> None:
    with pytest.raises(TypeError):
        writer.append(make_record("a", None, extra=[{"deep": (value,)}]))
    assert not writer.path.exists()


def test_threads_share_one_chain(writer: TranscriptWriter) -> None:
    def turns(name: str) -> None:
        for number in range(50):
            with writer.lock:
                writer.append(make_record(f"{name}{number}", writer.tail))

    threads = [threading.Thread(target=turns, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    branch, flaws = transcript.walk(transcript.read(writer.path).records)
    assert (len(branch), flaws) == (200, [])


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


def test_the_tail_of_a_file_is_found_behind_a_long_line_and_a_torn_one(writer: TranscriptWriter) -> None:
    writer.append(make_record("a", None))
    writer.append(make_record("b", "a", "y" * 300_000))
    writer.close()
    with writer.path.open("ab") as file:
        file.write(b"\n\n" + b'{"torn":"' + b"z" * 200_000)
    assert TranscriptWriter(writer.path, durability="os").tail == "b"


def test_a_link_a_folder_or_a_pipe_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name in ("folder", "link", "pipe"):
        with pytest.raises(OSError):
            TranscriptWriter(tmp_path / f"{name}.jsonl", durability="os").append(make_record("a", None))
    assert not (tmp_path / "elsewhere").exists()


def test_five_turns_of_the_same_context_are_one_acyclic_chain_with_one_block_each(writer: TranscriptWriter) -> None:
    block = block_of("same context")
    seen = b""
    for number in range(5):
        message = Message(role="user", parts=(Part(kind="text", text="again"),))
        payload = records.display_payload("again", block)
        stamp = records.Stamp(
            uuid=f"u{number}", parent=writer.tail, session_id="s", timestamp="t", cwd="/w", version="1"
        )
        writer.append(records.user_record(stamp=stamp, parts=records.record_parts(message, block), payload=payload))
        assert writer.path.read_bytes().startswith(seen)
        seen = writer.path.read_bytes()
        writer.close()
    branch, flaws = transcript.walk(transcript.read(writer.path).records)
    assert (len({record["uuid"] for record in branch}), flaws) == (5, [])
    assert [row.text for row in resume.display(branch)] == ["again"] * 5
    assert all(len(record["message"]["parts"]) == 2 for record in branch)


def test_group_durability_syncs_soon_and_a_record_is_readable_at_once(tmp_path: Path) -> None:
    folder = TranscriptFolder(tmp_path, durability="group")
    writer = folder.writer("s")
    writer.append(make_record("a", None))
    assert uuids(writer) == ["a"]
    deadline = time.monotonic() + 60
    while writer.unsynced and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not writer.unsynced
    folder.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "firsthand-transcript-sync"]


def test_a_flush_syncs_what_the_group_has_not_got_to(tmp_path: Path) -> None:
    folder = TranscriptFolder(tmp_path, durability="group")
    writer = folder.writer("s")
    writer.append(make_record("a", None))
    folder.flush()
    assert not writer.unsynced
    folder.close()


def test_record_durability_leaves_nothing_unsynced(tmp_path: Path) -> None:
    folder = TranscriptFolder(tmp_path, durability="record")
    folder.writer("s").append(make_record("a", None))
    assert not folder.writer("s").unsynced
    folder.close()


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


def test_a_process_without_a_free_descriptor_hears_of_a_lost_sync_and_syncs_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = GroupSync()
    writer = TranscriptWriter(tmp_path / "s.jsonl", sync=sync)

    def full(fd: int) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(os, "dup", full)
        writer.append({"uuid": "a", "type": "user"})
        sync.close()
    with pytest.raises(OSError, match="Too many open files"):
        writer.append({"uuid": "b", "type": "user"})
    writer.append({"uuid": "c", "type": "user"})
    sync.close()
    assert not writer.unsynced
    writer.close()
    assert [record["uuid"] for record in transcript.read(writer.path).records] == ["a", "b", "c"]
