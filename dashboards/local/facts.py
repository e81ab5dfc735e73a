"""What the dashboard counts, taken from spans: turns, model calls, hook calls, recalls. Pure.

A hook call, a recall and a model call name their turn by their parent: `firsthand.turn` is nobody's grandparent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from middleware.telemetry import names

from .signals import Span

__all__ = [
    "CALL_OPERATIONS",
    "FAILED",
    "Call",
    "Fact",
    "HookCall",
    "Recall",
    "TurnEnd",
    "fact_of",
    "text_of",
    "turn_key",
]

CALL_OPERATIONS: Final = frozenset({"chat", "generate_content", "text_completion", "embeddings"})
FAILED: Final = frozenset({"non_blocking_error", "timeout", "cancelled"})
"""Outcomes of hook calls that did not do their work; one that blocks did it."""

_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
_LONGEST_LABEL: Final = 256


class TurnEnd(NamedTuple):
    """The `firsthand.turn` span of a turn."""

    started: int
    duration: int
    outcome: str
    origin: str
    session: str | None
    service: str
    error_type: str | None
    injection_count: int | None
    injection_chars: int | None
    injection_sources: str | None
    truncated: int | None
    suspected: int | None


class Call(NamedTuple):
    """A model call, in the order of the columns of `calls`; times in ns."""

    trace_id: bytes
    span_id: bytes
    started: int
    duration: int
    operation: str
    provider: str | None
    model: str | None
    response_model: str | None
    session: str | None
    first_chunk: int | None
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    reasoning_tokens: int | None
    finish_reasons: str | None
    error_type: str | None


class HookCall(NamedTuple):
    """A hook call, in the order of the columns of `hook_calls`."""

    trace_id: bytes
    span_id: bytes
    started: int
    duration: int
    event: str
    type: str
    name: str
    outcome: str
    success: int
    exit_code: int | None
    output_chars: int | None
    error: str | None


class Recall(NamedTuple):
    """A recall: `found` in the store, of which `matches` were sent, since the request held the others already."""

    trace_id: bytes
    span_id: bytes
    started: int
    duration: int
    outcome: str
    matches: int | None
    found: int | None
    store: str | None
    error_type: str | None


Fact = TurnEnd | Call | HookCall | Recall


def turn_key(trace_id: bytes, span_id: bytes) -> bytes:
    """The key of the turn that a `firsthand.turn` span is of."""
    return trace_id + span_id


def fact_of(span: Span) -> tuple[bytes | None, Fact] | None:
    """The fact that a span states and the key of its turn, None for none; None for a span that states no fact."""
    name, said = span.name, span.attributes
    if name == names.SPAN_TURN:
        return turn_key(span.trace_id, span.span_id), _turn_end(span, said)
    above = turn_key(span.trace_id, span.parent_id) if span.parent_id is not None else None
    if name.startswith(names.SPAN_HOOK) and names.HOOK_EVENT in said:
        return above, _hook_call(span, said)
    operation = text_of(said.get(names.OPERATION))
    if operation == names.SPAN_RECALL:
        return above, _recall(span, said)
    if operation in CALL_OPERATIONS:
        # Only a call in a turn says how that began; another is nobody's turn, whatever span it stands in.
        return above if names.TURN_ORIGIN in said else None, _call(span, said, operation)
    return None


def text_of(value: object) -> str | None:
    """A label from an attribute: its text, cut, without what cannot be stored; None for what is no text or empty."""
    if isinstance(value, str) and value:
        label = value[:_LONGEST_LABEL]
        return label.replace("\0", "\ufffd") if label.isascii() else _UNSTORABLE.sub("\ufffd", label)
    return None


def _turn_end(span: Span, said: Mapping[str, Any]) -> TurnEnd:
    return TurnEnd(
        started=span.started,
        duration=span.duration,
        outcome=text_of(said.get(names.TURN_OUTCOME)) or ("error" if span.failed else "sent"),
        origin=text_of(said.get(names.TURN_ORIGIN)) or "unknown",
        session=text_of(said.get(names.CONVERSATION_ID)),
        service=text_of(span.service) or "",
        error_type=text_of(said.get(names.ERROR_TYPE)),
        injection_count=_whole(said.get(names.INJECTION_COUNT)),
        injection_chars=_whole(said.get(names.INJECTION_CHARS)),
        injection_sources=_joined(said.get(names.INJECTION_SOURCES)),
        truncated=_flag(said.get(names.INJECTION_TRUNCATED)),
        suspected=_flag(said.get(names.INJECTION_SUSPECTED)),
    )


def _call(span: Span, said: Mapping[str, Any], operation: str) -> Call:
    return Call(
        trace_id=span.trace_id,
        span_id=span.span_id,
        started=span.started,
        duration=span.duration,
        operation=operation,
        provider=text_of(said.get(names.PROVIDER)),
        model=text_of(said.get(names.REQUEST_MODEL)) or text_of(said.get(names.RESPONSE_MODEL)),
        response_model=text_of(said.get(names.RESPONSE_MODEL)),
        session=text_of(said.get(names.CONVERSATION_ID)),
        first_chunk=_nanoseconds(said.get(names.TIME_TO_FIRST_CHUNK)),
        input_tokens=_whole(said.get(names.INPUT_TOKENS)),
        output_tokens=_whole(said.get(names.OUTPUT_TOKENS)),
        cache_read_tokens=_whole(said.get(names.CACHE_READ_TOKENS)),
        cache_write_tokens=_whole(said.get(names.CACHE_WRITE_TOKENS)),
        reasoning_tokens=_whole(said.get(names.REASONING_TOKENS)),
        finish_reasons=_joined(said.get(names.FINISH_REASONS)),
        error_type=text_of(said.get(names.ERROR_TYPE)) or ("unknown" if span.failed else None),
    )


def _hook_call(span: Span, said: Mapping[str, Any]) -> HookCall:
    success = said.get(names.HOOK_SUCCESS)
    return HookCall(
        trace_id=span.trace_id,
        span_id=span.span_id,
        started=span.started,
        duration=span.duration,
        event=text_of(said.get(names.HOOK_EVENT)) or "",
        type=text_of(said.get(names.HOOK_TYPE)) or "",
        name=text_of(said.get(names.HOOK_NAME)) or "",
        outcome=text_of(said.get(names.HOOK_OUTCOME)) or "unknown",
        success=int(success if isinstance(success, bool) else not span.failed),
        exit_code=_exit_code(said.get(names.HOOK_EXIT_CODE)),
        output_chars=_whole(said.get(names.HOOK_OUTPUT_CHARS)),
        error=text_of(said.get(names.HOOK_ERROR)),
    )


def _recall(span: Span, said: Mapping[str, Any]) -> Recall:
    return Recall(
        trace_id=span.trace_id,
        span_id=span.span_id,
        started=span.started,
        duration=span.duration,
        outcome=text_of(said.get(names.RECALL_OUTCOME)) or ("error" if span.failed else "ok"),
        matches=_whole(said.get(names.MEMORY_RECORD_COUNT)),
        found=_whole(said.get(names.RECALL_FOUND)),
        store=text_of(said.get(names.MEMORY_STORE_ID)),
        error_type=text_of(said.get(names.ERROR_TYPE)),
    )


def _whole(value: object) -> int | None:
    """A count; one that no count can be is absent."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53:
        return value
    return None


def _exit_code(value: object) -> int | None:
    """-1 is a death by signal."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**32 else None


def _flag(value: object) -> int | None:
    return int(value) if isinstance(value, bool) else None


def _nanoseconds(value: object) -> int | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e9:
        return int(value * 1e9)
    return None


def _joined(value: object) -> str | None:
    if isinstance(value, list):
        return text_of(",".join(item for item in value if isinstance(item, str)))
    return text_of(value)
