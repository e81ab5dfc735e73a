"""Telemetry: spans, metrics and log events of model calls, through OpenTelemetry.

Injected text is in none of them, at any setting but `capture_injected`. Importing this loads the OpenTelemetry API
and no exporter.
"""

from . import names
from .calls import HookTrace, RecallTrace
from .coexist import outside, suppressing
from .export import configure, flush, shutdown
from .injected import too_long
from .labels import hook_label
from .options import CaptureMode, Options, capture_mode
from .signals import Signals
from .turns import TurnTrace

__all__ = [
    "CaptureMode",
    "HookTrace",
    "Options",
    "RecallTrace",
    "Signals",
    "TurnTrace",
    "capture_mode",
    "configure",
    "flush",
    "hook_label",
    "names",
    "outside",
    "shutdown",
    "suppressing",
    "too_long",
]
