"""Where hooks are found: order, trust, what disables what, security, duplicates; real files and real scripts."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from middleware.drive import drive
from middleware.errors import SettingsError
from middleware.hooks import CallHooks, HookResult, load_hooks
from middleware.hooks.sources import Survey, config_folder, discover, survey, trust_file
from middleware.hooks.trust import trust
from middleware.turn import HookInput, Scene

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "settings.json"
SETTINGS = json.loads(GOLDEN.read_text(encoding="utf-8"))


class Place:
    """A project, a home and a system folder."""

    def __init__(self, base: Path) -> None:
        self.home, self.project, self.system = base / "home", base / "project", base / "etc" / "hooks.json"
        self.home.mkdir()
        self.project.mkdir()
        self.files = {
            "qwen": self.project / ".qwen/settings.json",
            "project": self.project / ".firsthand/hooks.json",
            "user qwen": self.home / ".qwen/settings.json",
            "user": self.home / ".config/firsthand/hooks.json",
            "system": self.system,
        }

    def write(self, name: str, *commands: str, **more: object) -> None:
        entries = [{"type": "command", "command": command} for command in commands]
        self.text(name, json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": entries}]}, **more}))

    def text(self, name: str, text: str) -> None:
        self.files[name].parent.mkdir(parents=True, exist_ok=True)
        self.files[name].write_text(text)

    def survey(self, **more: object) -> Survey:
        return survey(self.project, home=self.home, system=self.system, **more)  # type: ignore[arg-type]

    def trust(self) -> None:
        trust(self.project, self.survey().digest, file=trust_file(self.home))

    def running(self) -> list[str]:
        return [entry.what for entry in self.survey().entries if entry.state == "runs"]

    def states(self) -> dict[str, str]:
        return {entry.what: entry.state for entry in self.survey().entries}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return Place(tmp_path)


def test_nothing_is_found_where_there_is_nothing(place: Place) -> None:
    assert (place.survey().files, place.survey().warnings, place.survey().hooks.hooks) == ((), (), ())
    assert not trust_file(place.home).parent.exists()


def test_the_order_is_project_user_system(place: Place) -> None:
    for name, command in (("system", "e"), ("user", "d"), ("user qwen", "c"), ("project", "b"), ("qwen", "a")):
        place.write(name, command)
    place.trust()
    assert place.running() == ["a", "b", "c", "d", "e"]
    assert [hook.key for hook in place.survey().hooks.for_event("UserPromptSubmit")] == ["a", "b", "c", "d", "e"]


def test_a_named_file_comes_first_and_needs_no_trust(place: Place, tmp_path: Path) -> None:
    place.write("user", "b")
    named = tmp_path / "named.json"
    named.write_text('{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "a"}]}]}}')
    assert [hook.key for hook in place.survey(named=named).hooks.hooks] == ["a", "b"]
    assert [hook.key for hook in place.survey(named=named, alone=True).hooks.hooks] == ["a"]


def test_a_named_file_that_is_the_projects_too_is_read_once_and_its_trust_is_as_before(place: Place) -> None:
    place.write("project", "a")
    place.write("qwen", "b")
    place.trust()
    found = place.survey(named=place.files["project"])
    assert [(file.source, file.path.name) for file in found.files] == [
        ("named", "hooks.json"),
        ("project", "settings.json"),
    ]
    assert (found.standing, len(found.hooks.hooks)) == ("trusted", 2)


def test_xdg_config_home_counts_when_it_is_absolute(place: Place, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert config_folder(place.home) == tmp_path / "xdg" / "firsthand"
    place.files["user"] = tmp_path / "xdg/firsthand/hooks.json"
    place.write("user", "a")
    assert place.running() == ["a"]
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert config_folder(place.home) == place.home / ".config" / "firsthand"


def test_an_untrusted_projects_hooks_are_skipped_with_one_warning(place: Place) -> None:
    place.write("qwen", "a", "b", theme="dark")
    place.text("project", '{"hooks": {"Nonsense": [], "UserPromptSubmit": [{"hooks": [{"type": "no"}]}]}}')
    place.write("user", "c")
    found = place.survey()
    assert [hook.key for hook in found.hooks.hooks] == ["c"]
    [warning] = found.hooks.warnings
    assert warning == (
        f"{place.project}: the hooks of this folder are skipped, because it is not trusted; read .qwen/settings.json "
        f"and .firsthand/hooks.json, then run `firsthand hooks trust {place.project}`"
    )


def test_a_changed_hook_has_to_be_trusted_again_and_the_warning_says_so(place: Place) -> None:
    place.write("project", "a")
    place.trust()
    assert (place.running(), place.survey().hooks.warnings) == (["a"], ())
    place.write("project", "b")
    assert place.running() == []
    [warning] = place.survey().hooks.warnings
    assert (
        "are skipped, because they changed since it was trusted (a file that came or went is a change); read" in warning
    )
    assert f"`firsthand hooks trust {place.project}`" in warning
    place.trust()
    assert place.running() == ["b"]


def test_another_setting_in_the_file_needs_no_new_trust(place: Place) -> None:
    place.write("qwen", "a", theme="dark")
    place.trust()
    place.write("qwen", "a", theme="light")
    assert place.running() == ["a"]


def test_a_second_file_needs_new_trust(place: Place) -> None:
    place.write("qwen", "a")
    place.trust()
    place.write("project", "b")
    assert place.running() == []


def test_settings_without_hooks_ask_for_no_trust_and_read_no_trust_file(place: Place) -> None:
    place.text("qwen", '{"theme": "dark"}')
    trust_file(place.home).parent.mkdir(parents=True)
    trust_file(place.home).write_text("corrupt")
    assert place.survey().hooks.warnings == ()


def test_a_corrupt_trust_file_is_an_error_that_names_it(place: Place) -> None:
    place.write("qwen", "a")
    trust_file(place.home).parent.mkdir(parents=True)
    trust_file(place.home).write_text("corrupt")
    with pytest.raises(SettingsError, match=r"trusted_folders\.json: is no list of trusted folders"):
        place.survey()


def test_in_the_home_folder_the_projects_settings_are_the_persons_own(place: Place) -> None:
    place.write("user qwen", "a")
    found = survey(place.home, home=place.home, system=place.system)
    assert [(file.source, file.path.name) for file in found.files] == [("user", "settings.json")]
    assert [hook.key for hook in found.hooks.hooks] == ["a"]


def test_discover_is_the_set_that_runs(place: Place) -> None:
    place.write("user", "a")
    assert [hook.key for hook in discover(place.project, home=place.home).hooks][:1] == ["a"]


@pytest.mark.parametrize(
    ("disabling", "running"),
    [
        ("system", []),
        ("user", ["system"]),
        ("user qwen", ["system"]),
        ("project", ["system"]),
    ],
)
def test_disable_all_hooks_reaches_downwards(place: Place, disabling: str, running: list[str]) -> None:
    for name in ("project", "user qwen", "user", "system"):
        place.write(name, name, **({"disableAllHooks": True} if name == disabling else {}))
    place.trust()
    assert place.running() == running
    disabled = [entry for entry in place.survey().entries if entry.state == "disabled"]
    assert {entry.why for entry in disabled} == {f"disableAllHooks in {place.files[disabling]}"}


def test_an_untrusted_project_disables_nothing(place: Place) -> None:
    place.write("project", "a", disableAllHooks=True)
    place.write("user", "b")
    assert place.states() == {"a": "untrusted", "b": "runs"}


def test_of_one_hook_in_two_sources_the_first_runs(place: Place) -> None:
    place.write("qwen", "a")
    place.write("user", "a", "b")
    assert place.states() == {"a": "runs", "b": "runs"}
    place.trust()
    assert [(entry.what, entry.state) for entry in place.survey().entries] == [
        ("a", "runs"),
        ("a", "duplicate"),
        ("b", "runs"),
    ]
    assert place.survey().entries[1].why == f"is the same as {place.files['qwen']}: UserPromptSubmit[0].hooks[0]"
    assert place.survey().hooks.warnings == ()


HTTP = {"UserPromptSubmit": [{"hooks": [{"type": "http", "url": "http://10.0.0.1/x"}]}]}


@pytest.mark.parametrize(("name", "allowed"), [("user", True), ("system", True), ("project", False)])
def test_private_networks_are_allowed_by_the_person_or_the_system_only(place: Place, name: str, allowed: bool) -> None:
    security = {"allowPrivateNetworkHooks": True}
    for other in ("project", "user", "system"):
        place.text(other, json.dumps({"security": security if other == name else {}, "hooks": HTTP}))
    place.trust()
    [hook] = place.survey().hooks.for_event("UserPromptSubmit")
    assert hook.security.allow_private is allowed  # type: ignore[attr-defined]
    ignored = [text for text in place.survey().hooks.warnings if "allowPrivateNetworkHooks is ignored" in text]
    assert len(ignored) == (0 if allowed else 1)


def test_a_project_does_not_widen_the_allowed_urls(place: Place) -> None:
    place.text("project", json.dumps({"security": {"allowedHttpHookUrls": ["*"]}, "hooks": HTTP}))
    place.text("user", json.dumps({"security": {"allowedHttpHookUrls": ["https://a.example/*"]}}))
    place.trust()
    [hook] = place.survey().hooks.hooks
    assert hook.security.allowed_urls == ("https://a.example/*",)  # type: ignore[attr-defined]


def test_a_persons_file_that_cannot_be_used_is_an_error(place: Place) -> None:
    place.text("user", "{")
    with pytest.raises(SettingsError, match=r"hooks\.json: is not valid JSON"):
        place.survey()


def test_a_hook_in_it_that_cannot_run_is_a_warning_and_the_others_run(place: Place) -> None:
    entries = [{"type": "telepathy"}, {"type": "command"}, {"type": "command", "command": "a"}]
    place.text("user", json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": entries}, {}], "SessionStart": 3}}))
    hooks = place.survey().hooks
    assert [hook.key for hook in hooks.hooks] == ["a"]
    assert len(hooks.warnings) == 4
    assert all(text.endswith("; this hook is skipped") for text in hooks.warnings)


@pytest.mark.parametrize("text", ["{", "[]", "\x00", "[" * 100_000, '{"disableAllHooks": 1}', " " * (1024 * 1024 + 1)])
def test_a_projects_file_that_cannot_be_used_is_a_warning(place: Place, text: str) -> None:
    place.text("project", text)
    place.write("user", "a")
    [warning] = place.survey().hooks.warnings
    assert str(place.files["project"]) in warning
    assert warning.endswith("; its hooks are skipped")
    assert place.running() == ["a"]


def test_a_pipe_or_a_folder_of_that_name_holds_nobody(place: Place) -> None:
    place.files["project"].parent.mkdir()
    os.mkfifo(place.files["project"])
    place.files["qwen"].mkdir(parents=True)
    assert [warning.endswith("; its hooks are skipped") for warning in place.survey().hooks.warnings] == [True, True]


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_a_settings_file_of_the_reference_loads_as_it_is(place: Place, tmp_path: Path, text: str) -> None:
    file = tmp_path / "as-it-is.json"
    file.write_text(text)
    place.text("user qwen", text)
    found = place.survey()
    assert [entry.state for entry in found.entries] == ["runs"] * len(found.entries)
    assert found.hooks.warnings == load_hooks(file).warnings == ()
    assert found.hooks.hooks == load_hooks(file).hooks


def test_comments_in_settings_are_read_over(place: Place) -> None:
    place.text(
        "user qwen",
        '{ // mine\n "a": "http://x", /* and\n more */ "hooks": {"UserPromptSubmit": [{"hooks": '
        '[{"type": "command", "command": "echo // \\" /* kept */"}]}]}}',
    )
    assert place.running() == ['echo // " /* kept */']


SCRIPTS = {
    "sh": ("hook.sh", 'cat >/dev/null; echo "from sh"', "sh hook.sh"),
    "python": ("hook.py", 'import json, sys\nprint("from python", json.load(sys.stdin)["prompt"])', "python3 hook.py"),
    "node": (
        "hook.js",
        """const { prompt } = JSON.parse(require("fs").readFileSync(0));
        console.log(JSON.stringify({ hookSpecificOutput: { additionalContext: "from node " + prompt } }));""",
        "node hook.js",
    ),
}


def test_scripts_of_a_trusted_project_run_in_it_in_order(place: Place) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not here")
    for name, text, _ in SCRIPTS.values():
        (place.project / name).write_text(text)
    commands = [command.replace("python3", sys.executable) for _, _, command in SCRIPTS.values()]
    place.write("project", *commands)
    place.trust()

    def perform(step: CallHooks) -> list[HookResult]:
        return [hook.call(payload) for hook, payload in step.calls]

    given = HookInput(scene=Scene(session_id="s", cwd=str(place.project)), prompt="hi")
    said = drive(place.survey().hooks.steps(given, now=lambda: "2026-01-02T03:04:05.678Z"), perform)
    assert said.additional_context == "from sh\nfrom python hi\nfrom node hi"


@pytest.mark.parametrize("name", ["user", "project"])
def test_a_refused_hook_names_the_file_that_decides(place: Place, name: str) -> None:
    place.text(name, json.dumps({"hooks": HTTP}))
    place.trust()
    [entry] = place.survey().entries
    assert entry.state == "refused"
    assert entry.why == (
        "its URL is refused: its host is in a private network; security.allowPrivateNetworkHooks in "
        f"{place.files['user']} allows it"
    )
    listed = {"security": {"allowedHttpHookUrls": ["https://a.example/*"], "allowPrivateNetworkHooks": True}}
    place.text("system", json.dumps(listed))
    [entry] = place.survey().entries
    assert entry.why == (
        "its URL is refused: no pattern of security.allowedHttpHookUrls matches it; security.allowedHttpHookUrls in "
        f"{place.system} decides"
    )


def test_hooks_at_the_top_level_of_a_file_that_is_found_are_named_and_other_settings_are_not(place: Place) -> None:
    place.text("qwen", json.dumps({"UserPromptSubmit": []}))
    place.text("user qwen", json.dumps({"theme": "dark"}))
    [warning] = place.survey().hooks.warnings
    assert warning == (
        f"{place.files['qwen']}: UserPromptSubmit stands at the top level, so none of these hooks will run; put them "
        "into 'hooks': {...}"
    )


def test_a_named_file_without_hooks_is_a_warning(place: Place, tmp_path: Path) -> None:
    (tmp_path / "n.json").write_text("{}")
    assert place.survey(named=tmp_path / "n.json", alone=True).hooks.warnings == (
        f"{tmp_path}/n.json: has no `hooks`, so none will run",
    )


def test_an_untrusted_projects_slips_are_not_told(place: Place) -> None:
    place.text("project", json.dumps({"hooks": HTTP, "security": {"allowedHttpHookUrl": []}}))
    assert len(place.survey().hooks.warnings) == 1
    place.trust()
    assert any("did you mean `allowedHttpHookUrls`?" in warning for warning in place.survey().hooks.warnings)


def test_a_projects_toml_file_with_a_number_of_too_many_digits_is_a_warning(place: Place) -> None:
    (place.project / "h.toml").write_text(
        f'[[hooks.UserPromptSubmit]]\nx = 0x{"f" * 5000}\n[[hooks.UserPromptSubmit.hooks]]\ntype = "command"\n'
    )
    place.write("user", "true")
    problem = f"{place.project}/h.toml: holds a number of too many digits; shorten it there; its hooks are skipped"
    found = place.survey(setting=place.project / "h.toml")
    assert found.warnings == (problem,)
    assert [entry.what for entry in found.entries if entry.state == "runs"] == ["true"]
