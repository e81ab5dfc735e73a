"""One turn of `firsthand chat`, from what was submitted to the end of the reply: tools and steering included."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..chat import Effect, Item, Send
from ..chat.expand import Expansion, expand
from ..chat.terminal.reply import Called
from ..chat.terminal.talk import Content, Done, TurnFailed, content_of
from ..chat.terminal.wire import Added
from ..errors import HookBlocked
from .chat_tools import answered, called
from .failures import one_line

if TYPE_CHECKING:
    from .chat_terminal import Terminal

__all__ = ["Turn", "run_turn"]


@dataclass(slots=True, kw_only=True)
class Turn:
    """The turn that is on its way.

    `said` are the pieces of the reply that comes, `produced` is True once anything of a reply came, `calls` are the
    ids of the tools that wait or run, `steered` what was taken into it and not answered yet. `over` is True once it
    has ended, `cancelled` when the person ended it; it may still be printing then.
    """

    task: asyncio.Task[None] | None = None
    said: list[str] = field(default_factory=list)
    produced: bool = False
    calls: set[str] = field(default_factory=set)
    steered: tuple[Item, ...] = ()
    cancelled: bool = False
    over: bool = False

    def end(self, terminal: Terminal, effects: tuple[Effect, ...]) -> None:
        """It is over, and this follows: what is cancelled from now on is another turn."""
        self.over = True
        terminal.mirror_back()
        terminal.carry(effects)

    def unsteer(self, terminal: Terminal) -> None:
        """Put steering back that the model has not begun to answer."""
        items, self.steered = self.steered, ()
        terminal.chat.unsteer(items)


async def run_turn(terminal: Terminal, effect: Send, turn: Turn) -> None:
    """Send it and show what comes. Whatever fails, the chat goes on."""
    try:
        await _talk(terminal, effect, turn)
    except HookBlocked as refusal:
        await _refused(terminal, turn, refusal)
    except asyncio.CancelledError:
        if not turn.cancelled:
            raise
    except Exception as error:  # noqa: BLE001  (whatever a turn fails of, the chat goes on and the text comes back)
        if not turn.cancelled:
            turn.unsteer(terminal)
            turn.end(terminal, terminal.chat.cancel(output=turn.produced))
        await terminal.screen.say(str(error) if isinstance(error, TurnFailed) else one_line(error), "red")
    else:
        if not turn.cancelled:
            turn.end(terminal, terminal.chat.finish())
    await _print_said(terminal, turn)


async def _talk(terminal: Terminal, effect: Send, turn: Turn) -> None:
    expansion = await _expanded(terminal, effect.item, "")
    submission = effect.submission(expansion.parts, session=terminal.session.id)
    added: dict[Added, None] = {}
    terminal.sent, terminal.added = (), ()
    terminal.wire.ran.clear()

    async def steer() -> Content | None:
        turn.steered = terminal.chat.steer()
        terminal.screen.app.invalidate()
        expansions = [await _expanded(terminal, item, " (to the running turn)") for item in turn.steered]
        return _steering(expansions) if expansions else None

    content = content_of(expansion.parts, expansion.images)
    with terminal.app.submitting(submission), terminal.app.origin(effect.origin):
        async with aclosing(terminal.talk.ask(content, steer=steer)) as events:
            async for event in events:
                if not turn.said:
                    added |= dict.fromkeys(terminal.wire.added())
                    terminal.sent, terminal.added = expansion.parts, tuple(added)
                turn.produced, turn.steered = True, ()
                if isinstance(event, Called):
                    turn.calls.add(event.id)
                    await _print_said(terminal, turn)
                    await terminal.screen.say(called(event), "yellow")
                elif isinstance(event, Done):
                    await terminal.screen.say(answered(event), "red" if event.answered.failed else "dim")
                    turn.calls.discard(event.call.id)
                    if not turn.cancelled:
                        terminal.chat.followed()
                else:
                    turn.said.append(event)
                    terminal.screen.reply = "".join(turn.said)
                    terminal.screen.app.invalidate()


async def _refused(terminal: Terminal, turn: Turn, refusal: HookBlocked) -> None:
    """A hook refused a send: of the first nothing was; when a later one is refused the turn has been."""
    if turn.cancelled:
        return
    if not turn.produced:
        turn.end(terminal, terminal.chat.blocked(refusal.reason))
        return
    turn.unsteer(terminal)
    turn.end(terminal, terminal.chat.finish())
    await terminal.screen.say(f"blocked: {refusal.reason} (what the tools said was not sent)", "red")


async def _expanded(terminal: Terminal, item: Item, note: str) -> Expansion:
    """Show what goes out, and read the files that it mentions."""
    expansion = await asyncio.to_thread(
        expand, item, folder=terminal.folder, commands=terminal.commands, attached=frozenset(terminal.attached)
    )
    await terminal.screen.typed(f"{item.visible}{note}")
    for notice in expansion.notices:
        await terminal.screen.say(notice, "dim")
    return expansion


def _steering(expansions: Sequence[Expansion]) -> Content:
    """What was said meanwhile as one message: the texts a blank line apart, then the files."""
    text = "\n\n".join(expansion.parts[0] for expansion in expansions)
    files = [part for expansion in expansions for part in expansion.parts[1:]]
    content = content_of((text, *files), [image for expansion in expansions for image in expansion.images])
    # Parts, also where it is one: so it comes back out of the transcript, behind the results of tools.
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


async def _print_said(terminal: Terminal, turn: Turn) -> None:
    text = "".join(turn.said)
    turn.said.clear()
    terminal.screen.reply = ""
    if text:
        await terminal.screen.markdown(text)
