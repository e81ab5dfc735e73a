"""Scenarios: operations on a real chat, whose sends go through the real pipeline of a turn.

Operations are explained in section 5 of the rule book. What fired is the input that hooks are given there.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from middleware.chat import Act, Cancelled, Chat, Effect, Item, Kind, Send, SideQuestion
from middleware.chat.commands import Command
from middleware.chat.expand import expand
from middleware.parts import Message, Part, Request
from middleware.provenance import Origin, submitted_prompt
from middleware.turn import HookOutcome, RunHooks, Scene, Turn

from .hooking import NOW, ORIGINS

LOCAL = frozenset(
    {
        "about", "agents", "approval-mode", "arena", "auth", "branch", "bug", "chat", "clear", "compress", "config",
        "context", "copy", "cost", "delete", "diff", "directory", "docs", "doctor", "editor", "effort", "export",
        "extensions", "goal", "help", "hooks", "ide", "init", "insight", "language", "login", "logout", "lsp", "mcp",
        "memory", "model", "permissions", "plan", "privacy", "quit", "recap", "rename", "restore", "resume", "rewind",
        "settings", "setup-github", "skills", "stash", "stats", "status", "statusline", "summary", "tasks",
        "terminal-setup", "theme", "tools", "trust", "vim",
    }
)  # fmt: skip
"""Commands that the reference program runs itself."""

NAMES = {origin: name for name, origin in ORIGINS.items()}


class Stage:
    """One scenario's chat, the files around it, and the events that fired."""

    def __init__(self, config: Mapping[str, Any], folder: Path) -> None:
        bodies = {name.removeprefix("/"): body for name, body in config.get("commands", {}).items()}
        # The configured body is the whole expansion; what is typed behind a command is looked through for files only.
        self.commands = {name: _Literal(name=name, description="", body=body) for name, body in bodies.items()}
        self.folder = folder
        for name, body in config.get("files", {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body, encoding="utf-8")
        self.chat = Chat(local=LOCAL, prompts=self.commands)
        self.events: list[dict[str, Any]] = []
        self.steered: tuple[Item, ...] = ()
        self.newest: Send | SideQuestion | None = None
        self.cancelled: Cancelled | None = None

    def fire(self, origin: Origin, prompt: str, value: object, *, hooks: bool = True) -> bool:
        """Send through the real pipeline; True when the event fired."""
        message = Message(role="user", parts=(Part(kind="text", text=prompt),))
        turn = Turn(
            request=Request(messages=(message,), current=0, tool_result=False),
            scene=Scene(session_id="s"),
            origin=origin,
            submitted_prompt=submitted_prompt(origin, value),
            fires=hooks,
        )
        before, steps = len(self.events), turn.prepare()
        with contextlib.suppress(StopIteration):
            step = next(steps)
            while True:
                assert isinstance(step, RunHooks)
                self.events.append({"send_type": NAMES[origin], **step.input.payload(NOW)})
                step = steps.send(HookOutcome())
        return len(self.events) > before

    def carry_out(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                parts = expand(effect.item, folder=self.folder, commands=self.commands).parts
                submission = effect.submission(parts)
                fired = self.fire(effect.origin, submission.model_text, submission.submitted_prompt)
                self.newest = effect if fired else None
            elif isinstance(effect, SideQuestion):
                self.newest = effect
            elif isinstance(effect, Cancelled):
                self.cancelled = effect

    def step(self, step: Mapping[str, Any]) -> None:
        name = step["op"]
        if name in FOREIGN:
            self.fire(FOREIGN[name], step.get("prompt", ""), None)
            if name in ("tool_result", "hook_continuation"):
                self.chat.followed()
            return
        operation = getattr(self, f"op_{name}", None)
        if operation is None:
            raise ValueError(f"unknown operation {name!r}")
        operation(step)

    def op_type(self, step: Mapping[str, Any]) -> None:
        self.chat.composer.type(step["text"])

    def op_paste(self, step: Mapping[str, Any]) -> None:
        self.chat.composer.paste(step["text"])

    def op_delete_placeholder(self, step: Mapping[str, Any]) -> None:
        composer = self.chat.composer
        ends = [composer.text.rfind(name) + len(name) for name in composer.pastes if name in composer.text]
        composer.backspace(max(ends, default=None))

    def op_attach_image(self, step: Mapping[str, Any]) -> None:
        self.chat.composer.attach(step["text"])

    def op_detach(self, step: Mapping[str, Any]) -> None:
        self.chat.composer.detach(step["text"])

    def op_edit(self, step: Mapping[str, Any]) -> None:
        self.chat.composer.change(step["text"])

    def op_complete(self, step: Mapping[str, Any]) -> None:
        self.chat.composer.change(step["text"], Act.COMPLETE)

    def op_complete_and_submit(self, step: Mapping[str, Any]) -> None:
        self.op_complete(step)
        self.op_submit(step)

    def op_accept_suggestion(self, step: Mapping[str, Any]) -> None:
        self.chat.composer.fill(step["text"], Act.SUGGESTION)

    def op_editor_return(self, step: Mapping[str, Any]) -> None:
        self.chat.composer.change(step["text"], Act.EDITOR)

    def op_submit(self, step: Mapping[str, Any]) -> None:
        self.carry_out(self.chat.submit())

    def op_queue(self, step: Mapping[str, Any]) -> None:
        self.carry_out(self.chat.submit(defer=True))

    def op_vim_normal_submit(self, step: Mapping[str, Any]) -> None:
        self.carry_out(self.chat.submit_unvouched())

    def op_search_accept(self, step: Mapping[str, Any]) -> None:
        self.chat.composer.fill(step["text"], Act.SEARCH)

    def op_search_submit(self, step: Mapping[str, Any]) -> None:
        self.carry_out(self.chat.submit_found(step.get("text")))

    def op_search_cancel(self, step: Mapping[str, Any]) -> None:
        """The draft from before the search is still there."""

    def op_clear(self, step: Mapping[str, Any]) -> None:
        self.chat.composer.clear()

    def op_undo(self, step: Mapping[str, Any]) -> None:
        self.chat.composer.undo()

    def op_redo(self, step: Mapping[str, Any]) -> None:
        self.chat.composer.redo()

    def op_vim_on(self, step: Mapping[str, Any]) -> None:
        self.chat.composer.set_vim(True)

    def op_vim_off(self, step: Mapping[str, Any]) -> None:
        self.chat.composer.set_vim(False)

    def op_history_up(self, step: Mapping[str, Any]) -> None:
        self.chat.history_up()

    def op_history_down(self, step: Mapping[str, Any]) -> None:
        self.chat.history_down()

    def op_shell_on(self, step: Mapping[str, Any]) -> None:
        self.chat.toggle_shell(True)

    def op_shell_off(self, step: Mapping[str, Any]) -> None:
        self.chat.toggle_shell(False)

    def op_shell_history(self, step: Mapping[str, Any]) -> None:
        if step.get("text"):
            self.chat.composer.fill(step["text"], Act.SHELL_HISTORY)

    def op_speculation_ready(self, step: Mapping[str, Any]) -> None:
        self.chat.speculation_ready(step["text"])

    def op_restore_queue(self, step: Mapping[str, Any]) -> None:
        self.chat.pop_queue()

    def op_cancel(self, step: Mapping[str, Any]) -> None:
        self.cancelled = None
        self.newest = None if self.chat.busy else self.newest
        output, tool = bool(step.get("output")), bool(step.get("tool_running"))
        self.carry_out(self.chat.cancel(output=output, tool_running=tool, pending=bool(step.get("pending"))))

    def op_finish(self, step: Mapping[str, Any]) -> None:
        self.newest = None
        self.carry_out(self.chat.finish())

    def op_steer_drain(self, step: Mapping[str, Any]) -> None:
        self.steered = self.chat.steer()

    def op_steer_restore(self, step: Mapping[str, Any]) -> None:
        self.chat.unsteer(self.steered)
        self.steered = ()

    def op_admission_failed(self, step: Mapping[str, Any]) -> None:
        if isinstance(self.newest, Send):
            self.events.pop()
        if self.newest is not None:
            self.chat.refused(self.newest)
        self.newest = None

    def op_program_submit(self, step: Mapping[str, Any]) -> None:
        self.carry_out(self.chat.program_submit(step["text"]))

    def op_remote(self, step: Mapping[str, Any]) -> None:
        self.carry_out(self.chat.program_submit(step["text"], kind=Kind.REMOTE))

    def op_agent_tab(self, step: Mapping[str, Any]) -> None:
        self.chat.agent_tab = True

    def op_main_tab(self, step: Mapping[str, Any]) -> None:
        self.chat.agent_tab = False

    def op_pending_reminder(self, step: Mapping[str, Any]) -> None:
        self.chat.remind(step["text"])

    def op_stash(self, step: Mapping[str, Any]) -> None:
        self.chat.keep()

    def op_put_away(self, step: Mapping[str, Any]) -> None:
        self.chat.put_away()

    def op_take_out(self, step: Mapping[str, Any]) -> None:
        self.chat.take_out()

    def op_restart(self, step: Mapping[str, Any]) -> None:
        past = [entry.text for entry in self.chat.history.entries]
        shell = [entry.text for entry in self.chat.shell_history.entries]
        kept = {"stash": self.chat.stash, "shelf": self.chat.shelf}
        self.chat = Chat(local=LOCAL, prompts=self.commands, history=past, shell_history=shell, **kept)
        self.steered, self.newest = (), None

    def op_rewind(self, step: Mapping[str, Any]) -> None:
        past = self.chat.history.entries
        self.chat.rewind(step.get("text", past[-1].text if past else ""))

    def op_core_send(self, step: Mapping[str, Any]) -> None:
        origin = ORIGINS[step["kind"]]
        self.fire(origin, step.get("prompt", ""), step.get("value"), hooks=step.get("hooks", True))


class _Literal(Command):
    def prompt(self, arguments: str) -> str:
        return self.body


FOREIGN = {
    "tool_result": Origin.TOOL_RESULT,
    "hook_continuation": Origin.HOOK,
    "retry": Origin.RETRY,
    "cron": Origin.CRON,
    "notification": Origin.NOTIFICATION,
    "teammate": Origin.TEAMMATE,
    "goal": Origin.GOAL,
}


def scenario(case: Mapping[str, Any]) -> list[str]:
    """Play one scenario; every difference between what fired and what it expects."""
    with tempfile.TemporaryDirectory() as name:
        stage = Stage(case.get("config", {}), Path(name))
        for step in case["steps"]:
            stage.step(step)
    return [*_events(case["expect_events"], stage.events), *_besides(case.get("also_expect", {}), stage)]


def _events(expected: list[dict[str, Any]], fired: list[dict[str, Any]]) -> list[str]:
    failures = [] if len(expected) == len(fired) else [f"{len(fired)} events fired, expected {len(expected)}"]
    for number, (wanted, got) in enumerate(zip(expected, fired, strict=False)):
        for key, value in wanted.items():
            if key == "submitted_prompt_absent":
                right = ("submitted_prompt" in got) is not value
            elif key.endswith("_contains"):
                right = value in got.get(key.removesuffix("_contains"), "")
            else:
                right = key in got and got[key] == value
            if not right:
                said = {name: got[name] for name in ("send_type", "prompt", "submitted_prompt") if name in got}
                failures.append(f"event {number}: expected {key} {value!r}, got {said!r}")
    return failures


def _besides(expected: Mapping[str, Any], stage: Stage) -> list[str]:
    seen = {
        "log_removal_performed": stage.cancelled is not None and stage.cancelled.forgotten,
        "composer_text": stage.chat.composer.text,
        "history": [entry.text for entry in stage.chat.history.entries],
        "queue": [item.text for item in stage.chat.queue.items],
    }
    return [
        f"{key}: expected {wanted!r}, got {seen.get(key, 'nobody observes this')!r}"
        for key, wanted in expected.items()
        if key not in seen or seen[key] != wanted
    ]


SCENARIOS = {"scenario": scenario}
