"""The buffer on the screen as a mirror of the composer: an edit is told to the composer first, then shown.

Text that gets into the buffer by any other road (a binding that nobody thought of) is a fill of unknown origin and
taints.
"""

from __future__ import annotations

from collections.abc import Iterable

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

from ...parts import is_blank
from ..cells import Act
from ..chat import Chat

__all__ = ["Mirror"]


class Mirror:
    """Shows `chat.composer` in `buffer`, and takes edits at the buffer's cursor."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        # A binding that accepts a line would empty the buffer without a word, and what is sent is not what is seen.
        self.buffer = Buffer(multiline=True, on_text_changed=self._unannounced, accept_handler=lambda _: True)
        self._showing = False
        self._typed_to = -1
        self._killed = ""
        self.show()

    @property
    def at(self) -> int:
        """The cursor's offset."""
        return self.buffer.cursor_position

    @property
    def word(self) -> int:
        """Where the word before the cursor begins."""
        return self.at + (self.buffer.document.find_start_of_previous_word() or 0)

    def show(self, at: int | None = None) -> None:
        """Make the buffer what the composer is, with the cursor at an offset, the end by default."""
        text = self.chat.composer.text
        self._typed_to = -1
        self._showing = True
        try:
            self.buffer.set_document(Document(text, len(text) if at is None else at), bypass_readonly=True)
        finally:
            self._showing = False

    def type(self, text: str) -> None:
        """Insert what a key gave; a word is one undo step."""
        joins = self.at == self._typed_to and not is_blank(text)
        at = self.chat.composer.type(text, self.at, joins=joins)
        self.show(at)
        self._typed_to = at

    def paste(self, text: str) -> None:
        """Insert what the terminal says was pasted."""
        self.show(self.chat.composer.paste(text, self.at))

    def backspace(self) -> None:
        """Delete before the cursor; at the start of the text, the last chip."""
        if self.at:
            self.show(self.chat.composer.backspace(self.at))
        elif self.chat.composer.chips:
            self.chat.composer.detach(self.chat.composer.chips[-1])

    def complete(self, start: int, end: int, text: str) -> None:
        """Put a completion in the place of a range: an edit like any other."""
        whole = self.chat.composer.text
        if whole[end : end + 1].isspace():
            text = text.removesuffix(" ")
        self.chat.composer.change(whole[:start] + text + whole[end:], Act.COMPLETE)
        self.show(start + len(text))

    def attach(self, paths: Iterable[str]) -> None:
        """Add chips for what is not attached yet."""
        for path in paths:
            if path not in self.chat.composer.chips:
                self.chat.composer.attach(path)

    def delete(self) -> None:
        """Delete at the cursor."""
        at, text = self.at, self.chat.composer.text
        self.chat.composer.change(text[:at] + text[at + 1 :])
        self.show(at)

    def kill(self, start: int, end: int) -> None:
        """Cut a range, for `yank`."""
        if start < end:
            self._killed = self.chat.composer.kill(start, end)
            self.show(start)

    def kill_word(self) -> None:
        """Cut to the end of the word."""
        self.kill(self.at, self.at + (self.buffer.document.find_next_word_ending() or 0))

    def yank(self) -> None:
        """Put back what was cut last."""
        if self._killed:
            self.show(self.chat.composer.yank(self._killed, self.at))

    def undo(self) -> None:
        """Go back one step."""
        if self.chat.composer.undo():
            self.show()

    def redo(self) -> None:
        """Go forward one step."""
        if self.chat.composer.redo():
            self.show()

    def clear(self) -> None:
        """Empty the composer."""
        self.chat.composer.clear()
        self.show()

    def up(self) -> None:
        """A line up; from the first line, what waits or the history."""
        if not self.buffer.document.on_first_line:
            self.buffer.cursor_up()
        elif self.chat.history_up():
            self.show()

    def down(self) -> None:
        """A line down; from the last line, back in the history."""
        if not self.buffer.document.on_last_line:
            self.buffer.cursor_down()
        elif self.chat.history_down():
            self.show()

    def agree(self) -> None:
        """Before a submit: what is sent is what is seen."""
        if self.buffer.text != self.chat.composer.text:
            self._unannounced(self.buffer)

    def _unannounced(self, _: Buffer) -> None:
        if self._showing:
            return
        if self.chat.composer.vim:
            # Vim's own commands: nothing is vouched for in that mode, and the pastes are still the draft's.
            self.chat.composer.change(self.buffer.text)
        else:
            self.chat.composer.fill(self.buffer.text, Act.REMOTE, compact=True)
