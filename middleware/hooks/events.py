"""The events of hooks, by the reference's names."""

from __future__ import annotations

__all__ = ["EVENTS", "FIRED", "STARTS"]

FIRED = ("UserPromptSubmit", "SessionStart", "SubagentStart")
"""The events that this program fires."""

STARTS = frozenset({"SessionStart", "SubagentStart"})
"""The events that no hook can refuse: something starts (hooks-and-transcripts 1.8, simple-merge events)."""

EVENTS = frozenset(
    {
        "UserPromptSubmit",
        "UserPromptExpansion",
        "SessionStart",
        "SessionEnd",
        "SessionDelete",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "PermissionRequest",
        "PermissionDenied",
        "Notification",
        "Stop",
        "StopFailure",
        "MessageDisplay",
        "SubagentStart",
        "SubagentStop",
        "PreCompact",
        "PostCompact",
        "TodoCreated",
        "TodoCompleted",
        "InstructionsLoaded",
    }
)
"""The events of the reference."""
