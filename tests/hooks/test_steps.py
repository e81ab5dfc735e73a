"""The calls of one event: parallel, in sequence, and what they say together."""

from __future__ import annotations

from middleware.hooks import CallHooks, FunctionHook, HookResult, HookSet
from middleware.turn import HookInput, HookOutcome, Scene

INPUT = HookInput(scene=Scene(session_id="s", cwd="/w"), prompt="p", submitted_prompt="typed")


def now() -> str:
    return "2026-01-02T03:04:05.678Z"


def context(text: str) -> HookResult:
    return HookResult(success=True, outcome="success", output={"hookSpecificOutput": {"additionalContext": text}})


def blocking(reason: str) -> HookResult:
    return HookResult(success=False, outcome="blocking", output={"decision": "deny", "reason": reason})


def hooks(*names: str, sequential: str = "") -> HookSet:
    return HookSet().adding(*(FunctionHook(len, name=name, sequential=name == sequential) for name in names))


def fed(hook_set: HookSet, *answers: list[HookResult]) -> tuple[list[CallHooks], HookOutcome]:
    """Hand-feed the generator; what it yielded and what it returned."""
    steps = hook_set.steps(INPUT, now=now)
    yielded = []
    try:
        yielded.append(next(steps))
        for answer in answers:
            yielded.append(steps.send(answer))
    except StopIteration as end:
        return yielded, end.value
    raise AssertionError("the steps did not end")


def prompts(calls: list[CallHooks]) -> list[list[object]]:
    return [[payload["prompt"] for _, payload in call.calls] for call in calls]


def test_without_hooks_nothing_is_called() -> None:
    assert fed(HookSet()) == ([], HookOutcome())


def test_parallel_hooks_are_one_step_with_one_prompt() -> None:
    calls, outcome = fed(hooks("a", "b"), [context("A"), context("B")])
    assert prompts(calls) == [["p", "p"]]
    assert outcome == HookOutcome(additional_context="A\nB")


def test_one_sequential_hook_makes_all_sequential_and_chains_the_prompt() -> None:
    calls, outcome = fed(hooks("a", "b", "c", sequential="b"), [context("<A>")], [blocking("no")], [context("C")])
    assert prompts(calls) == [["p"], ["p\n\n<A>"], ["p\n\n<A>"]]
    assert outcome == HookOutcome(blocked=True, reason="no", blocked_by=("b",))


def test_the_submitted_prompt_is_the_same_for_all() -> None:
    forged = HookResult(
        success=True,
        outcome="success",
        output={"submitted_prompt": "x", "hookSpecificOutput": {"additionalContext": "c", "submitted_prompt": "x"}},
    )
    calls, _ = fed(hooks("a", "b", sequential="a"), [forged], [forged])
    assert [call.calls[0][1]["submitted_prompt"] for call in calls] == ["typed", "typed"]


def test_only_the_blockers_speak_and_are_named() -> None:
    allowed = HookResult(success=True, outcome="success", output={"decision": "allow", "reason": "ok"})
    _, outcome = fed(hooks("a", "b", "c"), [blocking("one"), allowed, blocking("two")])
    assert outcome == HookOutcome(blocked=True, reason="one\ntwo", blocked_by=("a", "c"))


def test_a_failed_hook_does_not_void_the_context_of_the_others() -> None:
    failed = HookResult(success=False, outcome="non_blocking_error", error="x")
    late = HookResult(success=False, outcome="timeout", error="x")
    assert fed(hooks("a", "b", "c"), [failed, context("ctx"), late])[1].additional_context == "ctx"


def test_the_payload_is_in_the_references_order() -> None:
    calls, _ = fed(hooks("a"), [context("")])
    assert list(calls[0].calls[0][1]) == [
        "session_id",
        "transcript_path",
        "cwd",
        "hook_event_name",
        "timestamp",
        "permission_mode",
        "prompt",
        "submitted_prompt",
    ]
