"""What may be wrong with a transcript, as a value, and which records are known (hooks-and-transcripts 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..records import ASSISTANT, SESSION_START, SYSTEM, TOOL_RESULT, USER

__all__ = ["Flaw", "FlawName", "joins", "joins_chain", "unknown_in", "unknown_kind"]

FlawName: TypeAlias = Literal["history_gap", "parent_cycle", "invalid_record", "unknown_record_or_part"]

_SUBTYPES: Mapping[str, frozenset[str]] = {
    USER: frozenset(
        {
            "agent_launch_prompt",
            "agent_mention",
            "agent_message",
            "cron",
            "goal_runtime",
            "hook_continuation",
            "mid_turn_user_message",
            "notification",
            "realtime_message",
        }
    ),
    ASSISTANT: frozenset(),
    TOOL_RESULT: frozenset({"code_mode_tool_result"}),
    SYSTEM: frozenset(
        {
            "agent_bootstrap",
            "agent_retry",
            "agent_session_ready",
            "at_command",
            "attribution_snapshot",
            "background_task_completed",
            "branch_checkpoint",
            "chat_compression",
            "custom_title",
            "file_history_snapshot",
            "goal_state",
            "goal_turn_end",
            "omni_recall",
            "parent_session",
            "prompt_blocked",
            SESSION_START,
            "rewind",
            "session_approval_mode",
            "session_artifact_event",
            "session_artifact_snapshot",
            "session_execution_engine",
            "session_model",
            "session_notes",
            "session_source",
            "session_sources_snapshot",
            "slash_command",
            "turn_attempt",
            "turn_result",
            "ui_telemetry",
            "user_text_elements",
        }
    ),
}
_BESIDE = frozenset({"session_artifact_event", "session_artifact_snapshot", "session_sources_snapshot"})
_PART_KEYS = frozenset(
    {
        "codeExecutionResult",
        "executableCode",
        "fileData",
        "functionCall",
        "functionResponse",
        "inlineData",
        "text",
        "thought",
        "thoughtSignature",
    }
)
_WIRE_TYPES = (
    *("image", "document", "search_result", "container_upload"),
    *("image_url", "input_audio", "file", "input_image", "input_file"),
)
"""Parts of OpenAI's and Anthropic's that the reference has no form for, such as a file by its id; kept as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Something that reading went around.

    `line` counts from 1, None for a flaw of the chain; `detail` is one line for a person and quotes no prompt.
    """

    name: FlawName
    line: int | None = None
    detail: str = ""


def joins_chain(record: Mapping[str, Any]) -> bool:
    """True for a record that can be the end of a conversation: of a known type, and no artifact beside it (3.5)."""
    return joins(record.get("type"), record.get("subtype"))[1]


def joins(kind: object, subtype: object) -> tuple[bool, bool]:
    """Whether the type is known, and whether such a record can be the end of a conversation."""
    known = isinstance(kind, str) and kind in _SUBTYPES
    if isinstance(subtype, str) and (subtype in _BESIDE or subtype.startswith("managed_session_")):
        return known, False
    return known, known


def unknown_kind(kind: str, subtype: object) -> str | None:
    """Name a type or subtype that no version known to us writes; None for one that is understood."""
    if kind not in _SUBTYPES:
        return f"type {kind!r}"
    if subtype is not None and not _is_known(kind, subtype):
        return f"{kind} record of subtype {subtype!r}"
    return None


def unknown_in(record: Mapping[str, Any]) -> str | None:
    """Name a type, subtype or part that no version known to us writes; None for a record that is understood."""
    unknown = unknown_kind(record["type"], record.get("subtype"))
    if unknown is not None:
        return unknown
    message = record.get("message")
    parts = message.get("parts") if isinstance(message, dict) else None
    if isinstance(parts, list):
        for part in parts:
            if isinstance(part, dict) and _PART_KEYS.isdisjoint(part) and part.get("type") not in _WIRE_TYPES:
                return f"part with the keys {', '.join(sorted(part)) or 'none'}"
            if not isinstance(part, (dict, str)):
                return f"part that is a {type(part).__name__}"
    return None


def _is_known(kind: str, subtype: object) -> bool:
    if not isinstance(subtype, str):
        return False
    return subtype in _SUBTYPES[kind] or (kind == SYSTEM and subtype.startswith("managed_session_"))
