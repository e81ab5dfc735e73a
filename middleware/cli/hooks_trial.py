"""`firsthand hooks test`: hooks run for real, once, outside of a turn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from ..crew import Busy, hooking, result_of
from ..drive import drive
from ..hooks import CallHooks, Hook, HookResult
from ..hooks.aggregate import context_of
from ..hooks.base import Payload
from ..hooks.parting import hooks_end_with_us
from ..hooks.sources import Survey
from ..injection import Block, block_of, body_of
from ..settings import Settings
from ..turn import HookInput, HookOutcome, Scene

__all__ = ["Call", "Trial", "try_hooks"]

_PLACES: Final[Mapping[str, str]] = {
    "UserPromptSubmit": "behind the prompt:",
    "SessionStart": "in the system instruction:",
    "SubagentStart": "in the subagent's first user message:",
}
_SUBJECTS: Final[Mapping[str, str]] = {"SessionStart": "startup", "SubagentStart": "general-purpose"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One hook's call: `where` it is configured, what it was given, how it ended; `notes` are about the test."""

    hook: Hook
    where: str
    payload: Payload
    result: HookResult
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """True for a hook that went wrong; one that blocks or is left out did not."""
        return self.result.outcome in ("non_blocking_error", "timeout")

    @property
    def word(self) -> str:
        """How it ended."""
        said = self.result.output or {}
        if self.failed:
            return "timed out" if self.result.outcome == "timeout" else "failed"
        if self.result.outcome == "cancelled":
            return "not run"
        refuses = said.get("decision") in ("block", "deny") or said.get("continue") is False
        return "blocked" if refuses or self.result.outcome == "blocking" else "ok"

    @staticmethod
    def shown(value: object) -> str:
        """A payload or an output, as indented JSON."""
        return json.dumps(value, indent=2, ensure_ascii=False, default=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What the hooks of one event did; `tagged_part` is what the model would be sent, None for nothing."""

    event: str
    calls: list[Call] = field(default_factory=list)
    said: HookOutcome
    tagged_part: str | None

    @property
    def place(self) -> str:
        """Where the tagged part goes."""
        return _PLACES[self.event]

    def as_json(self) -> dict[str, Any]:
        """The whole, for a program."""
        return {
            "event": self.event,
            "hooks": [
                {
                    "name": call.hook.label,
                    "type": call.hook.type,
                    "where": call.where,
                    "payload": call.payload,
                    "outcome": call.result.outcome,
                    "success": call.result.success,
                    "exit_code": call.result.exit_code,
                    "duration_ms": round(call.result.duration_ms, 3),
                    "output": call.result.output,
                    "error": call.result.error,
                    "warnings": [*call.result.warnings, *call.notes],
                }
                for call in self.calls
            ],
            "blocked": self.said.blocked,
            "reason": self.said.reason,
            "blocked_by": list(self.said.blocked_by),
            "tagged_part": self.tagged_part,
        }


def try_hooks(found: Survey, *, event: str, prompt: str, subject: str | None = None) -> Trial:
    """Run what would run for `event` here, in the folder of the survey; `subject` None is the event's usual one."""
    places = {id(entry.hook): entry.where for entry in found.entries}
    calls: list[Call] = []

    def perform(step: CallHooks) -> list[HookResult]:
        # In threads that hold up nobody's exit: Ctrl-C does not wait for hooks.
        done = [_ended(future) for future in [hooking.submit(_called, *call) for call in step.calls]]
        for (hook, payload), (result, notes) in zip(step.calls, done, strict=True):
            calls.append(Call(hook=hook, where=places[id(hook)], payload=payload, result=result, notes=notes))
        # What a hook in the background says comes too late for its own turn.
        return [
            HookResult(success=True, outcome="success") if _is_background(hook) else result
            for (hook, _), (result, _) in zip(step.calls, done, strict=True)
        ]

    given = _input(event, str(found.folder), prompt, subject or _SUBJECTS.get(event, ""))
    with hooks_end_with_us():
        said = drive(found.hooks.steps(given, now=_now), perform)
    return Trial(event=event, calls=calls, said=said, tagged_part=_tagged(event, said.additional_context))


def _input(event: str, folder: str, prompt: str, subject: str) -> HookInput:
    scene = Scene(session_id="firsthand-hooks-test", cwd=folder)
    if event == "SessionStart":
        return HookInput(event=event, scene=scene, details={"source": subject, "model": "test-model"})
    if event == "SubagentStart":
        scene = Scene(session_id="firsthand-hooks-test", cwd=folder, agent_id="firsthand-hooks-test")
        return HookInput(event=event, scene=scene, details={"agent_type": subject})
    return HookInput(event=event, scene=scene, prompt=prompt, submitted_prompt=prompt if prompt.strip() else None)


def _called(hook: Hook, payload: Payload) -> tuple[HookResult, tuple[str, ...]]:
    if getattr(hook, "ask", True) is None:
        error = "not run here: a prompt hook asks the model of a wrapped client"
        return HookResult(success=True, outcome="cancelled", error=error), ()
    result = hook.call(payload)
    if _is_background(hook) and context_of(result.output):
        return result, ("async: what it says is context of the next turn, not of this one",)
    return result, ()


def _ended(future: Future[tuple[HookResult, tuple[str, ...]]]) -> tuple[HookResult, tuple[str, ...]]:
    try:
        return result_of(future)
    except Busy:
        return HookResult(success=False, outcome="non_blocking_error", error="no thread can be started for it"), ()


def _is_background(hook: Hook) -> bool:
    return getattr(hook, "background", False) is True


def _tagged(event: str, context: str | None) -> str | None:
    limit = Settings.load().max_context_chars
    if event == "SessionStart":
        block = Block(session=body_of(context, max_context_chars=limit)[0])
    elif event == "SubagentStart":
        block = block_of(None, subagent=context, max_context_chars=limit)
    else:
        block = block_of(context, max_context_chars=limit)
    return "\n".join(block.texts) or None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
