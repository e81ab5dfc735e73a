"""The slash commands of `firsthand chat`, `!shell` and `/btw`: none of them is a turn."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import quote

from ..chat import RunCommand, SideQuestion
from ..chat.terminal.talk import TurnFailed
from ..parts import trim
from .chat_context import context_view
from .chat_sessions import opened, sessions_of
from .failures import Failure
from .screen import safe

if TYPE_CHECKING:
    from .chat_terminal import Terminal

__all__ = ["LOCAL", "MEANINGS", "run_command", "run_shell", "side_question"]

_HELP: Final[Mapping[str, str]] = {
    "/help": "this list",
    "/context [all]": "what the model got with the last turn, and who added it; all unfolds it",
    "/hooks": "the hooks that run here",
    "/memory [TEXT]": "the memories of the last turn, or those that answer TEXT",
    "/rewind [N|list]": "take the last N turns out of the conversation; list numbers them",
    "/resume [ID]": "go on with another session; without ID the last ones",
    "/export [FILE]": "write the conversation to FILE: .md, .html, .json or .jsonl",
    "/vim": "Vim's keys on or off; nothing that is written with them is attributed",
    "/btw TEXT": "ask beside the running turn: no hooks, no memories, and nothing of it stays",
    "! COMMAND": "run a shell command here; nothing goes to the model. Esc stops it, then leads back to the chat",
    "@FILE": "send a file of this folder along, or an image; so does an image that is dropped on the window",
    "Tab, arrows": "take a command or a file from the menu, choose another",
    "Enter, Alt+Enter or Ctrl+J": "send; a new line",
    "Esc or Ctrl+C": "cancel the turn (your text comes back), take back what waits, or empty the composer (Ctrl+C)",
    "Ctrl+Q": "queue: wait until the turn is over",
    "Up, Down, Ctrl+R": "history, and a search in it",
    "Ctrl+_, Alt+_": "undo, redo",
    "Ctrl+S": "stash the draft; in an empty composer, take the last one out (it is unattributed then)",
    "Ctrl+X Ctrl+E": "write it in $VISUAL or $EDITOR",
    "Ctrl+K, Ctrl+U, Ctrl+W, Ctrl+Y": "cut to the end, to the start, a word; put it back",
    "Ctrl+Z; Ctrl+D, exit": "suspend (`fg` goes on); leave",
}
_MOST_OUTPUT: Final = 100_000
_PIECE: Final = 65_536
_MOST_SESSIONS: Final = 10
_MOST_TURNS: Final = 30
_LONGEST_TURN: Final = 100
_FORMATS: Final[Mapping[str, Literal["md", "html", "json", "jsonl"]]] = {
    ".md": "md",
    ".html": "html",
    ".json": "json",
    ".jsonl": "jsonl",
}


async def run_command(terminal: Terminal, effect: RunCommand) -> None:
    """Run the slash command that was typed."""
    _, _, arguments = trim(effect.text).partition(" ")
    await terminal.screen.say(f"\n{trim(effect.text)}", "dim")
    await _COMMANDS[effect.name](terminal, trim(arguments))


async def side_question(terminal: Terminal, effect: SideQuestion) -> None:
    """Ask the model beside the running turn; the conversation keeps neither the question nor the answer."""
    _, _, question = trim(effect.item.text).partition(" ")
    if not trim(question):
        await terminal.screen.say("/btw needs a question: /btw TEXT", "red")
        return
    said: list[str] = []
    try:
        with terminal.wire.aside(), terminal.app.bypass():
            async with aclosing(terminal.talk.ask(trim(question), keep=False)) as pieces:
                said += [piece async for piece in pieces if isinstance(piece, str)]
    except TurnFailed as error:
        await terminal.screen.say(str(error), "red")
        return
    await terminal.screen.say(f"\n(by the way) {trim(question)}", "cyan")
    await terminal.screen.markdown("".join(said))


async def run_shell(terminal: Terminal, command: str) -> None:
    """Run a command in the person's shell and print what it says; cancelled, it and all that it started are ended."""
    await terminal.screen.say(f"\n! {command}", "bold magenta")
    process = await asyncio.create_subprocess_shell(
        command,
        cwd=terminal.folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    output, left = b"", 0
    try:
        # Of a command that never ends its output only what is shown is kept.
        while process.stdout is not None and (piece := await process.stdout.read(_PIECE)):
            room = _MOST_OUTPUT - len(output)
            output, left = output + piece[:room], left + len(piece[room:])
        await process.wait()
    finally:
        if process.returncode is None:
            _end(process)
    text = output.decode(errors="replace").rstrip("\n")
    if text:
        await terminal.screen.say(text + (f"\n[{left:,} more bytes]" if left else ""))
    if process.returncode:
        await terminal.screen.say(f"exit code {process.returncode}", "red")


def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


async def _help(terminal: Terminal, arguments: str) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for key, meaning in _HELP.items():
        table.add_row(safe(key, "bold"), safe(meaning, "dim"))
    for name, command in terminal.commands.items():
        table.add_row(safe(f"/{name}", "bold"), safe(command.description or "a prompt of yours", "dim"))
    await terminal.screen.print(table)


async def _context(terminal: Terminal, arguments: str) -> None:
    if not terminal.sent:
        await terminal.screen.say("nothing was sent to the model yet, or a hook refused it", "dim")
        return
    columns, ran = terminal.screen.out.width, terminal.wire.ran
    view = context_view(terminal.sent, terminal.added, ran, columns=columns, whole=arguments == "all")
    await terminal.screen.print(view)


async def _hooks(terminal: Terminal, arguments: str) -> None:
    if not terminal.hooks:
        await terminal.screen.say("no hook runs here; `firsthand hooks list` says why", "dim")
    for hook in terminal.hooks:
        await terminal.screen.say(f"{hook.event}: {hook.label} ({hook.type})")


async def _memory(terminal: Terminal, arguments: str) -> None:
    if not arguments:
        recalled = [added for added in terminal.added if added.source == "memory"]
        for added in recalled:
            await terminal.screen.say(added.text, "magenta")
        if not recalled:
            await terminal.screen.say("no memory went with the last turn; /memory TEXT searches them", "dim")
        return
    settings, store = terminal.app.settings, terminal.app.store
    namespace = settings.namespace or settings.user
    if store is None or namespace is None:
        raise Failure("no memories here: set `store` and `user` in firsthand.toml")
    found = await asyncio.to_thread(store.search, namespace=namespace, query=arguments, top_k=settings.recall_top_k)
    for match in found:
        title = f"{match.record.title}: " if match.record.title else ""
        await terminal.screen.say(f"{match.score:.2f}  {title}{match.record.text}")
    if not found:
        await terminal.screen.say(f"no memory of {namespace} answers that", "dim")


async def _rewind(terminal: Terminal, arguments: str) -> None:
    past = terminal.talk.past
    if arguments == "list":
        for number, turn in reversed(list(enumerate(reversed(past[-_MOST_TURNS:]), 1))):
            await terminal.screen.say(f"{number:>3}  {' '.join(turn.text.split())[:_LONGEST_TURN]}")
        say = "take that many turns back: /rewind N" if past else "there is no turn to take back"
        await terminal.screen.say(say, "dim")
        return
    if arguments and not (arguments.isascii() and arguments.isdigit()):
        raise Failure(f"/rewind takes a number of turns, or list, not {arguments!r}")
    turns = int(arguments or 1)
    try:
        text, written = await asyncio.to_thread(terminal.talk.rewind, turns)
    except ValueError as error:
        raise Failure(str(error)) from error
    terminal.chat.rewind(text)
    terminal.mirror.show()
    what = "the last turn is" if turns == 1 else f"the last {turns} turns are"
    where = "the transcript keeps it beside the conversation" if written else "the transcript has nothing of it"
    await terminal.screen.say(f"{what} taken back, the text is here again; {where}", "dim")


async def _resume(terminal: Terminal, arguments: str) -> None:
    if arguments:
        await terminal.enter(opened(terminal.app, arguments))
        return
    found = [info for info in sessions_of(terminal.app.settings) if info.session_id != terminal.session.id]
    for info in found[:_MOST_SESSIONS]:
        first = " ".join((info.first_prompt or "").split())
        await terminal.screen.say(f"{info.session_id}  {info.modified:%Y-%m-%d %H:%M}  {first}")
    say = "go on with one: /resume ID" if found else f"no other session in {terminal.app.settings.transcripts}"
    await terminal.screen.say(say, "dim")


async def _vim(terminal: Terminal, arguments: str) -> None:
    on = not terminal.chat.composer.vim
    terminal.chat.composer.set_vim(on)
    terminal.screen.set_vim(on)
    await terminal.screen.say(f"Vim's keys are {'on' if on else 'off'}", "dim")


async def _export(terminal: Terminal, arguments: str) -> None:
    path = await asyncio.to_thread(_exported, terminal, arguments)
    await terminal.screen.say(f"wrote {path}: what was said, without what was added", "dim")


def _exported(terminal: Terminal, name: str) -> Path:
    from ..transcript import load
    from ..transcript.export import written
    from ..transcript.newfile import write_new

    path = terminal.folder / Path(name or f"{quote(terminal.session.id, safe='')}.md").expanduser()
    form = _FORMATS.get(path.suffix)
    if form is None:
        raise Failure(f"{path}: name a file that ends in {', '.join(_FORMATS)}")
    terminal.app.flush()
    place = Path(terminal.session.transcript_path)
    if not place.is_file():
        raise Failure("nothing was said yet, so there is nothing to export")
    try:
        write_new(path, written(load(place), form))
    except FileExistsError:
        raise Failure(f"{path} is there already; name another file") from None
    return path


_COMMANDS: Final[Mapping[str, Callable[[Terminal, str], Awaitable[None]]]] = {
    "help": _help,
    "context": _context,
    "hooks": _hooks,
    "memory": _memory,
    "rewind": _rewind,
    "resume": _resume,
    "export": _export,
    "vim": _vim,
}

LOCAL: Final = (*_COMMANDS, "btw")
"""The commands that the terminal runs itself."""

MEANINGS: Final[Mapping[str, str]] = {key[1:].split()[0]: said for key, said in _HELP.items() if key[0] == "/"}
"""What each of them does, by name."""
