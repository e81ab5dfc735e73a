"""What a person is told when a command fails: one line, and whether it was the command line's fault."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

import click

from ..hooks.keys import meant

__all__ = [
    "Command",
    "Commands",
    "Failure",
    "Guessing",
    "Named",
    "exit_code",
    "lacking",
    "one_line",
    "plain",
    "wants_traceback",
]

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_SPACE = re.compile(r"\s*\n\s*")


class Failure(click.ClickException):
    """A command that could not do its work; the message is one line: what, where, what to do."""


def lacking(what: str, module: str | None, extra: str) -> Failure:
    """The failure of a command that needs a package which is not installed; `extra` is ours that brings it."""
    package = (module or "").partition(".")[0]
    return Failure(f"{what} needs the package {package}; run: pip install 'firsthand[{extra}]'")


class _Named(click.Command):
    """A command whose usage errors know that they are its own: an option without its value is nobody's to click."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise


class Command(_Named):
    """A command that takes `--debug` too, since that is typed after the line that failed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(["--debug"], is_flag=True, expose_value=False, help="Show the traceback of an error.")
        )


class Named(click.Choice[str]):
    """One of some names; what is close to one is answered with it."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        near = meant(str(value), self.choices)
        listed = ", ".join(self.choices)
        return f"{value!r} is no event; {f'did you mean {near}?' if near else f'use one of {listed}'}"


class Guessing(click.Group):
    """A group that answers a command that is close to one of its own with that one's name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        near = meant(args[0], known) if args and args[0] not in known else None
        if near is not None:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near!r}?")
        return super().resolve_command(ctx, args)


class Commands(_Named, Guessing):
    """A group of such commands."""

    command_class = Command


def wants_traceback(args: Sequence[str] | None) -> bool:
    """True when `--debug` was given as an option, before any `--`."""
    given = list(sys.argv[1:] if args is None else args)
    return "--debug" in (given[: given.index("--")] if "--" in given else given)


def one_line(error: BaseException) -> str:
    """Say in one line what happened, where and what to do."""
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx is not None else "firsthand"
        text = f"{error.format_message()} (see `{path} --help`)"
    elif isinstance(error, click.ClickException):
        text = error.format_message()
    elif isinstance(error, OSError):
        where = "--debug shows where"
        if error.filename is not None:
            where = "check the path and its permissions"
        place = f"{error.filename}: " if error.filename is not None else ""
        text = f"{place}{error.strerror or error}; {where}"
    elif _is_ours(error):
        text = str(error)
    else:
        text = f"unexpected {type(error).__name__}: {error}; --debug shows where"
    return plain(_SPACE.sub(" ", text.strip()))


def exit_code(error: BaseException) -> int:
    """2 for a command line that makes no sense, 1 for everything else."""
    if isinstance(error, click.ClickException):
        return error.exit_code
    return 2 if type(error).__name__ in ("NamespaceError", "UrlError") and _is_ours(error) else 1


def plain(text: str) -> str:
    """Text that a terminal only shows: each control but TAB and LF, and what is not seen or turns the direction of
    what is, becomes a visible sign."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def _is_ours(error: BaseException) -> bool:
    from recall_store import StoreError

    from ..errors import FirsthandError

    return isinstance(error, (FirsthandError, StoreError))
