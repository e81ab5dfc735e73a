"""Which key does what. Every key that changes the text goes through the mirror; Ctrl+Q, Esc and Enter to the owner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from .mirror import Mirror

__all__ = ["Owner", "bindings"]


class Owner(Protocol):
    """What the keys ask for beside edits."""

    def submit(self, *, defer: bool = False) -> None: ...
    def interrupt(self) -> bool: ...
    def leave(self) -> None: ...


def bindings(mirror: Mirror, owner: Owner) -> KeyBindings:
    """The keys of the chat; those of prompt_toolkit that only move the cursor stay as they are."""
    keys = KeyBindings()
    buffer = mirror.buffer
    chat = mirror.chat

    def on(*names: str | Keys) -> Callable[[Callable[[], object]], None]:
        def bind(action: Callable[[], object]) -> None:
            def act(event: KeyPressEvent) -> None:
                action()

            keys.add(*names)(act)

        return bind

    @keys.add(Keys.Any)
    def _(event: KeyPressEvent) -> None:
        if event.data == "!" and not buffer.text and not chat.shell:
            chat.toggle_shell(True)
        elif event.data.isprintable() or event.data == "\t":
            mirror.type(event.data)

    @keys.add(Keys.BracketedPaste)
    def _(event: KeyPressEvent) -> None:
        mirror.paste(event.data)

    @on("backspace")
    def _() -> None:
        if chat.shell and not buffer.text:
            chat.toggle_shell(False)
        mirror.backspace()

    @on("c-c")
    def _() -> None:
        if not owner.interrupt():
            mirror.clear()

    @on("c-d")
    def _() -> None:
        if buffer.text:
            mirror.delete()
        else:
            owner.leave()

    @on("c-k")
    def _() -> None:
        # At the end of a line it is the line's end that goes.
        end = mirror.at + (buffer.document.get_end_of_line_position() or 1)
        mirror.kill(mirror.at, min(end, len(buffer.text)))

    on("enter")(lambda: owner.submit())
    on("c-q")(lambda: owner.submit(defer=True))
    on("escape", "enter")(lambda: mirror.type("\n"))
    on("c-j")(lambda: mirror.type("\n"))
    on("escape")(lambda: owner.interrupt())
    on("delete")(mirror.delete)
    on("up")(mirror.up)
    on("down")(mirror.down)
    on("c-p")(mirror.up)
    on("c-n")(mirror.down)
    on("c-_")(mirror.undo)
    on("escape", "_")(mirror.redo)
    on("c-y")(mirror.yank)
    on("c-u")(lambda: mirror.kill(mirror.at + buffer.document.get_start_of_line_position(), mirror.at))
    on("c-w")(lambda: mirror.kill(mirror.word, mirror.at))
    on("escape", "backspace")(lambda: mirror.kill(mirror.word, mirror.at))
    on("escape", "d")(lambda: mirror.kill(mirror.at, mirror.at + (buffer.document.find_next_word_ending() or 0)))
    return keys
