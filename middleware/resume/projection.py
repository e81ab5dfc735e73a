"""The one projection of records: what is displayed, and what is replayed to a model.

Everything that remembers a user message (screen, title, search, export, list) asks here, so that none of them
takes injected text for the user's. Rules: hooks-and-transcripts 3.6, 3.7, 3.8 with D3, D4, D5, D8, D20, D21.
Functions here take one branch, oldest record first, as `transcript.chain.walk` returns it, and change nothing.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from .injection import kept_parts
from .parts import clean, is_blank
from .records import ASSISTANT, SYSTEM, TOOL_RESULT, USER, Record, clean_tree, is_text_part, part_text, parts_of

__all__ = [
    "Projection",
    "Shown",
    "ShownType",
    "display",
    "display_user",
    "first_prompt",
    "project",
    "replay",
    "replay_parts",
    "strip",
    "without_attachment_tokens",
]

ShownType: TypeAlias = Literal["user", "assistant", "tool_call", "tool_result", "notification", "system"]

_MEDIA_LABEL = "[User message with attachments]"
_NOTICES = {"notification": "Background agent completed", "cron": "Cron job fired"}
_HIDDEN = frozenset({"goal_runtime", "realtime_message", "agent_message", "agent_mention", "agent_launch_prompt"})
_NOT_REPLAYED = frozenset({"realtime_message", "code_mode_tool_result"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """What a user wrote: `display_text` where the record says so, else `parts` without ours.

    With a `display_text` (it may be "") only the parts that are no text are left in `parts`.
    """

    display_text: str | None
    parts: list[Any]

    @property
    def text(self) -> str:
        """The words: the display text, or the text parts joined by a newline, reasoning left out."""
        return _joined(self.parts) if self.display_text is None else self.display_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
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


def project(record_or_message: Mapping[str, Any]) -> Projection:
    """Tell the user's words from injected ones, in a record or in a wire message.

    A string `displayText` is authoritative, also when empty; otherwise trailing tagged parts go (D3, D4, D20).
    What an assistant said is its own. Text is cleaned (D5). Subtypes are not looked at: `display` routes them.
    """
    parts = parts_of(record_or_message)
    if _is_assistant(record_or_message):
        return Projection(display_text=None, parts=_cleaned(parts))
    payload = record_or_message.get("systemPayload")
    text = payload.get("displayText") if isinstance(payload, Mapping) else None
    if isinstance(text, str):
        return Projection(display_text=clean(text), parts=[part for part in parts if not is_text_part(part)])
    return Projection(display_text=None, parts=_cleaned(_kept(parts)))


def strip(message: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a wire message (OpenAI, Anthropic, Google or a record) without our trailing tagged parts.

    A message whose content is one string is one part, hence its author's; the copy is shallow and its text is
    left as it was.
    """
    copy = dict(message)
    if _is_assistant(message):
        return copy
    held = message.get("message")
    if isinstance(held, Mapping):
        copy["message"] = strip(held)
        return copy
    for key in ("content", "parts"):
        parts = message.get(key)
        if isinstance(parts, (list, tuple)):
            copy[key] = list(_kept(parts))
    return copy


def display_user(record: Mapping[str, Any], pending_at_command: Mapping[str, Any] | None = None) -> str | None:
    """Say what to show of a plain user record; None for no row.

    A pending at_command's non-empty `userText` wins; without one an empty display text makes no row.
    """
    if pending_at_command is not None:
        typed = pending_at_command.get("userText")
        if isinstance(typed, str) and typed:
            return clean(typed)
        return project(record).text or None
    projection = project(record)
    if projection.display_text:
        return projection.display_text
    return _media_label(record) or _joined(projection.parts) or None


