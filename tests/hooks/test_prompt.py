"""Prompt hooks: what is asked, and what an answer means."""

import asyncio
import contextlib
import json
import os
import stat
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middleware.errors import SettingsError
from middleware.hooks import Answer, PromptHook, context_of
from middleware.hooks.prompt import answer_of, timeout_of

PAYLOAD = {"prompt": "why?", "submitted_prompt": "why?"}


def says(text, **how):
    return PromptHook(prompt="Judge: $ARGUMENTS", ask=lambda question: Answer(text=text), **how)


def configured(**entry):
    return PromptHook.configured(entry, event="UserPromptSubmit", sequential=False, where="hooks.json: hook 1")


def test_every_arguments_placeholder_becomes_the_payload_indented_by_two():
    asked = []
    hook = PromptHook(
        prompt="A $ARGUMENTS B $ARGUMENTS", ask=lambda question: asked.append(question) or Answer(text="{}")
    )
    hook.call(PAYLOAD)
    shown = '{\n  "prompt": "why?",\n  "submitted_prompt": "why?"\n}'
    assert asked[0].text == f"A {shown} B {shown}"
    assert (asked[0].model, asked[0].max_tokens, asked[0].timeout) == (None, 500, 30.0)


@pytest.mark.parametrize(
    "text",
    ['{"ok": true}', '```json\n{"ok": true}\n```', '```\n{"ok": true}```', 'Sure! {"ok": true}', ' {"ok": true}\n'],
)
def test_fences_and_prose_around_the_answer_are_tolerated(text):
    result = says(text).call(PAYLOAD)
    assert (result.outcome, result.output, result.warnings) == ("success", {"decision": "allow", "continue": True}, ())


@pytest.mark.parametrize("text", ["I think it is fine.", "{", "[1]", '{"ok": "yes"}', "null", '{"reason": "x"}'])
def test_an_answer_that_cannot_be_read_lets_the_turn_go_on_with_a_warning(text):
    result = says(text).call(PAYLOAD)
    assert (result.success, result.output["decision"], len(result.warnings)) == (True, "allow", 1)


@pytest.mark.parametrize("answer", [Answer(text=""), Answer(text="  "), Answer(text='{"ok": fal', whole=False)])
def test_an_empty_or_cut_answer_is_a_non_blocking_error(answer):
    result = answer_of("UserPromptSubmit", answer)
    assert (result.outcome, result.output) == ("non_blocking_error", {"continue": True})


def test_not_ok_blocks_with_the_reason_in_both_places():
    result = says('{"ok": false, "reason": "r"}').call(PAYLOAD)
    assert result.outcome == "blocking"
    assert result.output == {"continue": False, "decision": "block", "reason": "r", "stopReason": "r"}


def test_additional_context_is_context():
    assert context_of(says('{"ok": true, "additionalContext": "c"}').call(PAYLOAD).output) == "c"


def test_a_provider_that_fails_is_a_non_blocking_error_that_quotes_nothing():
    def fails(question):
        raise RuntimeError("CANARY")

    result = PromptHook(prompt="$ARGUMENTS", ask=fails).call(PAYLOAD)
    assert (result.outcome, result.error) == ("non_blocking_error", "the model could not be asked: RuntimeError")


def test_a_provider_that_hangs_is_a_timeout():
    hook = PromptHook(prompt="$ARGUMENTS", timeout_ms=50, ask=lambda question: time.sleep(20))
    assert hook.call(PAYLOAD).outcome == "timeout"


def test_without_a_client_it_is_a_non_blocking_error():
    assert PromptHook(prompt="x").call(PAYLOAD).outcome == "non_blocking_error"


def test_an_asynchronous_client_is_awaited_on_the_callers_loop():
    async def ask(question):
        return Answer(text='{"ok": true, "additionalContext": "c"}')

    hook = PromptHook(prompt="$ARGUMENTS").asking(ask)
    assert hook.is_async
    assert context_of(asyncio.run(hook.call_async(PAYLOAD)).output) == "c"


def test_the_debug_log_is_off_unless_asked_for_and_private(tmp_path):
    log = tmp_path / "prompts.log"
    says('{"ok": true}').call(PAYLOAD)
    assert not log.exists()
    says('{"ok": true}', debug_log=str(log)).call(PAYLOAD)
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert json.loads(log.read_text())["request"].startswith("Judge: {")


