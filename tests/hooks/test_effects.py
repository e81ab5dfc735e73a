"""What the log says of a hook: what went wrong and what became of it, and nothing that it said."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Settings
from middleware.hooks import CommandHook, FunctionHook, PromptHook
from middleware.hooks.effects import counts_as_success, effects
from middleware.testing import capture
from tests.hooks.http_server import answer, saying, serving

HINT = " (see: firsthand hooks test)"
CONTEXT = '{"hookSpecificOutput": {"additionalContext": "SAID"}}'


def told(command: str, tmp_path: Path, **more: Any) -> tuple[str, ...]:
    hook = CommandHook(command=command, name="h", **more)
    return effects(hook, hook.call({"cwd": str(tmp_path), "prompt": "p"}))


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("echo SAID; exit 3", "failed with exit code 3; the turn goes on without it (see: firsthand hooks test)"),
        (
            "no-such-command-here",
            "failed with exit code 127, command not found; the turn goes on without it (see: firsthand hooks test)",
        ),
        (
            "/",
            "failed with exit code 126, found and not executable; the turn goes on without it" + HINT,
        ),
        ("kill -9 $$", "was killed by a signal; the turn goes on without it (see: firsthand hooks test)"),
        (
            "echo '{SAID'",
            "failed: Hook output is not valid JSON; the turn goes on without it (see: firsthand hooks test)",
        ),
        (
            f"echo '{CONTEXT}'; exit 1",
            "failed with exit code 1; the context in its JSON is used all the same (see: firsthand hooks test)",
        ),
    ],
)
def test_a_failure_is_one_sentence_that_says_what_becomes_of_the_turn(
    command: str, sentence: str, tmp_path: Path
) -> None:
    assert told(command, tmp_path) == (sentence,)


@pytest.mark.parametrize("command", ["true", "echo SAID", "echo SAID >&2; exit 2"])
def test_a_hook_that_did_its_work_is_not_told_of(command: str, tmp_path: Path) -> None:
    assert told(command, tmp_path) == ()


def test_a_refusal_that_nobody_waits_for_is_told(tmp_path: Path) -> None:
    without = "it is async: it refuses, which has no effect, as the turn did not wait for it"
    assert told("echo SAID >&2; exit 2", tmp_path, background=True) == (without,)
    assert told("exit 3", tmp_path, background=True, fail_closed=True) == (
        "failed with exit code 3; nobody waited for it (see: firsthand hooks test)",
        without,
    )


def test_a_start_that_is_refused_all_the_same_is_told(tmp_path: Path) -> None:
    assert told("exit 2", tmp_path, event="SessionStart") == (
        "it refuses, which has no effect: a SessionStart cannot be refused",
    )


def test_plain_text_that_is_no_context_is_told(tmp_path: Path) -> None:
    assert told("echo SAID", tmp_path, event="SubagentStart") == (
        "plain text is no context of a SubagentStart; answer with hookSpecificOutput.additionalContext",
    )


def test_a_function_that_raises_is_told_with_its_line_and_no_command_that_cannot_run_it() -> None:
    def boom(payload: dict[str, object]) -> None:
        raise KeyError(payload["prompt"])

    hook = FunctionHook(boom)
    line = boom.__code__.co_firstlineno + 1
    assert effects(hook, hook.call({"prompt": "SAID"})) == (
        f"failed: function hook raised KeyError (test_effects.py:{line} in boom); the turn goes on without it",
    )


def test_a_prompt_hook_that_fails_names_no_command_that_cannot_run_it() -> None:
    hook = PromptHook(prompt="$ARGUMENTS")
    assert effects(hook, hook.call({})) == ("failed: the model could not be asked; the turn goes on without it",)


def test_the_log_has_the_sentence_and_nothing_of_what_was_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    entries = [
        {"type": "command", "name": "bg", "command": "echo SAID >&2; exit 2", "async": True},
        {"type": "command", "name": "fg", "command": "echo SAID; exit 7"},
    ]
    file = tmp_path / "hooks.json"
    file.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": entries}]}}))
    with caplog.at_level(logging.DEBUG), capture() as captured, captured.model.openai() as plain:
        client = Middleware(Settings(hooks_file=str(file)), **captured.providers).wrap(plain)
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
        deadline = time.monotonic() + 60
        while "hook bg" not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.01)
    said = [record.getMessage() for record in caplog.records if record.name == "firsthand"]
    assert sorted(said) == [
        "firsthand: hook bg: it is async: it refuses, which has no effect, as the turn did not wait for it",
        "firsthand: hook fg: failed with exit code 7; the turn goes on without it (see: firsthand hooks test)",
    ]
    assert "SAID" not in caplog.text


def test_a_hook_that_failed_is_no_success_in_a_trace_whatever_its_type(tmp_path: Path) -> None:
    file = tmp_path / "hooks.json"
    with serving(saying(answer(b"SAID", status="500 Oops"))) as server:
        entries = [{"type": "http", "url": server.url()}, {"type": "command", "command": "exit 3"}]
        file.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": entries}]}}))
        with capture() as captured, captured.model.openai() as plain:
            client = Middleware(Settings(hooks_file=str(file)), **captured.providers).wrap(plain)
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
    spans = captured.spans_named("firsthand.hook")
    assert [
        ((span.attributes or {})["firsthand.hook.success"], (span.attributes or {})["firsthand.hook.outcome"])
        for span in spans
    ] == [(False, "non_blocking_error")] * 2
    assert [span.status.status_code.name for span in spans] == ["ERROR", "ERROR"]


@pytest.mark.parametrize(
    ("command", "success"), [("true", True), ("exit 3", False), ("exit 2", False), ("echo '{'", False)]
)
def test_success_is_the_outcome_success_and_no_other(command: str, success: bool, tmp_path: Path) -> None:
    result = CommandHook(command=command).call({"cwd": str(tmp_path), "prompt": "p"})
    assert counts_as_success(result) is success