def display(records: Iterable[Mapping[str, Any]]) -> list[Shown]:
    """List the rows of a resumed screen; a record that is none of the known types makes none."""
    shown: list[Shown] = []
    pending: deque[Mapping[str, Any]] = deque()
    seen: set[Any] = set()
    for record in records:
        parent = record.get("parentUuid")
        if isinstance(parent, str) and parent not in seen:
            # Across a gap nobody knows which prompt an at_command belonged to.
            pending.clear()
        seen.add(record.get("uuid") if isinstance(record.get("uuid"), str) else None)
        kind = record.get("type")
        if kind == USER:
            shown += _user_rows(record, pending)
        elif kind == ASSISTANT:
            shown += _assistant_rows(record)
        elif kind == TOOL_RESULT:
            shown += _tool_result_rows(record)
        elif kind == SYSTEM and record.get("subtype") == "at_command":
            pending.append(record)
        elif kind == SYSTEM:
            shown += _system_rows(record)
    for record in pending:
        typed = _payload(record).get("userText")
        if isinstance(typed, str) and typed:
            shown.append(Shown(type="user", text=clean(typed), uuid=_uuid(record), sent_to_model=False))
        shown += _file_rows(record)
    return shown


def replay(records: Iterable[Mapping[str, Any]]) -> list[Record]:
    """Rebuild the model's history exactly as it was sent, tagged parts included, as `{"role", "parts"}` (3.6).

    Only invalid Unicode is replaced (D5). The result shares nothing with the records.
    """
    history: list[Record] = []
    for record in records:
        kind, subtype = record.get("type"), record.get("subtype")
        if kind == SYSTEM and subtype == "chat_compression":
            compressed = _payload(record).get("compressedHistory")
            if not isinstance(compressed, list):
                return []
            history = [clean_tree(entry) for entry in compressed if isinstance(entry, dict)]
        elif kind == SYSTEM and subtype == "slash_command":
            _drop_local_command(history, _payload(record))
        elif kind in (USER, ASSISTANT, TOOL_RESULT) and subtype not in _NOT_REPLAYED:
            parts = clean_tree(parts_of(record))
            if not parts:
                continue
            role = "model" if kind == ASSISTANT else "user"
            if subtype == "mid_turn_user_message" and history and history[-1].get("role") == "user":
                history[-1]["parts"] = [*parts_of(history[-1]), *parts]
            else:
                history.append({"role": role, "parts": parts})
    return history


def replay_parts(parts: Sequence[Any], display_text: str | None) -> list[Any]:
    """Put the display text into the first text slot of the original parts and drop the other texts (3.8, ACP).

    None keeps the parts, without our trailing ones; "" leaves no text; without a slot it is appended.
    """
    if display_text is None:
        return _cleaned(_kept(parts))
    text, placed = clean(display_text), False
    out: list[Any] = []
    for part in parts:
        if not is_text_part(part):
            out.append(part)
        elif not placed and text:
            out.append({"text": text})
            placed = True
    if text and not placed:
        out.append({"text": text})
    return out


def without_attachment_tokens(display_text: str, references: object) -> str:
    """Remove the generated `@attachment:///<id>` lines of resource references from the end (3.8)."""
    ids = [
        reference["attachmentId"]
        for reference in (references if isinstance(references, list) else ())
        if isinstance(reference, Mapping)
        and reference.get("type") == "resource"
        and isinstance(reference.get("attachmentId"), str)
    ]
    if not ids:
        return display_text
    # encodeURIComponent leaves exactly these beside letters, digits and "_.-~".
    tokens = "\n".join("@attachment:///" + quote(clean(identity), safe="!*'()") for identity in ids)
    return "" if display_text == tokens else display_text.removesuffix(f"\n\n{tokens}")


def first_prompt(records: Iterable[Mapping[str, Any]]) -> str | None:
    """Find what the first plain user record says to a person: a session's preview or title; None for none."""
    for record in records:
        if record.get("type") == USER and record.get("subtype") is None:
            text = project(record).text
            if not is_blank(text):
                return text
    return None


def _user_rows(record: Mapping[str, Any], pending: deque[Mapping[str, Any]]) -> Iterator[Shown]:
    subtype = record.get("subtype")
    if subtype is None:
        command = pending.popleft() if pending else None
        text = display_user(record, None if command is None else _payload(command))
        if text:
            yield Shown(type="user", text=text, uuid=_uuid(record))
        if command is not None:
            yield from _file_rows(command)
        return
    if not isinstance(subtype, str) or subtype in _HIDDEN:
        return
    projection = project(record)
    said = projection.display_text or ""
    words = _joined(_cleaned(_kept(parts_of(record))))
    row: ShownType = "system"
    if subtype in _NOTICES:
        row, text = "notification", said or words or _NOTICES[subtype]
    elif subtype == "mid_turn_user_message":
        row, text = "user", said or _media_label(record) or words
    else:
        text = said or words
    if text:
        sent = subtype != "mid_turn_user_message"
        yield Shown(type=row, text=text, uuid=_uuid(record), sent_to_model=sent, subtype=subtype)


