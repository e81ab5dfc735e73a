"""Writing: whole lines, one chain, nothing fused, nothing lost."""

from __future__ import annotations

import os
import resource
import threading
from pathlib import Path

import pytest

from middleware import records, resume, transcript
from middleware.injection import block_of
from middleware.parts import Message, Part
from middleware.transcript import TranscriptFolder, TranscriptWriter

from .writing import make_record, uuids


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
