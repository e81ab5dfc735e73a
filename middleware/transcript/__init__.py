"""Transcripts on disk: JSONL files that are appended to, read tolerantly, and walked from root to leaf."""

from .chain import walk
from .erasing import Erasable, erasable, erase
from .figures import Figures, Tokens
from .flaws import Flaw
from .folder import TranscriptFolder
from .keeping import remove_old
from .listing import SessionInfo, list_sessions, transcripts_in
from .live import Branch, load
from .reader import Transcript, iter_records, parse, read
from .scribe import Scribe, TraceIds
from .unfolded import Injected, Unfolded, injected_in, unfold
from .writer import TranscriptWriter

__all__ = [
    "Branch",
    "Erasable",
    "Figures",
    "Flaw",
    "Injected",
    "Scribe",
    "SessionInfo",
    "Tokens",
    "TraceIds",
    "Transcript",
    "TranscriptFolder",
    "TranscriptWriter",
    "Unfolded",
    "erasable",
    "erase",
    "injected_in",
    "iter_records",
    "list_sessions",
    "load",
    "parse",
    "read",
    "remove_old",
    "transcripts_in",
    "unfold",
    "walk",
]
