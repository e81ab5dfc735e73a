"""Power loss: what was acknowledged is still there when every write that was not synced is dropped."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from middleware import transcript
from middleware.transcript import TranscriptFolder


class Disk:
    """A recording file layer: knows what of a folder would be left after a power loss.

    A file keeps the bytes of its last fsync. A name, of a file or of a folder, is kept from the fsync of the folder
    that it is in.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.bytes: dict[int, bytes] = {}
        self.names: dict[int, set[str]] = {root.stat().st_ino: set()}
        self.fsyncs = 0
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self.fsync)

    def fsync(self, fd: int) -> None:
        self._fsync(fd)
        self.fsyncs += 1
        state = os.fstat(fd)
        if stat.S_ISDIR(state.st_mode):
            self.names[state.st_ino] = set(os.listdir(fd))
        else:
            self.bytes[state.st_ino] = os.pread(fd, state.st_size, 0)

    def left(self, path: Path) -> list[str]:
        """The uuids of the records that would be left of a transcript."""
        folder = self.root
        for name in path.relative_to(self.root).parts:
            if name not in self.names.get(folder.stat().st_ino, set()):
                return []
            folder = folder / name
        return [record["uuid"] for record in transcript.parse(self.bytes.get(path.stat().st_ino, b"")).records]


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(tmp_path, monkeypatch)


def line(uuid: str, parent: str | None) -> dict[str, Any]:
    return {"uuid": uuid, "parentUuid": parent, "type": "user"}


@pytest.mark.parametrize("layout", ["plain", "qwen"])
def test_with_record_durability_nothing_acknowledged_is_ever_missing(disk: Disk, layout: Any) -> None:
    folder = TranscriptFolder(disk.root / "made" / "here", layout=layout, durability="record", cwd="/p", max_open=2)
    acknowledged: dict[str, list[str]] = {name: [] for name in "abc"}
    for number in range(12):
        for name, told in acknowledged.items():
            writer = folder.writer(name)
            with writer.exclusive():
                writer.append(line(f"{name}{number}", writer.tail))
            told.append(f"{name}{number}")
            assert {session: disk.left(folder.path(session)) for session in acknowledged if acknowledged[session]} == {
                session: uuids for session, uuids in acknowledged.items() if uuids
            }
    folder.close()


def test_an_erased_file_that_is_begun_anew_is_kept_too(disk: Disk) -> None:
    folder = TranscriptFolder(disk.root / "t", durability="record")
    writer = folder.writer("s")
    writer.append(line("a", None))
    writer.path.unlink()
    writer.append(line("b", None))
    assert disk.left(writer.path) == ["b"]
    folder.close()


def test_a_name_is_synced_once_and_a_record_once(disk: Disk) -> None:
    folder = TranscriptFolder(disk.root, durability="record")
    writer = folder.writer("s")
    for number in range(5):
        writer.append(line(str(number), writer.tail))
    assert disk.fsyncs == 6
    folder.close()


def test_with_group_durability_a_flush_leaves_nothing_missing(disk: Disk) -> None:
    folder = TranscriptFolder(disk.root / "t", durability="group")
    for name in "ab":
        for number in range(20):
            writer = folder.writer(name)
            writer.append(line(f"{name}{number}", writer.tail))
    folder.flush()
    assert [len(disk.left(folder.path(name))) for name in "ab"] == [20, 20]
    folder.close()


def test_with_os_durability_nothing_is_promised_and_nothing_is_synced(disk: Disk) -> None:
    folder = TranscriptFolder(disk.root / "t", durability="os")
    folder.writer("s").append(line("a", None))
    folder.close()
    assert (disk.left(folder.path("s")), disk.fsyncs) == ([], 0)
    assert len(transcript.read(folder.path("s")).records) == 1


def test_the_group_syncs_many_records_together(disk: Disk) -> None:
    folder = TranscriptFolder(disk.root, durability="group")
    writers = [folder.writer(name) for name in "abc"]
    for number in range(500):
        for writer in writers:
            writer.append(line(str(number), writer.tail))
    folder.flush()
    assert [len(disk.left(writer.path)) for writer in writers] == [500, 500, 500]
    assert disk.fsyncs < 100
    folder.close()
