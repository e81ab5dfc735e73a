"""A folder of transcripts, and the writer of one of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from middleware.transcript import TranscriptFolder, TranscriptWriter


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[TranscriptFolder]:
    made = TranscriptFolder(tmp_path / "t", durability="os")
    yield made
    made.close()


@pytest.fixture
def writer(folder: TranscriptFolder) -> TranscriptWriter:
    return folder.writer("s")
