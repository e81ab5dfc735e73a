"""What a hooks file's author probably meant: keys that are misspelt or misplaced, values that count for nothing.

A settings file belongs to other programs too, and a hook may carry keys of theirs. So a key is named only where hooks
are configured, and only if it is close to one that is known. All of it is warnings: what a file means is decided
elsewhere. Pure.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Final

from .events import EVENTS, STARTS

__all__ = ["about_entry", "about_group", "about_guard", "about_place", "about_timeout", "has_http", "meant"]

_ENTRY: Final = frozenset({"type", "name", "description", "timeout", "async", "statusMessage", "if"})
_OF: Final[Mapping[str, frozenset[str]]] = {
    "command": frozenset({"command", "env", "shell", "failMode", "asyncRewake"}),
    "http": frozenset({"url", "headers", "allowedEnvVars", "once"}),
    "prompt": frozenset({"prompt", "model", "debugLog"}),
}
_OF_A_HOOK: Final = _ENTRY.union(*_OF.values())
_GROUP: Final = frozenset({"matcher", "sequential", "hooks"})
_BELONG_INTO_A_HOOK: Final = _OF["http"] | {"timeout", "async", "failMode", "env", "shell"}
_GUARD: Final = frozenset({"allowedHttpHookUrls", "allowPrivateNetworkHooks"})
_CLOSE = 0.8
_LONGEST = 40
_LEGACY_FROM = 1000


def meant(key: str, known: Iterable[str]) -> str | None:
    """The known word that `key` is close to, in another case or with underscores among it; None if there is none.

    >>> meant("fail_mode", ["failMode", "name"]), meant("macher", ["matcher"]), meant("theme", ["timeout"])
    ('failMode', 'matcher', None)
    """
    if len(key) > _LONGEST:
        return None
    words = {_plain(word): word for word in sorted(known)}
    near = difflib.get_close_matches(_plain(key), words, 1, _CLOSE)
    return words[near[0]] if near else None


def about_entry(kind: str, entry: Mapping[str, object], *, event: str, where: str) -> tuple[str, ...]:
    """Warnings about the keys of one hook, whose type is `kind`."""
    said = []
    own = _ENTRY | _OF.get(kind, frozenset())
    for key, value in entry.items():
        owners = [other for other, keys in _OF.items() if key in keys and key not in own]
        if owners:
            if value and value != "open":
                said.append(f"`{key}` is for {owners[0]} hooks; {_without(key, kind)}")
        elif key in _GROUP:
            said.append(f"`{key}` stands in the hook, where it counts for nothing; put it beside `hooks`")
        elif key not in own and (near := meant(key, _OF_A_HOOK | _GROUP)) is not None:
            said.append(f"`{key}` is unknown and counts for nothing; did you mean `{near}`?")
    asynchronous = entry.get("async")
    if asynchronous is not None and not isinstance(asynchronous, bool):
        said.append("`async` is neither true nor false, so the turn waits; write one of them")
    if kind == "command" and entry.get("failMode") == "closed":
        if asynchronous is True:
            said.append("nobody waits for an `async` hook, so `failMode` closed and a refusal have no effect")
        elif event in STARTS:
            said.append(f"a {event} cannot be refused, so `failMode` closed has no effect")
    return tuple(f"{where}: {text}" for text in said)


def about_group(group: Mapping[str, object], where: str) -> tuple[str, ...]:
    """Warnings about the keys beside a list of `hooks`."""
    said = []
    for key, value in group.items():
        if key in _BELONG_INTO_A_HOOK:
            said.append(f"`{key}` stands beside `hooks`, where it counts for nothing; put it into the hook")
        elif key not in _GROUP | _ENTRY and (near := meant(key, _GROUP | _BELONG_INTO_A_HOOK)) is not None:
            said.append(f"`{key}` is unknown and counts for nothing; did you mean `{near}`?")
        elif key == "sequential" and value is not None and not isinstance(value, bool):
            said.append("`sequential` is neither true nor false, so it counts as false; write one of them")
    return tuple(f"{where}: {text}" for text in said)


def about_place(document: Mapping[str, object], where: str) -> tuple[str, ...]:
    """Warnings about what stands at the top level of a hooks file and belongs one level down."""
    events = [key for key in document if key in EVENTS]
    said = []
    if events:
        what = f"{', '.join(events)} {'stands' if len(events) == 1 else 'stand'} at the top level"
        said.append(f"{what}, so none of these hooks will run; put them into 'hooks': {{...}}")
    if has_http(document):
        said += [
            f"`{key}` stands at the top level, where it counts for nothing; put it into `security`"
            for key in sorted(_GUARD.intersection(document))
        ]
    return tuple(f"{where}: {text}" for text in said)


def about_guard(document: Mapping[str, object], where: str) -> tuple[str, ...]:
    """Warnings about the keys of `security`."""
    security = document.get("security")
    if not isinstance(security, Mapping):
        return ()
    said = [
        f"`security.{key}` is unknown and guards nothing; did you mean `{near}`?"
        for key in security
        if key not in _GUARD and (near := meant(key, _GUARD)) is not None
    ]
    if security.get("allowedHttpHookUrls") == [] and has_http(document):
        said.append("`security.allowedHttpHookUrls` is empty, which allows every URL; list patterns, or leave it out")
    return tuple(f"{where}: {text}" for text in said)


def about_timeout(kind: str, value: object, milliseconds: int, where: str) -> tuple[str, ...]:
    """Warnings about a configured `timeout` of which `milliseconds` was made."""
    if value is None:
        return ()
    seconds = _number(value)
    if seconds is None or not 0 < seconds < math.inf:
        what = "is no number of seconds over 0"
        return (f"{where}: `timeout` {_shown(value)} {what}; {milliseconds / 1000:g} s are taken",)
    if kind == "command":
        legacy = f"a timeout of {_LEGACY_FROM} or more is read as milliseconds; write seconds"
        return (f"{where}: {legacy}",) if seconds >= _LEGACY_FROM else ()
    if milliseconds == 1:
        return (f"{where}: `timeout` is in seconds, and no timer can hold this one: it ends at once",)
    if isinstance(value, str) and kind == "prompt":
        return (f"{where}: `timeout` {_shown(value)} is a string; {milliseconds / 1000:g} s are taken",)
    if seconds >= _LEGACY_FROM:
        return (f"{where}: `timeout` is in seconds, {seconds:g} of them; were milliseconds meant?",)
    return ()


def has_http(document: Mapping[str, object]) -> bool:
    """Whether any hook in the file is one over HTTP."""
    events = document.get("hooks")
    groups = [group for found in _values(events) if isinstance(found, list) for group in found]
    entries = [entry for group in groups if isinstance(group, Mapping) for entry in _listed(group.get("hooks"))]
    return any(isinstance(entry, Mapping) and entry.get("type") == "http" for entry in entries)


def _without(key: str, kind: str) -> str:
    if key == "failMode":
        return f"a failed {kind} hook lets the turn go on"
    return "this one is run every time" if key == "once" else "here it counts for nothing"


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value) if not isinstance(value, str) or "_" not in value else None
    except (ValueError, OverflowError):
        return None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _plain(word: str) -> str:
    return word.replace("_", "").replace("-", "").lower()


def _values(value: object) -> Iterable[object]:
    return value.values() if isinstance(value, Mapping) else ()


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
