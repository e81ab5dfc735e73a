"""Misspelt and misplaced keys of a hooks file, and values without effect, are named; other programs' keys are not."""

from __future__ import annotations

from typing import Any

import pytest

from middleware.hooks.keys import meant
from middleware.hooks.select import parse_hooks

AT = "f: UserPromptSubmit[0]"
HTTP = {"type": "http", "url": "https://h.example/x"}
PROMPT = {"type": "prompt", "prompt": "$ARGUMENTS"}


def command(**more: object) -> dict[str, object]:
    return {"type": "command", "command": "x", **more}


def warnings(*entries: dict[str, Any], event: str = "UserPromptSubmit", beside: Any = None, **top: object) -> list[str]:
    document = {"hooks": {event: [{"hooks": list(entries), **(beside or {})}]}, **top}
    return list(parse_hooks(document, where="f").warnings)


@pytest.mark.parametrize(
    ("entry", "key", "near"),
    [
        (command(failmode="closed"), "failmode", "failMode"),
        (command(fail_mode="closed"), "fail_mode", "failMode"),
        (command(timout=5), "timout", "timeout"),
        (command(timeoutMs=5), "timeoutMs", "timeout"),
        (command(asynch=True), "asynch", "async"),
        ({**HTTP, "header": {}}, "header", "headers"),
        ({**HTTP, "allowedEnvVar": []}, "allowedEnvVar", "allowedEnvVars"),
        ({**PROMPT, "debuglog": "x"}, "debuglog", "debugLog"),
    ],
)
def test_a_misspelt_key_of_a_hook_is_named_with_what_was_meant(entry: dict[str, Any], key: str, near: str) -> None:
    assert warnings(entry) == [f"{AT}.hooks[0]: `{key}` is unknown and counts for nothing; did you mean `{near}`?"]


@pytest.mark.parametrize(("key", "near"), [("macher", "matcher"), ("sequental", "sequential"), ("Matcher", "matcher")])
def test_a_misspelt_key_beside_hooks_is_named(key: str, near: str) -> None:
    assert warnings(command(), beside={key: "x"}) == [
        f"{AT}: `{key}` is unknown and counts for nothing; did you mean `{near}`?"
    ]


def test_a_key_at_the_wrong_level_is_named() -> None:
    assert warnings(command(sequential=True), beside={"failMode": "closed"}) == [
        f"{AT}.hooks[0]: `sequential` stands in the hook, where it counts for nothing; put it beside `hooks`",
        f"{AT}: `failMode` stands beside `hooks`, where it counts for nothing; put it into the hook",
    ]


@pytest.mark.parametrize(
    ("entry", "warning"),
    [
        (command(once=True), "`once` is for http hooks; this one is run every time"),
        (command(headers={"A": "b"}), "`headers` is for http hooks; here it counts for nothing"),
        ({**HTTP, "failMode": "closed"}, "`failMode` is for command hooks; a failed http hook lets the turn go on"),
        ({**PROMPT, "failMode": "closed"}, "`failMode` is for command hooks; a failed prompt hook lets the turn go on"),
        (
            command(**{"async": "true"}),
            "`async` is neither true nor false, so the turn waits; write one of them",
        ),
        (
            command(**{"async": True, "failMode": "closed"}),
            "nobody waits for an `async` hook, so `failMode` closed and a refusal have no effect",
        ),
    ],
)
def test_a_key_that_has_no_effect_there_is_named(entry: dict[str, Any], warning: str) -> None:
    assert warnings(entry) == [f"{AT}.hooks[0]: {warning}"]


def test_a_start_cannot_be_refused_and_a_closed_fail_mode_is_told_so() -> None:
    assert warnings(command(failMode="closed"), event="SubagentStart") == [
        "f: SubagentStart[0].hooks[0]: a SubagentStart cannot be refused, so `failMode` closed has no effect"
    ]


def test_sequential_that_is_no_boolean_is_named() -> None:
    assert warnings(command(), beside={"sequential": "true"}) == [
        f"{AT}: `sequential` is neither true nor false, so it counts as false; write one of them"
    ]


