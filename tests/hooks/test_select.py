"""Which hooks run: the file, its errors and warnings, de-duplication."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from middleware.errors import SettingsError
from middleware.hooks import CommandHook, FunctionHook, HookSet, load_hooks
from middleware.hooks.entries import entries_of
from middleware.hooks.select import executor_of, parse_hooks
from middleware.turn import HookInput, Scene
from tests.pace import no_hang


def written(folder: Path, value: object) -> Path:
    path = folder / "hooks.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def definition(*entries: object, **more: object) -> dict[str, object]:
    return {"hooks": {"UserPromptSubmit": [{"hooks": list(entries), **more}]}}


def command(**more: object) -> dict[str, object]:
    return {"type": "command", "command": "x", **more}


def test_the_references_shape_is_read(tmp_path: Path) -> None:
    entry = {
        "type": "command",
        "command": "python3 ctx.py",
        "name": "ctx",
        "description": "d",
        "timeout": 10,
        "env": {"A": "1"},
        "shell": "bash",
        "async": False,
        "failMode": "closed",
        "statusMessage": "…",
    }
    path = written(tmp_path, {"security": {}, "theme": "dark", **definition(entry, matcher="", sequential=True)})
    assert load_hooks(path) == HookSet(
        hooks=(
            CommandHook(
                command="python3 ctx.py",
                name="ctx",
                sequential=True,
                timeout_ms=10_000,
                env={"A": "1"},
                fail_closed=True,
            ),
        )
    )


def test_the_same_in_toml_is_read(tmp_path: Path) -> None:
    path = tmp_path / "hooks.toml"
    path.write_text(
        '[[hooks.UserPromptSubmit]]\nsequential = true\n[[hooks.UserPromptSubmit.hooks]]\ntype = "command"\n'
        'command = "date"\ntimeout = 2.5\n',
        encoding="utf-8",
    )
    assert load_hooks(path).hooks == (CommandHook(command="date", sequential=True, timeout_ms=2500),)


def test_a_file_with_a_bom_is_read(tmp_path: Path) -> None:
    assert len(load_hooks(written(tmp_path, "\ufeff" + json.dumps(definition(command())))).hooks) == 1


def test_all_hooks_can_be_disabled(tmp_path: Path) -> None:
    assert load_hooks(written(tmp_path, {"disableAllHooks": True, **definition(command())})) == HookSet()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "hooks.json: is not valid JSON (Expecting property name"),
        ("[" * 100_000, "hooks.json: is not valid JSON"),
        ([], "hooks.json: is no object"),
        ({"hooks": []}, "hooks.json: `hooks` is no object"),
        ({"disableAllHooks": "yes"}, "hooks.json: disableAllHooks is neither true nor false"),
        ({"hooks": {"UserPromptSubmit": {}}}, "UserPromptSubmit: is no list"),
        ({"hooks": {"UserPromptSubmit": [command()]}}, "UserPromptSubmit[0]: has no list `hooks`"),
        (definition("date"), "UserPromptSubmit[0].hooks[0]: is no object"),
        (definition(command(), {"type": "command"}), "UserPromptSubmit[0].hooks[1]: a command hook has no command"),
        (definition(command(command="  ")), "UserPromptSubmit[0].hooks[0]: a command hook has no command"),
        (
            definition({"command": "x"}),
            "UserPromptSubmit[0].hooks[0]: has no type; write 'type', the types are command, http",
        ),
        (
            definition({"type": "comand"}),
            "UserPromptSubmit[0].hooks[0]: 'comand' is no type of hook here; did you mean command?",
        ),
        (definition({"type": "shell"}), "UserPromptSubmit[0].hooks[0]: 'shell' is no type of hook here"),
        (definition({"type": "select"}), "'select' is no type of hook here"),
        (definition({"type": "../command"}), "'../command' is no type of hook here"),
        (definition({"type": "function"}), "a function hook cannot stand in a file"),
        (definition(command(failMode="close")), "`failMode` is 'close'; use open or closed"),
        (definition(command(shell="fish")), "`shell` is 'fish'; use one of bash, powershell"),
        (definition(command(shell=["bash"])), "`shell` is ['bash']; use one of bash, powershell"),
        (definition(command(name=3)), "`name` is no string"),
        (definition(command(env=["A"])), "`env` is no object"),
        (definition(command(env={"A": 1})), "`env.A` is no string"),
        (definition(command(env={"A=B": "x"})), "`env` has a name that no environment can hold"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_that_says_where(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_hooks(written(tmp_path, content))
    assert message in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_a_settings_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.json: cannot be read \(No such file or directory\)"):
        load_hooks(tmp_path / "none.json")


def test_a_file_that_is_not_utf8_is_a_settings_error(tmp_path: Path) -> None:
    (tmp_path / "hooks.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(SettingsError, match="is not UTF-8"):
        load_hooks(tmp_path / "hooks.json")


def test_what_does_not_run_is_a_warning_and_what_is_no_event_is_skipped() -> None:
    events = {"Stop": "anything", "UserPromtSubmit": [], "enabled": ["x"], "disabled": [], "notifications": True}
    assert parse_hooks({"hooks": events}, where="f").warnings == (
        "f: Stop is not fired by firsthand; its hooks are skipped",
        "f: 'UserPromtSubmit' is no event; its hooks are skipped, did you mean UserPromptSubmit?",
    )


def test_a_file_without_hooks_is_a_warning() -> None:
    assert parse_hooks({"hook": {}}, where="f").warnings == ("f: has no `hooks`, so none will run",)


def test_a_timeout_in_milliseconds_is_one_warning() -> None:
    loaded = parse_hooks(definition(command(timeout=60_000)), where="f")
    assert [hook.timeout_ms for hook in loaded.hooks] == [60_000]
    assert loaded.warnings == (
        "f: UserPromptSubmit[0].hooks[0]: a timeout of 1000 or more is read as milliseconds; write seconds",
    )


def test_an_async_hook_is_one_in_the_background() -> None:
    loaded = parse_hooks(definition(command(**{"async": True})), where="f")
    assert loaded == HookSet(hooks=(CommandHook(command="x", background=True),))


@pytest.mark.parametrize(
    "entry", [{"type": "http", "url": "https://h.example/"}, {"type": "prompt", "prompt": "$ARGUMENTS"}]
)
def test_another_hook_cannot_be_async_and_a_warning_says_so(entry: dict[str, object]) -> None:
    loaded = parse_hooks(definition({**entry, "async": True}), where="f")
    assert loaded.warnings == (
        "f: UserPromptSubmit[0].hooks[0]: `async` is for command hooks; a turn waits for this one",
    )


def test_of_two_commands_with_one_key_the_first_runs() -> None:
    first, second = CommandHook(command="x", name="n", timeout_ms=1), CommandHook(command="x", name="n", timeout_ms=2)
    other, unnamed = CommandHook(command="x", name="m"), CommandHook(command="x")
    hooks = HookSet(hooks=(first, second, other, unnamed)).for_event("UserPromptSubmit")
    assert hooks == (first, other, unnamed)


def test_one_function_registered_twice_runs_twice() -> None:
    hooks = HookSet().adding(FunctionHook(len), FunctionHook(len))
    assert len(hooks.for_event("UserPromptSubmit")) == 2


def test_a_hook_of_another_event_does_not_run() -> None:
    assert HookSet().adding(FunctionHook(len, "Stop")).for_event("UserPromptSubmit") == ()


def test_a_matcher_is_ignored_for_prompts() -> None:
    for matcher in ("Bash", "[", 3, None):
        loaded = parse_hooks(definition(command(), matcher=matcher), where="f")
        assert (len(loaded.for_event("UserPromptSubmit", "x")), loaded.warnings) == (1, ())


def starting(*definitions: dict[str, object], event: str = "SessionStart") -> HookSet:
    return parse_hooks({"hooks": {event: list(definitions)}}, where="f")


def test_a_matcher_selects_the_hooks_of_a_start() -> None:
    hooks = starting(
        {"matcher": "resume|clear", "hooks": [command(command="a"), command(command="b")]},
        {"matcher": "*", "hooks": [command(command="c")]},
        {"matcher": "^st", "hooks": [command(command="d")]},
        {"hooks": [command(command="e")]},
    )
    assert [hook.key for hook in hooks.for_event("SessionStart", "startup")] == ["c", "d", "e"]
    assert [hook.key for hook in hooks.for_event("SessionStart", "clear")] == ["a", "b", "c", "e"]
    assert [hook.key for hook in hooks.for_event("SessionStart")] == ["a", "b", "c", "d", "e"]
    assert hooks.for_event("SubagentStart", "clear") == ()


@pytest.mark.parametrize(
    ("event", "details", "called"),
    [
        ("SessionStart", {"source": "resume"}, ["a", "b"]),
        ("SessionStart", {"source": "startup"}, ["b"]),
        ("SubagentStart", {"agent_type": "resume"}, ["a", "b"]),
        ("SubagentStart", {"agent_type": "planner", "source": "resume"}, ["b"]),
    ],
)
def test_the_steps_of_an_event_know_its_subject(event: str, details: dict[str, object], called: list[str]) -> None:
    hooks = starting(
        {"matcher": "resume", "hooks": [command(command="a")]}, {"hooks": [command(command="b")]}, event=event
    )
    given = HookInput(event=event, scene=Scene(session_id="s"), details=details)
    step = next(hooks.steps(given, now=lambda: "2026-01-02T03:04:05.678Z"))
    assert [hook.key for hook, _ in step.calls] == called


def test_a_hook_that_is_added_runs_for_every_subject() -> None:
    hooks = starting({"matcher": "clear", "hooks": [command(command="a")]})
    added = FunctionHook(len, "SessionStart")
    assert hooks.adding(added).for_event("SessionStart", "startup") == (added,)


def test_one_hook_behind_two_matchers_runs_once_for_what_both_select() -> None:
    hooks = starting({"matcher": "a|b", "hooks": [command()]}, {"matcher": "b|c", "hooks": [command()]})
    assert [len(hooks.for_event("SessionStart", subject)) for subject in ("a", "b", "c", "d")] == [1, 1, 1, 0]


def test_a_matcher_that_cannot_be_read_is_one_warning() -> None:
    hooks = starting({"matcher": "star[", "hooks": [command(), command(command="y")]})
    assert hooks.for_event("SessionStart", "startup") == ()
    [warning] = hooks.warnings
    assert warning == (
        "f: SessionStart[0]: the matcher 'star[' is no expression that can be read; it selects only a subject that "
        "equals it"
    )


def test_a_matcher_that_is_no_string_is_an_error() -> None:
    with pytest.raises(SettingsError, match=r"f: SessionStart\[0\]: `matcher` is no string; quote it"):
        starting({"matcher": 3, "hooks": [command()]})


def test_two_commands_of_one_name_in_a_file_are_one_and_a_warning() -> None:
    loaded = parse_hooks(definition(command(name="n"), command(name="n", command="y")), where="f")
    assert [hook.key for hook in loaded.hooks] == ["n:x"]
    [warning] = loaded.warnings
    assert warning == (
        "f: UserPromptSubmit[0].hooks[1]: is skipped, f: UserPromptSubmit[0].hooks[0] is called 'n' too; give it "
        "another name"
    )


def test_comments_in_json_are_read_over(tmp_path: Path) -> None:
    text = '// first\n{"hooks": /* all */ {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "a//b"}]}]}}'
    assert [hook.key for hook in load_hooks(written(tmp_path, text)).hooks] == ["a//b"]


@pytest.mark.parametrize("text", ["/*" * 100_000, '"' * 100_001, '"' + '\\"' * 100_000, "{/", "//"])
def test_what_is_not_json_without_comments_either_is_an_error_at_once(tmp_path: Path, text: str) -> None:
    with no_hang(), pytest.raises(SettingsError, match="is not valid JSON"):
        load_hooks(written(tmp_path, text))


@pytest.mark.parametrize("kind", ["", "__init__", "base", "os", "a.b", "command.py", "select", "entries"])
def test_only_a_file_with_an_executor_is_a_type(kind: str) -> None:
    assert executor_of(kind) is None


def test_a_folder_or_another_format_is_named_as_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load_hooks(tmp_path)
    assert str(caught.value) == f"{tmp_path}: is a folder; name the file in it"
    (tmp_path / "hooks.yaml").write_text("hooks:\n  UserPromptSubmit: []\n")
    with pytest.raises(SettingsError, match=r"a hooks file is JSON, or TOML where its name ends in \.toml"):
        load_hooks(tmp_path / "hooks.yaml")


def test_a_hook_that_may_not_ask_its_url_is_refused_and_is_called_all_the_same() -> None:
    document = definition({"type": "http", "url": "http://10.0.0.1/"}, {"type": "http", "url": "http://127.0.0.1/"})
    assert [entry.state for entry in entries_of(document, where="f")] == ["refused", "runs"]
    assert len(parse_hooks(document, where="f").hooks) == 2


def test_a_function_that_is_registered_twice_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Person:
        def hook(self, payload: object) -> None: ...

    def fn(payload: object) -> None: ...

    ann, bob = Person(), Person()
    functions = (fn, ann.hook, bob.hook)
    hooks = HookSet().adding(*(FunctionHook(function) for function in functions))
    hooks = hooks.adding(FunctionHook(fn, event="SessionStart"), FunctionHook(fn, name="other"))
    assert caplog.messages == []
    hooks.adding(FunctionHook(fn)).adding(FunctionHook(ann.hook))
    assert caplog.messages == [
        "firsthand: hook fn is registered for UserPromptSubmit twice, so it runs twice; register it once",
        "firsthand: hook hook is registered for UserPromptSubmit twice, so it runs twice; register it once",
    ]
