"""A session of Claude Code, read into our records: hook context apart from what the person typed.

What a hook added is a tagged part behind the message that it came with, as if it had been sent here; what the program
added by itself is a notification, whose text the model got and no search finds.
"""

from __future__ import annotations

import uuid as uuids
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..injection import HOOK_TAG, escape, wrap_text
from ..parts import clean, is_blank
from ..provenance import Origin
from ..records import (
    SYSTEM,
    Record,
    Stamp,
    assistant_record,
    blocked_record,
    session_start_record,
    tool_result_record,
    user_record,
)
from .claude_blocks import blocks_of, contexts_of, parts_from, result_parts, typed_from, usage_from
from .claude_tree import conversation, message_id

__all__ = ["Imported", "import_claude"]

_BLOCKING = "hook_blocking_error"
_PROMPT_EVENTS = ("UserPromptSubmit", "UserPromptExpansion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A session in our records, root first; `contexts` were added by hooks, `left_out` says how many of what were not
    taken over."""

    session_id: str
    records: tuple[Record, ...]
    contexts: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)


def import_claude(objects: Sequence[Any]) -> Imported:
    """Convert the JSON values of a session file; never raises, whatever they are."""
    kept, left = conversation(objects)
    session = next((held for value in reversed(kept) if isinstance(held := value.get("sessionId"), str) and held), "")
    agent = next((held for value in kept if isinstance(held := value.get("agentId"), str)), None)
    if kept and agent is not None and all(value.get("isSidechain") for value in kept):
        session = f"{session}-agent-{agent}"
    writing = _Writing(session, kept)
    for value in kept:
        writing.take(value)
    return Imported(
        session_id=session,
        records=tuple(writing.finished()),
        contexts=writing.contexts,
        left_out=dict(left + writing.left),
    )


class _Writing:
    """The records so far, and what hooks added to each of them."""

    def __init__(self, session: str, kept: Sequence[Mapping[str, Any]]) -> None:
        self.left: Counter[str] = Counter()
        self.contexts = 0
        self._session = session
        self._records: list[Record] = []
        self._added: dict[int, list[str]] = {}
        self._names: dict[str, str] = {}
        self._prompt: int | None = None
        self._results: dict[str, int] = {}
        self._waiting: dict[str, list[str]] = {}
        self._usage: dict[str, Any] = {}
        self._last_line: dict[str, object] = {}
        for value in kept:
            if (identity := message_id(value)) and value.get("type") == "assistant":
                # Every line of one reply repeats its token counts; the last are the final ones.
                self._usage[identity] = value["message"].get("usage")
                self._last_line[identity] = value["uuid"]

    def take(self, value: Mapping[str, Any]) -> None:
        """Add the records of one line of the session."""
        kind, message = value.get("type"), value.get("message")
        if kind == "attachment" and isinstance(value.get("attachment"), Mapping):
            self._attachment(value, value["attachment"])
        elif kind == "user" and isinstance(message, Mapping):
            self._user(value, blocks_of(message.get("content")))
        elif kind == "assistant" and isinstance(message, Mapping):
            self._assistant(value, message)
        else:
            self.left["notes of the program"] += 1

    def finished(self) -> list[Record]:
        """The records as a chain, with their tagged parts."""
        for texts in self._waiting.values():
            for text in texts:
                self._continuation({}, text)
        parent: str | None = None
        for place, record in enumerate(self._records):
            record["parentUuid"], parent = parent, record["uuid"]
            if place in self._added:
                body = escape("\n".join(self._added[place]))
                parts = record["message"]["parts"]
                parts += [*([] if parts else [{"text": ""}]), {"text": wrap_text(body, HOOK_TAG)}]
                payload = record.get("systemPayload")
                if payload is not None:
                    payload["hookContext"] = body
        return self._records

    def _user(self, value: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]) -> None:
        results = [block for block in blocks if block.get("type") == "tool_result"]
        others = [block for block in blocks if block.get("type") != "tool_result"]
        for number, block in enumerate(results):
            identity = str(block.get("tool_use_id") or "")
            parts = list(result_parts(block, self._names))
            place = self._append(tool_result_record(stamp=self._stamp(value, f"result {number}", number), parts=parts))
            self._results[identity] = place
            for text in self._waiting.pop(identity, ()):
                self._added.setdefault(place, []).append(text)
        parts = list(parts_from(others))
        if not parts:
            return
        stamp = self._stamp(value, "words", len(results))
        typed = typed_from(value, others)
        if value.get("isCompactSummary") is True:
            history = [{"role": "user", "parts": parts}]
            self._append(_compression(stamp, history))
        elif typed.by_hand:
            payload = {"displayText": clean(typed.text), "hookContext": ""}
            self._prompt = self._append(user_record(stamp=stamp, parts=parts, payload=payload))
        else:
            if typed.printed:
                self._local_command()
            self._note(stamp, parts, typed.text)

    def _local_command(self) -> None:
        """What printed something right after the prompt was a command of the program: the prompt is none."""
        if self._prompt is not None and self._prompt == len(self._records) - 1:
            record = self._records[-1]
            shown = record["systemPayload"]["displayText"]
            if shown.startswith(("/", "! ")):
                payload = {"displayText": shown}
                again = user_record(stamp=_stamp_of(record), parts=[], payload=payload, origin=Origin.NOTIFICATION)
                self._records[-1] = {**again, "message": record["message"]}
                self._prompt = None

    def _assistant(self, value: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        blocks = blocks_of(message.get("content"))
        parts = list(parts_from(blocks))
        self.left["blocks of other kinds"] += len(blocks) - len(parts)
        for part in parts:
            if "functionCall" in part:
                self._names[part["functionCall"]["id"]] = part["functionCall"]["name"]
        stamp = self._stamp(value, "reply", 0)
        model, identity = message.get("model"), message_id(value)
        if model == "<synthetic>" or value.get("isApiErrorMessage") is True:
            self._note(stamp, [], "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str)))
            return
        final = not identity or self._last_line[identity] == value["uuid"]
        usage = usage_from(self._usage.get(identity, message.get("usage"))) if final else None
        if parts or usage is not None:
            model = model if isinstance(model, str) else None
            self._append(assistant_record(stamp=stamp, parts=parts, model=model, usage=usage))

    def _attachment(self, value: Mapping[str, Any], attachment: Mapping[str, Any]) -> None:
        kind, event = attachment.get("type"), attachment.get("hookEvent")
        if kind == "queued_command":
            self._queued(value, attachment)
            return
        texts = contexts_of(attachment)
        if kind == _BLOCKING and event in _PROMPT_EVENTS:
            hook = clean(str(attachment.get("hookName") or event))
            reason = clean("\n".join(texts)) or "No reason provided"
            self._append(blocked_record(stamp=self._stamp(value, "blocked", 0), hook=hook, reason=reason))
            return
        if not texts:
            self.left["attachments that hold no hook context"] += 1
        tool = attachment.get("toolUseID")
        for text in texts:
            self.contexts += 1
            if event in _PROMPT_EVENTS and self._prompt is not None:
                self._added.setdefault(self._prompt, []).append(text)
            elif event == "SessionStart":
                stamp = self._stamp(value, f"start {self.contexts}", 1)
                self._append(session_start_record(stamp=stamp, context=escape(text)))
            elif isinstance(tool, str) and tool in self._results:
                self._added.setdefault(self._results[tool], []).append(text)
            elif isinstance(tool, str) and tool in self._names:
                self._waiting.setdefault(tool, []).append(text)
            else:
                self._continuation(value, text)

    def _queued(self, value: Mapping[str, Any], attachment: Mapping[str, Any]) -> None:
        blocks = blocks_of(attachment.get("prompt"))
        parts = list(parts_from(blocks))
        typed = typed_from({**attachment, "isMeta": attachment.get("commandMode") not in (None, "prompt")}, blocks)
        stamp = self._stamp(value, "queued", 0)
        if typed.by_hand:
            payload = {"displayText": clean(typed.text)}
            self._append(user_record(stamp=stamp, parts=parts, payload=payload, origin=Origin.STEER))
        else:
            self._note(stamp, parts, typed.text)

    def _note(self, stamp: Stamp, parts: list[dict[str, Any]], shown: str) -> None:
        """A message that no person wrote: the screen shows a line of it, the model gets its parts."""
        if parts or not is_blank(shown):
            payload = {"displayText": clean(shown)}
            self._append(user_record(stamp=stamp, parts=parts, payload=payload, origin=Origin.NOTIFICATION))

    def _continuation(self, value: Mapping[str, Any], text: str) -> None:
        stamp = self._stamp(value, f"context {self.contexts} {len(self._records)}", 1)
        self._added[self._append(user_record(stamp=stamp, parts=[], origin=Origin.HOOK))] = [text]

    def _append(self, record: Record) -> int:
        self._records.append(record)
        return len(self._records) - 1

    def _stamp(self, value: Mapping[str, Any], what: str, number: int) -> Stamp:
        """The stamp of a line; only the first record of a line has the line's own uuid."""
        own = str(value.get("uuid") or self._session)
        last = self._records[-1] if self._records else {}
        time, branch = value.get("timestamp"), value.get("gitBranch")
        return Stamp(
            uuid=clean(own) if number == 0 and value else str(uuids.uuid5(uuids.NAMESPACE_OID, clean(f"{own} {what}"))),
            parent=None,
            session_id=clean(self._session),
            timestamp=clean(time) if isinstance(time, str) else last.get("timestamp", ""),
            cwd=_word(value.get("cwd")) or last.get("cwd", ""),
            version=f"claude-code {_word(value.get('version'))}".rstrip(),
            git_branch=_word(branch) or None,
        )


def _stamp_of(record: Record) -> Stamp:
    return Stamp(
        uuid=record["uuid"],
        parent=None,
        session_id=record["sessionId"],
        timestamp=record["timestamp"],
        cwd=record["cwd"],
        version=record["version"],
        git_branch=record.get("gitBranch"),
    )


def _compression(stamp: Stamp, history: list[dict[str, Any]]) -> Record:
    record = blocked_record(stamp=stamp, hook="", reason="")
    return {
        **record,
        "type": SYSTEM,
        "subtype": "chat_compression",
        "systemPayload": {"info": {"by": "Claude Code"}, "compressedHistory": history},
    }


def _word(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""
