"""The records of a transcript, as plain dictionaries in the shape that QwenLM/qwen-code reads and writes.

Field names, the order of keys and the meaning of `systemPayload`: hooks-and-transcripts 3.2, 3.3, D2, D4, D8, D9.
Nothing here makes a uuid or reads a clock: both are arguments.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .injection import Block
from .parts import Message, Part, Usage, clean
from .plain import clean_tree, cut
from .provenance import Origin

__all__ = [
    "ASSISTANT",
    "SESSION_START",
    "SYSTEM",
    "TOOL_RESULT",
    "USER",
    "USER_KEY",
    "VERSION",
    "WIRE_KEY",
    "Record",
    "Stamp",
    "assistant_record",
    "blocked_record",
    "clean_tree",
    "display_payload",
    "is_text_part",
    "parent_session_record",
    "part_text",
    "parts_of",
    "record_parts",
    "rewind_record",
    "session_start_record",
    "tool_result_record",
    "usage_metadata",
    "user_record",
]

Record: TypeAlias = dict[str, Any]
"""One record; as read from a file it may hold any JSON under any key."""

VERSION = "0.1.0"
"""Of this package; every record says which one wrote it."""

USER, ASSISTANT, TOOL_RESULT, SYSTEM = "user", "assistant", "tool_result", "system"
SESSION_START = "session_start_context"
USER_KEY = "userId"
WIRE_KEY = "wire"
"""Under it is what the reference's parts cannot say of a caller's message; see `transcript.given`."""

_SUBTYPES: Mapping[Origin, str] = {
    Origin.CRON: "cron",
    Origin.NOTIFICATION: "notification",
    Origin.TEAMMATE: "notification",
    Origin.STEER: "mid_turn_user_message",
    Origin.HOOK: "hook_continuation",
    Origin.GOAL: "goal_runtime",
}
_PROVENANCE: Mapping[str, str] = {"mid_turn_user_message": "real_user", "goal_runtime": "goal_runtime"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What every record says about itself; `parent` is None at the root, `timestamp` ISO 8601 UTC with ms and Z.

    `user` is whose session it is; the reference has no such key, nor those of the trace, and passes over them.
    """

    uuid: str
    parent: str | None
    session_id: str
    timestamp: str
    cwd: str
    version: str
    prompt_id: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    git_branch: str | None = None
    user: str | None = None


def user_record(
    *,
    stamp: Stamp,
    parts: Sequence[Any],
    payload: Mapping[str, Any] | None = None,
    subtype: str | None = None,
    origin: Origin = Origin.USER_QUERY,
    wire: Mapping[str, Any] | None = None,
) -> Record:
    """Record a user message; the origin gives the subtype unless `subtype` does.

    `parts` are model-bound, as `record_parts` makes them; `payload` is `display_payload`'s, on plain records only.
    """
    subtype = subtype or _SUBTYPES.get(origin)
    provenance = "real_user" if subtype is None else _PROVENANCE.get(subtype, "system")
    record = _head(stamp, USER, provenance, subtype)
    record["message"] = {"role": "user", "parts": list(parts)}
    if payload is not None:
        record["systemPayload"] = dict(payload)
    return _tail(record, stamp, wire)


def assistant_record(
    *,
    stamp: Stamp,
    parts: Sequence[Any],
    model: str | None = None,
    usage: Usage | None = None,
    wire: Mapping[str, Any] | None = None,
) -> Record:
    """Record one reply message; `usageMetadata` is left out when the provider said nothing."""
    record = _head(stamp, ASSISTANT, "assistant_output", None)
    if model is not None:
        record["model"] = model
    record["message"] = {"role": "model", "parts": list(parts)}
    tokens = usage_metadata(usage) if usage is not None else {}
    if tokens:
        record["usageMetadata"] = tokens
    return _tail(record, stamp, wire)


