"""`firsthand hooks`: what would run, what it says, what it is given, and where it may run."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..hooks.events import FIRED
from .failures import Commands, Failure, Named

if TYPE_CHECKING:
    from ..hooks.sources import Survey

__all__ = ["here", "home_folder", "hooks", "survey_here"]

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
    help="Print {folder, standing, files, hooks: [{event, type, name, matcher, what, source, where, state, why, "
    "timeout, async}], warnings}.",
)
def list_(hooks_file: Path | None, as_json: bool) -> None:
    """List the hooks that would run here, in order, where they come from, and why others do not run.

    Here is the command line: a program runs only the hooks_file of its settings, which needs no trust.
    """
    from .hooks_screen import print_list, row, warn_of

    found = survey_here(hooks_file)
    if as_json:
        from .screen import print_json

        print_json(
            {
                "folder": str(found.folder),
                "standing": found.standing,
                "files": [
                    {"source": file.source, "path": str(file.path), "problem": file.problem} for file in found.files
                ],
                "hooks": [row(entry) for entry in found.entries],
                "warnings": list(found.hooks.warnings),
            }
        )
        return
    print_list(found)
    warn_of(found)


@hooks.command(short_help="Run the hooks of an event for real, and show what they said.")
@_file
@click.option("--event", type=Named(FIRED), default=FIRED[0], show_default=True, help="Which hooks to run.")
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
    "warnings, printed, taken_for}], blocked, reason, blocked_by, tagged_part}.",
)
def test(hooks_file: Path | None, event: str, prompt: str, subject: str | None, as_json: bool) -> None:
    """Run the hooks of an event for real, and show what each was given and said and what the model would get.

    The exit code is 1 if a hook failed or none would run; a hook that blocks does its work, and a prompt hook, which
    needs a program's client, is not run and has not failed.
    """
    from .hooks_screen import print_trial, warn_of
    from .hooks_trial import misfits, try_hooks

    found = survey_here(hooks_file)
    warn_of(found)
    trial = try_hooks(found, event=event, prompt=prompt, subject=subject)
    if not trial.calls:
        given = "" if hooks_file is None else f" --hooks-file {shlex.quote(str(hooks_file))}"
        why = misfits(found, event=event, subject=subject) or f"`firsthand hooks list{given}` says why"
        raise Failure(f"no hook would run for {event} in {found.folder}; {why}")
    if as_json:
        from .screen import print_json

        print_json(trial.as_json())
    else:
        print_trial(trial)
    failed = [call.hook.label for call in trial.calls if call.failed]
    if failed:
        raise Failure(
            f"{len(failed)} of {len(trial.calls)} hooks failed ({', '.join(failed)}); mend what is shown above"
        )


@hooks.command(short_help="Print the JSON Schema of what a hook is given or may answer.")
@click.argument("event", type=Named(FIRED), metavar="EVENT")
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
    or pyproject.toml names, and they run on the command line: a program runs only the hooks_file of its settings, which
    needs no trust.
    """
    from ..hooks import trust as trusting
    from ..hooks.sources import survey, trust_file
    from .hooks_screen import print_list, warn_of

    # As `hooks list` names it: a folder that is gone can be removed still.
    folder = folder if folder.is_absolute() else here() / folder
    file = trust_file(home_folder())
    if remove:
        gone = trusting.distrust(folder, file=file)
        click.echo(f"{folder} is trusted no longer" if gone else f"{folder} was not trusted; nothing to do")
        return
    if not folder.is_dir():
        raise Failure(f"{folder}: is no folder; check the path")
    setting = _setting_of(folder)
    found = survey(folder, home=home_folder(), setting=setting)
    ours = [file for file in found.files if file.source == "project"]
    problems = [file.problem for file in ours if file.problem]
    if problems:
        raise Failure(problems[0])
    if not any(file.has_hooks for file in ours):
        warn_of(found)
        raise Failure(f"{folder}: has no hooks of its own; put some into .firsthand/hooks.json first")
    trusting.trust(folder, found.digest, file=file)
    now = survey(folder, home=home_folder(), setting=setting)
    print_list(replace(now, files=tuple(ours)))
    warn_of(now)
    project = [entry for entry in now.entries if entry.source == "project" and entry.hook is not None]
    running = sum(entry.is_called for entry in project)
    count = f"{len(project)} {'hook' if len(project) == 1 else 'hooks'}"
    some = "" if running == len(project) else f", of which {running or 'none'} would run"
    warnings = len(now.hooks.warnings)
    warned = f"; {warnings} {'warning' if warnings == 1 else 'warnings'}, see above" if warnings else ""
    click.echo(
        f"\n{folder} is trusted: {count}{some}, until its hooks files change; "
        f"scripts that they call are not watched{warned}"
    )


def here() -> Path:
    """The folder that the command was given in."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Failure("the folder that you are in is gone; change to another one") from None


def home_folder() -> Path:
    """The person's own folder."""
    try:
        return Path.home()
    except RuntimeError:
        raise Failure("your home folder is not known, so neither are your own hooks; set HOME") from None


def survey_here(hooks_file: Path | None) -> Survey:
    """The hooks of the command line here: this file's and no others, or the setting's and those that are found."""
    from ..hooks.sources import survey
    from ..settings import Settings

    folder = here()
    if hooks_file is not None:
        return survey(folder, home=home_folder(), named=hooks_file.absolute(), alone=True)
    loaded = Settings.load()
    if loaded.sources.get("hooks_file") != "FIRSTHAND_HOOKS_FILE":
        # What a file in this folder says is no more trusted than the folder.
        return survey(folder, home=home_folder(), setting=_setting_of(folder))
    if loaded.hooks_file is None:
        return survey(folder, home=home_folder())
    return survey(folder, home=home_folder(), named=Path(loaded.hooks_file).absolute(), setting=_setting_of(folder))


def _setting_of(folder: Path) -> Path | None:
    """The hooks file that a settings file in `folder` names, if one does."""
    from ..settings import Settings

    name = Settings.load(folder=folder, environ={}).hooks_file
    return folder / name if name is not None else None
