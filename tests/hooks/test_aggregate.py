"""What several results say together."""

from __future__ import annotations

import pytest

from middleware.hooks.aggregate import aggregate, blocks, chain, escape_expansion
from middleware.hooks.base import HookOutcomeName, HookResult

EVENT = "UserPromptSubmit"


def result(output: dict[str, object] | None, outcome: HookOutcomeName = "success") -> HookResult:
    return HookResult(success=outcome == "success", outcome=outcome, output=output)


def test_nothing_said_is_none() -> None:
    assert aggregate(EVENT, []) is None
    assert aggregate(EVENT, [result(None)]) is None


def test_a_failed_hooks_output_counts() -> None:
    assert aggregate(EVENT, [result({"systemMessage": "m"}, "non_blocking_error")]) == {"systemMessage": "m"}


def test_an_empty_exit_2_beside_a_friendly_hook_blocks_without_the_friends_reason() -> None:
    final = aggregate(EVENT, [result({"decision": "allow", "reason": "ok"}), result(None, "blocking")])
    assert final == {"decision": "deny", "reason": "Hook exited with a blocking error"}


def test_every_blocker_gives_its_reason() -> None:
    outputs = [{"decision": "block", "reason": "a"}, {"reason": "friendly"}, {"decision": "deny", "reason": "b"}]
    assert aggregate(EVENT, [result(dict(output)) for output in outputs]) == {"decision": "block", "reason": "a\nb"}


def test_a_mere_stop_does_not_exempt_a_blocking_exit_for_a_prompt() -> None:
    stop = result({"continue": False, "stopReason": "s"}, "blocking")
    assert aggregate(EVENT, [stop]) == {
        "continue": False,
        "stopReason": "s",
        "decision": "deny",
        "reason": "Hook exited with a blocking error",
    }
    assert aggregate("Stop", [stop]) == {"continue": False, "stopReason": "s"}


def test_the_last_message_wins_and_sequences_and_artifacts_are_joined() -> None:
    first: dict[str, object] = {
        "systemMessage": "1",
        "suppressOutput": True,
        "terminalSequence": "a",
        "hookSpecificOutput": {"artifacts": [1]},
    }
    second: dict[str, object] = {
        "systemMessage": "2",
        "terminalSequence": "b",
        "hookSpecificOutput": {"artifacts": [2]},
    }
    assert aggregate(EVENT, [result(first), result(second)]) == {
        "systemMessage": "2",
        "suppressOutput": True,
        "terminalSequence": "ab",
        "hookSpecificOutput": {"artifacts": [1, 2]},
    }


def test_aggregating_changes_no_output() -> None:
    output: dict[str, object] = {"decision": "allow"}
    aggregate(EVENT, [result(output, "blocking")])
    assert output == {"decision": "allow"}


@pytest.mark.parametrize(
    ("final", "answer"),
    [
        (None, (False, None)),
        ({}, (False, None)),
        ({"decision": "block", "reason": ""}, (True, "No reason provided")),
        ({"continue": 0}, (False, None)),
        ({"continue": False}, (True, "No reason provided")),
        ({"decision": "deny", "stopReason": 5, "reason": "r"}, (True, "r")),
    ],
)
def test_a_prompt_is_blocked_by_a_decision_or_a_stop(final: dict[str, object] | None, answer: object) -> None:
    assert blocks(EVENT, final) == answer


def test_a_failed_hooks_context_is_not_chained() -> None:
    context: dict[str, object] = {"hookSpecificOutput": {"additionalContext": "c"}}
    assert chain(EVENT, "p", result(context, "non_blocking_error")) == "p"
    assert chain(EVENT, "p", result(context)) == "p\n\nc"
    assert chain("Stop", "p", result(context)) == "p"


@pytest.mark.parametrize(
    ("text", "tail", "length"),
    [("x" * 9998 + "<", "xx", 9998), ("x" * 9999 + "😀", "xx", 9999), ("&" * 2000, "&amp;", 10_000)],
)
def test_an_expansion_is_cut_between_characters_and_entities(text: str, tail: str, length: int) -> None:
    cut = escape_expansion(text)
    assert (len(cut), cut.endswith(tail)) == (length, True)
