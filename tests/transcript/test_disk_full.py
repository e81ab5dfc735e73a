"""A disk that is full, a folder that is not ours: the turn goes on, the failure is told once, and nothing is fused."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Settings, TranscriptError, resume, transcript
from middleware.testing import Captured, capture


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB; skipped where nobody may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounting = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(place)], capture_output=True, check=False
    )
    if mounting.returncode:
        pytest.skip("mounting a small tmpfs takes the rights of root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path) -> Path:
    """Write to the disk until nothing more goes onto it."""
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 1024)
        except OSError:
            return filler


def failures(captured: Captured) -> list[dict[str, Any]]:
    return [
        dict(event.log_record.attributes or {})
        for event in captured.events
        if event.log_record.event_name == "firsthand.transcript_error"
    ]


def ask(client: Any, text: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
    said: str = reply.choices[0].message.content
    return said


@pytest.mark.parametrize("durability", ["os", "group", "record"])
def test_a_full_disk_costs_no_turn_is_told_once_and_leaves_a_file_that_resumes(
    small_disk: Path, caplog: pytest.LogCaptureFixture, durability: Any
) -> None:
    settings = Settings(transcripts=str(small_disk / "t"), durability=durability)
    with capture() as captured, Middleware(settings, **captured.providers) as app:
        session = app.open("s")
        client = app.wrap(captured.model.openai(), session=session)
        assert ask(client, "before") == "ok"
        filler = fill(small_disk)
        assert [ask(client, "lost " + "x" * 9000) for _ in range(3)] == ["ok"] * 3
        assert isinstance(session.transcript_error, OSError)
        filler.unlink()
        assert ask(client, "after") == "ok"
        told = failures(captured)
    path = small_disk / "t" / "s.jsonl"
    assert told == [{"error.type": "ENOSPC", "gen_ai.conversation.id": "s"}]
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == [
        f"firsthand: transcript {path} cannot be written: No space left on device; the conversation goes on without it"
    ]
    loaded = transcript.load(path)
    users = [row.text for row in resume.rows(loaded) if row.type == "user"]
    assert (users[0], users[-1]) == ("before", "after")
    assert [flaw for flaw in loaded.flaws if flaw.name != "invalid_record"] == []
    parents = [record["parentUuid"] for record in loaded]
    assert parents == [None, *(record["uuid"] for record in loaded)][: len(parents)]


def test_with_strict_a_full_disk_fails_the_call_before_it_is_sent(small_disk: Path) -> None:
    settings = Settings(transcripts=str(small_disk / "t"), strict=True)
    with capture() as captured, Middleware(settings, **captured.providers) as app:
        client = app.wrap(captured.model.openai(), session=app.open("s"))
        ask(client, "before")
        fill(small_disk)
        for _ in range(2):
            with pytest.raises(TranscriptError, match="cannot be written: No space left on device"):
                ask(client, "x" * 9000)
        assert len(captured.requests) == 1
        assert len(failures(captured)) == 1


def test_a_folder_that_may_not_be_written_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """File modes do not hold root back: the folder is where nobody may make files."""
    settings = Settings(transcripts="/proc/self/fdinfo/transcripts")
    with capture() as captured, Middleware(settings, **captured.providers) as app:
        session = app.open("s")
        assert ask(app.wrap(captured.model.openai(), session=session), "hi") == "ok"
        assert isinstance(session.transcript_error, OSError)
        assert [failure["gen_ai.conversation.id"] for failure in failures(captured)] == ["s"]
    assert len([record for record in caplog.records if "cannot be written" in record.message]) == 1


def test_the_id_of_an_unnamed_session_is_not_exported_with_its_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with capture() as captured, Middleware(Settings(transcripts=str(tmp_path / "file")), **captured.providers) as app:
        assert ask(app.wrap(captured.model.openai()), "hi") == "ok"
        assert failures(captured) == [{"error.type": "ENOTDIR"}]
