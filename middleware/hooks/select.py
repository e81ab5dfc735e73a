"""Which hooks run: the hooks file, its entries, and the set that is made of them.

The file has the reference's JSON shape, comments among it, or the same in TOML; its other keys belong to other
programs. In a hooks file that is named, an entry that cannot run is an error, never a hook that silently does not run.
Source: hooks-and-transcripts 1.6, 1.9 and 1.14.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import tomllib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from ..errors import SettingsError
from ..turn import HookInput, HookOutcome
from .base import CallHooks, Executor, Hook, HookResult
from .matchers import SUBJECTS, is_everything, is_usable, selects
from .steps import steps

__all__ = [
    "EVENTS",
    "FIRED",
    "Entry",
    "HookSet",
    "State",
    "document_of",
    "entries_of",
    "executor_of",
    "hook_set",
    "is_disabled",
    "load_hooks",
    "parse_hooks",
    "without_duplicates",
]

FIRED = ("UserPromptSubmit", "SessionStart", "SubagentStart")
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

State: TypeAlias = Literal["runs", "disabled", "untrusted", "duplicate", "skipped", "invalid"]

_NO_EVENTS = frozenset({"enabled", "disabled", "notifications"})
_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One hook as a file has it, and what becomes of it; an event that is not fired is one entry.

    `where` is the file and the place in it, `what` the command, URL or prompt. `hook` is None for what cannot run;
    `why` is then one line, also for one that could and does not. `source` tells sources apart. A matcher that the
    event ignores is not kept.
    """

    event: str
    where: str
    state: State = "runs"
    why: str = ""
    type: str = ""
    name: str = ""
    what: str = ""
    matcher: str = ""
    source: str = ""
    hook: Hook | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSet:
    """Hooks in the order of their configuration; `warnings` are for the person who wrote it, one line each.

    `matchers` are those of `hooks`, in their order; where it ends, the hooks that are left run for every subject.
    """

    hooks: tuple[Hook, ...] = ()
    warnings: tuple[str, ...] = ()
    matchers: tuple[str, ...] = ()

    def for_event(self, event: str, subject: str | None = None) -> tuple[Hook, ...]:
        """The hooks of `event` whose matcher selects `subject` (None: all of them); of several with one `key` the
        first.

        The subject is the source of a SessionStart, the agent type of a SubagentStart; a UserPromptSubmit has none.
        """
        unique: dict[str, Hook] = {}
        for i, hook in enumerate(self.hooks):
            matcher = self.matchers[i] if i < len(self.matchers) else ""
            if hook.event == event and selects(event, matcher, subject):
                unique.setdefault(hook.key, hook)
        return tuple(unique.values())

    def adding(self, *hooks: Hook) -> HookSet:
        """This set with `hooks` after its own; they run for every subject."""
        return replace(self, hooks=(*self.hooks, *hooks))

    def steps(
        self, hook_input: HookInput, *, now: Callable[[], str]
    ) -> Generator[CallHooks, list[HookResult], HookOutcome]:
        """Yield the calls of an event, return what they said; `now` gives ISO-8601 UTC with milliseconds and `Z`."""
        subject = hook_input.details.get(SUBJECTS.get(hook_input.event, ""))
        chosen = self.for_event(hook_input.event, subject if isinstance(subject, str) else None)
        return steps(chosen, hook_input, now)


def load_hooks(path: str | Path) -> HookSet:
    """Read a hooks file: TOML if its name ends in `.toml`, else JSON, in UTF-8 with or without a BOM.

    Raises `SettingsError` for a file that cannot be read or parsed and for a hook that cannot be run.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror}); check hooks_file") from None
    return parse_hooks(document_of(data, path), where=str(path))


def document_of(data: bytes, path: Path) -> object:
    """Parse what a hooks file holds; JSON may have comments, as the reference's settings do.

    Raises `SettingsError`.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: is not UTF-8; save it as UTF-8") from None
    try:
        return tomllib.loads(text) if path.suffix == ".toml" else _json_of(text)
    except (ValueError, RecursionError) as error:
        kind = "TOML" if path.suffix == ".toml" else "JSON"
        raise SettingsError(f"{path}: is not valid {kind} ({str(error).splitlines()[0]}); mend it there") from None


def parse_hooks(document: object, *, where: str) -> HookSet:
    """Make a set of a parsed hooks file; `where` names it in errors and warnings. Raises `SettingsError`."""
    if is_disabled(document, where=where):
        return HookSet()
    entries = without_duplicates(entries_of(document, where=where))
    for entry in entries:
        if entry.state == "invalid":
            raise SettingsError(entry.why)
    no_hooks = isinstance(document, Mapping) and document.get("hooks") is None
    return hook_set(entries, (f"{where}: has no `hooks`, so none will run",) if no_hooks else ())


def is_disabled(document: object, *, where: str) -> bool:
    """True if a hooks file says `disableAllHooks`. Raises `SettingsError` for what is no object or no boolean."""
    if not isinstance(document, Mapping):
        raise SettingsError(f"{where}: is no object; write {{'hooks': {{...}}}}")
    disabled = document.get("disableAllHooks", False)
    if not isinstance(disabled, bool):
        raise SettingsError(f"{where}: disableAllHooks is neither true nor false; write one of them")
    return disabled


def hook_set(entries: Iterable[Entry], warnings: Iterable[str] = ()) -> HookSet:
    """Make a set of the entries that run, with the warnings of all but the untrusted and disabled."""
    entries = list(entries)
    running = [(entry.hook, entry.matcher) for entry in entries if entry.state == "runs" and entry.hook is not None]
    matchers = [matcher for _, matcher in running]
    while matchers and not matchers[-1]:
        matchers.pop()
    said = [
        warning for entry in entries if entry.state in ("runs", "skipped", "duplicate") for warning in entry.warnings
    ]
    return HookSet(hooks=tuple(hook for hook, _ in running), warnings=(*warnings, *said), matchers=tuple(matchers))