def test_a_debug_log_that_cannot_be_written_is_a_warning_and_no_reason_not_to_ask(tmp_path):
    result = says('{"ok": true}', debug_log=str(tmp_path / "no" / "x.log")).call(PAYLOAD)
    assert (result.success, result.warnings) == (
        True, ("debugLog cannot be written (No such file or directory); the model is asked all the same",),
    )  # fmt: skip


def test_a_debug_log_that_is_a_pipe_holds_up_no_loop(tmp_path):
    async def ask(question):
        return Answer(text='{"ok": true, "additionalContext": "c"}')

    os.mkfifo(tmp_path / "pipe")
    hook = PromptHook(prompt="$ARGUMENTS", debug_log=str(tmp_path / "pipe"), timeout_ms=5000).asking(ask)
    result = asyncio.run(hook.call_async(PAYLOAD))
    assert (context_of(result.output), len(result.warnings)) == ("c", 1)


@pytest.mark.parametrize(
    ("value", "milliseconds"),
    [(None, 30_000), (10, 10_000), (0.5, 500), (0, 1), (-1, 1), (1e9, 1), (float("nan"), 30_000), (True, 30_000)],
)
def test_timeouts_are_seconds_and_go_straight_to_a_timer(value, milliseconds):
    assert timeout_of(value) == milliseconds


def test_an_entry_of_a_hooks_file_is_read():
    hook, warnings = configured(prompt="Judge $ARGUMENTS", model="m", timeout=5, name="judge")
    assert (hook.prompt, hook.model, hook.timeout_ms, hook.label, hook.key) == (
        "Judge $ARGUMENTS", "m", 5000, "judge", "judge:Judge $ARGUMENTS",
    )  # fmt: skip
    assert warnings == ()


def test_a_prompt_without_the_placeholder_is_warned_of():
    assert configured(prompt="Judge")[1] == (
        "hooks.json: hook 1: the prompt holds no $ARGUMENTS; it asks about nothing",
    )


@pytest.mark.parametrize("entry", [{}, {"prompt": " "}, {"prompt": 5}, {"prompt": "x", "model": 5}])
def test_a_wrong_entry_is_one_line(entry):
    with pytest.raises(SettingsError, match=r"hooks\.json: hook 1: "):
        configured(**entry)


def test_an_unnamed_hook_exports_nothing_of_its_template():
    assert PromptHook(prompt="CANARY").label == "prompt"


@given(st.text(), st.booleans())
def test_any_answer_is_a_result(text, whole):
    result = answer_of("UserPromptSubmit", Answer(text=text, whole=whole))
    assert result.outcome in ("success", "blocking", "non_blocking_error")


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_whatever_a_client_raises_is_a_non_blocking_error(error):
    def asks(question):
        raise error

    async def asks_later(question):
        raise error

    hook = PromptHook(prompt="$ARGUMENTS")
    said = f"the model could not be asked: {type(error).__name__}"
    assert hook.asking(asks).call(PAYLOAD).error == said
    assert asyncio.run(hook.asking(asks_later).call_async(PAYLOAD)).error == said


def test_a_client_that_refuses_to_be_cancelled_is_left_behind():
    async def main():
        free = asyncio.Event()

        async def stubborn(question):
            while not free.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await free.wait()
            return Answer(text="")

        result = await PromptHook(prompt="$ARGUMENTS", timeout_ms=50).asking(stubborn).call_async(PAYLOAD)
        free.set()
        return result

    result = asyncio.run(main())
    assert result.outcome == "timeout"


def test_an_answer_in_the_shape_of_other_hooks_is_named():
    text = '{"ok": true, "hookSpecificOutput": {"additionalContext": "c"}}'
    assert says(text).call(PAYLOAD).warnings == (
        "hookSpecificOutput is not read in a model's answer; a prompt hook's additionalContext stands beside ok",
    )


@pytest.mark.parametrize("ok", ["true", "false"])
def test_a_misspelt_key_of_an_answer_is_named(ok):
    assert says(f'{{"ok": {ok}, "additional_context": "c"}}').call(PAYLOAD).warnings == (
        "the model's answer has a key that is unknown and ignored; did you mean additionalContext?",
    )
