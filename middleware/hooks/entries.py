"""The entries of a hooks file: every hook that it names, and what becomes of it.

Pure but for the import of executors. Source: hooks-and-transcripts 1.6 and 1.14.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from ..errors import SettingsError
from .base import Executor, Hook
from .matchers import SUBJECTS, is_everything, is_usable

__all__ = ["EVENTS", "FIRED", "Entry", "Securable", "State", "entries_of", "executor_of", "without_duplicates"]

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


@runtime_checkable
class Securable(Protocol):
    """A hook that a file's `security` is about."""

    def secured(self, security: object, where: str) -> tuple[Hook, tuple[str, ...]]:
        """This hook under `security`, and warnings. Raises `SettingsError`."""
        ...


def entries_of(document: object, *, where: str, source: str = "") -> list[Entry]:
    """Read every hook of a parsed hooks file, what is wrong with it included; never raises for what the file holds.

    The file's `security` is for the hooks that it is about, those over HTTP.
    """
    events = document.get("hooks") if isinstance(document, Mapping) else None
    if not isinstance(document, Mapping) or events is None:
        return []
    security = document.get("security")
    if not isinstance(events, Mapping):
        why = f"{where}: `hooks` is no object; write event names with lists of definitions"
        return [Entry(event="", where=where, state="invalid", why=why, source=source)]
    entries: list[Entry] = []
    for event, definitions in events.items():
        place = f"{where}: {event}"
        if event in FIRED:
            entries += (replace(entry, source=source) for entry in _event_entries(event, definitions, place, security))
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
    keys: dict[tuple[str, ...], Entry] = {}
    names: dict[tuple[object, ...], Entry] = {}
    for entry in entries:
        hook = entry.hook
        if entry.state == "runs" and hook is not None:
            # A hook behind a matcher may still be the first one that runs for some subject.
            same = (entry.event, hook.key, entry.matcher)
            twin = keys.get((entry.event, hook.key, "")) or keys.get(same)
            name = (entry.source, entry.event, entry.type, entry.name or entry.what, entry.matcher, hook.sequential)
            first = names.get(name)
            if twin is not None:
                entry = replace(entry, state="duplicate", why=f"is the same as {twin.where}", warnings=())
            elif first is not None:
                why = f"{first.where} is called {entry.name!r} too; give it another name"
                entry = replace(entry, state="duplicate", why=why, warnings=(f"{entry.where}: is skipped, {why}",))
            else:
                keys[same] = names[name] = entry
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


def _event_entries(event: str, definitions: object, where: str, security: object) -> Iterator[Entry]:
    if not isinstance(definitions, list):
        yield _invalid(event, where, "is no list; write a list of definitions")
        return
    for i, definition in enumerate(definitions):
        entries = definition.get("hooks") if isinstance(definition, Mapping) else None
        if not isinstance(entries, list):
            yield _invalid(event, f"{where}[{i}]", "has no list `hooks`; put the hook into 'hooks': [...]")
            continue
        matcher = ""
        warnings: tuple[str, ...] = ()
        if event in SUBJECTS:
            matcher = definition.get("matcher") or ""
            if not isinstance(matcher, str):
                yield _invalid(event, f"{where}[{i}]", "`matcher` is no string; quote it")
                continue
            if is_everything(matcher):
                matcher = ""
            elif not is_usable(matcher):
                why = "is no expression that can be read; it selects only a subject that equals it"
                warnings = (f"{where}[{i}]: the matcher {matcher!r} {why}",)
        sequential = definition.get("sequential") is True
        for k, item in enumerate(entries):
            entry = _entry(item, event, sequential, f"{where}[{i}].hooks[{k}]", security)
            yield replace(entry, matcher=matcher, warnings=(*entry.warnings, *(warnings if k == 0 else ())))


def _entry(item: object, event: str, sequential: bool, where: str, security: object) -> Entry:
    if not isinstance(item, Mapping):
        return _invalid(event, where, "is no object; write 'type' and 'command'")
    kind, name = item.get("type"), item.get("name")
    entry = Entry(
        event=event,
        where=where,
        type=kind if isinstance(kind, str) else "",
        name=name if isinstance(name, str) else "",
        what=next((text for key in ("command", "url", "prompt") if isinstance(text := item.get(key), str)), ""),
    )
    executor = executor_of(kind) if isinstance(kind, str) else None
    if executor is None:
        why = f"{where}: {kind!r} is no type of hook here; write 'type': 'command'"
        return replace(entry, state="invalid", why=why)
    try:
        hook, warnings = executor.configured(item, event=event, sequential=sequential, where=where)
        if isinstance(hook, Securable):
            hook, more = hook.secured(security, where)
            warnings += more
    except SettingsError as error:
        return replace(entry, state="invalid", why=str(error))
    if item.get("async") is True and not getattr(hook, "background", False):
        warnings += (f"{where}: `async` is for command hooks; a turn waits for this one",)
    return replace(entry, hook=hook, warnings=warnings)


def _invalid(event: str, where: str, why: str) -> Entry:
    return Entry(event=event, where=where, state="invalid", why=f"{where}: {why}")
