"""`firsthand hooks`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from .conftest import Run, Spawn


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without anything in it."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


def hooks_file(path: Path, *entries: dict[str, object], event: str = "UserPromptSubmit", **more: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": {event: [{"hooks": list(entries), **more}]}}))
    return path


def command(text: str, **more: object) -> dict[str, object]:
    return {"type": "command", "command": text, **more}


def test_list_says_when_there_is_nothing(run: Run, place: Path) -> None:
    result = run("hooks", "list")
    assert result.stdout == f"No hooks for {place}: no hooks_file is set and no file is found.\n"


def test_list_says_what_would_run_and_why_others_do_not(run: Run, place: Path, home: Path) -> None:
    ours = hooks_file(place / ".firsthand/hooks.json", command("date", name="clock"))
    entries = (command("id", name="who"), {"type": "telepathy"}, command("id", name="who"))
    theirs = hooks_file(home / ".qwen/settings.json", *entries)
    rows = json.loads(run("hooks", "list", "--json").stdout)
    assert (rows["folder"], rows["standing"]) == (str(place), "untrusted")
    assert [(row["name"], row["state"], row["source"]) for row in rows["hooks"]] == [
        ("clock", "untrusted", "project"),
        ("who", "runs", "user"),
        ("", "invalid", "user"),
        ("who", "duplicate", "user"),
    ]
    assert rows["hooks"][0] == {
        "event": "UserPromptSubmit",
        "type": "command",
        "name": "clock",
        "matcher": "",
        "what": "date",
        "source": "project",
        "where": f"{ours}: UserPromptSubmit[0].hooks[0]",
        "state": "untrusted",
        "why": "the folder is not trusted",
        "timeout": 60.0,
        "async": False,
    }
    assert rows["hooks"][3]["why"] == f"is the same as {theirs}: UserPromptSubmit[0].hooks[0]"
    assert len(rows["warnings"]) == 2


@pytest.mark.parametrize("columns", [80, 200])
def test_list_fits_the_terminal(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    file = hooks_file(
        place / "h.json", command("echo " + "word " * 40, name="n" * 30), event="SessionStart", matcher="a|b"
    )
    result = run("hooks", "list", "--hooks-file", str(file))
    assert max(map(len, result.stdout.splitlines()[1:])) <= columns
    assert "if a|b" in result.stdout
    assert result.stdout.count("word") == 40


def test_list_shows_what_a_file_holds_and_obeys_none_of_it(run: Run, place: Path) -> None:
    file = hooks_file(place / "h.json", command("echo \x1b[31m[bold]hi", name="\x1b]0;x\x07"))
    out = run("hooks", "list", "--hooks-file", str(file)).stdout
    assert "\x1b" not in out
    assert "[bold]hi" in out


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("firsthand.toml", 'hooks_file = "hooks.json"\n'),
        ("pyproject.toml", '[tool.firsthand]\nhooks_file = "hooks.json"\n'),
    ],
)
def test_a_hooks_file_that_the_folder_names_needs_trust(
    run: Run, place: Path, home: Path, file: str, text: str
) -> None:
    hooks_file(place / "hooks.json", command("echo one"))
    hooks_file(home / ".config/firsthand/hooks.json", command("echo mine"))
    (place / file).write_text(text)
    rows = json.loads(run("hooks", "list", "--json").stdout)["hooks"]
    assert [(row["what"], row["source"], row["state"]) for row in rows] == [
        ("echo one", "project", "untrusted"),
        ("echo mine", "user", "runs"),
    ]
    skipped = run("hooks", "test")
    assert "\none\n" not in skipped.stdout
    assert f"read hooks.json, then run `firsthand hooks trust {place}`" in skipped.stderr
    assert f"{place} is trusted: 1 hook" in run("hooks", "trust").stdout
    assert "\none\nmine\n" in run("hooks", "test").stdout
    hooks_file(place / "hooks.json", command("echo two"))
    assert "because they changed since it was trusted" in run("hooks", "test").stderr


def test_another_hooks_file_in_the_settings_is_a_change(run: Run, place: Path) -> None:
    hooks_file(place / "hooks.json", command("echo one"))
    hooks_file(place / "other.json", command("echo one"))
    (place / "firsthand.toml").write_text('hooks_file = "hooks.json"\n')
    assert run("hooks", "trust").exit_code == 0
    (place / "firsthand.toml").write_text('hooks_file = "other.json"\n')
    assert json.loads(run("hooks", "list", "--json").stdout)["standing"] == "changed"


def test_a_hooks_file_that_the_person_names_runs_and_the_folders_does_not(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks_file(place / "hooks.json", command("echo theirs"))
    mine = hooks_file(place.parent / "mine.json", command("echo mine"))
    (place / "firsthand.toml").write_text('hooks_file = "hooks.json"\n')
    monkeypatch.setenv("FIRSTHAND_HOOKS_FILE", str(mine))
    rows = json.loads(run("hooks", "list", "--json").stdout)["hooks"]
    assert [(row["what"], row["source"], row["state"]) for row in rows] == [("echo mine", "named", "runs")]
    assert "\nmine\n" in run("hooks", "test").stdout
    monkeypatch.setenv("FIRSTHAND_HOOKS_FILE", "")
    assert json.loads(run("hooks", "list", "--json").stdout)["hooks"] == []
    monkeypatch.delenv("FIRSTHAND_HOOKS_FILE")
    assert "\ntheirs\n" in run("hooks", "test", "--hooks-file", "hooks.json").stdout


def test_trusting_another_folder_reads_its_own_settings(run: Run, place: Path) -> None:
    there = place.parent / "there"
    hooks_file(there / "conf/hooks.json", command("echo there"))
    (there / "firsthand.toml").write_text('hooks_file = "conf/hooks.json"\n')
    assert f"{there} is trusted: 1 hook" in run("hooks", "trust", str(there)).stdout


def test_a_hooks_file_that_is_named_and_not_there_is_said(run: Run, place: Path) -> None:
    (place / "firsthand.toml").write_text('hooks_file = "gone.json"\n')
    result = run("hooks", "list")
    assert (result.exit_code, result.stderr) == (
        0,
        f"warning: {place}/gone.json: cannot be read (No such file); check hooks_file; its hooks are skipped\n",
    )
    assert run("hooks", "trust").exit_code == 1


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://h.example/x?key=s3cret#s3cret", "https://h.example/x?..."),
        ("https://h.example/x#s3cret", "https://h.example/x?..."),
        ("https://ann:s3cret@h.example/x", "https://h.example/x"),
        ("http:\\\\ann:s3c@ret@h.example\\x", "http:\\\\h.example\\x"),
        ("ht\ttps://h.example/${WHO}", "https://h.example/${WHO}"),
    ],
)
def test_a_url_is_listed_without_its_query_and_credentials(
    run: Run, place: Path, home: Path, url: str, shown: str
) -> None:
    hooks_file(home / ".qwen/settings.json", {"type": "http", "url": url, "name": "ask"})
    result = run("hooks", "list", "--json")
    [row] = json.loads(result.stdout)["hooks"]
    assert row["what"] == shown
    assert "s3c" not in result.output + run("hooks", "list").output


def test_a_folder_is_trusted_until_its_hooks_change(run: Run, place: Path) -> None:
    hooks_file(place / ".qwen/settings.json", command("echo one"))
    skipped = run("hooks", "test")
    assert skipped.exit_code == 1
    assert f"then run `firsthand hooks trust {place}`" in skipped.stderr
    trusted = run("hooks", "trust")
    assert trusted.exit_code == 0
    assert f"{place} is trusted: 1 hook, until its hooks files change" in trusted.stdout
    assert "echo one" in trusted.stdout
    assert "\none\n" in run("hooks", "test").stdout
    hooks_file(place / ".qwen/settings.json", command("echo two"))
    changed = run("hooks", "test")
    assert changed.exit_code == 1
    assert "because they changed since it was trusted" in changed.stderr


def test_trust_is_taken_back(run: Run, place: Path) -> None:
    hooks_file(place / ".firsthand/hooks.json", command("date"))
    assert run("hooks", "trust", str(place)).exit_code == 0
    assert run("hooks", "trust", "--remove").stdout == f"{place} is trusted no longer\n"
    assert run("hooks", "trust", "--remove").stdout == f"{place} was not trusted; nothing to do\n"
    assert json.loads(run("hooks", "list", "--json").stdout)["standing"] == "untrusted"


def test_a_folder_without_hooks_is_not_trusted(run: Run, place: Path) -> None:
    result = run("hooks", "trust")
    assert (result.exit_code, result.stderr) == (
        1,
        f"firsthand: {place}: has no hooks of its own; put some into .firsthand/hooks.json first\n",
    )
    assert run("hooks", "trust", "nowhere").stderr == f"firsthand: {place}/nowhere: is no folder; check the path\n"


def test_a_folder_whose_file_is_broken_is_not_trusted(run: Run, place: Path) -> None:
    hooks_file(place / ".qwen/settings.json", command("a"))
    (place / ".firsthand").mkdir()
    (place / ".firsthand/hooks.json").write_text("{")
    result = run("hooks", "trust")
    assert result.exit_code == 1
    assert ".firsthand/hooks.json: is not valid JSON" in result.stderr


def test_a_corrupt_trust_file_is_one_line(run: Run, place: Path, home: Path) -> None:
    hooks_file(place / ".qwen/settings.json", command("a"))
    file = home / ".config/firsthand/trusted_folders.json"
    file.parent.mkdir(parents=True)
    file.write_text("{")
    for args in (("list",), ("trust",), ("trust", "--remove")):
        result = run("hooks", *args)
        message = f"firsthand: {file}: is no list of trusted folders; delete it, then trust your folders again\n"
        assert (result.exit_code, result.stderr) == (1, message)


def test_test_runs_the_hooks_and_shows_what_the_model_would_get(run: Run, place: Path) -> None:
    reply = 'import json, sys; print("you said", json.load(sys.stdin)["prompt"], "<b>")'
    file = hooks_file(place / "h.json", command(f"{sys.executable} -c '{reply}'", name="echo"))
    result = run("hooks", "test", "--hooks-file", str(file), "--prompt", "why?")
    assert (result.exit_code, result.stderr) == (0, "")
    assert '"prompt": "why?",\n  "submitted_prompt": "why?"' in result.stdout
    assert "ok  echo  command" in result.stdout
    assert "ms  exit code 0" in result.stdout
    assert "stdout\nyou said why? <b>\ntaken for  context for the model\n" in result.stdout
    assert result.stdout.endswith(
        "Sent to the model, behind the prompt:\n<qwen:user-prompt-submit-context>\nyou said why? &lt;b&gt;\n"
        "</qwen:user-prompt-submit-context>\n"
    )


def test_test_is_json_for_a_program(run: Run, place: Path) -> None:
    file = hooks_file(place / "h.json", command("echo ctx"), command("exit 3"))
    result = run("hooks", "test", "--hooks-file", str(file), "--json")
    said = json.loads(result.stdout)
    assert result.exit_code == 1
    assert list(said) == ["event", "hooks", "blocked", "reason", "blocked_by", "tagged_part"]
    assert [(hook["name"], hook["outcome"], hook["exit_code"]) for hook in said["hooks"]] == [
        ("echo", "success", 0),
        ("exit", "non_blocking_error", 3),
    ]
    assert said["hooks"][0]["payload"]["prompt"] == "Hello"
    assert said["hooks"][0]["where"] == f"{file}: UserPromptSubmit[0].hooks[0]"
    assert said["tagged_part"] == "<qwen:user-prompt-submit-context>\nctx\n</qwen:user-prompt-submit-context>"
    assert result.stderr == "firsthand: 1 of 2 hooks failed (exit); mend what is shown above\n"


def test_a_hook_that_blocks_is_no_failure(run: Run, place: Path) -> None:
    file = hooks_file(place / "h.json", command("echo not today >&2; exit 2", name="guard"))
    result = run("hooks", "test", "--hooks-file", str(file))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.endswith("\nBlocked by guard: not today\n")


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        (command("kill -9 $$"), "failed"),
        (command("sleep 9", timeout=0.1), "timed out"),
        (command("echo '{'"), "failed"),
    ],
)
def test_a_hook_that_goes_wrong_is_exit_1(run: Run, place: Path, entry: dict[str, object], word: str) -> None:
    result = run("hooks", "test", "--hooks-file", str(hooks_file(place / "h.json", entry)))
    assert result.exit_code == 1
    assert f"\n{word}  " in result.stdout
    assert "1 of 1 hooks failed" in result.stderr


def test_a_misplaced_context_is_named(run: Run, place: Path) -> None:
    file = hooks_file(place / "h.json", command("""echo '{"additionalContext": "x"}'"""))
    result = run("hooks", "test", "--hooks-file", str(file))
    assert "warning: additionalContext at the top level is ignored; put it into hookSpecificOutput" in result.stdout
    assert result.stdout.endswith("\nNothing is sent to the model.\n")
    assert result.exit_code == 0


def test_a_sequence_shows_what_each_was_given(run: Run, place: Path) -> None:
    file = hooks_file(place / "h.json", command("echo one"), command("echo two"), sequential=True)
    said = json.loads(run("hooks", "test", "--hooks-file", str(file), "--json").stdout)
    assert [hook["payload"]["prompt"] for hook in said["hooks"]] == ["Hello", "Hello\n\none"]
    assert {hook["payload"]["submitted_prompt"] for hook in said["hooks"]} == {"Hello"}
    assert run("hooks", "test", "--hooks-file", str(file)).stdout.count("given\n") == 2


def test_the_starts_can_be_tested_and_matchers_count(run: Run, place: Path) -> None:
    file = hooks_file(place / "h.json", command("echo hi"), event="SessionStart", matcher="resume|clear")
    args = ("hooks", "test", "--hooks-file", str(file), "--event", "SessionStart")
    assert run(*args).exit_code == 1
    assert "no hook would run for SessionStart" in run(*args).stderr
    result = run(*args, "--subject", "clear")
    assert '"source": "clear"' in result.stdout
    assert "in the system instruction:\n<qwen:session-start-context>\nhi\n" in result.stdout
    answer = """echo '{"hookSpecificOutput": {"additionalContext": "ctx"}}'"""
    file = hooks_file(place / "h.json", command(answer), event="SubagentStart", matcher="plan.*")
    said = run("hooks", "test", "--hooks-file", str(file), "--event", "SubagentStart", "--subject", "planner", "--json")
    assert json.loads(said.stdout)["tagged_part"] == (
        "<qwen:subagent-start-context>\nctx\n</qwen:subagent-start-context>"
    )


def test_a_prompt_hook_is_not_run_and_no_failure(run: Run, place: Path) -> None:
    file = hooks_file(place / "h.json", {"type": "prompt", "prompt": "Judge $ARGUMENTS"})
    result = run("hooks", "test", "--hooks-file", str(file))
    assert result.exit_code == 0
    assert "not run here: a prompt hook asks the model of a wrapped client" in result.stdout


def test_an_async_hooks_context_is_not_this_turns(run: Run, place: Path) -> None:
    file = hooks_file(place / "h.json", command("echo later", **{"async": True}))
    result = run("hooks", "test", "--hooks-file", str(file))
    assert "warning: async: what it says is context of the next turn, not of this one" in result.stdout
    assert result.stdout.endswith("\nNothing is sent to the model.\n")


def test_a_hooks_file_that_cannot_be_used_is_one_line(run: Run, place: Path) -> None:
    result = run("hooks", "list", "--hooks-file", "none.json")
    assert (result.exit_code, result.stderr) == (
        1,
        f"firsthand: {place}/none.json: cannot be read (No such file); check hooks_file\n",
    )
    file = hooks_file(place / "h.json", {"type": "telepathy"})
    assert "'telepathy' is no type of hook here" in run("hooks", "test", "--hooks-file", str(file)).stderr


def test_schema_prints_one(run: Run) -> None:
    assert json.loads(run("hooks", "schema", "SessionStart").stdout)["properties"]["hook_event_name"] == {
        "const": "SessionStart"
    }
    output = json.loads(run("hooks", "schema", "UserPromptSubmit", "--output").stdout)
    assert output["properties"]["decision"]["enum"] == ["ask", "block", "deny", "approve", "allow"]
    assert run("hooks", "schema", "Stop").exit_code == 2


def test_it_runs_as_a_process_without_a_warning(spawn: Spawn, place: Path, home: Path) -> None:
    file = hooks_file(place / "h.json", command("echo hi"))
    result = spawn("hooks", "test", "--hooks-file", str(file), HOME=str(home))
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("args", [("list",), ("test",), ("trust",), ("trust", "--remove")])
def test_a_folder_that_is_gone_is_one_line_that_says_so(run: Run, place: Path, args: tuple[str, ...]) -> None:
    place.rmdir()
    result = run("hooks", *args)
    assert result.exit_code == 1
    assert result.stderr == "firsthand: the folder that you are in is gone; change to another one\n"
