"""What a command's exit code and output mean.

Pure: bytes in, `HookResult` out, for every byte string and code. Source: the table in hooks-and-transcripts 1.4, D5
for plain text, D14 for JSON among noise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice

from ..parts import clean, trim
from .base import Hook, HookResult
from .events import STARTS
from .jsontext import decode, objects_on_lines
from .keys import meant

__all__ = ["INVALID", "KNOWN_KEYS", "checked", "interpret", "plain", "refused", "timed_out", "too_late", "unknown_keys"]

KNOWN_KEYS = frozenset(
    {
        "continue",
        "stopReason",
        "suppressOutput",
        "systemMessage",
        "terminalSequence",
        "decision",
        "reason",
        "hookSpecificOutput",
    }
)
INVALID = "Hook output is not valid JSON"

_MOST_STRANGERS = 100
_SPECIFIC_KEYS = frozenset({"hookEventName", "additionalContext", "permissionDecision", "permissionDecisionReason"})

_DECISIONS = frozenset({"ask", "block", "deny", "approve", "allow"})
_PLAIN_IS_CONTEXT = frozenset({"SessionStart", "UserPromptSubmit", "UserPromptExpansion"})
_LOOKS_LIKE_JSON = re.compile(r'\{\s*"')
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A text, read: an object, or some other JSON value, or `broken` (it begins like an object), or plain text."""

    object: dict[str, object] | None = None
    other_json: bool = False
    broken: bool = False
    warnings: tuple[str, ...] = ()


def interpret(
    event: str, *, exit_code: int, stdout: bytes, stderr: bytes, fail_closed: bool = False, name: str = "hook"
) -> HookResult:
    """Read a finished command; a negative `exit_code` is a death by signal. `name` is for the reason of a refusal.

    What can reach the model is `output["hookSpecificOutput"]["additionalContext"]`: the string of a JSON object,
    or the plain stdout of an exit 0, cleaned; stderr never.
    """
    out, err = _text(stdout), _text(stderr)
    printed = tuple((name, data) for name, data in (("stdout", stdout), ("stderr", stderr)) if data)
    if exit_code == 2:
        return replace(_blocking(event, err), printed=printed)
    text = out or err
    read = _read(text, noisy=bool(out))
    warnings = read.warnings
    output: Mapping[str, object] | None = None
    failure = _failure_of(exit_code)
    if read.object is not None:
        output, more = checked(event, read.object)
        warnings += more
        if fail_closed and not _decides(output) and (failure or not output):
            output = refused(name, failure or "said nothing that a hook can say")
    elif read.broken:
        failure = INVALID
    elif text:
        output = _plain_output(event, plain(text), context=bool(out), failed=failure is not None)
        if out and failure is None and event in STARTS - _PLAIN_IS_CONTEXT:
            warnings += (f"plain text is no context of a {event}; answer with hookSpecificOutput.additionalContext",)
        if fail_closed and (read.other_json or _LOOKS_LIKE_JSON.search(text)):
            failure = failure or INVALID
    if fail_closed and failure and read.object is None:
        output = refused(name, failure)
    return HookResult(
        success=failure is None,
        outcome="success" if failure is None else "non_blocking_error",
        output=output,
        error=failure,
        exit_code=max(exit_code, -1),
        output_chars=len(text),
        warnings=warnings,
        printed=printed,
        is_answer=read.object is not None,
    )


def timed_out(timeout_ms: int, *, fail_closed: bool = False, name: str = "hook") -> HookResult:
    """The result of a hook that did not end in time."""
    error = f"Hook timed out after {timeout_ms / 1000:g}s"
    return HookResult(
        success=False, outcome="timeout", error=error, output=refused(name, error) if fail_closed else None
    )


def too_late(hook: Hook) -> HookResult:
    """The result of a hook whose time was over before there was a thread to run it in."""
    return timed_out(hook.timeout_ms, fail_closed=getattr(hook, "fail_closed", False), name=hook.label)


def refused(name: str, why: str) -> dict[str, object]:
    """The output of a hook with `failMode: "closed"` that failed."""
    return {"decision": "deny", "reason": f'Hook "{name}" failed and its failMode is closed: {why}'}


