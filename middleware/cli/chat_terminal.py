"""`firsthand chat` on a terminal: carries out what the chat asks for, in order."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from ..chat import Cancelled, Effect, Given, Quit, Refused, RunCommand, RunShell, Send, SideQuestion
from ..chat.cells import Act, State
from ..chat.dropping import images_in
from ..chat.terminal.editor import EditorFailed, edited
from ..chat.terminal.files import Files
from ..chat.terminal.keys import bindings
from ..chat.terminal.menu import Menu
from ..chat.terminal.mirror import Mirror
from ..chat.terminal.searching import Search
from ..chat.terminal.talk import Talk
from ..chat.terminal.wire import Added, Wire
from ..parts import clean
from .chat_screen import Screen
from .chat_sessions import show_past
from .chat_slash import LOCAL, MEANINGS, run_command, run_shell, side_question
from .chat_theme import THEMES, Theme
from .chat_turn import Turn, run_turn
from .failures import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from ..app import Middleware
    from ..chat.commands import Command
    from ..hooks import Hook
    from ..session import Session

__all__ = ["Terminal"]


class Terminal:
    """One chat on one terminal.

    `sent` is the person's text of the last turn and the bodies of its files, `added` what went out beside them.
    """

    def __init__(
        self,
        *,
        app: Middleware,
        talk: Talk,
        session: Session,
        wire: Wire,
        files: Files,
        folder: Path,
        hooks: tuple[Hook, ...] = (),
        commands: Mapping[str, Command] | None = None,
        vim: bool = False,
        theme: Theme = THEMES["either"],
        out: Console | None = None,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self.app, self.talk, self.session, self.wire = app, talk, session, wire
        self.files, self.folder, self.hooks = files, folder, hooks
        self.commands = {name: made for name, made in (commands or {}).items() if name not in LOCAL}
        self.sent: tuple[str, ...] = ()
        self.added: tuple[Added, ...] = ()
        self.chat = files.chat(local=LOCAL, prompts=tuple(self.commands))
        self.mirror = Mirror(self.chat)
        self.chat.composer.set_vim(vim)
        self.found = Search(self.chat)
        self.attached: set[Path] = set()
        prompts = {name: made.description or "a prompt of yours" for name, made in self.commands.items()}
        meanings = {**MEANINGS, **prompts, "exit": "leave"}
        self.menu = Menu(self.mirror, meanings, folder, start=self.beside, redraw=lambda: self.screen.app.invalidate())
        keys = bindings(self.mirror, self.found, self.menu, self)
        self.screen = Screen(
            self.mirror, self.found, self.menu, keys, vim=vim, theme=theme, out=out, input=input, output=output
        )
        self._effects: asyncio.Queue[Effect] = asyncio.Queue()
        self._turn: Turn | None = None
        self._beside: set[asyncio.Task[None]] = set()
        self._shells: set[asyncio.Task[None]] = set()
        self._loads = False
        self._said_unkept: str | None = None
        self._tell()

    async def run(self) -> None:
        """Read keys until the person leaves; a running turn is cancelled then."""
        loop = asyncio.get_running_loop()
        notices = _Notices(self, loop)
        log = logging.getLogger("firsthand")
        log.addHandler(notices)
        worker = asyncio.create_task(self._work())
        self.screen.app.after_render += self._load
        # A window that is closed leaves the draft for the next start, as a person who leaves does.
        for name in ("SIGHUP", "SIGTERM"):
            with suppress(NotImplementedError, ValueError):
                if hasattr(signal, name):
                    loop.add_signal_handler(getattr(signal, name), self.leave)
        try:
            await self.screen.app.run_async()
        finally:
            log.removeHandler(notices)
            # What was written and not sent is there again the next time.
            self.mirror.agree()
            self.chat.keep()
            unkept = self._unkept()
            turn = self._turn.task if self._turn is not None else None
            tasks = [worker, *self._beside, *([turn] if turn is not None else [])]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if unkept is not None:
                await self.screen.say(unkept, "red")

    def _load(self, _: object) -> None:
        """Once the first prompt is there: make the client, which takes longer than all that was before it."""
        if not self._loads:
            self._loads = True
            self.beside(_made(self.talk))

    def submit(self, *, defer: bool = False, vouch: bool = True) -> None:
        """Enter, or Ctrl+Q with `defer`; without `vouch` from Vim's NORMAL mode."""
        self.mirror.agree()
        self.carry(self.chat.submit(defer=defer) if vouch else self.chat.submit_unvouched())
        self.screen.app.vi_state.reset()
        self.mirror.show()

    def submit_found(self) -> None:
        """Enter in the search: what it found, else the draft."""
        match = self.found.match
        self.search(False)
        self.mirror.agree()
        self.carry(self.chat.submit_found(match))
        self.mirror.show()

    def search(self, on: bool) -> None:
        """Open the search, or go back to the draft, as it was or as the search made it."""
        if on:
            self.found.begin()
        self.screen.app.layout.focus(self.found.buffer if on else self.mirror.buffer)
        self.mirror_back()

    def paste(self, text: str) -> None:
        """Take what was pasted: as chips when it is paths of images, as a terminal writes them for dropped files."""
        # Bytes that are no UTF-8 come as halves of characters, which no model and no hook can be given.
        text = clean(text)
        images = () if self.chat.shell else images_in(text, self.folder)
        self.attached |= {(self.folder / path).resolve() for path in images}
        if images:
            self.mirror.attach(images)
        else:
            self.mirror.paste(text)

    def stash(self) -> None:
        """Put the draft away, or into an empty composer the last one that was."""
        self.mirror.agree()
        if self.chat.put_away() or self.chat.take_out():
            self.mirror.show()
            self._persist()

    def edit(self) -> None:
        """Open the draft in an editor; what comes back is one change, beside what was given back meanwhile."""
        self.mirror.agree()
        self.beside(self._edit())

    def suspend(self) -> None:
        """Ctrl+Z: stop, as the shell's job that this is."""
        self.beside(self.screen.suspend())

    async def _edit(self) -> None:
        composer = self.chat.composer
        try:
            async with self.screen.alone():
                # Read where no key can change it any more: what the editor opens is what it is said to be of.
                before, written_here = composer.text, composer.state is State.FRESH
                after = await asyncio.to_thread(edited, before)
        except EditorFailed as error:
            await self.screen.say(str(error), "red")
            return
        now = composer.text
        act = Act.EDITOR if written_here else Act.REMOTE
        composer.change(after if now == before else f"{now}\n{after}", act)
        self.mirror.show()

    def interrupt(self) -> bool:
        """Esc or Ctrl+C: cancel a turn, else take back what waits, stop shell commands, or leave shell mode, if any."""
        if self.chat.busy:
            turn = self._turn if self._turn is not None and not self._turn.over else None
            if turn is None:
                self._unsend()
            else:
                turn.unsteer(self)
            produced, running = bool(turn and turn.produced), bool(turn and turn.calls)
            self.carry(self.chat.cancel(output=produced, tool_running=running))
            if turn is not None and turn.task is not None:
                turn.cancelled = turn.over = True
                turn.task.cancel()
        elif self.chat.pop_queue():
            pass
        elif self._shells:
            for shell in self._shells:
                shell.cancel()
            self.beside(self.screen.say("stopped", "yellow"))
        elif self.chat.shell and self.chat.composer.is_empty:
            self.chat.toggle_shell(False)
        else:
            return False
        self.mirror.show()
        return True

    def leave(self) -> None:
        """Ctrl+D in an empty composer, or the end of the terminal."""
        if self.screen.app.is_running and not self.screen.app.is_done:
            self.screen.app.exit()

    def carry(self, effects: Iterable[Effect]) -> None:
        """Take what is to be done: beside a running turn what may be, all else in order."""
        for effect in effects:
            if isinstance(effect, Quit):
                self.leave()
            elif isinstance(effect, SideQuestion):
                self.beside(side_question(self, effect))
            elif isinstance(effect, RunShell):
                shell = self.beside(run_shell(self, effect.command))
                self._shells.add(shell)
                shell.add_done_callback(self._shells.discard)
            elif isinstance(effect, Refused):
                self.beside(self.screen.say(effect.reason, "red"))
            else:
                self._effects.put_nowait(effect)
        self._persist()

    async def enter(self, session: Session) -> None:
        """Go on with a stored session, and show the end of it."""
        self.talk.move(session)
        self.session, self.sent, self.added = session, (), ()
        await show_past(self.screen, session)

    def beside(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start something that does not wait for the running turn."""
        task = asyncio.create_task(self._guarded(work))
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        # What is cancelled before it has begun is not waited for by anybody.
        task.add_done_callback(lambda _: work.close())
        return task

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001  (what is done beside a turn may fail; the chat goes on)
            await self.screen.say(one_line(error), "red")

    def _unsend(self) -> None:
        """Drop the send that is to be done and was not begun: it is cancelled before it was a turn."""
        waiting = [self._effects.get_nowait() for _ in range(self._effects.qsize())]
        for effect in waiting:
            if not isinstance(effect, Send):
                self._effects.put_nowait(effect)

    async def _work(self) -> None:
        while True:
            effect = await self._effects.get()
            if isinstance(effect, Send):
                self._turn = Turn()
                self._turn.task = asyncio.create_task(run_turn(self, effect, self._turn))
                await asyncio.wait([self._turn.task])
                self._turn = None
            elif isinstance(effect, RunCommand):
                await self._guarded(run_command(self, effect))
            elif isinstance(effect, Given):
                back = "your text is back" if effect.restored else "your draft stays, the text is above"
                await self.screen.say(f"blocked: {effect.reason} ({back})", "red")
            elif isinstance(effect, Cancelled):
                await self.screen.say(f"cancelled{'; your text is back' if effect.restored else ''}", "yellow")
            self._tell()
            self.screen.app.invalidate()

    def mirror_back(self) -> None:
        """Show what was given back to the composer, where it differs from what is seen."""
        if self.mirror.buffer.text != self.chat.composer.text:
            self.mirror.show()

    def _persist(self) -> None:
        before, self._said_unkept = self._said_unkept, self._unkept()
        if self._said_unkept is not None and self._said_unkept != before:
            self.beside(self.screen.say(self._said_unkept, "red"))

    def _unkept(self) -> str | None:
        """Write history and drafts; what is to be said where that cannot be done."""
        try:
            self.files.keep(self.chat)
        except OSError as error:
            return f"history and drafts are not kept: {one_line(error)}"
        return None

    def _tell(self) -> None:
        tokens = self.talk.tokens
        recalled = sum(added.memories for added in self.added)
        self.screen.facts = (
            self.talk.model,
            f"{tokens[0]} in, {tokens[1]} out" if tokens else "no tokens yet",
            f"{len(self.hooks)} {'hook' if len(self.hooks) == 1 else 'hooks'}",
            f"{recalled} recalled",
            *([f"trace {self.wire.trace_id[:8]}"] if self.wire.trace_id else []),
        )


async def _made(talk: Talk) -> None:
    await asyncio.to_thread(talk.ready)


class _Notices(logging.Handler):
    """Warnings of the library, printed above the composer and not across it."""

    def __init__(self, terminal: Terminal, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(logging.WARNING)
        self._terminal, self._loop = terminal, loop

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        self._loop.call_soon_threadsafe(lambda: self._terminal.beside(self._terminal.screen.say(line, "yellow")))
