"""The screen of `firsthand chat`: what is printed above the composer, the reply as it comes, the status line."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application, in_terminal, run_in_terminal
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.layout import BufferControl, ConditionalContainer, Dimension, HSplit, Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.output import Output

from ..chat.cells import State
from ..chat.terminal.large import LongLines, read_pastes_at_once
from ..chat.terminal.menu import Menu
from ..chat.terminal.mirror import Mirror
from ..chat.terminal.searching import Search
from .chat_lines import cut, facts_in, last_lines
from .chat_theme import THEMES, Theme
from .failures import plain
from .screen import console, safe

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["Screen"]

_TAIL_LINES = 12
_MENU_LINES = 8
_ROOMY = 10
_TICK = 0.1
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Screen:
    """Owns the terminal. `reply` is what has come of the running reply; `facts` are shown in the status line."""

    def __init__(
        self,
        mirror: Mirror,
        search: Search,
        menu: Menu,
        keys: KeyBindings,
        *,
        vim: bool = False,
        theme: Theme = THEMES["either"],
        out: Console | None = None,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self.out = out or console()
        self.out.push_theme(theme.rich())
        self.reply = ""
        self.facts: tuple[str, ...] = ()
        self._mirror, self._search, self._menu, self._theme = mirror, search, menu, theme
        self._began = 0.0
        chat = mirror.chat
        busy = Condition(lambda: chat.busy)
        waiting = Condition(lambda: len(chat.queue) > 0)
        attached = Condition(lambda: len(chat.composer.chips) > 0)
        roomy = Condition(lambda: self.app.output.get_size().rows >= _ROOMY)
        choosing = Condition(lambda: bool(menu.choices))
        body = HSplit(
            [
                ConditionalContainer(Window(FormattedTextControl(self._tail), dont_extend_height=True), filter=busy),
                ConditionalContainer(
                    Window(FormattedTextControl(self._waiting), dont_extend_height=True, height=Dimension(max=4)),
                    filter=waiting,
                ),
                ConditionalContainer(Window(char="─", height=1, style="class:hint"), filter=roomy),
                ConditionalContainer(Window(FormattedTextControl(self._chips), height=1), filter=attached),
                Window(
                    BufferControl(
                        mirror.buffer, input_processors=[LongLines()], include_default_input_processors=False
                    ),
                    get_line_prefix=self._prefix,
                    wrap_lines=True,
                    dont_extend_height=True,
                    height=Dimension(min=1, max=10),
                ),
                ConditionalContainer(
                    Window(FormattedTextControl(self._choices), dont_extend_height=True), filter=choosing
                ),
                ConditionalContainer(
                    HSplit(
                        [
                            Window(FormattedTextControl(self._found), height=1),
                            Window(
                                BufferControl(search.buffer, include_default_input_processors=False),
                                get_line_prefix=lambda line, wrapped: [("class:mark", "search: ")],
                                height=1,
                            ),
                        ]
                    ),
                    filter=has_focus(search.buffer),
                ),
                Window(FormattedTextControl(self._status), height=1, style="class:status"),
            ]
        )
        self.app: Application[None] = Application(
            layout=Layout(body, focused_element=mirror.buffer),
            key_bindings=keys,
            style=theme.prompt_toolkit(),
            input=input,
            output=output,
            mouse_support=False,
            erase_when_done=True,
            editing_mode=EditingMode.VI if vim else EditingMode.EMACS,
        )
        self.app.pre_run_callables.append(self._start)
        read_pastes_at_once(self.app.input)
        # Printing in cooked mode would turn an Enter that is typed meanwhile into a newline.
        self._cooked_mode = self.app.input.cooked_mode
        self.app.input.cooked_mode = nullcontext  # type: ignore[method-assign]
        # A lone Esc cancels: nobody waits half a second for that.
        self.app.ttimeoutlen = 0.05
        self.app.timeoutlen = 0.2

    def set_vim(self, on: bool) -> None:
        """Use Vim's keys, or Emacs'."""
        self.app.editing_mode = EditingMode.VI if on else EditingMode.EMACS
        self.app.vi_state.reset()

    async def print(self, what: RenderableType) -> None:
        """Print above the composer, for good, also when who prints is cancelled meanwhile."""
        # A wait for the terminal that is cancelled would let nobody behind it have it, ever.
        await asyncio.shield(run_in_terminal(lambda: self.out.print(what)))

    async def say(self, text: str, style: str = "") -> None:
        """Print somebody's text above the composer."""
        await self.print(safe(text, style))

    async def typed(self, text: str) -> None:
        """Print what was sent by a person; every line of it is marked."""
        await self.say("\n" + "\n".join(f"> {line}" for line in text.split("\n")), "bold cyan")

    async def markdown(self, text: str) -> None:
        """Print a whole reply."""
        from .chat_markdown import markdown_of

        try:
            await self.print(markdown_of(text, code_theme=self._theme.code))
        except Exception:  # noqa: BLE001  (a reply that the renderer chokes on is shown as it is)
            await self.say(text)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Leave the terminal to another program: in the block no key is read, and printing waits."""
        async with in_terminal():
            with self._cooked_mode():
                yield

    async def suspend(self) -> None:
        """Stop until the shell says to go on; nothing where there are no jobs (Windows)."""
        if hasattr(signal, "SIGTSTP"):
            async with self.alone():
                os.kill(0, signal.SIGTSTP)

    def _start(self) -> None:
        self.app.create_background_task(self._tick())

    async def _tick(self) -> None:
        """Keep the spinner turning while a turn runs."""
        while True:
            await asyncio.sleep(_TICK)
            if self._mirror.chat.busy:
                self.app.invalidate()
            else:
                self._began = 0.0

    def _tail(self) -> StyleAndTextTuples:
        size = self.app.output.get_size()
        self._began = self._began or time.monotonic()
        seconds = time.monotonic() - self._began
        sign = _SPINNER[int(seconds / _TICK) % len(_SPINNER)]
        keys = "Esc cancels, Enter adds to it, Ctrl+Q queues"
        doing = "answering" if self.reply else "waiting for the model"
        hint = ("class:hint", cut(f"{sign} {doing}, {seconds:.0f} s ({keys})", size.columns - 1))
        room = min(_TAIL_LINES, size.rows - 7)
        if not self.reply or room < 1:
            return [hint]
        return [("", "\n".join(last_lines(plain(self.reply), size.columns - 1, room)) + "\n"), hint]

    def _waiting(self) -> StyleAndTextTuples:
        items = self._mirror.chat.queue.items
        width = self.app.output.get_size().columns - 1
        lines = [cut(f"  waits: {' '.join(plain(item.visible or item.text).split())}", width) for item in items]
        return [("class:hint", "\n".join(lines))]

    def _chips(self) -> StyleAndTextTuples:
        chips = " ".join(f"[image {plain(chip)}]" for chip in self._mirror.chat.composer.chips)
        hint = "  goes along with a text; Backspace takes it off"
        width = self.app.output.get_size().columns - 1
        return [("class:chip", cut(chips, width)), ("class:hint", hint if len(chips) + len(hint) < width else "")]

    def _prefix(self, line: int, wrapped: int) -> StyleAndTextTuples:
        mark = "! " if self._mirror.chat.shell else "> "
        return [("class:mark", mark if line == 0 and wrapped == 0 else "  ")]

    def _choices(self) -> StyleAndTextTuples:
        size, choices, at = self.app.output.get_size(), self._menu.choices, self._menu.at
        room = max(1, min(_MENU_LINES, size.rows - 4))
        first = min(max(0, at - room + 1), max(0, len(choices) - room)) if at >= room else 0
        shown = choices[first : first + room]
        wide = min(max((len(choice.shown) for choice in shown), default=0), size.columns // 2)
        rows: StyleAndTextTuples = []
        for number, choice in enumerate(shown, first):
            sign = "❯ " if number == at else "  "
            name = f"{sign}{plain(choice.shown):<{wide}}" if choice.meaning else f"{sign}{plain(choice.shown)}"
            name = cut(name, size.columns - 1)
            meaning = cut(f"  {' '.join(plain(choice.meaning).split())}", max(0, size.columns - 1 - len(name)))
            rows += [("class:chosen" if number == at else "", name), ("class:hint", meaning), ("", "\n")]
        more = f"  {at + 1} of {len(choices)}: Tab takes it, arrows choose" if len(choices) > room else ""
        return [*rows, ("class:hint", cut(more, size.columns - 1))] if more else rows[:-1]

    def _status(self) -> StyleAndTextTuples:
        chat = self._mirror.chat
        facts = self.facts
        if chat.shelf:
            facts = (f"{len(chat.shelf)} stashed (Ctrl+S)", *facts)
        # What is not known to be typed here reaches hooks without a submitted_prompt: that is worth a word.
        if chat.composer.state is State.TAINTED:
            facts = ("unattributed text", *facts)
        if self.app.editing_mode is EditingMode.VI:
            facts = ("INSERT" if self.app.vi_state.input_mode is InputMode.INSERT else "NORMAL", *facts)
        return [("", f" {facts_in(facts, self.app.output.get_size().columns - 2)}")]

    def _found(self) -> StyleAndTextTuples:
        if not self._search.buffer.text:
            return [("class:hint", "type a part of it; Enter sends, Tab takes, Ctrl+R older, Esc leaves")]
        match = self._search.match
        if match is None:
            return [("class:hint", "nothing found")]
        return [("", cut(" ".join(plain(match).split()), self.app.output.get_size().columns - 1))]
