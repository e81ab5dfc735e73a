"""What `firsthand hooks` shows on a screen: the list of hooks, and what each did when it was tried."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..hooks.effects import is_background

if TYPE_CHECKING:
    from ..hooks.entries import Entry
    from ..hooks.sources import Survey
    from .hooks_trial import Call, Trial

__all__ = ["print_list", "print_trial", "row", "warn_of"]

_STYLES: Mapping[str, str] = {
    "runs": "bold green",
    "untrusted": "bold yellow",
    "invalid": "bold red",
    "refused": "bold red",
}
_AUTHORITY = re.compile(r"(https?:)?([/\\]*)([^/\\]*)", re.IGNORECASE)
_PROGRAMS = "These are the command line's. A program runs its own hooks_file and no other, which needs no trust."


def warn_of(found: Survey) -> None:
    """Write the warnings about the hooks that were found."""
    from .screen import warn

    for warning in found.hooks.warnings:
        warn(f"warning: {warning}")


def row(entry: Entry) -> dict[str, Any]:
    """An entry, for a program; `timeout` in seconds, None for a hook that cannot run."""
    names = ("event", "type", "name", "matcher", "what", "source", "where", "state", "why")
    timeout = entry.hook.timeout_ms / 1000 if entry.hook is not None else None
    asynchronous = entry.hook is not None and is_background(entry.hook)
    said = {name: getattr(entry, name) for name in names}
    return said | {"what": _what(entry), "timeout": timeout, "async": asynchronous}


def print_list(found: Survey) -> None:
    """Show every file with its hooks, and what becomes of them."""
    from .screen import console, safe

    out = console()
    if not found.files:
        out.print(safe(f"No hooks for {found.folder}: no hooks_file is set and no file is found."), soft_wrap=True)
    for i, file in enumerate(found.files):
        if i:
            out.print()
        standing = f"  {found.standing}" if file.source == "project" else ""
        out.print(safe(file.source, "bold"), safe(str(file.path)), safe(standing, "dim"), soft_wrap=True)
        entries = [entry for entry in found.entries if f"{entry.where}: ".startswith(f"{file.path}: ")]
        if file.document is not None and file.document.get("disableAllHooks") is True:
            out.print(safe("  disableAllHooks", "yellow"))
        if entries:
            out.print(_table(entries, found))
        else:
            out.print(safe("  no hooks", "dim"))
    if any(file.source != "named" for file in found.files):
        out.print()
        out.print(safe(_PROGRAMS, "dim"), soft_wrap=True)


def print_trial(trial: Trial) -> None:
    """Show what each hook was given and said, and what the model would get."""
    from .screen import console, safe

    out = console()
    shown: object = None
    for call in trial.calls:
        if call.payload != shown:
            out.print(safe("given", "bold"), soft_wrap=True)
            out.print(safe(call.shown(call.payload), "dim"), soft_wrap=True)
            shown = call.payload
        out.print()
        _print_call(out, call)
    out.print()
    if trial.said.blocked:
        out.print(
            safe(f"Blocked by {', '.join(trial.said.blocked_by)}: {trial.said.reason}", "bold yellow"), soft_wrap=True
        )
    elif trial.tagged_part is None:
        out.print(safe("Nothing is sent to the model.", "bold"), soft_wrap=True)
    else:
        out.print(safe(f"Sent to the model, {trial.place}", "bold"), soft_wrap=True)
        out.print(safe(trial.tagged_part), soft_wrap=True)


def _print_call(out: Any, call: Call) -> None:
    from .screen import safe

    result = call.result
    code = "" if result.exit_code is None else f"  exit code {result.exit_code}"
    out.print(
        safe(call.word, {"ok": "bold green", "blocked": "bold yellow"}.get(call.word, "bold red")),
        safe(f" {call.hook.label}", "bold"),
        safe(f" {call.hook.type}  {result.duration_ms:.0f} ms{code}"),
        soft_wrap=True,
    )
    out.print(safe(call.where, "dim"), soft_wrap=True)
    if result.error:
        out.print(safe(result.error, "red"), soft_wrap=True)
    for warning in call.warnings:
        out.print(safe(f"warning: {warning}", "yellow"), soft_wrap=True)
    for name, text in call.printed.items():
        out.print(safe(name, "bold"), soft_wrap=True)
        out.print(safe(text), soft_wrap=True)
    if call.taken_for:
        out.print(safe("taken for", "bold"), safe(f" {call.taken_for}"), soft_wrap=True)
    if result.is_answer and result.output:
        out.print(safe(call.shown(result.output)), soft_wrap=True)


def _table(entries: list[Entry], found: Survey) -> Any:
    from rich.table import Table
    from rich.text import Text

    from .screen import safe

    width = min(20, max((len(entry.name) for entry in found.entries), default=0))
    table = Table(box=None, show_header=False, pad_edge=True, expand=False)
    table.add_column(width=9, no_wrap=True)
    table.add_column(width=16, overflow="fold")
    table.add_column(width=8, overflow="fold")
    table.add_column(overflow="fold", width=max(1, width))
    table.add_column(overflow="fold")
    for entry in entries:
        event = safe(entry.event)
        if entry.matcher:
            event = Text.assemble(event, "\n", safe(f"if {entry.matcher}", "dim"))
        lines = [safe(_what(entry))] if entry.what else []
        if entry.hook is not None:
            later = ", async" if is_background(entry.hook) else ""
            lines.append(safe(f"timeout {entry.hook.timeout_ms / 1000:g} s{later}", "dim"))
        if entry.why:
            lines.append(safe(entry.why.removeprefix(f"{entry.where}: "), "yellow"))
        style = _STYLES.get(entry.state, "dim")
        table.add_row(safe(entry.state, style), event, safe(entry.type), safe(entry.name), Text("\n").join(lines))
    return table


def _what(entry: Entry) -> str:
    """The command, prompt or URL of an entry; of a URL neither who asks nor the query, where secrets stand."""
    text = entry.what
    if entry.type != "http":
        return text
    text = text.translate({9: None, 10: None, 13: None}).strip()
    bare = re.split(r"[?#]", text, maxsplit=1)[0]
    found = _AUTHORITY.match(bare)
    scheme, slashes, host = (found[1] or "", found[2], found[3]) if found is not None else ("", "", "")
    rest = bare[found.end() :] if found is not None else bare
    return f"{scheme}{slashes}{host.rpartition('@')[2]}{rest}{'?...' if bare != text else ''}"
