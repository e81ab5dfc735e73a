"""Transcripts on disk: JSONL files that are appended to, read tolerantly, and walked from root to leaf."""

from .chain import walk
from .erasing import Erasable, erasable, erase
from .flaws import Flaw
from .folder import TranscriptFolder
from .keeping import remove_old
from .listing import SessionInfo, list_sessions, transcripts_in
from .live import Branch, load
from .reader import Transcript, iter_records, parse, read
from .scribe import Scribe, TraceIds
from .writer import TranscriptWriter

__all__ = [
    "Branch",
    "Erasable",
    "Flaw",
    "Scribe",
    "SessionInfo",
    "TraceIds",
    "Transcript",
    "TranscriptFolder",
    "TranscriptWriter",
    "erasable",
    "erase",
    "iter_records",
    "list_sessions",
    "load",
    "parse",
    "read",
    "remove_old",
    "transcripts_in",
    "walk",
]
