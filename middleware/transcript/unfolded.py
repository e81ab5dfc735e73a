"""What a resumed screen shows, and behind each row what the model was sent beside it.

`resume` says what is shown; nothing here decides it a second time. What is added is told apart by its source, so
that a page or a screen can fold it away and mark it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..injection import HOOK_TAG, MEMORY_TAG, SESSION_TAG, SUBAGENT_TAG, kept_parts, tag_of, wrap_text
from ..parts import clean, trim
from ..records import ASSISTANT, SESSION_START, SYSTEM, TOOL_RESULT, USER, part_text, parts_of
from ..resume import Shown, replay, rows

__all__ = ["Injected", "Source", "Unfolded", "injected_in", "media_label", "unfold"]

Source: TypeAlias = Literal["hook", "memory", "subagent hook", "session hook"]

_SOURCES: Mapping[str, Source] = {
    HOOK_TAG: "hook",
    MEMORY_TAG: "memory",
    SUBAGENT_TAG: "subagent hook",
    SESSION_TAG: "session hook",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """One tagged part: who added it, the part as it was sent, and `text`, what stands between its tags, escaped."""

    source: Source
    part: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfolded:
    """One row of a resumed screen, and what stands behind it.

    `shown` is None where a record that makes no row holds something. `sent` is what the model got in place of the
    row's text, None where that is the text itself. `media` are the parts that hold an image or a file; `timestamp`
    and `model` are the record's, "" for none.
    """

    uuid: str
    shown: Shown | None
    injected: tuple[Injected, ...] = ()
    sent: str | None = None
    media: tuple[Mapping[str, Any], ...] = ()
    timestamp: str = ""
    model: str = ""


def injected_in(record: Mapping[str, Any]) -> tuple[Injected, ...]:
    """The tagged parts that were added to a record, in the order in which they were sent."""
    kind = record.get("type")
    if kind == SYSTEM and record.get("subtype") == SESSION_START:
        payload = record.get("systemPayload")
        context = payload.get("hookContext") if isinstance(payload, Mapping) else None
        if not isinstance(context, str) or not context:
            return ()
        body = clean(context)
        return (Injected(source="session hook", part=wrap_text(body, SESSION_TAG), text=body),)
    if kind not in (USER, TOOL_RESULT):
        return ()
    texts = [part_text(part) for part in parts_of(record)]
    return tuple(_injected(clean(text)) for text in texts[kept_parts(texts) :] if text is not None)


def unfold(branch: Iterable[Mapping[str, Any]]) -> Iterator[Unfolded]:
    """Yield the rows of a branch, with what was added to each at the last row of its record.

    The branch is read once, and no more of it is held than lies between two rows.
    """
    read: deque[tuple[Mapping[str, Any], list[Shown]]] = deque()

    def watched() -> Iterator[Mapping[str, Any]]:
        for record in branch:
            read.append((record, []))
            yield record

    for row in rows(watched()):
        while len(read) > 1:
            yield from _of_record(*read.popleft())
        if read:
            read[-1][1].append(row)
        else:
            yield Unfolded(uuid=row.uuid, shown=row)
    for record, shown in read:
        yield from _of_record(record, shown)


def _of_record(record: Mapping[str, Any], shown: Sequence[Shown]) -> Iterator[Unfolded]:
    """The rows that came while a record was the last one read: its own, then those of a command that waited for it."""
    uuid = _uuid(record)
    own = [row for row in shown if row.uuid == uuid]
    if not own and (injected_in(record) or _media(record)):
        yield _silent(record)
    for at, row in enumerate(own, 1):
        yield _unfolded(row, record, at == len(own))
    for row in shown:
        if row.uuid != uuid:
            yield Unfolded(uuid=row.uuid, shown=row)


def _unfolded(row: Shown, record: Mapping[str, Any], last: bool) -> Unfolded:
    model = record.get("model")
    return Unfolded(
        uuid=row.uuid,
        shown=row,
        injected=injected_in(record) if last else (),
        sent=_sent(row, record) if last else None,
        media=_media(record) if last else (),
        timestamp=_timestamp(record),
        model=clean(model) if record.get("type") == ASSISTANT and isinstance(model, str) else "",
    )


def _silent(record: Mapping[str, Any]) -> Unfolded:
    return Unfolded(
        uuid=_uuid(record),
        shown=None,
        injected=injected_in(record),
        media=_media(record),
        timestamp=_timestamp(record),
    )


def _sent(row: Shown, record: Mapping[str, Any]) -> str | None:
    """The words that the model got for a row, where they are others than the row's."""
    if record.get("type") == SYSTEM and record.get("subtype") == "chat_compression":
        words = "\n".join(text for entry in replay([record]) for text in _words(entry))
    elif record.get("type") == USER:
        words = "\n".join(_words(record))
    else:
        return None
    return words if words and words != row.text else None


def _words(record: Mapping[str, Any]) -> Iterator[str]:
    texts = [part_text(part) for part in parts_of(record)]
    for text in texts[: kept_parts(texts)]:
        if text is not None:
            yield clean(text)


def media_label(part: Mapping[str, Any]) -> str:
    """What stands for an image or a file where it cannot be shown: its type, `[image/png]`."""
    held = part.get("inlineData", part.get("fileData"))
    kind = held.get("mimeType") if isinstance(held, Mapping) else None
    return f"[{clean(kind) if isinstance(kind, str) and kind else 'file'}]"


def _media(record: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    if record.get("type") not in (USER, ASSISTANT, TOOL_RESULT):
        return ()
    parts = (part for part in parts_of(record) if isinstance(part, Mapping))
    return tuple(part for part in parts if "inlineData" in part or "fileData" in part)


def _injected(text: str) -> Injected:
    tag = tag_of(text) or HOOK_TAG
    inner = trim(text)[len(tag) + 2 : -len(tag) - 3]
    newline = "\r\n" if inner.startswith("\r\n") else "\n"
    return Injected(source=_SOURCES[tag], part=text, text=inner.removeprefix(newline).removesuffix(newline))


def _uuid(record: Mapping[str, Any]) -> str:
    uuid = record.get("uuid")
    return clean(uuid) if isinstance(uuid, str) else ""


def _timestamp(record: Mapping[str, Any]) -> str:
    stamp = record.get("timestamp")
    return clean(stamp) if isinstance(stamp, str) else ""
