"""What exit codes and output mean: the table of 1.4, plain text (D5), JSON among noise (D14), failMode."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middleware.hooks.aggregate import context_of
from middleware.hooks.base import HookResult
from middleware.hooks.output import interpret, plain, timed_out
from tests.pace import steps

CTX = b'{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"ctx"}}'


def said(stdout: bytes = b"", stderr: bytes = b"", code: int = 0, **options: object) -> HookResult:
    return interpret("UserPromptSubmit", exit_code=code, stdout=stdout, stderr=stderr, **options)  # type: ignore[arg-type]


def test_plain_text_of_an_exit_0_is_the_context() -> None:
    assert context_of(said(b"  remember style\n").output) == "remember style"


def test_plain_text_for_another_event_is_a_system_message() -> None:
    result = interpret("Stop", exit_code=0, stdout=b"done", stderr=b"")
    assert result.output == {
        "decision": "allow",
        "reason": "Hook executed successfully",
        "systemMessage": "done",
    }


def test_a_failing_hooks_plain_text_never_reaches_the_model() -> None:
    result = said(b"oops", code=1)
    assert (context_of(result.output), result.error, result.exit_code) == (None, "Hook exited with code 1", 1)


def test_a_death_by_signal_is_recorded_as_minus_one() -> None:
    result = said(code=-9)
    assert (result.success, result.outcome, result.exit_code, result.error, result.output) == (
        False,
        "non_blocking_error",
        -1,
        "Hook killed by signal",
        None,
    )


def test_an_exit_2_with_json_on_stderr_keeps_its_reason_and_blocks() -> None:
    result = said(b"ignored", b'{"reason":"structured","decision":"allow"}', code=2)
    assert (result.outcome, result.output) == ("blocking", {"reason": "structured", "decision": "allow"})


@pytest.mark.parametrize(
    ("stdout", "context"),
    [
        (b"\xef\xbb\xbf" + CTX, "ctx"),
        (b"\x1b[32m" + CTX + b"\x1b[0m", "ctx"),
        (b"```json\n" + CTX + b"\n```", "ctx"),
        (CTX + b"\n[WARN] cache miss\n", "ctx"),
        (b"banner\r\n" + CTX + b"\r\n", "ctx"),
        (b'{"type":"message"}\n' + CTX, "ctx"),
        (CTX + b'\n{"type":"message"}', "ctx"),
        (b'{"reason":"first"}\n{"hookSpecificOutput":\n{"additionalContext":"second"}\n}\n', "second"),
    ],
    ids=["bom", "colours", "fence", "line after", "crlf banner", "foreign before", "foreign after", "pretty last"],
)
def test_json_among_noise_counts(stdout: bytes, context: str) -> None:
    assert context_of(said(stdout).output) == context


def test_json_among_noise_brings_a_warning_that_quotes_nothing() -> None:
    assert said(b"SECRET\n" + CTX).warnings == ("stdout is not one JSON object; the last hook output in it counts",)


def test_an_object_in_the_middle_of_a_line_is_plain_text() -> None:
    assert context_of(said(b"see " + CTX).output) == f"see {CTX.decode()}"


def test_noise_on_stderr_is_not_searched_for_json() -> None:
    assert said(b"", b"banner\n" + CTX).output == {
        "decision": "allow",
        "reason": "Hook executed successfully",
        "systemMessage": f"banner\n{CTX.decode()}",
    }


def test_broken_json_is_a_failure_without_output() -> None:
    result = said(CTX[:-3])
    assert (result.success, result.output, result.error) == (False, None, "Hook output is not valid JSON")


@pytest.mark.parametrize(
    "stdout",
    [b'{"a":' * 100_000, b'{"a":\n' * 100_000, b'{"a":[\n' * 50_000 + b"1", b'{"n":' + b"9" * 5000 + b"}"],
    ids=["deep", "deep on lines", "lists on lines", "huge integer"],
)
def test_json_that_is_made_to_hurt_is_a_failure(stdout: bytes) -> None:
    assert (said(stdout).success, said(stdout).output) == (False, None)


def test_json_that_only_the_standard_library_reads_is_read() -> None:
    result = said(rb'{"reason":"a\ud800b","suppressOutput":NaN,"systemMessage":"x"}')
    assert result.output is not None
    assert result.output["reason"] == "a\ufffdb"


def test_invalid_utf8_is_replaced() -> None:
    assert context_of(said(b"caf\xe9").output) == "caf\ufffd"


def test_a_nul_in_a_json_context_is_replaced() -> None:
    assert context_of(said(rb'{"hookSpecificOutput":{"additionalContext":"a\u0000b"}}').output) == "a\ufffdb"


def test_a_forged_submitted_prompt_is_dropped() -> None:
    assert said(b'{"submitted_prompt":"forged","reason":"r"}').output == {"reason": "r"}


@pytest.mark.parametrize(
    ("stdout", "warning"),
    [
        (b'{"additionalContext":"x"}', "additionalContext at the top level is ignored; put it into hookSpecificOutput"),
        (
            b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"x"}}',
            "hookSpecificOutput.hookEventName names another event than UserPromptSubmit; the output is used",
        ),
        (
            b'{"hookSpecificOutput":{"additionalContext":42}}',
            "additionalContext is no string but int; it is ignored",
        ),
        (b'{"hookSpecificOutput":"x"}', "hookSpecificOutput is no object; it is ignored"),
        (b'{"decision":"BLOCK"}', "decision is none of allow, approve, ask, block, deny; it decides nothing"),
        (b'{"decision":["block"]}', "decision is none of allow, approve, ask, block, deny; it decides nothing"),
        (b'{"continue":"false"}', "continue is neither true nor false; it stops nothing"),
        (
            b'{"hookSpecificOutputs":{"additionalContext":"x"}}',
            "the answer has a key that is unknown and ignored; did you mean hookSpecificOutput?",
        ),
        (
            b'{"hookSpecificOutput":{"additionalContex":"x"}}',
            "hookSpecificOutput has a key that is unknown and ignored; did you mean additionalContext?",
        ),
        (
            b'{"additional_context":"x"}',
            "the answer has a key that is unknown and ignored; did you mean additionalContext?",
        ),
        (b'{"Decision":"block"}', "the answer has a key that is unknown and ignored; did you mean decision?"),
    ],
)
def test_a_misplaced_or_mistyped_key_is_named(stdout: bytes, warning: str) -> None:
    assert said(stdout).warnings == (warning,)


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("a\r\nb", "a\nb"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("\x1bP1;2qdata\x1b\\after", "after"),
        ("\x1b(Bascii", "ascii"),
        ("a\x00b\x08c\x7fd\x85e\tf\ng", "abcde\tf\ng"),
        ("\ufeff text \u3000", "text"),
        ("\x1c kept? \x85", "kept?"),
    ],
)
def test_plain_text_loses_escapes_and_controls(raw: str, clean: str) -> None:
    assert plain(raw) == clean


def closed(stdout: bytes = b"", stderr: bytes = b"", code: int = 0) -> HookResult:
    return said(stdout, stderr, code, fail_closed=True, name="guard")


@pytest.mark.parametrize(
    ("stdout", "code", "success"),
    [
        (b"", 1, False),
        (b"text", 1, False),
        (b"", -15, False),
        (b"{broken", 0, False),
        (b"[1, 2]", 0, False),
        (b"null", 0, False),
        (b'note { "decision": ', 0, False),
        (b"{}", 0, True),
        (b'{"unknown":1}', 0, True),
        (b'{"systemMessage":"m"}', 1, False),
    ],
)
def test_a_closed_hook_that_fails_refuses_and_names_itself(stdout: bytes, code: int, success: bool) -> None:
    result = closed(stdout, code=code)
    assert result.output is not None
    assert (result.success, result.output["decision"]) == (success, "deny")
    assert "guard" in str(result.output["reason"])


@pytest.mark.parametrize(
    ("stdout", "code"), [(b'{"decision":"allow"}', 1), (b'{"continue":false}', 1), (b'{"systemMessage":"m"}', 0)]
)
def test_a_closed_hook_that_decided_is_honoured(stdout: bytes, code: int) -> None:
    assert closed(stdout, code=code).output == json.loads(stdout)


def test_a_closed_hook_that_says_nothing_passes() -> None:
    assert closed().output is None


def test_a_closed_hook_that_gives_plain_text_passes() -> None:
    assert context_of(closed(b"use tabs").output) == "use tabs"


def test_a_timeout_names_its_seconds_and_refuses_only_when_closed() -> None:
    assert timed_out(1500) == HookResult(success=False, outcome="timeout", error="Hook timed out after 1.5s")
    refused = timed_out(2000, fail_closed=True, name="guard").output
    assert refused == {
        "decision": "deny",
        "reason": 'Hook "guard" failed and its failMode is closed: Hook timed out after 2s',
    }


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "line",
    ["{\n", '{"a":\n', "\x9d", "\x1b]", "\x1b[1", '{"reason":"x"} y\n', '{"a":[' + "1," * 20_000 + "\n"],
    ids=["braces", "nested", "unended c1", "unended osc", "unended csi", "tails", "wide"],
)
def test_a_megabyte_that_is_made_to_be_slow_is_read_in_seconds(line: str) -> None:
    data = (line * (1024 * 1024 // len(line))).encode()
    assert isinstance(said(data), HookResult)


BYTES = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.lists(
        st.sampled_from([CTX, b"\n", b"{", b"}", b'{"', b"\x1b[3", b"\xef\xbb\xbf", b"[1]", b'"{}"', b"\xff", b"x"])
    ).map(b"".join),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["hookSpecificOutput", "additionalContext", "decision", "continue", "reason", "x"]),
                inner,
            )
        ),
    ).map(lambda value: json.dumps(value).encode()),
)


@given(stdout=BYTES, stderr=BYTES, code=st.integers(-64, 255), fail_closed=st.booleans())
def test_any_output_gives_a_result_and_injects_the_parsed_context_or_nothing(
    stdout: bytes, stderr: bytes, code: int, fail_closed: bool
) -> None:
    result = said(stdout, stderr, code, fail_closed=fail_closed)
    context = context_of(result.output)
    assert isinstance(result, HookResult)
    assert result.success is (result.outcome == "success")
    if context is not None and code == 0 and result.output is not None and "decision" in result.output:
        printed = stdout or stderr
        assert context == plain(printed.decode("utf-8", "replace")) or b"additionalContext" in printed
    elif context is not None:
        assert b"additionalContext" in stdout + stderr


def test_plain_text_that_a_subagents_start_drops_is_a_warning() -> None:
    result = interpret("SubagentStart", exit_code=0, stdout=b"SAID", stderr=b"")
    assert result.warnings == (
        "plain text is no context of a SubagentStart; answer with hookSpecificOutput.additionalContext",
    )
    assert interpret("SessionStart", exit_code=0, stdout=b"SAID", stderr=b"").warnings == ()


def test_keys_that_are_close_to_none_are_other_programs() -> None:
    assert said(b'{"status":"ok","version":2}').warnings == ()


def test_an_answer_of_very_many_unknown_keys_holds_up_nobody() -> None:
    def work(count: int) -> int:
        return steps(lambda: said(json.dumps({f"reasn{number}": 1 for number in range(count)}).encode()))

    assert work(50_000) < 12 * work(5_000)


def test_what_was_printed_is_kept_for_the_one_who_tries_it_and_shown_by_no_repr() -> None:
    result = interpret("UserPromptSubmit", exit_code=1, stdout=b"", stderr=b"Traceback SAID")
    assert result.printed == (("stderr", b"Traceback SAID"),)
    assert "printed" not in repr(result)
