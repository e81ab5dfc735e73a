"""The texts of a turn, read from its transcript when somebody looks at it: they are nowhere else.

What was injected is told from what was typed by the middleware's own projection.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from middleware import project, strip
from middleware.transcript import injected_in, parse

from .queries.refused import Refused
from .queries.views import Place
from .transcribed import Threads, key_of

__all__ = ["Received", "Source", "TurnText", "refusal", "turn_text"]

Source: TypeAlias = Literal["user", "tool", "media", "memory", "hook", "subagent hook", "session hook"]

_MOST_BYTES: Final = 1 << 26
_PIECE: Final = 1 << 18
_REASON: Final = 300
_OTHERS: Final = 100
"""Records of other turns after which no more of this one is looked for: calls of one session may run at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One part of what the model received: whose it is, and the part as it was sent, tags included."""

    source: Source
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnText:
    """What was typed, what the model received, and what it answered.

    `typed` is the person's own words, None where the turn began with no message of theirs. `received` is in the order
    in which it was sent, of this turn's own message. `reply` None: there is none. `recall_query` is what the store was
    asked with, `polluted_query` what it would have been asked with by a wrapper that does not know one from the other;
    equal when nothing was added. `missing` says why there is no text, None when there is.
    """

    typed: str | None = None
    received: tuple[Received, ...] = ()
    reply: str | None = None
    tool_calls: tuple[str, ...] = ()
    blocked_by: str | None = None
    reason: str | None = None
    missing: str | None = None

    @property
    def injected(self) -> tuple[Received, ...]:
        """The parts that nobody typed."""
        return tuple(part for part in self.received if part.source not in ("user", "tool", "media"))

    @property
    def recall_query(self) -> str:
        """The text from before anything was added."""
        return "\n".join(part.text for part in self.received if part.source == "user")

    @property
    def polluted_query(self) -> str:
        """The model-bound text, but for what recall itself brought."""
        return "\n".join(part.text for part in self.received if part.source not in ("tool", "media", "memory"))


def turn_text(place: Place | None, key: str) -> TurnText:
    """Read the texts of the turn `key` from its place. Never raises: `missing` says what is wrong."""
    if place is None:
        return TurnText(missing="no transcript tells of this turn; follow its folder with --transcripts")
    try:
        records = list(_records(Path(place.path), place.position, bytes.fromhex(key)))
    except FileNotFoundError:
        return TurnText(missing=f"transcript {place.path} is gone")
    except OSError as error:
        return TurnText(missing=f"transcript {place.path} cannot be read: {error.strerror or error}")
    if not records:
        return TurnText(missing=f"transcript {place.path} was changed since it was read")
    return _text_of(records)


def refusal(known: Refused, key: str) -> str:
    """Who refused the turn `key` and, if its transcript is here, why; "" when neither is known."""
    text = turn_text(known.place, key)
    hook = known.hook or text.blocked_by
    reason = " ".join((text.reason or "")[:_REASON].split())
    return ": ".join(said for said in (hook, reason) if said)


def _records(path: Path, position: int, key: bytes) -> Iterator[Mapping[str, Any]]:
    threads = Threads()
    found, others, read, held = False, 0, 0, b""
    with open(path, "rb", opener=_only_a_file) as file:
        file.seek(position)
        while others < _OTHERS and read < _MOST_BYTES and (data := file.read(_PIECE)):
            read += len(data)
            *lines, held = (held + data).split(b"\n")
            for line in lines:
                for record in parse(line).records:
                    if key_of(record, threads) == key:
                        found = True
                        yield record
                    else:
                        others += 1
            if not found and others:
                return


def _only_a_file(path: str, flags: int) -> int:
    """Open what is a file; a pipe or a device may have its name by now, and would keep whoever looks waiting."""
    opened = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise OSError(errno.EINVAL, "it is no file")
    return opened


def _text_of(records: list[Mapping[str, Any]]) -> TurnText:
    typed: str | None = None
    received: list[Received] = []
    replies: list[str] = []
    calls: list[str] = []
    blocked_by = reason = None
    answered = False
    for record in records:
        kind, payload = record.get("type"), record.get("systemPayload")
        payload = payload if isinstance(payload, Mapping) else {}
        if kind == "assistant":
            answered = True
            replies.append(project(record).text)
            calls += _tool_calls(record)
            continue
        if record.get("subtype") == "prompt_blocked":
            blocked_by, reason = _said(payload.get("hook")), _said(payload.get("reason"))
            typed = _said(payload.get("prompt")) if typed is None else typed
        if kind == "user":
            text = project(record).text
            typed = text if typed is None else f"{typed}\n{text}"
        if kind in ("user", "tool_result"):
            received += _own(record)
        received += [Received(source=item.source, text=item.part) for item in injected_in(record)]
    return TurnText(
        typed=typed,
        received=tuple(received),
        reply="\n".join(reply for reply in replies if reply) if answered else None,
        tool_calls=tuple(calls),
        blocked_by=blocked_by,
        reason=reason,
    )


def _own(record: Mapping[str, Any]) -> Iterator[Received]:
    """The parts of a message that are its sender's."""
    for part in strip(record)["message"]["parts"]:
        if not isinstance(part, Mapping):
            continue
        answer = part.get("functionResponse")
        if isinstance(part.get("text"), str):
            words = project({"role": "user", "parts": [part]}).text
            yield Received(source="user", text=words)
        elif isinstance(answer, Mapping):
            yield Received(source="tool", text=_json(answer.get("response")))
        else:
            yield Received(source="media", text=_label(part))


def _tool_calls(record: Mapping[str, Any]) -> Iterator[str]:
    for part in record["message"]["parts"]:
        call = part.get("functionCall") if isinstance(part, Mapping) else None
        if isinstance(call, Mapping):
            yield f"{_said(call.get('name')) or '?'}({_json(call.get('args'))})"


def _label(part: Mapping[str, Any]) -> str:
    held = part.get("inlineData", part.get("fileData"))
    kind = held.get("mimeType") if isinstance(held, Mapping) else None
    return f"[{_said(kind) or 'file'}]"


def _json(value: object) -> str:
    if isinstance(value, Mapping) and set(value) == {"output"} and isinstance(value["output"], str):
        return _said(value["output"]) or ""
    return json.dumps(value, default=str)


def _said(value: object) -> str | None:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None
