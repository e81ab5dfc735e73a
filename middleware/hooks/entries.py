"""The entries of a hooks file: every hook that it names, and what becomes of it.

Pure but for the import of executors. Source: hooks-and-transcripts 1.6 and 1.14.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from ..errors import SettingsError
from .base import Executor, Hook
from .events import EVENTS, FIRED
from .keys import about_entry, about_group, meant
from .matchers import SUBJECTS, is_everything, is_usable

if TYPE_CHECKING:
    from .guard import Refused

__all__ = ["Entry", "Securable", "State", "entries_of", "executor_of", "types", "without_duplicates"]

State: TypeAlias = Literal["runs", "refused", "disabled", "untrusted", "duplicate", "skipped", "invalid"]

_NO_EVENTS = frozenset({"enabled", "disabled", "notifications"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One hook as a file has it, and what becomes of it; an event that is not fired is one entry.

    `where` is the file and the place in it, `what` the command, URL or prompt. `hook` is None for what cannot run;
    `why` is then one line, also for one that could and does not. One that is `refused` runs, and fails each time: it
    may not ask its URL, and `allowed_by` is the setting that would let it, if any does. `source` tells sources apart.
    A matcher that the event ignores is not kept.
    """

    event: str
    where: str
    state: State = "runs"
    why: str = ""
    allowed_by: str = ""
    type: str = ""
    name: str = ""
    what: str = ""
    matcher: str = ""
    source: str = ""
    hook: Hook | None = None
    warnings: tuple[str, ...] = ()

    @property
    def is_called(self) -> bool:
        """Whether its hook is called when its event is fired."""
        return self.state in ("runs", "refused")


@runtime_checkable
class Securable(Protocol):
    """A hook that a file's `security` is about."""

    def secured(self, security: object, where: str) -> tuple[Hook, tuple[str, ...]]:
        """This hook under `security`, and warnings. Raises `SettingsError`."""
        ...

    def refusal(self) -> Refused | None:
        """Why it will never be asked, if that can be told without asking."""
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
            near = f"did you mean {meant(event, EVENTS) or FIRED[0]}?"
            warning = (
                f"{place} is not fired by firsthand; its hooks are skipped"
                if known
                else f"{where}: {event!r} is no event; its hooks are skipped, {near}"
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
        if entry.is_called and hook is not None:
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


def types() -> list[str]:
    """The types of hook that a file may hold: the executors of this folder that need no code."""
    names = (module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return [name for name in names if name != "function" and executor_of(name) is not None]


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
                warnings += (f"{where}[{i}]: the matcher {matcher!r} {why}",)
        warnings += about_group(definition, f"{where}[{i}]")
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
        return replace(entry, state="invalid", why=f"{where}: {_no_type(kind)}")
    try:
        hook, warnings = executor.configured(item, event=event, sequential=sequential, where=where)
        if isinstance(hook, Securable):
            hook, more = hook.secured(security, where)
            warnings += more
    except SettingsError as error:
        return replace(entry, state="invalid", why=str(error))
    warnings += about_entry(entry.type, item, event=event, where=where)
    if item.get("async") is True and not getattr(hook, "background", False):
        warnings += (f"{where}: `async` is for command hooks; a turn waits for this one",)
    refusal = hook.refusal() if isinstance(hook, Securable) else None
    if refusal is not None:
        entry = replace(entry, state="refused", why=str(refusal), allowed_by=refusal.allowed_by)
    return replace(entry, hook=hook, warnings=warnings)


def _no_type(kind: object) -> str:
    known = types()
    listed = f"{', '.join(known[:-1])} and {known[-1]}"
    if kind is None:
        return f"has no type; write 'type', the types are {listed}"
    near = meant(kind, known) if isinstance(kind, str) else None
    return f"{kind!r} is no type of hook here; {f'did you mean {near}?' if near else f'the types are {listed}'}"


def _invalid(event: str, where: str, why: str) -> Entry:
    return Entry(event=event, where=where, state="invalid", why=f"{where}: {why}")
