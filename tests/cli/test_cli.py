"""The frame of the command line: exit codes, one line an error, a light start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT, Run, Spawn


def test_version_is_the_distributions(run: Run) -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, "firsthand 0.1.0\n")


def test_help_lists_the_commands(run: Run) -> None:
    out = run("--help").stdout
    assert [word for word in ("init", "demo", "transcript", "recall", "settings") if f"\n  {word} " not in out] == []


def test_every_listed_command_exists(run: Run) -> None:
    for name in ("init", "demo", "transcript", "recall", "settings"):
        assert run(name, "--help").exit_code == 0


def test_an_unknown_command_is_one_line_and_exit_2(run: Run) -> None:
    result = run("dance")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "firsthand: No such command 'dance'. (see `firsthand --help`)\n"


def test_a_group_without_a_command_prints_its_help(run: Run) -> None:
    result = run("recall")
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: firsthand recall [OPTIONS] COMMAND [ARGS]...\n")


def test_a_bad_settings_file_is_one_line_and_exit_1(run: Run, place: Path) -> None:
    (place / "firsthand.toml").write_text("user = \n")
    result = run("settings")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"firsthand: settings file {place}/firsthand.toml cannot be read: Invalid value")
    assert result.stderr.count("\n") == 1


def test_debug_after_the_command_shows_the_traceback(spawn: Spawn) -> None:
    result = spawn("transcript", "show", "nowhere.jsonl", "--debug")
    assert result.returncode == 1
    assert result.stderr.startswith("Traceback (most recent call last):")
    assert result.stderr.rstrip().endswith(
        "Failure: nowhere.jsonl: no such file; check the path, or the setting `transcripts`"
    )


def test_debug_before_the_command_shows_the_traceback(spawn: Spawn) -> None:
    assert spawn("--debug", "transcript", "show", "nowhere.jsonl").stderr.startswith("Traceback")


def test_a_reader_that_goes_away_is_no_error(place: Path) -> None:
    command = f"set -o pipefail; {sys.executable} -m middleware settings --json | true"
    result = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT)}, cwd=place
    )
    assert result.stderr == ""


def test_a_full_disk_is_one_line(place: Path) -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "middleware", "settings"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={"PYTHONPATH": str(ROOT)},
            cwd=place,
        )
    assert (result.returncode, result.stderr) == (
        1,
        "firsthand: No space left on device; --debug shows where\n",
    )


def test_a_terminal_that_knows_ascii_only_gets_question_marks(spawn: Spawn) -> None:
    result = spawn("settings", PYTHONIOENCODING="ascii", FIRSTHAND_USER="Zoë")
    assert result.returncode == 0
    assert "Zo?" in result.stdout


def test_starting_loads_neither_rich_nor_a_store_nor_an_sdk(place: Path) -> None:
    code = (
        "import sys; from middleware.cli import firsthand; sys.argv = ['firsthand', '--help']\n"
        "try: firsthand.main()\n"
        "except SystemExit: pass\n"
        "heavy = ('rich', 'numpy', 'sqlite_utils', 'openai', 'anthropic', 'opentelemetry.sdk')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=place,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("demo",), "the demo needs the package openai; run: pip install 'firsthand[openai]'"),
        (("chat", "-p", "x"), "the chat needs the package openai; run: pip install 'firsthand[chat,openai]'"),
    ],
)
def test_a_missing_package_is_one_line_with_the_extra_that_brings_it(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], line: str
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    result = run(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"firsthand: {line}\n")
