"""Transcripts on disk: JSONL files that are appended to, read tolerantly, and walked from root to leaf."""

from .chain import walk
from .flaws import Flaw
from .folder import TranscriptFolder
from .listing import SessionInfo, list_sessions, transcripts_in
from .live import Branch, load
from .reader import Transcript, iter_records, parse, read
from .scribe import Scribe, TraceIds
from .writer import TranscriptWriter

__all__ = [
    "Branch",
    "Flaw",
    "Scribe",
    "SessionInfo",
    "TraceIds",
    "Transcript",
    "TranscriptFolder",
    "TranscriptWriter",
    "iter_records",
    "list_sessions",
    "load",
    "parse",
    "read",
    "transcripts_in",
    "walk",
]
