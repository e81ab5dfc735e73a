"""`firsthand init`: the settings file that turns things on, and a hook to begin with."""

from __future__ import annotations

import contextlib
import getpass
import json
import os
from pathlib import Path

import click

from .failures import Command, Failure
from .screen import program

__all__ = ["init"]

_SETTINGS = """\
# Settings of firsthand, read from the working directory. FIRSTHAND_<NAME> in the environment and arguments
# in code win over them; `firsthand settings` lists every setting, its value and where it came from.

# Hooks: commands that may add context to a prompt, or refuse it.
hooks_file = "hooks.json"

# One JSONL file a conversation, readable by you alone: `firsthand transcript show transcripts/<id>.jsonl`
transcripts = "transcripts"

# Memories: `firsthand recall add` and `firsthand recall search`. The best are sent along with a prompt.
store = "sqlite:///memories.db"

# Whose memories are recalled where a call names no user. Remove this line in a program that serves several
# people, and name the user in code instead: app.session("conversation-42", user="alice").
user = {user}

# What a person wrote in `firsthand chat`, or in a call within app.submitting(...), becomes a memory once it is answered
# ("user"), or facts that the model takes from it do ("model"): off by default.
# remember = "user"

# Prompts in spans: off by default. true puts them there as they were before anything was added to them.
# capture_content = true
"""

_HOOKS = {
    "hooks": {
        "UserPromptSubmit": [
            {
                "hooks": [
                    {
                        "type": "command",
                        "name": "git-status",
                        "command": "git status --short --branch 2>/dev/null | head -n 20",
                        "timeout": 5,
                    }
                ]
            }
        ]
    }
}

_NEXT = """\
Next:
  {program} settings     what is on now, and from where
  {program} hooks trust  let the command line run this folder's hooks, as they are now
  {program} hooks test   run them, and see what the model would get
  {program} recall add "The CI runner is called brontes"
  in your program: client = Middleware.from_settings().wrap(OpenAI())
  keep transcripts/ and memories.db* out of version control: they hold what people wrote"""


@click.command(cls=Command)
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
@click.option("--user", metavar="NAME", help="Whose memories are recalled; your login name by default.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Where to write; the working directory by default.",
)
def init(force: bool, user: str | None, folder: Path) -> None:
    """Write a firsthand.toml that turns transcripts, the memory store and hooks on, and a sample hooks.json."""
    files = {
        "firsthand.toml": _SETTINGS.format(user=json.dumps(user or _login(), ensure_ascii=True)),
        "hooks.json": json.dumps(_HOOKS, indent=2) + "\n",
    }
    folder.mkdir(parents=True, exist_ok=True)
    there = [name for name in files if (folder / name).exists() or (folder / name).is_symlink()]
    if there and not force:
        raise Failure(f"{' and '.join(str(folder / name) for name in there)} already there; --force overwrites")
    for name, text in files.items():
        _write(folder / name, text)
    click.echo(f"Wrote {folder / 'firsthand.toml'}  transcripts, store and hooks are on")
    click.echo(f"Wrote {folder / 'hooks.json'}      a command hook that tells the model the state of your git branch")
    click.echo(_NEXT.format(program=program()))


def _write(path: Path, text: str) -> None:
    """Write a file of mode 0600, all of it or nothing. Raises `OSError` that names it, and not the draft."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(text)
        draft.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "me"
