"""Which hooks run: the hooks file, and the set that is made of it.

The file has the reference's JSON shape, or the same in TOML; its other keys belong to other programs. A file that
names no usable hook where it names one is an error, never a hook that silently does not run.
Source: hooks-and-transcripts 1.6 and 1.14.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import tomllib
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import SettingsError
from ..turn import HookInput, HookOutcome
from .base import CallHooks, Executor, Hook, HookResult
from .steps import steps

__all__ = ["EVENTS", "FIRED", "HookSet", "executor_of", "load_hooks", "parse_hooks"]

FIRED = ("UserPromptSubmit",)
"""The events that this program fires."""

EVENTS = frozenset(
    {
        "UserPromptSubmit",
        "UserPromptExpansion",
        "SessionStart",
        "SessionEnd",
        "SessionDelete",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "PermissionRequest",
        "PermissionDenied",
        "Notification",
        "Stop",
        "StopFailure",
        "MessageDisplay",
        "SubagentStart",
        "SubagentStop",
        "PreCompact",
        "PostCompact",
        "TodoCreated",
        "TodoCompleted",
        "InstructionsLoaded",
    }
)
"""The events of the reference."""

_NO_EVENTS = frozenset({"enabled", "disabled", "notifications"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSet:
    """Hooks in the order of their configuration; `warnings` are for the person who wrote it, one line each."""

    hooks: tuple[Hook, ...] = ()
    warnings: tuple[str, ...] = ()

    def for_event(self, event: str) -> tuple[Hook, ...]:
        """The hooks of `event`; of several with one `key` the first."""
        unique: dict[str, Hook] = {}
        for hook in self.hooks:
            if hook.event == event:
                unique.setdefault(hook.key, hook)
        return tuple(unique.values())

    def adding(self, *hooks: Hook) -> HookSet:
        """This set with `hooks` after its own."""
        return replace(self, hooks=(*self.hooks, *hooks))

    def steps(
        self, hook_input: HookInput, *, now: Callable[[], str]
    ) -> Generator[CallHooks, list[HookResult], HookOutcome]:
        """Yield the calls of an event, return what they said; `now` gives ISO-8601 UTC with milliseconds and `Z`."""
        return steps(self.for_event(hook_input.event), hook_input, now)


def load_hooks(path: str | Path) -> HookSet:
    """Read a hooks file: TOML if its name ends in `.toml`, else JSON, in UTF-8 with or without a BOM.

    Raises `SettingsError` for a file that cannot be read or parsed and for a hook that cannot be run.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror}); check hooks_file") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: is not UTF-8; save it as UTF-8") from None
    try:
        document = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        kind = "TOML" if path.suffix == ".toml" else "JSON"
        raise SettingsError(f"{path}: is not valid {kind} ({str(error).splitlines()[0]}); mend it there") from None
    return parse_hooks(document, where=str(path))


def parse_hooks(document: object, *, where: str) -> HookSet:
    """Make a set of a parsed hooks file; `where` names it in errors and warnings. Raises `SettingsError`."""
    if not isinstance(document, Mapping):
        raise SettingsError(f"{where}: is no object; write {{'hooks': {{...}}}}")
    disabled = document.get("disableAllHooks", False)
    if not isinstance(disabled, bool):
        raise SettingsError(f"{where}: disableAllHooks is neither true nor false; write one of them")
    if disabled:
        return HookSet()
    events = document.get("hooks")
    if events is None:
        return HookSet(warnings=(f"{where}: has no `hooks`, so none will run",))
    if not isinstance(events, Mapping):
        raise SettingsError(f"{where}: `hooks` is no object; write event names with lists of definitions")
    hooks: list[Hook] = []
    warnings: list[str] = []
    for event, definitions in events.items():
        if event in FIRED:
            more = _event_hooks(event, definitions, f"{where}: {event}")
            hooks += more.hooks
            warnings += more.warnings
        elif event in EVENTS:
            warnings.append(f"{where}: {event} is not fired by firsthand; its hooks are skipped")
        elif event not in _NO_EVENTS:
            warnings.append(f"{where}: {event!r} is no event; its hooks are skipped, did you mean {FIRED[0]}?")
    return HookSet(hooks=tuple(hooks), warnings=tuple(warnings))


def executor_of(kind: str) -> type[Executor] | None:
    """The class of the hook type `kind`: the `EXECUTOR` of the file of that name in this folder, if there is one."""
    if not kind.isidentifier() or kind.startswith("_"):
        return None
    name = f"{__package__}.{kind}"
    if importlib.util.find_spec(name) is None:
        return None
    executor: type[Executor] | None = getattr(importlib.import_module(name), "EXECUTOR", None)
    return executor


def _event_hooks(event: str, definitions: object, where: str) -> HookSet:
    if not isinstance(definitions, list):
        raise SettingsError(f"{where}: is no list; write a list of definitions")
    hooks: list[Hook] = []
    warnings: list[str] = []
    for i, definition in enumerate(definitions):
        entries = definition.get("hooks") if isinstance(definition, Mapping) else None
        if not isinstance(entries, list):
            raise SettingsError(f"{where}[{i}]: has no list `hooks`; put the hook into 'hooks': [...]")
        for k, entry in enumerate(entries):
            hook, more = _hook(entry, event, definition.get("sequential") is True, f"{where}[{i}].hooks[{k}]")
            hooks.append(hook)
            warnings += more
    return HookSet(hooks=tuple(hooks), warnings=tuple(warnings))


def _hook(entry: object, event: str, sequential: bool, where: str) -> tuple[Hook, tuple[str, ...]]:
    if not isinstance(entry, Mapping):
        raise SettingsError(f"{where}: is no object; write 'type' and 'command'")
    kind = entry.get("type")
    executor = executor_of(kind) if isinstance(kind, str) else None
    if executor is None:
        raise SettingsError(f"{where}: {kind!r} is no type of hook here; write 'type': 'command'")
    return executor.configured(entry, event=event, sequential=sequential, where=where)
