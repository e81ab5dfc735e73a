"""The hooks of one event, as a generator that does no I/O: it yields the calls and returns what they said together."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

from ..turn import HookInput, HookOutcome
from .aggregate import aggregate, blocks, chain, context_of, is_blocking
from .base import CallHooks, Hook, HookResult

__all__ = ["outcome_of", "steps"]


def steps(
    hooks: Sequence[Hook], hook_input: HookInput, now: Callable[[], str]
) -> Generator[CallHooks, list[HookResult], HookOutcome]:
    """Call `hooks` in parallel, or one after another if any of them is sequential.

    A sequence goes on after a block or a failure; each hook's context is added to the next one's `prompt`, and to
    nothing else: `submitted_prompt` is the same for all. Source: hooks-and-transcripts 1.6, 1.7.
    """
    results: list[HookResult] = []
    if not hooks:
        return HookOutcome()
    if any(hook.sequential for hook in hooks):
        for hook in hooks:
            answers = yield CallHooks(calls=((hook, hook_input.payload(now())),))
            results += answers
            if hook_input.prompt is not None:
                hook_input = replace(hook_input, prompt=chain(hook_input.event, hook_input.prompt, answers[0]))
    else:
        payload = hook_input.payload(now())
        results = yield CallHooks(calls=tuple((hook, payload) for hook in hooks))
    return outcome_of(hook_input.event, hooks, results)


def outcome_of(event: str, hooks: Sequence[Hook], results: Sequence[HookResult]) -> HookOutcome:
    """What the results say together, in the order of the configuration (1.8, D10)."""
    final = aggregate(event, results)
    blocked, reason = blocks(event, final)
    # A session or a subagent that starts cannot be refused (1.8, simple-merge events).
    if blocked and event not in ("SessionStart", "SubagentStart"):
        names = tuple(hook.label for hook, result in zip(hooks, results, strict=True) if is_blocking(result))
        return HookOutcome(blocked=True, reason=reason or "", blocked_by=names)
    return HookOutcome(additional_context=context_of(final))