def tool_result_record(
    *,
    stamp: Stamp,
    parts: Sequence[Any],
    tool_call_result: Mapping[str, Any] | None = None,
    wire: Mapping[str, Any] | None = None,
) -> Record:
    """Record tool results; context injected into them stays in `parts`, without a payload (D8)."""
    record = _head(stamp, TOOL_RESULT, "tool_result", None)
    record["message"] = {"role": "user", "parts": list(parts)}
    if tool_call_result is not None:
        record["toolCallResult"] = dict(tool_call_result)
    return _tail(record, stamp, wire)


def blocked_record(*, stamp: Stamp, hook: str, reason: str, prompt: str | None = None) -> Record:
    """Record that a hook refused a prompt (D9); give `prompt` only when content capture is on."""
    record = _head(stamp, SYSTEM, "system", "prompt_blocked")
    record["systemPayload"] = {"hook": hook, "reason": reason}
    if prompt is not None:
        record["systemPayload"]["prompt"] = prompt
    return _tail(record, stamp)


def session_start_record(*, stamp: Stamp, context: str) -> Record:
    """Record the escaped context that SessionStart hooks put into the system instruction; ours, not the reference's."""
    record = _head(stamp, SYSTEM, "system", SESSION_START)
    record["systemPayload"] = {"hookContext": context}
    return _tail(record, stamp)


def rewind_record(*, stamp: Stamp, truncated: int) -> Record:
    """Record that the turns after its parent were taken back; `truncated` counts the rows of a screen that went."""
    record = _head(stamp, SYSTEM, "system", "rewind")
    record["systemPayload"] = {"truncatedCount": truncated}
    return _tail(record, stamp)


def parent_session_record(*, stamp: Stamp, parent: str) -> Record:
    """Record the session that opened this one."""
    record = _head(stamp, SYSTEM, "system", "parent_session")
    record["systemPayload"] = {"parentSessionId": parent}
    return _tail(record, stamp)


def display_payload(display_text: str, block: Block) -> dict[str, Any] | None:
    """Say what the user wrote beside what was injected; None when nothing was (D2, D4).

    `hookContext` is "" when only memories were injected; `recall` lists `{id, score}` of the memories;
    `subagentContext` is what SubagentStart hooks left for a sub-session's first message.
    """
    if not block:
        return None
    payload: dict[str, Any] = {"displayText": clean(display_text), "hookContext": block.hook}
    if block.subagent:
        payload["subagentContext"] = block.subagent
    if block.recalled:
        payload["recall"] = [{"id": memory.id, "score": memory.score} for memory in block.recalled]
    return payload


def record_parts(message: Message, block: Block | None = None) -> list[dict[str, Any]]:
    """Write a message as reference parts, the block's tagged texts last.

    Empty text parts are left out, unless a tagged text would then be the only part: a sole part is the user's.
    """
    written = [_part(part) for part in message.parts]
    parts = [part for part in written if part is not None and part.get("text") != ""]
    if block:
        if not parts:
            parts = [{"text": ""}]
        parts += [{"text": text} for text in block.texts]
    return parts


def usage_metadata(usage: Usage) -> dict[str, int]:
    """Write token counts in the reference's names; absent where unknown."""
    total = None
    if usage.input_tokens is not None and usage.output_tokens is not None:
        total = usage.input_tokens + usage.output_tokens
    counts = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens,
        "thoughtsTokenCount": usage.reasoning_tokens,
        "totalTokenCount": total,
        "cachedContentTokenCount": usage.cache_read_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None}


def parts_of(holder: Mapping[str, Any]) -> list[Any]:
    """List the parts of a record, a content or a wire message; a string is one part, anything else none."""
    held = holder.get("message")
    if type(held) is dict and type(held.get("parts")) is list:
        return held["parts"].copy()  # type: ignore[no-any-return]
    if isinstance(held, Mapping):
        holder = held
    for key in ("parts", "content"):
        parts = holder.get(key)
        if isinstance(parts, (list, tuple)):
            return list(parts)
        if isinstance(parts, str):
            return [{"text": parts}]
    return []


def is_text_part(part: object) -> bool:
    """True for a part of words, reasoning included, in the reference's, OpenAI's or Anthropic's shape."""
    if isinstance(part, Mapping):
        kind = part.get("type")
        return isinstance(part.get("text"), str) and (kind is None or kind in ("text", "input_text", "output_text"))
    return isinstance(part, str)


