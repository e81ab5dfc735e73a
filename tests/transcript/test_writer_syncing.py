"""Writing: when what was written is safe from a power cut, by durability."""

from __future__ import annotations

import errno
import os
import threading
import time
from pathlib import Path

import pytest

from middleware import transcript
from middleware.transcript import TranscriptFolder, TranscriptWriter
from middleware.transcript.syncing import GroupSync

from .writing import make_record, uuids


def syncing() -> set[threading.Thread]:
    """The threads that sync, those of folders that other tests left open too."""
    return {thread for thread in threading.enumerate() if thread.name == "firsthand-transcript-sync"}


def test_group_durability_syncs_soon_and_a_record_is_readable_at_once(tmp_path: Path) -> None:
    others = syncing()
    folder = TranscriptFolder(tmp_path, durability="group")
    writer = folder.writer("s")
    writer.append(make_record("a", None))
    assert uuids(writer) == ["a"]
    deadline = time.monotonic() + 60
    while writer.unsynced and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not writer.unsynced
    folder.close()
    assert syncing() <= others


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
