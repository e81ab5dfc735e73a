"""Records for a writer, and what it has written."""

from __future__ import annotations

from typing import Any

from middleware import records, transcript
from middleware.transcript import TranscriptWriter


def make_record(uuid: str, parent: str | None, text: str = "x", **fields: Any) -> records.Record:
    stamp = records.Stamp(
        uuid=uuid, parent=parent, session_id="s", timestamp="2026-01-01T00:00:00.000Z", cwd="/w", version="1"
    )
    return {**records.user_record(stamp=stamp, parts=[{"text": text}]), **fields}


def uuids(writer: TranscriptWriter) -> list[str]:
    return [record["uuid"] for record in transcript.read(writer.path).records]