def entries_of(document: object, *, where: str, source: str = "") -> list[Entry]:
    """Read every hook of a parsed hooks file, what is wrong with it included; never raises for what the file holds."""
    events = document.get("hooks") if isinstance(document, Mapping) else None
    if events is None:
        return []
    if not isinstance(events, Mapping):
        why = f"{where}: `hooks` is no object; write event names with lists of definitions"
        return [Entry(event="", where=where, state="invalid", why=why, source=source)]
    entries: list[Entry] = []
    for event, definitions in events.items():
        place = f"{where}: {event}"
        if event in FIRED:
            entries += (replace(entry, source=source) for entry in _event_entries(event, definitions, place))
        elif event not in _NO_EVENTS:
            known = event in EVENTS
            warning = (
                f"{place} is not fired by firsthand; its hooks are skipped"
                if known
                else f"{where}: {event!r} is no event; its hooks are skipped, did you mean {FIRED[0]}?"
            )
            why = "is not fired by firsthand" if known else "is no event"
            entries.append(
                Entry(event=event, where=place, state="skipped", why=why, source=source, warnings=(warning,))
            )
    return entries


def without_duplicates(entries: Iterable[Entry]) -> list[Entry]:
    """Mark what never runs because an earlier entry does: with its key, or with its name and matcher in its source.

    The second rule is the reference's too (1.14); two commands of one name are probably a slip, so it is a warning.
    """
    marked: list[Entry] = []
    keys: dict[tuple[str, str], Entry] = {}
    names: dict[tuple[object, ...], Entry] = {}
    for entry in entries:
        if entry.state != "runs" or entry.hook is None:
            marked.append(entry)
            continue
        # A hook behind another matcher still may be the first one that runs for some subject.
        twin = next(
            (
                keys[key]
                for key in ((f"{entry.event} {entry.hook.key}", ""), (f"{entry.event} {entry.hook.key}", entry.matcher))
                if key in keys
            ),
            None,
        )
        name = (entry.source, entry.event, entry.type, entry.name or entry.what, entry.matcher, entry.hook.sequential)
        if twin is not None:
            entry = replace(entry, state="duplicate", why=f"is the same as {twin.where}")
        elif name in names:
            first = names[name]
            why = f"has the name of {first.where}"
            warning = f"{entry.where}: is skipped, {first.where} is called {entry.name!r} too; give it another name"
            entry = replace(entry, state="duplicate", why=why, warnings=(*entry.warnings, warning))
        else:
            keys.setdefault((f"{entry.event} {entry.hook.key}", entry.matcher), entry)
            names[name] = entry
        marked.append(entry)
    return marked


def executor_of(kind: str) -> type[Executor] | None:
    """The class of the hook type `kind`: the `EXECUTOR` of the file of that name in this folder, if there is one."""
    if not kind.isidentifier() or kind.startswith("_"):
        return None
    name = f"{__package__}.{kind}"
    if importlib.util.find_spec(name) is None:
        return None
    executor: type[Executor] | None = getattr(importlib.import_module(name), "EXECUTOR", None)
    return executor


def _event_entries(event: str, definitions: object, where: str) -> Iterator[Entry]:
    if not isinstance(definitions, list):
        yield _invalid(event, where, "is no list; write a list of definitions")
        return
    for i, definition in enumerate(definitions):
        entries = definition.get("hooks") if isinstance(definition, Mapping) else None
        if not isinstance(entries, list):
            yield _invalid(event, f"{where}[{i}]", "has no list `hooks`; put the hook into 'hooks': [...]")
            continue
        matcher, warnings = "", ()
        if event in SUBJECTS:
            matcher = definition.get("matcher") or ""
            if not isinstance(matcher, str):
                yield _invalid(event, f"{where}[{i}]", "`matcher` is no string; quote it")
                continue
            if is_everything(matcher):
                matcher = ""
            elif not is_usable(matcher):
                warnings = (
                    f"{where}[{i}]: the matcher {matcher!r} is no regular expression that can be read; it selects nothing "
                    "but a subject that equals it",
                )
        sequential = definition.get("sequential") is True
        for k, item in enumerate(entries):
            entry = _entry(item, event, sequential, f"{where}[{i}].hooks[{k}]")
            yield replace(entry, matcher=matcher, warnings=(*entry.warnings, *(warnings if k == 0 else ())))


def _entry(item: object, event: str, sequential: bool, where: str) -> Entry:
    if not isinstance(item, Mapping):
        return _invalid(event, where, "is no object; write 'type' and 'command'")
    kind, name = item.get("type"), item.get("name")
    shown = {
        "type": kind if isinstance(kind, str) else "",
        "name": name if isinstance(name, str) else "",
        "what": next((text for key in ("command", "url", "prompt") if isinstance(text := item.get(key), str)), ""),
    }
    executor = executor_of(kind) if isinstance(kind, str) else None
    if executor is None:
        return _invalid(event, where, f"{kind!r} is no type of hook here; write 'type': 'command'", **shown)
    try:
        hook, warnings = executor.configured(item, event=event, sequential=sequential, where=where)
    except SettingsError as error:
        return Entry(event=event, where=where, state="invalid", why=str(error), **shown)
    return Entry(event=event, where=where, hook=hook, warnings=warnings, **shown)


def _invalid(event: str, where: str, why: str, **shown: str) -> Entry:
    return Entry(event=event, where=where, state="invalid", why=f"{where}: {why}", **shown)


def _json_of(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        bare = _COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
        if bare == text:
            raise
        try:
            return json.loads(bare)
        except ValueError:
            raise error from None
