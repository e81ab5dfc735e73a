"""`firsthand init`."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from middleware.hooks import load_hooks
from middleware.settings import Settings

from .conftest import Run


def test_it_turns_transcripts_store_and_hooks_on(run: Run, place: Path) -> None:
    assert run("init", "--user", "ada").exit_code == 0
    loaded = Settings.load(folder=place, environ={})
    assert (loaded.transcripts, loaded.store, loaded.hooks_file, loaded.user) == (
        "transcripts",
        "sqlite:///memories.db",
        "hooks.json",
        "ada",
    )


def test_the_sample_hook_is_one_command_without_a_warning(run: Run, place: Path) -> None:
    run("init")
    hooks = load_hooks(place / "hooks.json")
    assert [(hook.type, hook.label) for hook in hooks.hooks] == [("command", "git-status")]
    assert hooks.warnings == ()


def test_the_sample_hook_tells_the_branch(run: Run, place: Path) -> None:
    run("init")
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(place)], check=True)
    [hook] = load_hooks(place / "hooks.json").hooks
    result = hook.call({"cwd": str(place), "prompt": "hi", "hook_event_name": "UserPromptSubmit"})
    assert result.output is not None
    assert "## No commits yet on trunk" in str(result.output["hookSpecificOutput"])


def test_the_files_are_readable_by_their_owner_alone(run: Run, place: Path) -> None:
    run("init")
    assert [(file.name, oct(file.stat().st_mode & 0o777)) for file in sorted(place.iterdir())] == [
        ("firsthand.toml", "0o600"),
        ("hooks.json", "0o600"),
    ]


def test_it_overwrites_nothing(run: Run, place: Path) -> None:
    (place / "hooks.json").write_text("mine")
    result = run("init")
    assert result.exit_code == 1
    assert result.stderr == "firsthand: hooks.json already there; --force overwrites\n"
    assert [file.name for file in place.iterdir()] == ["hooks.json"]
    assert (place / "hooks.json").read_text() == "mine"


def test_force_overwrites(run: Run, place: Path) -> None:
    (place / "hooks.json").write_text("mine")
    assert run("init", "--force").exit_code == 0
    assert list(json.loads((place / "hooks.json").read_text())) == ["hooks"]


def test_a_link_is_not_followed(run: Run, place: Path) -> None:
    (place / "elsewhere").write_text("theirs")
    (place / "hooks.json").symlink_to(place / "elsewhere")
    assert run("init").exit_code == 1
    assert run("init", "--force").exit_code == 0
    assert (place / "elsewhere").read_text() == "theirs"


def test_a_name_with_quotes_is_kept(run: Run, place: Path) -> None:
    run("init", "--user", 'O\'Neil "Zoë" \\')
    assert Settings.load(folder=place, environ={}).user == 'O\'Neil "Zoë" \\'


def test_it_says_what_to_do_next(run: Run) -> None:
    out = run("init").stdout
    assert "Wrote firsthand.toml" in out
    assert "firsthand recall add" in out


def test_what_it_says_next_works(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    commands = re.findall(r"firsthand (settings|hooks trust|hooks test) ", run("init").stdout)
    assert commands == ["settings", "hooks trust", "hooks test"]
    subprocess.run(["git", "init", "-q"], check=True)
    assert [run(*command.split()).exit_code for command in commands] == [0, 0, 0]


def test_a_file_that_cannot_be_written_is_named(run: Run) -> None:
    result = run("init", "--folder", "/proc/self")
    assert result.exit_code == 1
    assert (
        result.stderr
        == "firsthand: /proc/self/firsthand.toml: No such file or directory; check the path and its permissions\n"
    )
