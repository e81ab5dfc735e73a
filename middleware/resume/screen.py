"""The rows of a resumed screen (hooks-and-transcripts 3.8, D3, D20)."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from ..parts import clean
from ..records import ASSISTANT, SYSTEM, TOOL_RESULT, USER, part_text, parts_of
from .projection import cleaned, joined, kept, payload_of, project

__all__ = ["Shown", "ShownType", "display", "display_user", "rows"]

ShownType: TypeAlias = Literal["user", "assistant", "tool_call", "tool_result", "notification", "system"]

_MEDIA_LABEL = "[User message with attachments]"
_NOTICES = {"notification": "Background agent completed", "cron": "Cron job fired"}
_HIDDEN = frozenset({"goal_runtime", "realtime_message", "agent_message", "agent_mention", "agent_launch_prompt"})
_written = json.JSONEncoder(ensure_ascii=False, default=str).encode
_encode = msgspec.json.Encoder().encode


class Shown(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One row of a resumed screen.

    `uuid` is its record's; `name` and `call_id` belong to tool rows; `sent_to_model` is False for a user row
    that the model did not get as a turn of its own.
    """

    type: ShownType
    text: str
    uuid: str
    sent_to_model: bool = True
    name: str = ""
    call_id: str = ""
    subtype: str | None = None


def display(records: Iterable[Mapping[str, Any]]) -> list[Shown]:
    """List the rows of a resumed screen; a record that is none of the known types makes none."""
    return list(rows(records))


def rows(records: Iterable[Mapping[str, Any]]) -> Iterator[Shown]:
    """The rows of `display` one by one, while the records are read."""
    pending: deque[Mapping[str, Any]] = deque()
    seen: set[object] = set()
    for record in records:
        kind, uuid = record.get("type"), record.get("uuid")
        uuid = clean(uuid) if type(uuid) is str else ""
        if pending:
            parent = record.get("parentUuid")
            if isinstance(parent, str) and parent not in seen:
                # Across a gap nobody knows which prompt an at_command belonged to.
                pending.clear()
            seen.add(uuid)
        if kind == ASSISTANT:
            yield from _assistant_rows(record, uuid)
        elif kind == USER:
            yield from _user_rows(record, uuid, pending)
        elif kind == TOOL_RESULT:
            yield from _tool_result_rows(record, uuid)
        elif kind == SYSTEM and record.get("subtype") == "at_command":
            if not pending:
                parent = record.get("parentUuid")
                seen = {parent if isinstance(parent, str) else None, uuid}
            pending.append(record)
        elif kind == SYSTEM:
            yield from _system_rows(record, uuid)
    for record in pending:
        typed = payload_of(record).get("userText")
        if isinstance(typed, str) and typed:
            yield Shown(type="user", text=clean(typed), uuid=_uuid(record), sent_to_model=False)
        yield from _file_rows(record)


def display_user(record: Mapping[str, Any], pending_at_command: Mapping[str, Any] | None = None) -> str | None:
    """Say what to show of a plain user record; None for no row.

    A pending at_command's non-empty `userText` wins; without one an empty display text makes no row.
    """
    if pending_at_command is not None:
        typed = pending_at_command.get("userText")
        if isinstance(typed, str) and typed:
            return clean(typed)
        return project(record).text or None
    typed = payload_of(record).get("displayText")
    if isinstance(typed, str) and typed:
        return clean(typed)
    return _media_label(record) or joined(project(record).parts) or None


def _user_rows(record: Mapping[str, Any], uuid: str, pending: deque[Mapping[str, Any]]) -> list[Shown]:
    subtype = record.get("subtype")
    if subtype is None:
        command = pending.popleft() if pending else None
        text = display_user(record, None if command is None else payload_of(command))
        shown = [Shown(type="user", text=text, uuid=uuid)] if text else []
        return shown if command is None else [*shown, *_file_rows(command)]
    if not isinstance(subtype, str) or subtype in _HIDDEN:
        return []
    projection = project(record)
    said = projection.display_text or ""
    words = joined(cleaned(kept(parts_of(record))))
    row: ShownType = "system"
    if subtype in _NOTICES:
        row, text = "notification", said or words or _NOTICES[subtype]
    elif subtype == "mid_turn_user_message":
        row, text = "user", said or _media_label(record) or words
    else:
        text = said or words
    sent = subtype != "mid_turn_user_message"
    return [Shown(type=row, text=text, uuid=uuid, sent_to_model=sent, subtype=clean(subtype))] if text else []


