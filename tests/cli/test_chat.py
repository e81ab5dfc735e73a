"""`firsthand chat -p`: one turn, its hooks, its reply, its failures."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from .conftest import Run, Spawn

HOOK = """
import json, sys
payload = sys.stdin.read()
with open({log!r}, "a") as log:
    log.write(payload.strip() + "\\n")
if "secret" in payload:
    print(json.dumps({{"decision": "block", "reason": "no secrets here"}}))
else:
    print("CI run 4812 is red on brontes")
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with one command hook of the person's own, which appends its stdin to `payloads`."""
    home = tmp_path / "home"
    (home / ".config" / "firsthand").mkdir(parents=True)
    script = home / "hook.py"
    script.write_text(HOOK.format(log=str(home / "payloads")))
    command = f"{shlex.quote(sys.executable)} -I -S {shlex.quote(str(script))}"
    hooks = {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": command}]}]}}
    (home / ".config" / "firsthand" / "hooks.json").write_text(json.dumps(hooks))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


def test_one_shot_prints_the_local_models_reply_to_what_the_hook_added(run: Run) -> None:
    result = run("chat", "-p", "why is CI red?")
    assert (result.exit_code, result.stdout, result.stderr) == (
        0,
        "your hook says: CI run 4812 is red on brontes.\n",
        "",
    )


def test_one_shot_lets_the_local_model_read_a_file_and_says_so_on_stderr(run: Run, place: Path, home: Path) -> None:
    (place / "notes.txt").write_text("deploy on friday")
    result = run("chat", "-p", "read notes.txt please")
    assert (result.exit_code, result.stdout, result.stderr) == (
        0,
        "The tool says: deploy on friday.\n",
        "→ read_file path=notes.txt\n",
    )
    payloads = [json.loads(line) for line in (home / "payloads").read_text().splitlines()]
    assert [payload["prompt"] for payload in payloads] == ["read notes.txt please", ""]


def test_no_tools_keeps_the_folder_to_the_person(run: Run, place: Path) -> None:
    (place / "notes.txt").write_text("deploy on friday")
    result = run("chat", "--no-tools", "-p", "read notes.txt please")
    assert (result.exit_code, "friday" in result.output) == (0, False)


def test_a_one_shots_text_is_nobodys_submitted_prompt(run: Run, home: Path) -> None:
    run("chat", "-p", "why is CI red?")
    (payload,) = map(json.loads, (home / "payloads").read_text().splitlines())
    assert payload["prompt"] == "why is CI red?"
    assert "submitted_prompt" not in payload


def test_a_one_shot_that_a_hook_refuses_is_one_line_and_exit_code_1(run: Run) -> None:
    result = run("chat", "-p", "my secret")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no secrets here" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_one_shot_is_kept_in_the_transcripts_of_the_settings(run: Run, place: Path) -> None:
    (place / "firsthand.toml").write_text('transcripts = "kept"\n')
    run("chat", "-p", "why is CI red?")
    (transcript,) = (place / "kept").glob("*.jsonl")
    assert '"why is CI red?"' in transcript.read_text()


def test_without_the_setting_a_one_shot_keeps_nothing(run: Run, place: Path) -> None:
    run("chat", "-p", "hello")
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-p", " "), "-p is blank; give it a text to send"),
        (
            ("-p", "x", "--dashboard"),
            (
                "-p ends with its answer, and the pages of --dashboard with it; run `firsthand dashboard`, which "
                "follows the setting transcripts"
            ),
        ),
        (("-p", "x", "--model", "m"), "--model needs a server: set OPENAI_API_KEY, or give --base-url URL"),
        (
            ("-p", "x", "--base-url", "http://127.0.0.1:9/v1"),
            "a server needs --model NAME; without OPENAI_API_KEY and --base-url a local one answers",
        ),
    ],
)
def test_a_command_line_that_makes_no_sense_is_exit_code_2(run: Run, arguments: tuple[str, ...], said: str) -> None:
    result = run("chat", *arguments)
    assert (result.exit_code, result.stderr) == (2, f"firsthand: {said} (see `firsthand chat --help`)\n")


def test_a_server_that_is_not_there_is_one_line_and_exit_code_1(run: Run) -> None:
    result = run("chat", "-p", "x", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    assert (result.exit_code, result.stderr) == (
        1,
        "firsthand: the model did not answer: Connection error; check --base-url, --model and OPENAI_API_KEY\n",
    )


def test_a_one_shot_works_in_a_process_of_its_own_without_a_warning(spawn: Spawn) -> None:
    result = spawn("chat", "-p", "why is CI red?")
    assert (result.returncode, result.stdout, result.stderr) == (
        0,
        "your hook says: CI run 4812 is red on brontes.\n",
        "",
    )


def test_continue_goes_on_with_the_last_session_and_resume_with_a_named_one(run: Run, place: Path) -> None:
    (place / "firsthand.toml").write_text('transcripts = "kept"\n')
    run("chat", "-p", "why is CI red?")
    (transcript,) = (place / "kept").glob("*.jsonl")
    assert run("chat", "--continue", "-p", "and the run?").exit_code == 0
    assert run("chat", "--resume", transcript.stem, "-p", "and now?").exit_code == 0
    assert list((place / "kept").glob("*.jsonl")) == [transcript]
    assert transcript.read_text().count('"type":"user"') == 3


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--continue",), 1, "no session to go on with in kept; start one with `firsthand chat`"),
        (
            ("--resume", "x"),
            1,
            "no session x of yours in kept; `firsthand transcript list kept` names them",
        ),
        (
            ("--resume", "x", "--continue"),
            2,
            "--resume ID and --continue are two sessions; give one of them (see `firsthand chat --help`)",
        ),
        ((), 2, "the chat needs a terminal; send one text with -p TEXT (see `firsthand chat --help`)"),
    ],
)
def test_what_cannot_be_gone_on_with_is_one_line(
    run: Run, place: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    (place / "firsthand.toml").write_text('transcripts = "kept"\n')
    result = run("chat", *arguments, *(["-p", "x"] if arguments else []))
    assert (result.exit_code, result.stderr) == (code, f"firsthand: {said}\n")
