"""Firsthand: middleware around an LLM client that keeps the user's own words first-hand."""

from . import telemetry
from .app import Middleware, wrap
from .errors import FirsthandError, HookBlocked, SettingsError, TranscriptError, UnsupportedClient
from .provenance import Origin, Submission, combine
from .resume import project, strip
from .session import Session
from .settings import Settings

__all__ = [
    "FirsthandError",
    "HookBlocked",
    "Middleware",
    "Origin",
    "Session",
    "Settings",
    "SettingsError",
    "Submission",
    "TranscriptError",
    "UnsupportedClient",
    "combine",
    "project",
    "strip",
    "telemetry",
    "wrap",
]