def _assistant_rows(record: Mapping[str, Any]) -> Iterator[Shown]:
    words: list[Any] = []
    for part in [*parts_of(record), None]:
        if part_text(part) is not None:
            words.append(part)
            continue
        call = part.get("functionCall") if isinstance(part, Mapping) else None
        if part is not None and not isinstance(call, Mapping):
            continue
        text = _joined(_cleaned(words))
        words = []
        if text:
            yield Shown(type="assistant", text=text, uuid=_uuid(record))
        if isinstance(call, Mapping):
            yield _tool_row("tool_call", record, call, _worded(call.get("args", {})))


def _tool_result_rows(record: Mapping[str, Any]) -> Iterator[Shown]:
    for part in parts_of(record):
        answer = part.get("functionResponse") if isinstance(part, Mapping) else None
        if isinstance(answer, Mapping):
            response = answer.get("response")
            said = response
            if isinstance(response, Mapping):
                said = response.get("output", response.get("error", response))
            yield _tool_row("tool_result", record, answer, _worded(said))


def _system_rows(record: Mapping[str, Any]) -> Iterator[Shown]:
    subtype, payload = record.get("subtype"), _payload(record)
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
            yield Shown(
                type=row, text=clean(text), uuid=_uuid(record), sent_to_model=False, subtype=clean(str(subtype))
            )


def _file_rows(command: Mapping[str, Any]) -> Iterator[Shown]:
    files = _payload(command).get("filesRead")
    for file in files if isinstance(files, list) else ():
        if isinstance(file, str):
            yield Shown(type="tool_call", text=clean(file), uuid=_uuid(command), name="read_file", subtype="at_command")


def _tool_row(row: ShownType, record: Mapping[str, Any], held: Mapping[str, Any], text: str) -> Shown:
    name, identity = held.get("name"), held.get("id")
    return Shown(
        type=row,
        text=text,
        uuid=_uuid(record),
        name=clean(name) if isinstance(name, str) else "",
        call_id=clean(identity) if isinstance(identity, str) else "",
    )


def _drop_local_command(history: list[Record], payload: Mapping[str, Any]) -> None:
    command = payload.get("rawCommand")
    if payload.get("phase") != "result" or payload.get("sentToModel") is not False or not isinstance(command, str):
        return
    if history and history[-1].get("role") == "user" and _joined(parts_of(history[-1])) == clean(command):
        history.pop()


def _is_assistant(holder: Mapping[str, Any]) -> bool:
    held = holder.get("message")
    role = held.get("role") if isinstance(held, Mapping) else holder.get("role")
    return holder.get("type") == ASSISTANT or role in ("assistant", "model")


def _kept(parts: Sequence[Any]) -> Sequence[Any]:
    return parts[: kept_parts([part_text(part) for part in parts])]


def _cleaned(parts: Sequence[Any]) -> list[Any]:
    out: list[Any] = []
    for part in parts:
        if isinstance(part, str):
            part = clean(part)
        elif is_text_part(part):
            text = clean(part["text"])
            part = part if text is part["text"] else {**part, "text": text}
        out.append(part)
    return out


def _joined(parts: Sequence[Any]) -> str:
    return "\n".join(text for text in map(part_text, parts) if text is not None)


def _media_label(record: Mapping[str, Any]) -> str:
    references = _payload(record).get("attachmentReferences")
    return _MEDIA_LABEL if isinstance(references, list) and references else ""


def _payload(record: Mapping[str, Any]) -> Mapping[str, Any]:
    payload = record.get("systemPayload")
    return payload if isinstance(payload, Mapping) else {}


def _uuid(record: Mapping[str, Any]) -> str:
    uuid = record.get("uuid")
    return clean(uuid) if isinstance(uuid, str) else ""


def _worded(value: Any) -> str:
    if isinstance(value, str):
        return clean(value)
    try:
        return clean(json.dumps(value, ensure_ascii=False, default=str))
    except (ValueError, RecursionError):
        return "…"
