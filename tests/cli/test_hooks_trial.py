"""`firsthand hooks test` shows what a hook really said, what that was taken for, and why nothing came of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.hooks.http_server import answer, saying, serving

from .conftest import Run


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without anything in it."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


def hooks_file(*entries: dict[str, Any], event: str = "UserPromptSubmit", **more: object) -> str:
    Path("h.json").write_text(json.dumps({"hooks": {event: [{"hooks": list(entries), **more}]}}))
    return "h.json"


def command(text: str, **more: object) -> dict[str, Any]:
    return {"type": "command", "command": text, **more}


def test_a_crash_is_shown_once_as_it_was_printed(run: Run, place: Path) -> None:
    (place / "hook.py").write_text("import sys\n\ndef f():\n    raise ValueError('boom')\n\nf()\n")
    result = run("hooks", "test", "--hooks-file", hooks_file(command("python3 hook.py")))
    assert (
        'Hook exited with code 1\nstderr\nTraceback (most recent call last):\n  File "' in result.stdout
        and "\nValueError: boom\ntaken for  nothing: a failed hook's text does not count\n" in result.stdout
    )
    assert result.stdout.count("boom") == 2  # the line of the source, and the message
    assert "Non-blocking error" not in result.stdout


def test_plain_text_is_shown_as_it_is_and_apart_what_it_was_taken_for(run: Run) -> None:
    result = run("hooks", "test", "--hooks-file", hooks_file(command("echo ctx; echo note >&2")))
    assert "\nstdout\nctx\nstderr\nnote\ntaken for  context for the model\n" in result.stdout
    assert "Hook executed successfully" not in result.stdout


def test_json_is_shown_once(run: Run) -> None:
    said = '{"hookSpecificOutput": {"additionalContext": "one-and-only"}}'
    result = run("hooks", "test", "--hooks-file", hooks_file(command(f"echo '{said}'")))
    assert "stdout" not in result.stdout
    assert result.stdout.count("one-and-only") == 2  # the hook's, and the model's
    assert "taken for  context for the model\n{\n" in result.stdout


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ('{"a": 1,}', "line 1, column 9: Expecting property name enclosed in double quotes"),
        ('{"a"\n"b"}', "line 2, column 1: Expecting ':' delimiter"),
    ],
)
def test_broken_json_is_shown_with_the_place_where_it_breaks(run: Run, text: str, position: str) -> None:
    Path("out").write_text(text)
    result = run("hooks", "test", "--hooks-file", hooks_file(command("cat out")))
    assert result.exit_code == 1
    assert (
        f"warning: the JSON is broken at {position}; text that starts with {{ must be JSON\nstdout\n{text}\n"
        in result.stdout
    )


def test_of_a_long_text_the_first_2000_characters_are_shown_and_of_a_traceback_the_last(run: Run) -> None:
    long = "printf 'FIRST%03000dLAST' 0"
    said = run("hooks", "test", "--json", "--hooks-file", hooks_file(command(long), command(f"({long}) >&2; exit 1")))
    out, err = (hook["printed"] for hook in json.loads(said.stdout)["hooks"])
    assert out == {"stdout": "FIRST" + "0" * 1995 + "\n... [1009 more characters]"}
    assert err == {"stderr": "... [1009 more characters]\n" + "0" * 1996 + "LAST"}


def test_a_failed_http_hook_shows_status_and_body(run: Run) -> None:
    with serving(saying(answer(b"no such route", status="404 Not Found", kind="text/plain"))) as server:
        result = run("hooks", "test", "--hooks-file", hooks_file({"type": "http", "url": server.url()}))
    assert result.exit_code == 1
    assert (
        "HTTP hook answered with status 404\nstatus\n404\nbody\nno such route\n"
        "taken for  nothing: a failed hook's text does not count\n"
    ) in result.stdout


def test_broken_json_of_a_server_is_placed_too(run: Run) -> None:
    with serving(saying(answer(b'{"a"'))) as server:
        result = run("hooks", "test", "--hooks-file", hooks_file({"type": "http", "url": server.url()}))
    assert "warning: the JSON is broken at line 1, column 5: Expecting ':' delimiter" in result.stdout
    assert 'status\n200\nbody\n{"a"\n' in result.stdout


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            {"hookSpecificOutputs": {"additionalContext": "x"}},
            "warning: the answer has a key that is unknown and ignored; did you mean hookSpecificOutput?\n",
        ),
        ({"context": "x"}, "taken for  nothing: it has no key that a hook can say\n"),
        ({}, "taken for  nothing\n"),
        ({"systemMessage": "m"}, "taken for  a systemMessage, which is not sent to the model\n"),
        ({"decision": "block", "reason": "no"}, "taken for  a refusal\n"),
    ],
)
def test_an_answer_that_adds_nothing_says_why(run: Run, said: dict[str, Any], shown: str) -> None:
    result = run("hooks", "test", "--hooks-file", hooks_file(command(f"echo '{json.dumps(said)}'")))
    assert (result.exit_code, result.stderr) == (0, "")
    assert shown in result.stdout


def test_a_refusal_that_has_no_effect_says_so(run: Run) -> None:
    file = hooks_file(command("echo no >&2; exit 2", **{"async": True}))
    result = run("hooks", "test", "--hooks-file", file)
    assert result.exit_code == 0
    assert "it is async: it refuses, which has no effect, as the turn did not wait for it\n" in result.stdout
    assert "taken for  a refusal, which has no effect\n" in result.stdout
    file = hooks_file(command("exit 2"), event="SessionStart")
    result = run("hooks", "test", "--hooks-file", file, "--event", "SessionStart")
    assert "it refuses, which has no effect: a SessionStart cannot be refused\n" in result.stdout


def test_plain_text_of_a_subagents_start_says_that_it_is_dropped(run: Run) -> None:
    file = hooks_file(command("echo hi"), event="SubagentStart")
    result = run("hooks", "test", "--hooks-file", file, "--event", "SubagentStart")
    assert "plain text is no context of a SubagentStart; answer with hookSpecificOutput" in result.stdout


def test_a_matcher_that_does_not_fit_is_named_with_the_subject(run: Run) -> None:
    file = hooks_file(command("echo hi"), event="SessionStart", matcher="resume|clear")
    result = run("hooks", "test", "--hooks-file", file, "--event", "SessionStart")
    assert result.stderr.endswith(
        "the matcher 'resume|clear' does not fit the subject 'startup'; give one that does with --subject\n"
    )
    assert run("hooks", "test", "--hooks-file", file).stderr.endswith(
        "there are hooks of SessionStart; name that event with --event\n"
    )


def test_a_hint_repeats_the_file_that_was_named(run: Run, place: Path) -> None:
    Path("my hooks.json").write_text('{"hooks": {}}')
    result = run("hooks", "test", "--hooks-file", "my hooks.json")
    assert result.stderr == (
        f"firsthand: no hook would run for UserPromptSubmit in {place}; "
        "`firsthand hooks list --hooks-file 'my hooks.json'` says why\n"
    )


def test_hooks_at_the_top_level_are_named(run: Run, place: Path) -> None:
    Path("h.json").write_text('{"UserPromptSubmit": []}')
    for name in ("list", "test"):
        assert (
            f"warning: {place}/h.json: UserPromptSubmit stands at the top level, so none of these hooks will run; "
            "put them into 'hooks': {...}\n"
        ) in run("hooks", name, "--hooks-file", "h.json").stderr


@pytest.mark.parametrize(
    ("event", "rest"),
    [
        ("userpromptsubmit", "did you mean UserPromptSubmit?"),
        ("SesionStart", "did you mean SessionStart?"),
        ("Stop", "use one of UserPromptSubmit, SessionStart, SubagentStart"),
    ],
)
def test_an_event_that_is_none_is_answered_with_a_near_one_and_the_commands_own_help(
    run: Run, event: str, rest: str
) -> None:
    result = run("hooks", "test", "--event", event)
    assert (result.exit_code, result.stderr) == (
        2,
        f"firsthand: Invalid value for '--event': {event!r} is no event; {rest} (see `firsthand hooks test --help`)\n",
    )


@pytest.mark.parametrize(
    ("args", "help_of"),
    [
        (("hooks", "test", "--evnt", "x"), "firsthand hooks test"),
        (("hooks", "test", "--prompt"), "firsthand hooks test"),
        (("hooks", "schema"), "firsthand hooks schema"),
        (("hooks", "trust", "a", "b"), "firsthand hooks trust"),
        (("hooks", "lst"), "firsthand hooks"),
        (("hoks",), "firsthand"),
    ],
)
def test_a_usage_error_points_to_the_help_of_the_command_that_was_typed(
    run: Run, args: tuple[str, ...], help_of: str
) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert result.stderr.endswith(f"(see `{help_of} --help`)\n")
