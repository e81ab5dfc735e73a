"""The screen of `firsthand chat`: what is printed above the composer, the reply as it comes, the status line."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application, run_in_terminal
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
from ..chat.terminal.mirror import Mirror
from ..chat.terminal.searching import Search
from .screen import console, safe

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["Screen"]

_TAIL_LINES = 12
_TAIL_CHARACTERS = 4_000


class Screen:
    """Owns the terminal. `reply` is what has come of the running reply; `facts` are shown in the status line."""

    def __init__(
        self,
        mirror: Mirror,
        search: Search,
        keys: KeyBindings,
        *,
        vim: bool = False,
        out: Console | None = None,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self.out = out or console()
        self.reply = ""
        self.facts: tuple[str, ...] = ()
        self._mirror, self._search = mirror, search
        chat = mirror.chat
        busy = Condition(lambda: chat.busy)
        waiting = Condition(lambda: len(chat.queue) > 0)
        body = HSplit(
            [
                ConditionalContainer(
                    Window(FormattedTextControl(self._tail), dont_extend_height=True, wrap_lines=True), filter=busy
                ),
                ConditionalContainer(
                    Window(FormattedTextControl(self._waiting), dont_extend_height=True, height=Dimension(max=4)),
                    filter=waiting,
                ),
                Window(
                    BufferControl(mirror.buffer, include_default_input_processors=False),
                    get_line_prefix=self._prefix,
                    wrap_lines=True,
                    dont_extend_height=True,
                    height=Dimension(min=1, max=10),
                ),
                ConditionalContainer(
                    HSplit(
                        [
                            Window(FormattedTextControl(self._found), height=1),
                            Window(
                                BufferControl(search.buffer, include_default_input_processors=False),
                                get_line_prefix=lambda line, wrapped: [("fg:ansicyan", "search: ")],
                                height=1,
                            ),
                        ]
                    ),
                    filter=has_focus(search.buffer),
                ),
                Window(FormattedTextControl(self._status), height=1, style="reverse"),
            ]
        )
        self.app: Application[None] = Application(
            layout=Layout(body, focused_element=mirror.buffer),
            key_bindings=keys,
            input=input,
            output=output,
            mouse_support=False,
            erase_when_done=True,
            editing_mode=EditingMode.VI if vim else EditingMode.EMACS,
        )
        # Printing in cooked mode would turn an Enter that is typed meanwhile into a newline.
        self.app.input.cooked_mode = nullcontext  # type: ignore[method-assign]
        # A lone Esc cancels: nobody waits half a second for that.
        self.app.ttimeoutlen = 0.05
        self.app.timeoutlen = 0.2

    async def print(self, what: RenderableType) -> None:
        """Print above the composer, for good."""
        await run_in_terminal(lambda: self.out.print(what))

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
            await self.print(markdown_of(text))
        except Exception:  # noqa: BLE001  (a reply that the renderer chokes on is shown as it is)
            await self.say(text)

    def _tail(self) -> StyleAndTextTuples:
        if not self.reply:
            return [("fg:ansibrightblack", "… (Esc cancels, Ctrl+Q queues)")]
        width = max(20, shutil.get_terminal_size().columns - 1)
        lines = [
            line[at : at + width]
            for line in self.reply[-_TAIL_CHARACTERS:].split("\n")
            for at in range(0, len(line) or 1, width)
        ]
        return [("", "\n".join(lines[-_TAIL_LINES:]))]

    def _waiting(self) -> StyleAndTextTuples:
        items = self._mirror.chat.queue.items
        lines = [f"  waits: {' '.join((item.visible or item.text).split())}" for item in items]
        return [("fg:ansibrightblack", "\n".join(lines))]

    def _prefix(self, line: int, wrapped: int) -> StyleAndTextTuples:
        mark = "! " if self._mirror.chat.shell else "> "
        return [("bold fg:ansicyan", mark if line == 0 and wrapped == 0 else "  ")]

    def _status(self) -> StyleAndTextTuples:
        tainted = self._mirror.chat.composer.state is State.TAINTED
        # What is not known to be typed here reaches hooks without a submitted_prompt: that is worth a word.
        facts = ("unattributed text", *self.facts) if tainted else self.facts
        if self.app.editing_mode is EditingMode.VI:
            facts = ("INSERT" if self.app.vi_state.input_mode is InputMode.INSERT else "NORMAL", *facts)
        return [("", " " + " · ".join(facts))]

    def _found(self) -> StyleAndTextTuples:
        if not self._search.buffer.text:
            return [("fg:ansibrightblack", "type a part of it; Enter sends, Tab takes, Ctrl+R older, Esc leaves")]
        match = self._search.match
        return [("fg:ansibrightblack", "nothing found")] if match is None else [("", " ".join(match.split()))]
