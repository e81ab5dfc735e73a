"""Which key does what. Every key that changes the text goes through the mirror; Ctrl+Q, Esc and Enter to the owner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol
from unicodedata import category

from prompt_toolkit.filters import (
    Condition,
    Filter,
    FilterOrBool,
    has_focus,
    vi_insert_mode,
    vi_mode,
    vi_navigation_mode,
)
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from .menu import Menu
from .mirror import Mirror
from .searching import Search

__all__ = ["Owner", "bindings"]


class Owner(Protocol):
    """What the keys ask for beside edits."""

    def submit(self, *, defer: bool = False, vouch: bool = True) -> None:
        """Send the draft, or queue it with `defer`; `vouch` is False in Vim's NORMAL mode."""

    def submit_found(self) -> None:
        """Send what the search found, without one the draft."""

    def interrupt(self) -> bool:
        """Cancel what runs or take back what waits; False for nothing."""

    def search(self, on: bool) -> None:
        """Open the search, or go back to the draft."""

    def paste(self, text: str) -> None:
        """Take what the terminal says was pasted: a text, or paths of images."""

    def stash(self) -> None:
        """Put the draft away, or take the last one out."""

    def edit(self) -> None:
        """Open the draft in the person's editor."""

    def suspend(self) -> None:
        """Give the terminal back to the shell, until the shell gives it back."""

    def leave(self) -> None:
        """End the chat."""


def bindings(mirror: Mirror, search: Search, menu: Menu, owner: Owner) -> KeyBindings:
    """The keys of the chat; those of prompt_toolkit that only move the cursor stay as they are."""
    keys = KeyBindings()
    buffer = mirror.buffer
    chat = mirror.chat
    composing = has_focus(buffer)
    typing = composing & (~vi_mode | vi_insert_mode)

    def on(*names: str | Keys, filter: FilterOrBool = typing) -> Callable[[Callable[[], object]], None]:
        def bind(action: Callable[[], object]) -> None:
            def act(event: KeyPressEvent) -> None:
                action()

            keys.add(*names, filter=filter)(act)

        return bind

    @keys.add(Keys.Any, filter=typing)
    def _(event: KeyPressEvent) -> None:
        if event.data == "!" and not buffer.text and not chat.shell:
            chat.toggle_shell(True)
        elif all(category(character) not in ("Cc", "Cs") for character in event.data):
            # Joiners are not printable, and words and signs are made with them.
            mirror.type(event.data)
            menu.look()

    @keys.add(Keys.BracketedPaste, filter=composing)
    def _(event: KeyPressEvent) -> None:
        owner.paste(event.data)

    @on("backspace")
    def _() -> None:
        if chat.shell and not buffer.text:
            chat.toggle_shell(False)
        mirror.backspace()
        menu.look()

    @on("c-c", filter=composing)
    def _() -> None:
        if not owner.interrupt():
            mirror.clear()

    @on("c-d", filter=composing)
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

    on("enter", filter=composing)(lambda: owner.submit(vouch=not vi_navigation_mode()))
    on("c-q", filter=composing)(lambda: owner.submit(defer=True))
    on("escape", "enter", filter=composing & ~vi_mode)(lambda: mirror.type("\n"))
    on("c-j", filter=composing)(lambda: mirror.type("\n"))
    # In Vim's INSERT mode Esc is the way to NORMAL, unless there is something to cancel.
    busy = Condition(lambda: chat.busy)
    on("escape", filter=composing & (~vi_mode | busy))(lambda: owner.interrupt())
    on("delete")(mirror.delete)
    on("up", filter=composing)(mirror.up)
    on("down", filter=composing)(mirror.down)
    on("c-p")(mirror.up)
    on("c-n")(mirror.down)
    on("c-_")(mirror.undo)
    on("escape", "_", filter=composing & ~vi_mode)(mirror.redo)
    on("c-y")(mirror.yank)
    on("c-u")(lambda: mirror.kill(mirror.at + buffer.document.get_start_of_line_position(), mirror.at))
    on("c-w")(lambda: mirror.kill(mirror.word, mirror.at))
    on("escape", "backspace", filter=composing & ~vi_mode)(lambda: mirror.kill(mirror.word, mirror.at))
    on("escape", "d", filter=composing & ~vi_mode)(mirror.kill_word)
    on("c-s", filter=composing)(owner.stash)
    on("c-x", "c-e", filter=composing)(owner.edit)
    on("c-z", filter=composing)(owner.suspend)
    _choosing(on, menu, composing & (~vi_mode | vi_insert_mode), mirror)
    _searching(on, search, owner)
    on("c-r")(lambda: owner.search(True))
    return keys


def _choosing(
    on: Callable[..., Callable[[Callable[[], object]], None]], menu: Menu, typing: Filter, mirror: Mirror
) -> None:
    is_open = Condition(lambda: bool(menu.choices)) & typing

    def open_or_take() -> None:
        if menu.choices:
            menu.take()
            return
        menu.look()
        if not menu.choices and not menu.is_reading:
            mirror.type("\t")

    on("tab", filter=typing)(open_or_take)
    on("up", filter=is_open)(lambda: menu.move(-1))
    on("down", filter=is_open)(lambda: menu.move(1))
    on("c-p", filter=is_open)(lambda: menu.move(-1))
    on("c-n", filter=is_open)(lambda: menu.move(1))
    on("escape", filter=is_open)(menu.close)
    on("enter", filter=is_open & Condition(lambda: menu.takes_enter))(menu.take)


def _searching(
    on: Callable[..., Callable[[Callable[[], object]], None]],
    search: Search,
    owner: Owner,
) -> None:
    looking = has_focus(search.buffer)

    def accept() -> None:
        search.accept()
        owner.search(False)

    on("c-r", filter=looking)(search.older)
    on("up", filter=looking)(search.older)
    on("enter", filter=looking)(lambda: owner.submit_found())
    on("tab", filter=looking)(accept)
    on("right", filter=looking)(accept)
    for name in ("escape", "c-c", "c-g", "c-d"):
        on(name, filter=looking)(lambda: owner.search(False))
