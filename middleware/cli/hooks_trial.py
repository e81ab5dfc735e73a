"""`firsthand hooks test`: hooks run for real, once, outside of a turn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ..crew import Busy, hooking, result_of
from ..drive import drive
from ..hooks import CallHooks, Hook, HookResult
from ..hooks.aggregate import context_of, is_blocking
from ..hooks.base import Payload
from ..hooks.effects import failed, is_background, without_effect
from ..hooks.http import HttpHook
from ..hooks.jsontext import decode
from ..hooks.matchers import selects
from ..hooks.output import INVALID
from ..hooks.parting import hooks_end_with_us
from ..hooks.reply import NO_OBJECT
from ..injection import Block, block_of, body_of
from ..settings import Settings
from ..turn import HookInput, HookOutcome, Scene

if TYPE_CHECKING:
    from ..hooks.sources import Survey

__all__ = ["Call", "Trial", "misfits", "try_hooks"]

_PLACES: Final[Mapping[str, str]] = {
    "UserPromptSubmit": "behind the prompt:",
    "SessionStart": "in the system instruction:",
    "SubagentStart": "in the subagent's first user message:",
}
_MOST_CHARS: Final = 2000
_BRACE: Final = "text that starts with { must be JSON"
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
        return failed(self.result)

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

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the hook's author should know."""
        broken = _broken(self.result)
        return (*self.result.warnings, *([broken] if broken else []), *self.notes)

    @property
    def printed(self) -> dict[str, str]:
        """What it really said, by the name of the stream: the first characters, of an error stream the last.

        One JSON object and nothing else, all of which counts, is not repeated.
        """
        whole = len(self.result.printed) == 1 and self.result.is_answer and _is(self.result)
        return {} if whole else {name: _cut(name, data) for name, data in self.result.printed if data.strip()}

    @property
    def taken_for(self) -> str:
        """What became of it, in words; "" for a hook that was not run."""
        result = self.result
        if result.outcome == "cancelled":
            return ""
        said = result.output or {}
        words = []
        if is_blocking(result):
            words.append("a refusal, which has no effect" if without_effect(self.hook, result) else "a refusal")
        if (context_of(result.output) or "").strip():
            words.append("context for the next turn" if is_background(self.hook) else "context for the model")
        if words:
            return " and ".join(words)
        if self.failed and self.printed:
            return "nothing: a failed hook's text does not count"
        if said.get("systemMessage"):
            return "a systemMessage, which is not sent to the model"
        if not said and result.is_answer and result.output_chars > len("{}"):
            return "nothing: it has no key that a hook can say"
        return "nothing"

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
                    "warnings": list(call.warnings),
                    "printed": call.printed,
                    "taken_for": call.taken_for,
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
            HookResult(success=True, outcome="success") if is_background(hook) else result
            for (hook, _), (result, _) in zip(step.calls, done, strict=True)
        ]

    given = _input(event, str(found.folder), prompt, subject or _SUBJECTS.get(event, ""))
    with hooks_end_with_us():
        said = drive(found.hooks.steps(given, now=_now), perform)
    return Trial(event=event, calls=calls, said=said, tagged_part=_tagged(event, said.additional_context))


def misfits(found: Survey, *, event: str, subject: str | None) -> str:
    """Why no hook runs where others do: matchers that do not fit `subject`, or another event; "" for other reasons."""
    events = dict.fromkeys(entry.event for entry in found.entries if entry.is_called)
    if events and event not in events:
        return f"there are hooks of {' and '.join(events)}; name that event with --event"
    given = subject or _SUBJECTS.get(event, "")
    entries = [entry for entry in found.entries if entry.event == event and entry.is_called]
    unfit = dict.fromkeys(entry.matcher for entry in entries if not selects(event, entry.matcher, given))
    if not unfit:
        return ""
    named = " and ".join(map(repr, unfit))
    fit = f"the matcher {named} does not fit" if len(unfit) == 1 else f"the matchers {named} do not fit"
    return f"{fit} the subject {given!r}; give one that does with --subject"


def _is(result: HookResult) -> bool:
    """Whether all that was printed is the output."""
    try:
        return decode(result.printed[0][1].decode("utf-8", "replace")) == result.output
    except ValueError:
        return False


def _cut(name: str, data: bytes) -> str:
    text = data.decode("utf-8", "replace").strip("\n")
    over = len(text) - _MOST_CHARS
    if over <= 0:
        return text
    if name == "stderr":
        return f"... [{over} more characters]\n{text[-_MOST_CHARS:]}"
    return f"{text[:_MOST_CHARS]}\n... [{over} more characters]"


def _broken(result: HookResult) -> str:
    """Where the JSON breaks off that a hook printed, and how."""
    if result.error not in (INVALID, NO_OBJECT):
        return ""
    data = next((data for name, data in result.printed if name != "status" and data.strip()), b"")
    try:
        json.loads(data.decode("utf-8-sig", "replace"))
    except json.JSONDecodeError as error:
        return f"the JSON is broken at line {error.lineno}, column {error.colno}: {error.msg}; {_BRACE}"
    except (ValueError, RecursionError):
        return "the JSON cannot be read"
    return ""


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
    if isinstance(hook, HttpHook):
        hook = replace(hook, shows_failures=True)
    result = hook.call(payload)
    notes = [without_effect(hook, result)]
    if is_background(hook) and context_of(result.output):
        notes.append("async: what it says is context of the next turn, not of this one")
    return result, tuple(note for note in notes if note)


def _ended(future: Future[tuple[HookResult, tuple[str, ...]]]) -> tuple[HookResult, tuple[str, ...]]:
    try:
        return result_of(future)
    except Busy:
        return HookResult(success=False, outcome="non_blocking_error", error="no thread can be started for it"), ()


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