def _assistant_rows(record: Mapping[str, Any], uuid: str) -> list[Shown]:
    shown: list[Shown] = []
    words: list[str] = []
    for part in parts_of(record):
        text = part_text(part)
        if text is not None:
            words.append(text)
            continue
        call = _object_in(part, "functionCall")
        if call is not None:
            if words:
                shown += _said(words, uuid)
                words = []
            shown.append(_tool_row("tool_call", uuid, call, _worded(call.get("args", {}))))
    if words:
        shown += _said(words, uuid)
    return shown


def _said(words: list[str], uuid: str) -> list[Shown]:
    text = clean("\n".join(words))
    return [Shown(type="assistant", text=text, uuid=uuid)] if text else []


def _tool_result_rows(record: Mapping[str, Any], uuid: str) -> list[Shown]:
    shown: list[Shown] = []
    for part in parts_of(record):
        answer = _object_in(part, "functionResponse")
        if answer is not None:
            said = response = answer.get("response")
            if type(response) is dict or isinstance(response, Mapping):
                said = response.get("output", response.get("error", response))
            shown.append(_tool_row("tool_result", uuid, answer, _worded(said)))
    # Anthropic's tool results go in a message of the user's, who may have said something beside them.
    words = joined(cleaned(kept(parts_of(record)))) if shown and len(parts_of(record)) > len(shown) else ""
    return [*shown, Shown(type="user", text=words, uuid=uuid)] if words else shown


def _object_in(part: Any, key: str) -> Mapping[str, Any] | None:
    held = part.get(key) if type(part) is dict or isinstance(part, Mapping) else None
    return held if type(held) is dict or isinstance(held, Mapping) else None


def _system_rows(record: Mapping[str, Any], uuid: str) -> Iterator[Shown]:
    subtype, payload = record.get("subtype"), payload_of(record)
    texts: list[object] = []
    row: ShownType = "system"
    if subtype == "prompt_blocked":
        texts = [f"hook {payload.get('hook', '?')} blocked the prompt: {payload.get('reason', '')}"]
    elif subtype == "chat_compression":
        texts = ["the conversation up to here was compressed"]
    elif subtype == "slash_command" and payload.get("phase") == "result":
        items = payload.get("outputHistoryItems")
        texts = [item.get("text") for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []
    elif subtype == "slash_command" and payload.get("hiddenInvocation") is not True:
        # One that goes to the model is shown by the user record that follows.
        row, texts = "user", [] if payload.get("sentToModel") is True else [payload.get("rawCommand")]
    for text in texts:
        if isinstance(text, str) and text:
            yield Shown(type=row, text=clean(text), uuid=uuid, sent_to_model=False, subtype=clean(str(subtype)))


def _file_rows(command: Mapping[str, Any]) -> Iterator[Shown]:
    files = payload_of(command).get("filesRead")
    for file in files if isinstance(files, list) else ():
        if isinstance(file, str):
            yield Shown(type="tool_call", text=clean(file), uuid=_uuid(command), name="read_file", subtype="at_command")


def _tool_row(row: ShownType, uuid: str, held: Mapping[str, Any], text: str) -> Shown:
    name, identity = held.get("name"), held.get("id")
    return Shown(
        type=row,
        text=text,
        uuid=uuid,
        name=clean(name) if isinstance(name, str) else "",
        call_id=clean(identity) if isinstance(identity, str) else "",
    )


def _media_label(record: Mapping[str, Any]) -> str:
    references = payload_of(record).get("attachmentReferences")
    return _MEDIA_LABEL if isinstance(references, list) and references else ""


def _uuid(record: Mapping[str, Any]) -> str:
    uuid = record.get("uuid")
    return clean(uuid) if isinstance(uuid, str) else ""


def _worded(value: Any) -> str:
    if isinstance(value, str):
        return clean(value)
    if type(value) is dict and all(type(held) is str for held in value.values()):
        try:
            # The same text as below, in a fifth of the time.
            return msgspec.json.format(_encode(value), indent=0).decode()
        except UnicodeEncodeError:
            pass
    try:
        return clean(_written(value))
    except (ValueError, RecursionError):
        return "…"
