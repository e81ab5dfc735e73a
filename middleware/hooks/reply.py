"""What the answer of an HTTP hook means.

Pure: an `Answer` in, a `HookResult` out, for every status, type and body. Source: the table in hooks-and-transcripts
1.10, 1.3 for the fields, D17: text is never context.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..parts import clean, trim
from .aggregate import blocks
from .base import HookOutcomeName, HookResult
from .exchange import LIMIT, Answer
from .jsontext import decode
from .output import checked, plain

__all__ = ["CONTINUE", "MOST_CHARS", "NO_OBJECT", "failed", "normalised", "read"]

CONTINUE: Mapping[str, object] = {"continue": True}
NO_OBJECT = "HTTP hook answered with what is no JSON object"
MOST_CHARS = 10_000
"""Code points that are kept of a text field; the reference counts UTF-16 units, and cuts characters in half."""

_TEXTS = frozenset({"stopReason", "systemMessage", "reason"})
_FLAGS = frozenset({"continue", "suppressOutput"})
_SAID = frozenset(
    {"terminalSequence", "hookSpecificOutput", "continue", "decision"}
)  # dropped by rule, or named already


def read(event: str, answer: Answer) -> HookResult:
    """Read an answer. `success` is always true: what an endpoint does wrong holds up no turn."""
    printed = (("status", str(answer.status).encode()), *((("body", answer.body),) if answer.body else ()))
    return replace(_read(event, answer), printed=printed)


def _read(event: str, answer: Answer) -> HookResult:
    if not answer.ok:
        return failed(f"HTTP hook answered with status {answer.status}")
    if answer.cut:
        return failed(f"HTTP hook answered with more than {LIMIT} bytes; nothing of it counts")
    text = trim(answer.body.decode("utf-8-sig", "replace"))
    if not text:
        return HookResult(success=True, outcome="success", output=CONTINUE)
    if "application/json" not in answer.content_type:
        output: Mapping[str, object] = {"continue": True, "systemMessage": _cut(plain(text))}
        hint = "the answer is not application/json, so it adds no context"
        return HookResult(success=True, outcome="success", output=output, output_chars=len(text), warnings=(hint,))
    try:
        value = decode(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return failed(NO_OBJECT, output_chars=len(text))
    output, warnings = normalised(event, value)
    outcome: HookOutcomeName = "blocking" if blocks(event, output)[0] else "success"
    return HookResult(
        success=True, outcome=outcome, output=output, output_chars=len(text), warnings=warnings, is_answer=True
    )


def failed(error: str, *, output_chars: int = 0) -> HookResult:
    """The result of a hook that was asked and gave nothing that counts: the turn goes on."""
    return HookResult(
        success=True, outcome="non_blocking_error", output=CONTINUE, error=error, output_chars=output_chars
    )


def normalised(event: str, value: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
    """Keep the fields that have the right type, cut the long ones, fill in the event; warnings name what was wrong.

    `terminalSequence` is dropped: a server does not write to the user's terminal.
    """
    known, warnings = checked(event, value)
    output: dict[str, object] = {}
    dropped = []
    for key, item in known.items():
        if key in _FLAGS and isinstance(item, bool):
            output[key] = item
        elif key in _TEXTS and isinstance(item, str):
            output[key] = _cut(item)
        elif key == "decision" and isinstance(item, str):
            output[key] = item
        elif key == "hookSpecificOutput" and isinstance(item, Mapping):
            output[key] = _specific(event, item)
        elif key not in _SAID:
            dropped.append(f"{key} is of the wrong type; it is ignored")
    return output, (*warnings, *dropped)


def _specific(event: str, given: Mapping[str, object]) -> dict[str, object]:
    specific = dict(given)
    context = specific.get("additionalContext")
    if isinstance(context, str):
        specific["additionalContext"] = _cut(context)
    else:
        specific.pop("additionalContext", None)
    if not isinstance(specific.get("hookEventName"), str):
        specific["hookEventName"] = event
    return specific


def _cut(text: str) -> str:
    text = clean(text)
    if len(text) <= MOST_CHARS:
        return text
    return f"{text[:MOST_CHARS]}\n... [truncated, {len(text) - MOST_CHARS} more characters]"
