"""The command `firsthand`: one file a command group, each loaded only when it is the one that runs.

Every failure is one line on stderr: exit 2 for a command line that makes no sense, 1 for anything else. `--debug`,
before or after the command's name, shows the traceback instead.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from .failures import Guessing, exit_code, one_line, wants_traceback

__all__ = ["firsthand", "main"]

_COMMANDS: Final[Mapping[str, str]] = {
    "init": "Write a firsthand.toml and a sample hook here.",
    "demo": "Show three turns: what was typed, sent, traced, recalled, resumed.",
    "chat": "Talk to a model, and see what hooks and memories add.",
    "transcript": "Show, list, search, export, check, count, import and erase transcripts.",
    "recall": "Add, search, list, export, import, forget and serve memories.",
    "hooks": "List, test and trust hooks; print their JSON Schemas.",
    "dashboard": "Show every turn: what was typed, what was added, how long it took.",
    "settings": "List every setting, its value and where it came from.",
}
"""The commands and what `--help` says of them: a file of that name in this folder holds the command of that name."""

_INTERRUPTED = 130


class _Firsthand(Guessing):
    """Loads a command when it is asked for, and turns every exception into one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f".{cmd_name}", __name__), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command and leave the program with its exit code."""
        for stream in (sys.stdout, sys.stderr):
            # A terminal that cannot show a character shows a question mark; it is no reason to fail.
            if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
                reconfigure(errors="replace")
        try:
            code = super().main(args, prog_name or "firsthand", complete_var, standalone_mode=False, **extra)
            sys.stdout.flush()
        except BrokenPipeError:
            _drop_output()
            sys.exit(1)
        except (click.Abort, KeyboardInterrupt):
            sys.exit(_INTERRUPTED)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(error.exit_code)
        except Exception as error:  # noqa: BLE001  (the last line of defence: a person reads a sentence, not a traceback)
            if wants_traceback(args):
                import traceback

                traceback.print_exception(error)
            else:
                click.echo(f"firsthand: {one_line(error)}", err=True)
            if isinstance(error, OSError):
                _drop_output()
            sys.exit(exit_code(error))
        sys.exit(code if isinstance(code, int) else 0)


@click.group(
    cls=_Firsthand,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with `firsthand demo`; then `firsthand init` in your project.",
)
@click.version_option(package_name="firsthand", prog_name="firsthand", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
def firsthand() -> None:
    """Keep the user's own words first-hand: hooks and memories go to the model, tagged; what is traced, searched
    and resumed is what the person wrote."""


def main() -> int:
    """Run the command line on `sys.argv`; the console script's entry."""
    firsthand.main()
    return 0


def _drop_output() -> None:
    """Nobody can read our output any more: what is left of it is not tried again at exit."""
    import os

    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass
