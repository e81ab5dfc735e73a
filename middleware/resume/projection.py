"""What a user wrote, told from what was injected: the one projection of records and wire messages.

Rules: hooks-and-transcripts 3.7 and 3.8 with D3, D4, D5, D20, D21. Functions here change nothing that they take.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ..injection import kept_parts
from ..parts import clean, is_blank
from ..records import ASSISTANT, USER, is_text_part, part_text, parts_of

__all__ = [
    "Projection",
    "cleaned",
    "first_prompt",
    "joined",
    "kept",
    "payload_of",
    "project",
    "replay_parts",
    "strip",
    "without_attachment_tokens",
]


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
        return joined(self.parts) if self.display_text is None else self.display_text


def project(record_or_message: Mapping[str, Any]) -> Projection:
    """Tell the user's words from injected ones, in a record or in a wire message.

    A string `displayText` is authoritative, also when empty; otherwise trailing tagged parts go (D3, D4, D20).
    What an assistant said is its own. Text is cleaned (D5). Subtypes are not looked at: `display` routes them.
    """
    parts = parts_of(record_or_message)
    if _is_assistant(record_or_message):
        return Projection(display_text=None, parts=cleaned(parts))
    payload = record_or_message.get("systemPayload")
    text = payload.get("displayText") if isinstance(payload, Mapping) else None
    if isinstance(text, str):
        return Projection(display_text=clean(text), parts=[part for part in parts if not is_text_part(part)])
    return Projection(display_text=None, parts=cleaned(kept(parts)))


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
            copy[key] = list(kept(parts))
    return copy


def replay_parts(parts: Sequence[Any], display_text: str | None) -> list[Any]:
    """Put the display text into the first text slot of the original parts and drop the other texts (3.8, ACP).

    None keeps the parts, without our trailing ones; "" leaves no text; without a slot it is appended.
    """
    if display_text is None:
        return cleaned(kept(parts))
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


def _is_assistant(holder: Mapping[str, Any]) -> bool:
    held = holder.get("message")
    role = held.get("role") if isinstance(held, Mapping) else holder.get("role")
    return holder.get("type") == ASSISTANT or role in ("assistant", "model")


def kept(parts: Sequence[Any]) -> Sequence[Any]:
    """The parts without our trailing tagged ones."""
    return parts[: kept_parts([part_text(part) for part in parts])]


def cleaned(parts: Sequence[Any]) -> list[Any]:
    """The parts with their text cleaned (D5)."""
    out: list[Any] = []
    for part in parts:
        if isinstance(part, str):
            part = clean(part)
        elif is_text_part(part):
            text = clean(part["text"])
            part = part if text is part["text"] else {**part, "text": text}
        out.append(part)
    return out


def joined(parts: Sequence[Any]) -> str:
    """The words of the text parts, one a line; reasoning left out."""
    return "\n".join(text for text in map(part_text, parts) if text is not None)


def payload_of(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The `systemPayload` of a record; an empty one for anything that is no object."""
    payload = record.get("systemPayload")
    return payload if type(payload) is dict or isinstance(payload, Mapping) else {}