def checked(event: str, value: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
    """Keep the top-level keys that mean something, with clean strings; say what was probably meant otherwise."""
    warnings = []
    output = {key: clean(item) if isinstance(item, str) else item for key, item in value.items() if key in KNOWN_KEYS}
    specific, decision, goes_on = (output.get(key) for key in ("hookSpecificOutput", "decision", "continue"))
    if decision is not None and not (isinstance(decision, str) and decision in _DECISIONS):
        warnings.append(f"decision is none of {', '.join(sorted(_DECISIONS))}; it decides nothing")
    if goes_on is not None and not isinstance(goes_on, bool):
        warnings.append("continue is neither true nor false; it stops nothing")
    if "additionalContext" in value:
        warnings.append("additionalContext at the top level is ignored; put it into hookSpecificOutput")
    warnings += unknown_keys(value, KNOWN_KEYS | {"additionalContext"}, "the answer")
    if isinstance(specific, Mapping):
        specific = {str(key): clean(item) if isinstance(item, str) else item for key, item in specific.items()}
        output["hookSpecificOutput"] = specific
        warnings += unknown_keys(specific, _SPECIFIC_KEYS, "hookSpecificOutput")
        if specific.get("hookEventName", event) != event:
            warnings.append(f"hookSpecificOutput.hookEventName names another event than {event}; the output is used")
        context = specific.get("additionalContext")
        if context is not None and not isinstance(context, str):
            warnings.append(f"additionalContext is no string but {type(context).__name__}; it is ignored")
    elif specific is not None:
        warnings.append("hookSpecificOutput is no object; it is ignored")
    return output, tuple(warnings)


def unknown_keys(value: Mapping[str, object], known: frozenset[str], where: str) -> tuple[str, ...]:
    """A warning for each key that is close to a `known` one; it names that one, and quotes nothing."""
    strangers = islice((str(key) for key in value if key not in known), _MOST_STRANGERS)
    near = {word for key in strangers if (word := meant(key, known.difference(value))) is not None}
    return tuple(f"{where} has a key that is unknown and ignored; did you mean {word}?" for word in sorted(near))


def plain(text: str) -> str:
    """Text without terminal escapes and control characters but TAB and LF; CRLF is LF; trimmed (D5)."""
    text = text.replace("\r\n", "\n")
    return trim(clean(_CONTROLS.sub("", _ESCAPES.sub("", text))))


def _text(data: bytes) -> str:
    return trim(data.decode("utf-8", "replace")) if data else ""


def _blocking(event: str, err: str) -> HookResult:
    read = _read(err, noisy=False)
    output: Mapping[str, object] | None = None
    warnings: tuple[str, ...] = ()
    if read.object is not None:
        output, warnings = checked(event, read.object)
    elif err:
        output = {"decision": "deny", "reason": plain(err)}
    return HookResult(
        success=False,
        outcome="blocking",
        output=output,
        exit_code=2,
        output_chars=len(err),
        warnings=warnings,
        is_answer=read.object is not None,
    )


def _read(text: str, *, noisy: bool) -> _Read:
    """Read a trimmed text; `noisy` looks for an object among other lines (D14)."""
    if not text:
        return _Read()
    try:
        value = decode(text)
        if isinstance(value, str):
            value = _inner(value)
    except ValueError:
        return _salvaged(text) if noisy else _Read(broken=text.startswith("{"))
    return _Read(object=value) if isinstance(value, dict) else _Read(other_json=True)


def _inner(text: str) -> object:
    """The object that a JSON string encodes, or the string."""
    try:
        return decode(text)
    except ValueError:
        return text


def _salvaged(text: str) -> _Read:
    bare = trim(_ESCAPES.sub("", text)) if "\x1b" in text else text
    if bare != text:
        read = _read(bare, noisy=False)
        if read.object is not None or read.other_json:
            return read
    last = None
    for value in objects_on_lines(bare):
        if not KNOWN_KEYS.isdisjoint(value):
            last = value
    if last is None:
        return _Read(broken=bare.startswith("{"))
    return _Read(object=last, warnings=("stdout is not one JSON object; the last hook output in it counts",))


def _plain_output(event: str, text: str, *, context: bool, failed: bool) -> dict[str, object]:
    if failed:
        return {"decision": "allow", "reason": f"Non-blocking error: {text}", "systemMessage": f"Warning: {text}"}
    said: dict[str, object] = {"decision": "allow", "reason": "Hook executed successfully"}
    if context and event in _PLAIN_IS_CONTEXT:
        said["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": text}
    else:
        said["systemMessage"] = text
    return said


def _failure_of(exit_code: int) -> str | None:
    if exit_code == 0:
        return None
    return "Hook killed by signal" if exit_code < 0 else f"Hook exited with code {exit_code}"


def _decides(output: Mapping[str, object]) -> bool:
    decision = output.get("decision")
    return output.get("continue") is False or (isinstance(decision, str) and decision in _DECISIONS)
