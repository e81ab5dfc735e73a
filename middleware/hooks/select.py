"""Which hooks run: the hooks file, and the set that is made of its entries.

The file has the reference's JSON shape, comments among it, or the same in TOML; its other keys belong to other
programs. In a hooks file that is named, an entry that cannot run is an error, never a hook that silently does not run.
Source: hooks-and-transcripts 1.6, 1.9 and 1.14.
"""

from __future__ import annotations

import json
import logging
import re
import tomllib
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import SettingsError
from ..turn import HookInput, HookOutcome
from .base import CallHooks, Hook, HookResult
from .entries import Entry, entries_of, executor_of, without_duplicates
from .events import EVENTS, FIRED
from .function import FunctionHook
from .keys import about_guard, about_place
from .matchers import SUBJECTS, selects
from .steps import steps

__all__ = [
    "EVENTS",
    "FIRED",
    "HookSet",
    "about_document",
    "document_of",
    "executor_of",
    "hook_set",
    "is_disabled",
    "load_hooks",
    "parse_hooks",
]

_log = logging.getLogger("firsthand")
# What is not closed is taken to its end: a search that fails at every place of a long file would take for ever.
_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)


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
        """This set with `hooks` after its own; they run for every subject. A function that is in it twice is logged."""
        for i, hook in enumerate(hooks):
            if isinstance(hook, FunctionHook) and any(_same(hook, other) for other in (*self.hooks, *hooks[:i])):
                _log.warning(
                    "firsthand: hook %s is registered for %s twice, so it runs twice; register it once",
                    hook.label,
                    hook.event,
                )
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
        if path.is_dir():
            raise SettingsError(f"{path}: is a folder; name the file in it") from None
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
        known = path.suffix.lower() in (".json", ".toml", "")
        mend = "mend it there" if known else "a hooks file is JSON, or TOML where its name ends in .toml"
        raise SettingsError(f"{path}: is not valid {kind} ({str(error).splitlines()[0]}); {mend}") from None


def parse_hooks(document: object, *, where: str) -> HookSet:
    """Make a set of a parsed hooks file; `where` names it in errors and warnings. Raises `SettingsError`."""
    if is_disabled(document, where=where) or not isinstance(document, Mapping):
        return HookSet()
    entries = without_duplicates(entries_of(document, where=where))
    for entry in entries:
        if entry.state == "invalid":
            raise SettingsError(entry.why)
    warnings = (*about_document(document, where, named=True), *about_guard(document, where))
    return hook_set(entries, warnings)


def about_document(document: Mapping[str, object], where: str, *, named: bool) -> tuple[str, ...]:
    """Warnings about a file as a whole; one that is `named` is a hooks file, others may be settings without hooks."""
    misplaced = about_place(document, where)
    if not named or misplaced or document.get("hooks") is not None or document.get("disableAllHooks") is True:
        return misplaced
    return (f"{where}: has no `hooks`, so none will run",)


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
    running = [(entry.hook, entry.matcher) for entry in entries if entry.is_called and entry.hook is not None]
    matchers = [matcher for _, matcher in running]
    while matchers and not matchers[-1]:
        matchers.pop()
    said = [warning for entry in entries if entry.state not in ("untrusted", "disabled") for warning in entry.warnings]
    return HookSet(hooks=tuple(hook for hook, _ in running), warnings=(*warnings, *said), matchers=tuple(matchers))


def _same(hook: FunctionHook, other: Hook) -> bool:
    """Whether they are one function, or one object's method, for one event under one name."""
    if not isinstance(other, FunctionHook) or (hook.event, hook.label) != (other.event, other.label):
        return False
    # A bound method is a new object each time that it is asked for.
    (owner, fn), (its_owner, its_fn) = (
        (getattr(fn, "__self__", None), getattr(fn, "__func__", fn)) for fn in (hook.fn, other.fn)
    )
    return owner is its_owner and fn is its_fn


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
