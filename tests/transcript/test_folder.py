"""A folder of transcripts: names that cannot leave it, one writer a session, few descriptors."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middleware import transcript
from middleware.transcript import TranscriptFolder
from tests.pace import open_descriptors, settled_descriptors


def line(uuid: str, parent: str | None = None) -> dict[str, str | None]:
    return {"uuid": uuid, "parentUuid": parent, "type": "user"}


@pytest.mark.parametrize(
    ("session", "name"),
    [
        ("conversation-42", "conversation-42.jsonl"),
        ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd.jsonl"),
        ("/abs", "%2Fabs.jsonl"),
        ("..", "%2E..jsonl"),
        (".hidden", "%2Ehidden.jsonl"),
        ("a b%ü", "a%20b%25%C3%BC.jsonl"),
        ("nul\0\n", "nul%00%0A.jsonl"),
        ("half\ud800", "half%ED%A0%80.jsonl"),
    ],
)
def test_a_session_id_is_percent_encoded(tmp_path: Path, session: str, name: str) -> None:
    assert TranscriptFolder(tmp_path).path(session) == tmp_path / name


@given(st.text(st.characters(), min_size=1, max_size=300))
def test_no_session_id_leaves_the_folder_or_is_too_long_for_a_file_system(session: str) -> None:
    path = TranscriptFolder(Path("/t")).path(session)
    assert path.parent == Path("/t")
    assert len(path.name.encode()) <= 255
    assert path.resolve() == path


def test_long_ids_with_one_beginning_are_told_apart(tmp_path: Path) -> None:
    folder = TranscriptFolder(tmp_path)
    assert folder.path("x" * 5000 + "a") != folder.path("x" * 5000 + "b")


def test_an_empty_session_id_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the session id is empty"):
        TranscriptFolder(tmp_path).path("")


def test_the_qwen_layout_is_the_references(tmp_path: Path) -> None:
    folder = TranscriptFolder(tmp_path, layout="qwen", cwd="/PROJ", durability="os")
    assert folder.path("b301") == tmp_path / "-PROJ" / "chats" / "b301.jsonl"
    folder.writer("b301").append(line("a"))
    folder.close()
    assert (tmp_path / "-PROJ" / "chats").stat().st_mode & 0o777 == 0o700


def test_a_session_has_one_writer_while_anybody_holds_it(tmp_path: Path) -> None:
    folder = TranscriptFolder(tmp_path, durability="os", max_open=1)
    first = folder.writer("a")
    first.append(line("1"))
    folder.writer("b").append(line("2"))
    assert not first.is_open
    assert folder.writer("a") is first
    folder.close()


def test_100_sessions_keep_64_descriptors_and_lose_nothing(tmp_path: Path) -> None:
    folder = TranscriptFolder(tmp_path, durability="group")
    before = settled_descriptors()
    writers = [folder.writer(str(number)) for number in range(100)]
    for uuid in ("a", "b"):
        for writer in writers:
            writer.append(line(uuid, writer.tail))
    assert sum(writer.is_open for writer in writers) == 64
    folder.close()
    assert open_descriptors() == before
    assert all(len(transcript.walk(transcript.read(writer.path).records)[0]) == 2 for writer in writers)


def test_a_file_in_exclusive_use_is_not_closed_to_make_room(tmp_path: Path) -> None:
    folder = TranscriptFolder(tmp_path, durability="os", max_open=1)
    first = folder.writer("a")
    with first.exclusive():
        folder.writer("b").append(line("1"))
        assert first.is_open
    folder.close()


def test_closing_and_making_room_while_threads_write_blocks_nobody_and_loses_nothing(tmp_path: Path) -> None:
    folder = TranscriptFolder(tmp_path, durability="group", max_open=2)

    def turns(name: str) -> None:
        for number in range(60):
            writer = folder.writer(f"{name}{number % 5}")
            with writer.lock:
                writer.append(line(f"{name}{number}", writer.tail))

    threads = [threading.Thread(target=turns, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        folder.close()
        folder.flush()
    folder.close()
    read = [transcript.walk(transcript.read(path).records) for path in tmp_path.iterdir()]
    assert [len(branch) for branch, _ in read] == [12] * 15
    assert [flaws for _, flaws in read] == [[]] * 15


def test_a_relative_folder_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = TranscriptFolder(Path("transcripts"), durability="os")
    monkeypatch.chdir("/")
    assert folder.path("s") == tmp_path / "transcripts" / "s.jsonl"


def test_a_forgotten_folder_closes_its_files(tmp_path: Path) -> None:
    before = settled_descriptors()
    folder = TranscriptFolder(tmp_path)
    folder.writer("a").append(line("1"))
    del folder
    gc.collect()
    assert open_descriptors() == before


def test_a_program_that_ends_without_closing_loses_nothing_and_says_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from middleware.transcript import TranscriptFolder;"
        "f = TranscriptFolder(Path(sys.argv[1])); f.writer('s').append({'uuid': 'a', 'type': 'user'})"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(tmp_path)], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert [record["uuid"] for record in transcript.read(tmp_path / "s.jsonl").records] == ["a"]


def test_no_two_sessions_share_a_file(tmp_path: Path) -> None:
    folder = TranscriptFolder(tmp_path)
    cut = folder.path("v" * 300).name.removesuffix(".jsonl")
    again = folder.path(cut).name.removesuffix(".jsonl")
    assert len({folder.path(name) for name in ("v" * 300, cut, again, f"a~{'0' * 64}", "a")}) == 5
    assert folder.path(f"a~{'0' * 63}").name == f"a~{'0' * 63}.jsonl"


def test_a_folder_that_was_removed_is_closed_without_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = TranscriptFolder(tmp_path / "t")
    folder.writer("s").append(line("a"))
    shutil.rmtree(tmp_path / "t")
    folder.close()
    assert caplog.messages == []


def test_a_file_that_cannot_be_closed_is_told_of_and_the_others_are_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = TranscriptFolder(tmp_path, durability="record")
    writers = [folder.writer(name) for name in "abc"]
    for writer in writers:
        writer.append(line("x"))
    os.close(writers[1]._fd)
    folder.close()
    assert caplog.messages == [f"firsthand: the end of transcript {tmp_path}/b.jsonl may be lost: Bad file descriptor"]
    assert not any(writer.is_open for writer in (writers[0], writers[2]))
