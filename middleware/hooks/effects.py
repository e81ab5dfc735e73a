"""What became of what a hook did, in sentences for a log: they quote nothing that it said, was told or raised."""

from __future__ import annotations

from .aggregate import context_of, is_blocking
from .base import Hook, HookResult
from .events import STARTS

__all__ = ["counts_as_success", "effects", "failed", "is_background", "without_effect"]

_FAILED = frozenset({"non_blocking_error", "timeout"})
_TESTABLE = frozenset({"command", "http"})
_CODES = {126: ", found and not executable", 127: ", command not found"}


def effects(hook: Hook, result: HookResult) -> tuple[str, ...]:
    """What a log says of one call, a sentence each; nothing of a hook that did its work.

    >>> from .command import CommandHook
    >>> effects(CommandHook(command="x"), HookResult(success=False, outcome="non_blocking_error", exit_code=127))[0]
    'failed with exit code 127, command not found; the turn goes on without it (see: firsthand hooks test)'
    """
    said = []
    refusal = without_effect(hook, result)
    if failed(result) and (refusal or not is_blocking(result)):
        said.append(f"{_failure(result)}; {_consequence(hook, result)}{_hint(hook)}")
    if refusal:
        said.append(refusal)
    return (*said, *result.warnings)


def without_effect(hook: Hook, result: HookResult) -> str:
    """Why a refusal refuses nothing; "" where there is none, or it does."""
    if result.outcome == "cancelled" or not is_blocking(result):
        return ""
    if is_background(hook):
        return "it is async: it refuses, which has no effect, as the turn did not wait for it"
    if hook.event in STARTS:
        return f"it refuses, which has no effect: a {hook.event} cannot be refused"
    return ""


def failed(result: HookResult) -> bool:
    """True for a hook that went wrong; one that refuses or is cancelled did not."""
    return result.outcome in _FAILED


def counts_as_success(result: HookResult) -> bool:
    """What telemetry calls success: one meaning for every type, where a result's own `success` is the reference's."""
    return result.outcome == "success"


def is_background(hook: Hook) -> bool:
    """Whether nobody waits for it."""
    return getattr(hook, "background", False) is True


def _failure(result: HookResult) -> str:
    if result.outcome == "timeout":
        return "timed out"
    if result.exit_code == -1:
        return "was killed by a signal"
    if result.exit_code not in (None, 0):
        return f"failed with exit code {result.exit_code}{_CODES.get(result.exit_code, '')}"
    place = f" ({result.raised_at})" if result.raised_at else ""
    return f"failed: {(result.error or 'no reason given').partition(':')[0]}{place}"


def _consequence(hook: Hook, result: HookResult) -> str:
    if context_of(result.output):
        return "the context in its JSON is used all the same"
    return "nobody waited for it" if is_background(hook) else "the turn goes on without it"


def _hint(hook: Hook) -> str:
    return " (see: firsthand hooks test)" if hook.type in _TESTABLE else ""
