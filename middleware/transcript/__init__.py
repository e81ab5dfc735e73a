"""Transcripts on disk: JSONL files that are appended to, read tolerantly, and walked from root to leaf."""

from .chain import walk
from .flaws import Flaw
from .folder import TranscriptFolder
from .reader import Transcript, iter_records, parse, read
from .scribe import Scribe, TraceIds
from .writer import TranscriptWriter

__all__ = [
    "Flaw",
    "Scribe",
    "TraceIds",
    "Transcript",
    "TranscriptFolder",
    "TranscriptWriter",
    "iter_records",
    "parse",
    "read",
    "walk",
]
