"""Executor `prompt`: a question to the model about the payload, which answers whether the turn may go on.

The question goes out through the client as it was before it was wrapped: it is nobody's turn. The provider sees the
whole payload, `submitted_prompt` included. Source: hooks-and-transcripts 1.12.
"""

from __future__ import annotations

import inspect
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from ..errors import SettingsError
from ..parts import clean, trim
from . import debuglog
from .base import HookResult, Payload
from .jsontext import decode
from .keys import about_timeout
from .output import timed_out, unknown_keys
from .workers import TooManyAbandoned, call_in_worker, call_on_loop

__all__ = ["EXECUTOR", "Answer", "Ask", "PromptHook", "Question", "answer_of", "timeout_of"]

DEFAULT_TIMEOUT_MS = 30_000
BLOCKED = "Blocked by prompt hook"
_MAX_TIMER_MS = 2**31 - 1
_ARGUMENTS = "$ARGUMENTS"
_ANSWER = frozenset({"ok", "reason", "additionalContext"})
_FENCE = re.compile(r"```[a-zA-Z]*\s*\n?(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked: one user message for `model` (None: the one of the turn), within `timeout` seconds."""

    text: str
    model: str | None = None
    max_tokens: int = 500
    timeout: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the model said; `whole` is False when it was cut by the token limit."""

    text: str
    whole: bool = True


Ask: TypeAlias = Callable[[Question], Answer | Awaitable[Answer]]
"""Asks the unwrapped client; a coroutine function where the client is asynchronous."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptHook:
    """A template with `$ARGUMENTS`, put to a model that answers `{ok, reason?, additionalContext?}` in JSON.

    An answer that cannot be read lets the turn go on; a provider that fails is a non-blocking error. `ask` is bound
    by the driver, a turn at a time. With `debug_log` every question is appended to that file, see `debuglog`.
    """

    type: ClassVar[str] = "prompt"

    prompt: str
    name: str = ""
    event: str = "UserPromptSubmit"
    sequential: bool = False
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    model: str | None = None
    debug_log: str | None = None
    ask: Ask | None = None

    @property
    def label(self) -> str:
        """The configured name, or `prompt`: a template is not for export."""
        return self.name.strip() or "prompt"

    @property
    def key(self) -> str:
        """`name:prompt`, or the template of an unnamed hook (1.6)."""
        return f"{self.name}:{self.prompt}" if self.name else self.prompt

    @property
    def is_async(self) -> bool:
        """Whether it asks with `await`."""
        return inspect.iscoroutinefunction(self.ask)

    def asking(self, ask: Ask) -> PromptHook:
        """This hook, bound to a model that can be asked."""
        return replace(self, ask=ask)

    def call(self, payload: Payload) -> HookResult:
        """Ask in a worker thread and wait; see `Hook.call`."""
        started = time.perf_counter()
        seconds = self.timeout_ms / 1000
        try:
            result = call_in_worker(lambda: self._asked(payload), seconds) or timed_out(self.timeout_ms)
        except TooManyAbandoned:
            result = _failed("too many earlier calls of hooks still hang")
        except Exception as error:  # noqa: BLE001 - no hook may break the turn (a thread cannot be started)
            result = _failed(f"prompt hook could not be started: {type(error).__name__}")
        return replace(result, duration_ms=(time.perf_counter() - started) * 1000)

    async def call_async(self, payload: Payload) -> HookResult:
        """Ask on the running loop; with a synchronous client in a worker thread."""
        import asyncio

        if not self.is_async:
            return await asyncio.to_thread(self.call, payload)
        started = time.perf_counter()
        result = await call_on_loop(self._asked_async(payload), self.timeout_ms / 1000)
        result = timed_out(self.timeout_ms) if result is None else result
        return replace(result, duration_ms=(time.perf_counter() - started) * 1000)

    def _asked(self, payload: Payload) -> HookResult:
        warnings: tuple[str, ...] = ()
        try:
            question = self._question(payload)
            warnings = self._logged(question)
            answer = self._ask(question)
            if inspect.isawaitable(answer):
                return _failed("an asynchronous client cannot be asked from a thread")
            return _warned(answer_of(self.event, answer), warnings)
        except BaseException as error:  # noqa: BLE001 - the provider's failure is not the turn's
            return _warned(_failed(f"the model could not be asked: {type(error).__name__}"), warnings)

    async def _asked_async(self, payload: Payload) -> HookResult:
        import asyncio

        warnings: tuple[str, ...] = ()
        try:
            question = self._question(payload)
            if self.debug_log is not None:
                # Files have no place on the caller's loop.
                warnings = await asyncio.to_thread(self._logged, question)
            answer: Any = self._ask(question)
            return _warned(answer_of(self.event, await answer), warnings)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - the provider's failure is not the turn's, nor the loop's
            return _warned(_failed(f"the model could not be asked: {type(error).__name__}"), warnings)

    def _ask(self, question: Question) -> Answer | Awaitable[Answer]:
        if self.ask is None:
            raise LookupError("a prompt hook runs in a turn of a wrapped client only")
        return self.ask(question)

    def _question(self, payload: Payload) -> Question:
        arguments = clean(json.dumps(payload, ensure_ascii=False, indent=2, default=str))
        text = self.prompt.replace(_ARGUMENTS, arguments)
        return Question(text=text, model=self.model, timeout=self.timeout_ms / 1000)

    def _logged(self, question: Question) -> tuple[str, ...]:
        """Write the debug log, if there is one; a log that cannot be written is a warning and no reason not to ask."""
        if self.debug_log is None:
            return ()
        try:
            debuglog.append(Path(self.debug_log), question.text)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            return (f"debugLog cannot be written ({why}); the model is asked all the same",)
        return ()

    @classmethod
    def configured(
        cls, entry: Mapping[str, object], *, event: str, sequential: bool, where: str
    ) -> tuple[PromptHook, tuple[str, ...]]:
        """Read an entry of a hooks file; see `Executor.configured`."""
        prompt = entry.get("prompt")
        if not isinstance(prompt, str) or not prompt.strip():
            raise SettingsError(f"{where}: a prompt hook has no prompt; give it a non-empty string `prompt`")
        texts: dict[str, str | None] = {}
        for key in ("name", "model", "debugLog"):
            value = entry.get(key)
            if value is not None and not isinstance(value, str):
                raise SettingsError(f"{where}: `{key}` is no string; quote it")
            texts[key] = value
        hook = cls(
            prompt=prompt,
            name=texts["name"] or "",
            event=event,
            sequential=sequential,
            timeout_ms=timeout_of(entry.get("timeout")),
            model=texts["model"] or None,
            debug_log=texts["debugLog"] or None,
        )
        nothing = f"{where}: the prompt holds no {_ARGUMENTS}; it asks about nothing"
        about = about_timeout(cls.type, entry.get("timeout"), hook.timeout_ms, where)
        return hook, (*(() if _ARGUMENTS in prompt else (nothing,)), *about)


EXECUTOR = PromptHook


def timeout_of(value: object) -> int:
    """Milliseconds of a configured `timeout` in seconds; what a timer cannot hold fires after 1 ms (1.5).

    >>> timeout_of(None), timeout_of(10), timeout_of(-1)
    (30000, 10000, 1)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return DEFAULT_TIMEOUT_MS
    milliseconds = value * 1000
    return int(milliseconds) if 1 <= milliseconds <= _MAX_TIMER_MS else 1


def answer_of(event: str, answer: Answer) -> HookResult:
    """Read a model's answer: fences and prose around the JSON are tolerated; what cannot be read allows."""
    text = trim(answer.text)
    if not text or not answer.whole:
        return _failed("the model's answer is empty" if not text else "the model's answer was cut off")
    value = _object_in(text)
    misplaced = _misplaced(value) if value is not None else ()
    if value is None or not isinstance(value.get("ok"), bool):
        return HookResult(
            success=True,
            outcome="success",
            output={"decision": "allow", "continue": True},
            output_chars=len(text),
            warnings=('the model did not answer with {"ok": true} or {"ok": false}; the turn goes on', *misplaced),
        )
    reason = value.get("reason")
    if not value["ok"]:
        why = clean(reason) if isinstance(reason, str) and reason else BLOCKED
        output: dict[str, object] = {"continue": False, "decision": "block", "reason": why, "stopReason": why}
        return HookResult(success=False, outcome="blocking", output=output, output_chars=len(text), warnings=misplaced)
    output = {"decision": "allow", "continue": True}
    context = value.get("additionalContext")
    if isinstance(reason, str) and reason:
        output["reason"] = clean(reason)
    if isinstance(context, str):
        output["hookSpecificOutput"] = {"additionalContext": clean(context)}
    return HookResult(success=True, outcome="success", output=output, output_chars=len(text), warnings=misplaced)


def _misplaced(value: Mapping[str, object]) -> tuple[str, ...]:
    """What the author of a prompt should mend in the answer that it asks for."""
    if "hookSpecificOutput" in value:
        where = "a prompt hook's additionalContext stands beside ok"
        return (f"hookSpecificOutput is not read in a model's answer; {where}",)
    return unknown_keys(value, _ANSWER, "the model's answer")


def _object_in(text: str) -> dict[str, object] | None:
    fenced = _FENCE.search(text)
    candidates = [text, *([trim(fenced[1])] if fenced else []), text[text.find("{") : text.rfind("}") + 1]]
    for candidate in candidates:
        try:
            value = decode(candidate)
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return None


def _failed(error: str) -> HookResult:
    return HookResult(success=False, outcome="non_blocking_error", output={"continue": True}, error=error)


def _warned(result: HookResult, warnings: tuple[str, ...]) -> HookResult:
    return replace(result, warnings=(*warnings, *result.warnings)) if warnings else result
