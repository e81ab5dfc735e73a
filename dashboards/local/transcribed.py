"""What transcripts say of turns, taken from their records. Pure; through the middleware's one projection.

A record names its turn by the ids of its trace and span. One that has none (nobody traced it) is of a turn that begins
with a message to the model and ends before the next: its key is a digest of the session and that message's uuid.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from middleware import project
from middleware.transcript import Figures, injected_in

from .bundle import Written
from .facts import text_of
from .otlpvalues import FIRST_TIME, LAST_TIME

__all__ = ["PREVIEW", "Threads", "key_of", "written_of"]

PREVIEW: Final = 200
"""Characters of what was typed that are kept, to find a session by."""

_KINDS: Final = frozenset({"user", "assistant", "tool_result"})
_ORIGINS: Final = {
    None: "user_query",
    "cron": "cron",
    "notification": "notification",
    "mid_turn_user_message": "steer",
    "hook_continuation": "hook",
    "goal_runtime": "goal",
}


class Threads:
    """Which turn the last records of a file were of, so that a reply that was not traced finds its question."""

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[str, bytes] = {}

    def key(self, record: Mapping[str, Any]) -> bytes:
        """The key of a record's turn."""
        key = traced_key(record)
        uuid = str(record.get("uuid"))
        if key is None:
            parent = record.get("parentUuid")
            if record.get("type") == "assistant" and isinstance(parent, str):
                key = self._keys.get(parent) or _digest(record, parent)
            else:
                key = _digest(record, uuid)
        self._remember(uuid, key)
        return key

    def pass_on(self, record: Mapping[str, Any]) -> None:
        """Take note of a record of no turn: qwen-code writes such between a question and its reply, linked by them."""
        key = self._keys.get(str(record.get("parentUuid")))
        if key is not None:
            self._remember(str(record.get("uuid")), key)

    def _remember(self, uuid: str, key: bytes) -> None:
        self._keys[uuid] = key
        if len(self._keys) > 512:
            del self._keys[next(iter(self._keys))]


def key_of(record: Mapping[str, Any], threads: Threads) -> bytes | None:
    """The key of a record's turn; None for one that belongs to no turn, or is another program's."""
    if not isinstance(record.get("sessionId"), str):
        return None
    kind = record.get("type")
    if kind in _KINDS:
        message = record.get("message")
        if not isinstance(message, Mapping) or not isinstance(message.get("parts"), list):
            return None
    elif kind != "system" or record.get("subtype") not in ("prompt_blocked", "session_start_context"):
        threads.pass_on(record)
        return None
    return threads.key(record)


def traced_key(record: Mapping[str, Any]) -> bytes | None:
    """The key of the turn that a record names by its trace; None for none, and for ids that are none."""
    trace, span = record.get("traceId"), record.get("spanId")
    if isinstance(trace, str) and isinstance(span, str) and len(trace) == 32 and len(span) == 16:
        try:
            return bytes.fromhex(trace + span)
        except ValueError:
            return None
    return None


def written_of(record: Mapping[str, Any], *, file: int, position: int, line: int, at: int) -> Written:
    """What one record says of its turn; `at` (ns since 1970) is its time if it says none that can be."""
    figures = Figures().count([record])
    kind, subtype = record.get("type"), record.get("subtype")
    payload = record.get("systemPayload")
    payload = payload if isinstance(payload, Mapping) else {}
    tokens = next(iter(figures.tokens.values()), None)
    added: dict[str, int] = {}
    for item in injected_in(record):
        added[item.source] = added.get(item.source, 0) + len(item.part)
    model = record.get("model")
    return Written(
        file=file,
        position=position,
        line=line,
        uuid=text_of(record.get("uuid")) or "",
        at=_moment(figures.started, at),
        session=text_of(record.get("sessionId")) or "",
        user=text_of(record.get("userId")),
        preview=_preview(record, payload),
        typed=figures.sent - figures.injected.total(),
        added=added,
        recall=tuple(_recalled(payload.get("recall"))),
        origin=_origin(kind, subtype),
        model=text_of(model) if kind == "assistant" else None,
        input_tokens=tokens.input if tokens is not None else None,
        output_tokens=tokens.output if tokens is not None else None,
        cache_read_tokens=tokens.cached if tokens is not None else None,
        traced=traced_key(record) is not None,
        replied=kind == "assistant",
        blocked=text_of(payload.get("hook")) or "unknown" if subtype == "prompt_blocked" else None,
    )


def _moment(said: datetime | None, otherwise: int) -> int:
    at = int(said.timestamp() * 1000) * 1_000_000 if said is not None else otherwise
    return at if FIRST_TIME <= at < LAST_TIME else otherwise


def _origin(kind: object, subtype: object) -> str | None:
    if kind == "tool_result":
        return "tool_result"
    if kind == "user" and (subtype is None or isinstance(subtype, str)):
        return _ORIGINS.get(subtype, "unknown")
    return None


def _preview(record: Mapping[str, Any], payload: Mapping[str, Any]) -> str | None:
    """How what was typed begins; of a refused prompt only if the transcript has it."""
    if record.get("type") == "user":
        words = project(record).text
    elif record.get("subtype") == "prompt_blocked":
        words = text_of(payload.get("prompt")) or ""
    else:
        return None
    text = " ".join(words[: 4 * PREVIEW].replace("\0", "\ufffd").split())
    return text[:PREVIEW] or None


def _recalled(said: object) -> Iterable[tuple[str, float]]:
    for one in said if isinstance(said, list) else ():
        if isinstance(one, Mapping) and isinstance(one.get("id"), str):
            score = one.get("score")
            number = isinstance(score, (int, float)) and not isinstance(score, bool)
            yield one["id"][:256], float(score) if number else 0.0  # type: ignore[arg-type]


def _digest(record: Mapping[str, Any], uuid: str) -> bytes:
    said = f"{record.get('sessionId')}\0{uuid}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=24).digest()
