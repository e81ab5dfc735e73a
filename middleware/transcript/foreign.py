"""Tells what a session file of another program is: Claude Code's JSONL, Gemini CLI's JSONL or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from .reader import records_in_line

__all__ = ["Foreign", "Program", "objects_in", "program_of", "recognise"]

Program: TypeAlias = Literal["Claude Code", "Gemini CLI"]

_LOOKED_AT = 200
_LARGEST_DOCUMENT = 1 << 26
_CLAUDE_ALONE = frozenset(
    {"ai-title", "attachment", "custom-title", "file-history-snapshot", "last-prompt", "queue-operation", "summary"}
)
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """A session file of another program.

    `prompts` counts the user's messages, tool results left out, and `replies` the model's; `started` is the first
    timestamp, "" for none.
    """

    program: Program
    session_id: str = ""
    version: str = ""
    prompts: int = 0
    replies: int = 0
    started: str = ""


def recognise(path: Path) -> Foreign | None:
    """Say whose session file this is; None for one of ours and for anything else. Raises OSError."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        program = program_of(value for _, value in zip(range(_LOOKED_AT), objects_in(file), strict=False))
    if program is not None:
        with path.open("rb") as file:
            return _described(program, objects_in(file))
    document = _document(path) if _is_torn(path) else None
    return _described("Gemini CLI", (document, *document["messages"])) if document is not None else None


def objects_in(lines: Iterable[bytes]) -> Iterator[Any]:
    """The JSON value of each line that is not blank; None for a line of which nothing can be read.

    Of a broken line what can be recovered counts, as in our own transcripts.
    """
    for line in lines:
        if not line.strip():
            continue
        try:
            yield _decoder.decode(line)
        except (msgspec.DecodeError, RecursionError):
            found = records_in_line(line)[0]
            yield from found or (None,)


def program_of(values: Iterable[Any]) -> Program | None:
    """Whose session some JSON values of a file's beginning are; None for ours and anybody else's."""
    for value in values:
        if not isinstance(value, dict):
            continue
        kind, message = value.get("type"), value.get("message")
        if "systemPayload" in value or "provenance" in value:
            return None
        if isinstance(message, dict) and "parts" in message:
            return None
        if ("sessionId" in value and "projectHash" in value) or (kind == "gemini" and "content" in value):
            return "Gemini CLI"
        if kind in _CLAUDE_ALONE:
            return "Claude Code"
        if kind in ("user", "assistant") and isinstance(message, dict) and "content" in message:
            return "Claude Code"
    return None


def _is_torn(path: Path) -> bool:
    """True when the first line begins an object that it does not end."""
    with path.open("rb") as file:
        first = file.readline(_LARGEST_DOCUMENT)
    try:
        _decoder.decode(first)
    except (msgspec.DecodeError, RecursionError):
        return first.lstrip().startswith(b"{")
    return False


def _document(path: Path) -> dict[str, Any] | None:
    """Gemini CLI's older form: one JSON object over many lines."""
    if path.stat().st_size > _LARGEST_DOCUMENT:
        return None
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    known = isinstance(value, dict) and "projectHash" in value and isinstance(value.get("messages"), list)
    return value if known else None


def _described(program: Program, values: Iterable[Any]) -> Foreign:
    counted: dict[object, bool] = {}
    told = {"sessionId": "", "version": "", "timestamp": "", "startTime": ""}
    for number, value in enumerate(values):
        for held in _messages(value):
            for key in told:
                if not told[key] and isinstance(held.get(key), str):
                    told[key] = held[key]
            mine = _is_prompt(held)
            if mine or held.get("type") in ("assistant", "gemini"):
                # The lines of one reply share its id; Gemini CLI writes a message again whenever it changes.
                counted[_identity(held) or number] = mine
    return Foreign(
        program=program,
        session_id=told["sessionId"],
        version=told["version"],
        prompts=sum(counted.values()),
        replies=len(counted) - sum(counted.values()),
        started=told["startTime"] or told["timestamp"],
    )


def _messages(value: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(value, dict):
        return
    changed = value.get("$set")
    if isinstance(changed, dict) and isinstance(changed.get("messages"), list):
        yield from (held for held in changed["messages"] if isinstance(held, dict))
    else:
        yield value


def _is_prompt(value: Mapping[str, Any]) -> bool:
    if value.get("type") != "user" or value.get("isMeta") or value.get("isSidechain"):
        return False
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else value.get("content")
    if not isinstance(content, list):
        return bool(content)
    return not any(isinstance(block, dict) and block.get("type") == "tool_result" for block in content)


def _identity(value: Mapping[str, Any]) -> str:
    message = value.get("message")
    for held in (message.get("id") if isinstance(message, dict) else None, value.get("uuid"), value.get("id")):
        if isinstance(held, str):
            return held
    return ""
