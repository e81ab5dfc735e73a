"""`firsthand hooks list` and `trust` say what a hook will do, and whose hooks these are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run

COMMAND_LINE = "These are the command line's. A program runs its own hooks_file and no other, which needs no trust.\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without anything in it."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    return home


def project(place: Path, *entries: dict[str, Any], **more: object) -> None:
    (place / ".qwen").mkdir(exist_ok=True)
    document = {"hooks": {"UserPromptSubmit": [{"hooks": list(entries)}]}, **more}
    (place / ".qwen/settings.json").write_text(json.dumps(document))


def command(text: str, **more: object) -> dict[str, Any]:
    return {"type": "command", "command": text, **more}


def test_list_shows_timeouts_and_what_nobody_waits_for(run: Run, place: Path) -> None:
    project(place, command("a", timeout=5), command("b", **{"async": True}))
    shown = run("hooks", "list").stdout
    assert "timeout 5 s " in shown
    assert "timeout 60 s, async" in shown
    rows = json.loads(run("hooks", "list", "--json").stdout)["hooks"]
    assert [(row["timeout"], row["async"]) for row in rows] == [(5.0, False), (60.0, True)]


def test_a_hook_that_may_not_ask_is_listed_as_refused_with_the_file_that_decides(
    run: Run, place: Path, home: Path
) -> None:
    project(place, {"type": "http", "url": "http://10.0.0.1/x"})
    run("hooks", "trust")
    [row] = json.loads(run("hooks", "list", "--json").stdout)["hooks"]
    assert row["state"] == "refused"
    assert row["why"] == (
        "its URL is refused: its host is in a private network; security.allowPrivateNetworkHooks in "
        f"{home}/.config/firsthand/hooks.json allows it"
    )


def test_what_is_found_is_said_to_be_the_command_lines(run: Run, place: Path) -> None:
    project(place, command("a"))
    assert run("hooks", "list").stdout.endswith(f"\n{COMMAND_LINE}")
    assert COMMAND_LINE in run("hooks", "trust").stdout
    assert COMMAND_LINE not in run("hooks", "list", "--hooks-file", ".qwen/settings.json").stdout
    for name in ("list", "trust"):
        text = " ".join(run("hooks", name, "--help").stdout.split())
        assert "a program runs only the hooks_file of its settings, which needs no trust." in text


def test_trust_counts_and_shows_warnings(run: Run, place: Path) -> None:
    project(place, command("a", timout=3), {"type": "telepathy"})
    result = run("hooks", "trust")
    assert result.stdout.endswith(
        f"\n{place} is trusted: 1 hook, until its hooks files change; scripts that they call are not watched; "
        "2 warnings, see above\n"
    )
    assert [line.partition("hooks[")[2] for line in result.stderr.splitlines()] == [
        "0]: `timout` is unknown and counts for nothing; did you mean `timeout`?",
        "1]: 'telepathy' is no type of hook here; the types are command, http and prompt; this hook is skipped",
    ]


def test_trust_mentions_what_disables_the_hooks(run: Run, place: Path) -> None:
    project(place, command("a"), disableAllHooks=True)
    result = run("hooks", "trust")
    assert "\n  disableAllHooks\n" in result.stdout
    assert f"{place} is trusted: 1 hook, of which none would run, until" in result.stdout


def test_trust_of_misplaced_hooks_says_where_they_belong(run: Run, place: Path) -> None:
    (place / ".qwen").mkdir()
    (place / ".qwen/settings.json").write_text('{"SessionStart": []}')
    result = run("hooks", "trust")
    assert result.exit_code == 1
    assert "SessionStart stands at the top level, so none of these hooks will run; put them into" in result.stderr


def test_a_folder_that_is_named_as_the_file_is_one_line(run: Run, place: Path) -> None:
    result = run("hooks", "list", "--hooks-file", ".")
    assert (result.exit_code, result.stderr) == (1, f"firsthand: {place}: is a folder; name the file in it\n")
