"""Which subjects a hook's `matcher` selects. Pure.

A matcher is a list of names, or else a regular expression, searched for. Source: hooks-and-transcripts 1.9, the newest
rule.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from ..parts import trim
from .expressions import found, is_readable

__all__ = ["SUBJECTS", "is_everything", "is_usable", "matches", "selects"]

SUBJECTS: Final[Mapping[str, str]] = {
    "UserPromptExpansion": "command_name",
    "SessionStart": "source",
    "SessionEnd": "reason",
    "PreToolUse": "tool_name",
    "PostToolUse": "tool_name",
    "PostToolUseFailure": "tool_name",
    "PermissionRequest": "tool_name",
    "PermissionDenied": "tool_name",
    "Notification": "notification_type",
    "StopFailure": "error",
    "SubagentStart": "agent_type",
    "SubagentStop": "agent_type",
    "PreCompact": "trigger",
    "PostCompact": "trigger",
    "InstructionsLoaded": "file_path",
}
"""The events whose hooks a matcher selects, and the field of the payload that it is compared with."""

_EVERYTHING = ("", "*", ".*")
_PIPE = re.compile(r"(?<!\\)\|")


def selects(event: str, matcher: str, subject: str | None, aliases: Collection[str] = ()) -> bool:
    """True if a hook of `event` with this matcher runs for `subject`; an event without a subject ignores matchers.

    >>> selects("UserPromptSubmit", "^never$", "x"), selects("SessionStart", "resume|clear", "startup")
    (True, False)
    """
    return event not in SUBJECTS or matches(matcher, subject, aliases)


def matches(matcher: str, subject: str | None, aliases: Collection[str] = ()) -> bool:
    """Compare one matcher with a subject and the other names that it is known by; never raises.

    No subject matches. An expression is searched for in the subject only, never in an alias. One that
    cannot be read matches nothing; see `expressions.found`.
    """
    pattern = trim(matcher)
    if pattern in _EVERYTHING or not subject:
        return True
    names = {subject, *aliases}
    entries = _entries(pattern)
    if pattern in names or any(entry in _EVERYTHING or entry in names for entry in entries):
        return True
    return bool(entries) and found("|".join(entries), subject)


def is_everything(matcher: str) -> bool:
    """True if the matcher selects every subject by its form: empty, `*` or `.*`."""
    return trim(matcher) in _EVERYTHING


def is_usable(matcher: str) -> bool:
    """False if the matcher is nothing but a name that it equals: it cannot be read as an expression."""
    entries = _entries(trim(matcher))
    return bool(entries) and (is_everything(matcher) or is_readable("|".join(entries)))


def _entries(pattern: str) -> list[str]:
    """The names of a list; a pattern that is none is its only entry, and only bars are no entry at all."""
    if "|" not in pattern or pattern.startswith(("^", "(")):
        return [pattern]
    return [entry for entry in map(trim, _PIPE.split(pattern)) if entry]
