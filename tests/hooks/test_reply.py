"""What an answer means, whatever it is."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from middleware.hooks.aggregate import context_of
from middleware.hooks.exchange import Answer
from middleware.hooks.reply import MOST_CHARS, normalised, read

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("continue", "stopReason", "suppressOutput", "systemMessage", "terminalSequence", "decision", "reason", "x")
SPECIFIC = st.dictionaries(st.sampled_from(["additionalContext", "hookEventName", "y"]), JSON)
TYPES = {
    "continue": bool,
    "stopReason": str,
    "suppressOutput": bool,
    "systemMessage": str,
    "decision": str,
    "reason": str,
    "hookSpecificOutput": dict,
}


@given(st.dictionaries(st.sampled_from(FIELDS), JSON), JSON | SPECIFIC)
def test_any_object_gives_fields_of_the_right_types(value: dict[str, Any], specific: Any) -> None:
    output, warnings = normalised("UserPromptSubmit", {**value, "hookSpecificOutput": specific})
    assert all(type(item) is TYPES[key] for key, item in output.items())
    inner: Any = output.get("hookSpecificOutput", {"hookEventName": ""})
    assert isinstance(inner["hookEventName"], str)
    assert isinstance(inner.get("additionalContext", ""), str)
    assert all("\n" not in warning for warning in warnings)


@given(st.integers(100, 599), st.sampled_from(["", "text/html", "application/json"]), st.binary(max_size=200))
def test_any_answer_is_a_result(status: int, kind: str, body: bytes) -> None:
    result = read("UserPromptSubmit", Answer(status=status, content_type=kind, body=body))
    assert result.success
    assert result.output is not None
    assert (result.error is None) is (result.outcome in ("success", "blocking"))


@given(JSON)
def test_any_json_is_a_result_and_only_a_string_is_context(value: Any) -> None:
    result = read("E", Answer(status=200, content_type="application/json", body=json.dumps(value).encode()))
    assert context_of(result.output) is None or isinstance(context_of(result.output), str)


def test_long_texts_are_cut_and_say_so() -> None:
    long = "ü" * (MOST_CHARS + 7)
    cut = "ü" * MOST_CHARS + "\n... [truncated, 7 more characters]"
    given_ = dict.fromkeys(("stopReason", "systemMessage", "reason"), long)
    output, _ = normalised("E", {**given_, "hookSpecificOutput": {"additionalContext": long}})
    assert output == {
        **dict.fromkeys(given_, cut),
        "hookSpecificOutput": {"additionalContext": cut, "hookEventName": "E"},
    }
    text = read("E", Answer(status=200, content_type="text/plain", body=long.encode()))
    assert text.output == {"continue": True, "systemMessage": cut}


def test_lone_surrogates_are_replaced_and_a_terminal_sequence_is_dropped() -> None:
    body = b'{"hookSpecificOutput": {"additionalContext": "a\\ud800"}, "terminalSequence": "\\u001b]0;x\\u0007"}'
    result = read("E", Answer(status=200, content_type="application/json", body=body))
    assert result.output == {"hookSpecificOutput": {"additionalContext": "a\ufffd", "hookEventName": "E"}}


def test_what_decides_nothing_is_named_once() -> None:
    _, warnings = normalised("UserPromptSubmit", {"decision": 1, "continue": 0, "reason": 2})
    assert warnings == (
        "decision is none of allow, approve, ask, block, deny; it decides nothing",
        "continue is neither true nor false; it stops nothing",
        "reason is of the wrong type; it is ignored",
    )