def part_text(part: Any) -> str | None:
    """The words of a text part; None for anything else and for reasoning."""
    if type(part) is dict and len(part) == 1:
        # The common shapes first: this is asked of every part of a file.
        text = part.get("text")
        return text if type(text) is str else None
    if isinstance(part, str):
        return part
    if not is_text_part(part) or part.get("thought"):
        return None
    words: str = part["text"]
    return words


def _head(stamp: Stamp, kind: str, provenance: str, subtype: str | None) -> Record:
    record: Record = {
        "uuid": stamp.uuid,
        "parentUuid": stamp.parent,
        "sessionId": stamp.session_id,
        "timestamp": stamp.timestamp,
        "type": kind,
        "provenance": provenance,
        "cwd": stamp.cwd,
        "version": stamp.version,
    }
    if stamp.user is not None:
        # Before what may be long: a record that is cut still says whose it is.
        record[USER_KEY] = stamp.user
    if subtype is not None:
        record["subtype"] = subtype
    if stamp.git_branch is not None:
        record["gitBranch"] = stamp.git_branch
    return record


def _tail(record: Record, stamp: Stamp, wire: Mapping[str, Any] | None = None) -> Record:
    for key, value in (
        ("promptId", stamp.prompt_id),
        ("traceId", stamp.trace_id),
        ("spanId", stamp.span_id),
        (WIRE_KEY, wire),
    ):
        if value is not None:
            record[key] = value
    return record


def _part(part: Part) -> dict[str, Any] | None:
    match part.kind:
        case "text":
            return {"text": part.text}
        case "reasoning":
            return {"text": part.text, "thought": True}
        case "tool_call":
            return {"functionCall": {"id": part.id, "name": part.name, "args": _arguments(part.text)}}
        case "tool_response":
            return {"functionResponse": {"id": part.id, "name": part.name, "response": {"output": part.text}}}
        case "media":
            return _media(part.raw)
        case _:
            if part.text:
                return {"text": part.text}
            return _plain(part.raw) if isinstance(part.raw, Mapping) else None


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        value = text
    return value if isinstance(value, dict) else {"arguments": value}


def _media(raw: object) -> dict[str, Any] | None:
    """Read OpenAI's, Anthropic's and Google's shapes of an image, a sound or a file; another shape is kept as it is."""
    if not isinstance(raw, Mapping):
        return None
    source = raw.get("source")
    if isinstance(source, Mapping):
        if isinstance(source.get("data"), str):
            return _inline(source.get("media_type"), source["data"])
        if isinstance(source.get("url"), str):
            return _linked(source["url"])
    sound = raw.get("input_audio")
    if isinstance(sound, Mapping) and isinstance(sound.get("data"), str):
        return _inline(f"audio/{sound.get('format') or 'wav'}", sound["data"])
    inline = raw.get("inlineData") or raw.get("inline_data")
    if isinstance(inline, Mapping):
        return _inline(inline.get("mimeType") or inline.get("mime_type"), inline.get("data"))
    linked = raw.get("file")
    held = linked if isinstance(linked, Mapping) else raw
    for key in ("image_url", "file_data", "file_url", "video_url"):
        url = held.get(key)
        if isinstance(url, Mapping):
            url = url.get("url")
        if isinstance(url, str):
            return _linked(url)
    return _plain(raw)


def _linked(url: str) -> dict[str, Any]:
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return _inline(head[len("data:") : -len(";base64")].partition(";")[0], data)
    return {"fileData": {"fileUri": url}}


def _inline(mime_type: object, data: object) -> dict[str, Any]:
    kind = mime_type if isinstance(mime_type, str) and mime_type else "application/octet-stream"
    return {"inlineData": {"mimeType": kind, "data": "" if data is None else str(_leaf(data))}}


def _plain(raw: Mapping[Any, Any]) -> dict[str, Any]:
    return cut(raw, _leaf)


def _leaf(value: object) -> object:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    try:
        return str(value)
    except Exception:  # noqa: BLE001  (what an object of the caller's says of itself may raise anything)
        return f"<{type(value).__name__}>"