@pytest.mark.parametrize(
    ("entry", "warning"),
    [
        (command(timeout="5s"), "`timeout` '5s' is no number of seconds over 0; 60 s are taken"),
        (command(timeout=-1), "`timeout` -1 is no number of seconds over 0; 60 s are taken"),
        (command(timeout=0), "`timeout` 0 is no number of seconds over 0; 60 s are taken"),
        (command(timeout=True), "`timeout` True is no number of seconds over 0; 60 s are taken"),
        (command(timeout=5000), "a timeout of 1000 or more is read as milliseconds; write seconds"),
        ({**HTTP, "timeout": 0}, "`timeout` 0 is no number of seconds over 0; 600 s are taken"),
        ({**HTTP, "timeout": "soon"}, "`timeout` 'soon' is no number of seconds over 0; 600 s are taken"),
        ({**HTTP, "timeout": 5000}, "`timeout` is in seconds, 5000 of them; were milliseconds meant?"),
        ({**PROMPT, "timeout": 5000}, "`timeout` is in seconds, 5000 of them; were milliseconds meant?"),
        ({**PROMPT, "timeout": -1}, "`timeout` -1 is no number of seconds over 0; 0.001 s are taken"),
        ({**PROMPT, "timeout": "30"}, "`timeout` '30' is a string; 30 s are taken"),
    ],
)
def test_a_timeout_that_is_not_what_it_seems_is_named_with_what_is_taken(entry: dict[str, Any], warning: str) -> None:
    assert warnings(entry) == [f"{AT}.hooks[0]: {warning}"]


@pytest.mark.parametrize("entry", [command(timeout="5"), command(timeout=None), {**HTTP, "timeout": "1.5"}])
def test_a_timeout_that_the_reference_reads_is_no_warning(entry: dict[str, Any]) -> None:
    assert warnings(entry) == []


def test_a_misspelt_guard_is_named_since_it_guards_nothing() -> None:
    assert warnings(HTTP, security={"allowedHttpHookUrl": ["https://a.example/*"]}) == [
        "f: `security.allowedHttpHookUrl` is unknown and guards nothing; did you mean `allowedHttpHookUrls`?"
    ]


def test_an_empty_list_of_urls_allows_all_and_a_warning_says_so() -> None:
    assert warnings(HTTP, security={"allowedHttpHookUrls": []}) == [
        "f: `security.allowedHttpHookUrls` is empty, which allows every URL; list patterns, or leave it out"
    ]
    assert warnings(command(), security={"allowedHttpHookUrls": []}) == []


def test_a_guard_at_the_top_level_is_named() -> None:
    assert warnings(HTTP, allowedHttpHookUrls=["https://a.example/*"]) == [
        "f: `allowedHttpHookUrls` stands at the top level, where it counts for nothing; put it into `security`"
    ]


def test_events_at_the_top_level_are_named() -> None:
    [warning] = parse_hooks({"UserPromptSubmit": [], "Stop": []}, where="f").warnings
    assert warning == (
        "f: UserPromptSubmit, Stop stand at the top level, so none of these hooks will run; put them into "
        "'hooks': {...}"
    )


def test_an_event_is_answered_with_the_one_that_it_is_close_to() -> None:
    assert parse_hooks({"hooks": {"SesionStart": []}}, where="f").warnings == (
        "f: 'SesionStart' is no event; its hooks are skipped, did you mean SessionStart?",
    )


def test_keys_of_other_programs_are_no_warning() -> None:
    entry = {
        **command(statusMessage="...", description="d", asyncRewake=False, once=False, headers=None),
        "if": "Bash(git *)",
        "x-comment": "mine",
        "id": 3,
    }
    settings: dict[str, Any] = {
        "permissions": {"allow": ["Bash"]},
        "env": {"A": "b"},
        "statusLine": {"type": "command", "command": "x"},
        "model": "m",
        "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": True}},
    }
    assert warnings(entry, beside={"description": "d", "id": 1, "matcher": "*"}, **settings) == []


def test_a_word_that_is_long_or_far_from_all_is_close_to_none() -> None:
    assert (meant("timeout" * 9, ["timeout"]), meant("theme", ["timeout"]), meant("", ["a"])) == (None, None, None)
