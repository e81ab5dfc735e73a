"""What a transcript tells a ledger: entries of turns that another worker, or an earlier process, admitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .injection import Block, Memory, block_from, kept_parts
from .ledger import Entry, Ledger
from .parts import Identity, abridged, clean, frozen
from .records import SESSION_START, part_text, parts_of
from .transcript.given import media_in

__all__ = ["Told", "instruction_of"]

_KEPT_PROMPTS = 64


def instruction_of(records: Iterable[Mapping[str, Any]]) -> Block | None:
    """The block of the system instruction that a session's start left, if the records tell of one."""
    for record in records:
        if record.get("subtype") == SESSION_START:
            payload = record.get("systemPayload")
            body = payload.get("hookContext") if isinstance(payload, Mapping) else None
            return Block(session=body if isinstance(body, str) else "")
    return None


class Told:
    """Reads a conversation's records into its ledger, one after the other; what comes later goes on where it ended.

    Which message a reply belongs to is said by their `promptId`. A message is known again by its text, its tools
    and its media.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._before: Identity | None = None
        self._open: Entry | None = None
        self._last_kind = ""
        self._by_prompt: dict[str, Entry] = {}

    def read(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write the entries that the records tell of, oldest first."""
        for record in records:
            kind = record.get("type")
            if kind == "assistant":
                self._reply(record)
            elif kind == "tool_result":
                self._tool_result(record)
            elif kind == "user":
                self._message(record)
            else:
                continue
            self._last_kind = kind

    def _reply(self, record: Mapping[str, Any]) -> None:
        parts = parts_of(record)
        text = _said(parts, [part_text(part) for part in parts])
        self._before = ("assistant", text, _ids(parts, "functionCall"), _media(record, parts))
        entry = self._by_prompt.get(str(record.get("promptId"))) or self._open
        if entry is not None:
            self._ledger.answered(entry, (self._before,))

    def _message(self, record: Mapping[str, Any]) -> None:
        parts = parts_of(record)
        texts = [part_text(part) for part in parts]
        payload = record.get("systemPayload")
        recalled = payload.get("recall") if isinstance(payload, Mapping) else None
        key = ("user", _said(parts, texts[: kept_parts(texts)]), (), _media(record, parts))
        self._admit(record, key, self._before, block_from(texts, _recalled(recalled)))

    def _tool_result(self, record: Mapping[str, Any]) -> None:
        parts = parts_of(record)
        ids, block = _ids(parts, "functionResponse"), block_from([part_text(part) for part in parts])
        joined = self._open if self._last_kind == "tool_result" else None
        if joined is None:
            self._admit(record, ("tools", *ids), self._before, block)
        else:
            # Results of one send are one entry, and its block is on the last of them (D8).
            self._admit(record, (*joined.key, *ids), joined.predecessor, block)

    def _admit(self, record: Mapping[str, Any], key: Identity, predecessor: Identity | None, block: Block) -> None:
        entry = self._open = self._ledger.restore(key, predecessor, block)
        self._before = key
        prompt = record.get("promptId")
        if isinstance(prompt, str):
            self._by_prompt.pop(prompt, None)
            self._by_prompt[prompt] = entry
            if len(self._by_prompt) > _KEPT_PROMPTS:
                del self._by_prompt[next(iter(self._by_prompt))]


def _said(parts: Sequence[Any], texts: Sequence[str | None]) -> object:
    said = [
        text
        for part, text in zip(parts, texts, strict=False)
        # A part may be a bare string.
        if text is not None and not (isinstance(part, Mapping) and part.get("thought"))
    ]
    return abridged(clean("".join(said)))


def _media(record: Mapping[str, Any], parts: Sequence[Any]) -> tuple[object, ...]:
    return tuple(map(frozen, media_in(record, parts)))


def _ids(parts: Sequence[Any], kind: str) -> tuple[str, ...]:
    held = [part.get(kind) for part in parts if isinstance(part, Mapping)]
    return tuple(str(call.get("id") or call.get("name")) for call in held if isinstance(call, Mapping))


def _recalled(told: object) -> tuple[Memory, ...]:
    items = [item for item in told if isinstance(item, Mapping)] if isinstance(told, list) else []
    return tuple(Memory(id=str(item.get("id")), text="", score=_number(item.get("score"))) for item in items)


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
