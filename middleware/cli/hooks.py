"""`firsthand hooks`: what would run, what it says, what it is given, and where it may run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..hooks.entries import FIRED
from .failures import Commands, Failure

if TYPE_CHECKING:
    from ..hooks.sources import Survey
    from .hooks_trial import Trial

__all__ = ["hooks"]

_STYLES: Mapping[str, str] = {"runs": "bold green", "untrusted": "bold yellow", "invalid": "bold red"}
_AUTHORITY = re.compile(r"(https?:)?([/\\]*)([^/\\]*)", re.IGNORECASE)
_file = click.option(
    "--hooks-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="This file's hooks and no others, trusted; else the setting's, then those that are found.",
)


@click.group(cls=Commands)
def hooks() -> None:
    """List, test and trust hooks."""


@hooks.command("list", short_help="List the hooks that would run here, and why others do not.")
@_file
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print {folder, standing, files, hooks: [{event, type, name, matcher, what, source, where, state, why}], "
    "warnings}.",
)
def list_(hooks_file: Path | None, as_json: bool) -> None:
    """List the hooks that would run here, in order, where they come from, and why others do not run."""
    found = _survey(hooks_file)
    if as_json:
        from .screen import print_json

        print_json(
            {
                "folder": str(found.folder),
                "standing": found.standing,
                "files": [
                    {"source": file.source, "path": str(file.path), "problem": file.problem} for file in found.files
                ],
                "hooks": [_row(entry) for entry in found.entries],
                "warnings": list(found.hooks.warnings),
            }
        )
        return
    _print_list(found)
    _warn(found)


@hooks.command(short_help="Run the hooks of an event for real, and show what they said.")
@_file
@click.option("--event", type=click.Choice(FIRED), default=FIRED[0], show_default=True, help="Which hooks to run.")
@click.option("--prompt", default="Hello", metavar="TEXT", show_default=True, help="What the person submits.")
@click.option(
    "--subject",
    metavar="TEXT",
    help="What matchers are compared with: the source of a SessionStart (startup), the agent type of a SubagentStart "
    "(general-purpose).",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print {event, hooks: [{name, type, where, payload, outcome, success, exit_code, duration_ms, output, error, "
    "warnings}], blocked, reason, blocked_by, tagged_part}.",
)
def test(hooks_file: Path | None, event: str, prompt: str, subject: str | None, as_json: bool) -> None:
    """Run the hooks of an event for real, and show what each was given and said and what the model would get.

    The exit code is 1 if a hook failed or none would run; a hook that blocks does its work.
    """
    from .hooks_trial import try_hooks

    found = _survey(hooks_file)
    _warn(found)
    trial = try_hooks(found, event=event, prompt=prompt, subject=subject)
    if not trial.calls:
        raise Failure(f"no hook would run for {event} in {found.folder}; `firsthand hooks list` says why")
    if as_json:
        from .screen import print_json

        print_json(trial.as_json())
    else:
        _print_trial(trial)
    failed = [call.hook.label for call in trial.calls if call.failed]
    if failed:
        raise Failure(
            f"{len(failed)} of {len(trial.calls)} hooks failed ({', '.join(failed)}); mend what is shown above"
        )


@hooks.command(short_help="Print the JSON Schema of what a hook is given or may answer.")
@click.argument("event", type=click.Choice(FIRED), metavar="EVENT")
@click.option("--output", is_flag=True, help="Of what a hook may answer, not of what it is given.")
def schema(event: str, output: bool) -> None:
    """Print the JSON Schema (2020-12) of what a hook of EVENT is given."""
    from ..hooks.schema import schema as schema_of
    from .screen import print_json

    print_json(schema_of(event, "output" if output else "input"))


@hooks.command(short_help="Let the hooks of a folder run.")
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@click.option("--remove", is_flag=True, help="Trust it no longer.")
def trust(folder: Path, remove: bool) -> None:
    """Let the hooks of FOLDER (here by default) run, as long as its hooks files stay as they are.

    They are those of .qwen/settings.json, of .firsthand/hooks.json, and of the hooks_file that FOLDER's firsthand.toml
    or pyproject.toml names.
    """
    from ..hooks import trust as trusting
    from ..hooks.sources import survey, trust_file

    # As `hooks list` names it: a folder that is gone can be removed still.
    folder = folder if folder.is_absolute() else _here() / folder
    file = trust_file(_home())
    if remove:
        gone = trusting.distrust(folder, file=file)
        click.echo(f"{folder} is trusted no longer" if gone else f"{folder} was not trusted; nothing to do")
        return
    if not folder.is_dir():
        raise Failure(f"{folder}: is no folder; check the path")
    setting = _setting_of(folder)
    found = survey(folder, home=_home(), setting=setting)
    ours = [file for file in found.files if file.source == "project"]
    problems = [file.problem for file in ours if file.problem]
    if problems:
        raise Failure(problems[0])
    if not any(file.has_hooks for file in ours):
        raise Failure(f"{folder}: has no hooks of its own; put some into .firsthand/hooks.json first")
    trusting.trust(folder, found.digest, file=file)
    project = [entry for entry in found.entries if entry.source == "project"]
    _print_list(replace(survey(folder, home=_home(), setting=setting), files=tuple(ours)))
    count = f"{len(project)} {'hook' if len(project) == 1 else 'hooks'}"
    click.echo(f"\n{folder} is trusted: {count}, until its hooks files change; scripts that they call are not watched")


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Failure("the folder that you are in is gone; change to another one") from None


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise Failure("your home folder is not known, so neither are your own hooks; set HOME") from None


def _survey(hooks_file: Path | None) -> Survey:
    from ..hooks.sources import survey
    from ..settings import Settings

    folder = _here()
    if hooks_file is not None:
        return survey(folder, home=_home(), named=hooks_file.absolute(), alone=True)
    loaded = Settings.load()
    if loaded.sources.get("hooks_file") != "FIRSTHAND_HOOKS_FILE":
        # What a file in this folder says is no more trusted than the folder.
        return survey(folder, home=_home(), setting=_setting_of(folder))
    if loaded.hooks_file is None:
        return survey(folder, home=_home())
    return survey(folder, home=_home(), named=Path(loaded.hooks_file).absolute(), setting=_setting_of(folder))


def _setting_of(folder: Path) -> Path | None:
    """The hooks file that a settings file in `folder` names, if one does."""
    from ..settings import Settings

    name = Settings.load(folder=folder, environ={}).hooks_file
    return folder / name if name is not None else None


def _warn(found: Survey) -> None:
    from .screen import warn

    for warning in found.hooks.warnings:
        warn(f"warning: {warning}")


def _row(entry: Any) -> dict[str, str]:
    names = ("event", "type", "name", "matcher", "what", "source", "where", "state", "why")
    return {name: getattr(entry, name) for name in names} | {"what": _what(entry)}


def _what(entry: Any) -> str:
    """The command, prompt or URL of an entry; of a URL neither who asks nor the query, where secrets stand."""
    text: str = entry.what
    if entry.type != "http":
        return text
    text = text.translate({9: None, 10: None, 13: None}).strip()
    bare = re.split(r"[?#]", text, maxsplit=1)[0]
    found = _AUTHORITY.match(bare)
    scheme, slashes, host = (found[1] or "", found[2], found[3]) if found is not None else ("", "", "")
    rest = bare[found.end() :] if found is not None else bare
    return f"{scheme}{slashes}{host.rpartition('@')[2]}{rest}{'?...' if bare != text else ''}"


def _print_list(found: Survey) -> None:
    from rich.table import Table
    from rich.text import Text

    from .screen import console, safe

    out = console()
    width = min(20, max((len(entry.name) for entry in found.entries), default=0))
    if not found.files:
        out.print(safe(f"No hooks for {found.folder}: no hooks_file is set and no file is found."), soft_wrap=True)
        return
    for i, file in enumerate(found.files):
        if i:
            out.print()
        standing = f"  {found.standing}" if file.source == "project" else ""
        out.print(safe(file.source, "bold"), safe(str(file.path)), safe(standing, "dim"), soft_wrap=True)
        entries = [entry for entry in found.entries if f"{entry.where}: ".startswith(f"{file.path}: ")]
        if not entries:
            out.print(safe("  no hooks", "dim"))
            continue
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
            if entry.why:
                lines.append(safe(entry.why.removeprefix(f"{entry.where}: "), "yellow"))
            style = _STYLES.get(entry.state, "dim")
            table.add_row(safe(entry.state, style), event, safe(entry.type), safe(entry.name), Text("\n").join(lines))
        out.print(table)


def _print_trial(trial: Trial) -> None:
    from .screen import console, safe

    out = console()
    shown: object = None
    for call in trial.calls:
        if call.payload != shown:
            out.print(safe("given", "bold"), soft_wrap=True)
            out.print(safe(call.shown(call.payload), "dim"), soft_wrap=True)
            shown = call.payload
        result = call.result
        code = "" if result.exit_code is None else f"  exit code {result.exit_code}"
        out.print()
        out.print(
            safe(call.word, {"ok": "bold green", "blocked": "bold yellow"}.get(call.word, "bold red")),
            safe(f" {call.hook.label}", "bold"),
            safe(f" {call.hook.type}  {result.duration_ms:.0f} ms{code}"),
            soft_wrap=True,
        )
        out.print(safe(call.where, "dim"), soft_wrap=True)
        if result.error:
            out.print(safe(result.error, "red"), soft_wrap=True)
        for warning in (*result.warnings, *call.notes):
            out.print(safe(f"warning: {warning}", "yellow"), soft_wrap=True)
        out.print(safe(call.shown(result.output) if result.output else "said nothing"), soft_wrap=True)
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
