"""One chat: composer, queue, history and the running turn, and the road from a key to a send.

Pure: every method changes this object and answers with effects for the terminal to carry out, in order. Rules:
submitted-prompt 2.3 to 2.6, decisions S2 to S6, S9, S11 and S12.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..parts import is_blank, trim
from .cells import Act
from .composer import Capture, Composer, Draft
from .effects import (
    AcceptSpeculation,
    Effect,
    Given,
    Quit,
    Refused,
    RunCommand,
    RunShell,
    Send,
    SideQuestion,
    ToAgent,
)
from .history import Entry, History
from .queue import Item, Kind, Queue
from .turns import Turns

__all__ = ["Chat"]

_QUIT_WORDS = frozenset({"exit", "quit", ":q", ":q!", ":wq", ":wq!", "/quit", "/exit"})
_SIDE_QUESTIONS = ("/btw", "?btw")


class Chat:
    """One conversation's input side.

    `local` names the slash commands that the terminal runs, `prompts` those that become a prompt, without the
    slash. `history`, `shell_history`, `stash` (put into the composer) and `shelf` (drafts that were put away, the
    newest last) are what an earlier process left; all four are read back to be kept. Only a text from the composer
    can be vouched for.
    """

    def __init__(
        self,
        *,
        local: Iterable[str] = (),
        prompts: Iterable[str] = (),
        history: Iterable[str] = (),
        shell_history: Iterable[str] = (),
        stash: str | None = None,
        shelf: Iterable[str] = (),
    ) -> None:
        self.composer = Composer()
        self.queue = Queue()
        self.history = History(history)
        self.shell_history = History(shell_history)
        self.stash = stash
        self.shelf = tuple(shelf)
        self.shell = False
        self.agent_tab = False
        self._local = frozenset(local)
        self._prompts = frozenset(prompts)
        self._reminders: list[str] = []
        self._speculation: str | None = None
        self._turns = Turns(self.history)
        if stash:
            self.composer.fill(stash, Act.STASH)

    @property
    def busy(self) -> bool:
        """True while a turn runs: what is submitted waits."""
        return self._turns.busy

    @property
    def reminders(self) -> tuple[str, ...]:
        """What goes before the next text that is sent."""
        return tuple(self._reminders)

    def submit(self, *, defer: bool = False) -> tuple[Effect, ...]:
        """Enter, or Ctrl+Q with `defer`. A blank composer does nothing at all (S2)."""
        return self._submit(vouch=True, defer=defer)

    def submit_unvouched(self) -> tuple[Effect, ...]:
        """Enter in Vim's NORMAL mode: sent without a value."""
        return self._submit(vouch=False, defer=False)

    def submit_found(self, match: str | None) -> tuple[Effect, ...]:
        """Enter in the reverse search: a match is history and is sent without a value; with none, the draft goes."""
        if match is not None:
            self.composer.fill(match, Act.SEARCH)
        return self.submit()

    def program_submit(self, text: str, *, kind: Kind = Kind.PROGRAM) -> tuple[Effect, ...]:
        """A text that nobody typed here: a start prompt, remote input, a peer. The composer is left alone."""
        if kind in (Kind.PLAIN, Kind.DEFERRED):
            raise ValueError(f"{kind} is what the composer submits; give program, remote or peer")
        self._speculation = None
        trimmed = trim(text)
        if not trimmed:
            return ()
        command = "" if kind is Kind.PEER else self._command(trimmed)
        reminded = trimmed if command or kind is Kind.PEER else self._reminded(trimmed)
        self.queue.add(Item(text=reminded, visible=trimmed, kind=kind, command=command))
        return self._drain()

    def speculation_ready(self, text: str) -> None:
        """A model has already answered exactly `text`; good until something else is submitted. Ignored while busy."""
        if not self.busy:
            self._speculation = text

    def speculation_failed(self, text: str) -> tuple[Effect, ...]:
        """The accepted speculation cannot be used: the text is sent as any other, without a value (S4)."""
        self.queue.add(Item(text=text, visible=text))
        return self._drain()

    def remind(self, text: str) -> None:
        """Put `text` before the next text that is sent, for the model only, once."""
        self._reminders.append(text)

    def finish(self) -> tuple[Effect, ...]:
        """The running turn has ended; what waits goes out."""
        self._turns.end()
        return self._drain()

    def occupied(self) -> None:
        """A turn that nobody submitted here has begun (cron, a notification, a retry): it has no row to give back."""
        self._turns.occupy()

    def followed(self) -> None:
        """Something of the running turn was added after its row: a tool's result, a hook's continuation."""
        self._turns.follow()

    def steer(self) -> tuple[Item, ...]:
        """Take what may go into the running turn, between its tool results and its next model call."""
        items = self.queue.steer()
        if items:
            self.followed()
        return items

    def unsteer(self, items: Iterable[Item]) -> None:
        """Put steering back that was not delivered: at the head, in order, without values."""
        self.queue.put_back(*(replace(item, submitted_prompt=None) for item in items))

    def refused(self, effect: Send | SideQuestion) -> None:
        """What was just to be sent was not let in, before its hook ran, since another turn runs: it waits again.

        Its row and history entry were never there; a batch comes back as one item. A side question is deferred.
        """
        if isinstance(effect, SideQuestion):
            self.history.remove(effect.entry)
            self.queue.add(replace(effect.item, kind=Kind.DEFERRED))
        elif self._turns.is_running(effect.item):
            self._turns.take_back()
            self.queue.put_back(effect.item)
            self._turns.occupy()

    def blocked(self, reason: str) -> tuple[Effect, ...]:
        """A hook refused the running turn: nothing of it stays, and its text comes back (S6).

        For a turn's first send; when a later one is refused the turn has been, and `finish` says so.
        """
        sent = self._turns.take_back()
        if sent is None:
            return self._drain()
        restored = self.composer.is_empty and sent.kind is not Kind.PEER
        if restored:
            self.composer.restore(sent.text, sent.sidecar)
        return (Given(text=sent.text, reason=reason, restored=restored), *self._drain())

    def cancel(self, *, output: bool = False, tool_running: bool = False, pending: bool = False) -> tuple[Effect, ...]:
        """Cancel the running turn; nothing when there is none.

        `output`: it produced content, or rows that are kept follow it. `tool_running`: a tool waits or runs.
        `pending`: content was on its way that is not on the screen yet. Rules: submitted-prompt 2.6.
        """
        if not self.busy:
            return ()
        had_draft = not self.composer.is_empty
        popped = self.pop_queue()
        cancelled, back = self._turns.cancel(
            occupied=had_draft or popped, output=output, tool_running=tool_running, pending=pending
        )
        if back is not None:
            self.composer.restore(back.text, back.sidecar)
        return (cancelled, *self._drain())

    def pop_queue(self) -> bool:
        """Give what waits back to the composer as one text; False when nothing of the user's waits."""
        batch = self.queue.pop_all()
        if batch is None:
            return False
        self.composer.restore(batch.text, batch.sidecar)
        return True

    def history_up(self) -> bool:
        """Up on the first line: what waits comes back; else the next older entry, which taints. False for neither."""
        if not self.shell and self.pop_queue():
            return True
        return self._show(self._past.up(Draft(self.composer.text, self.composer.pastes)))

    def history_down(self) -> bool:
        """Down on the last line: the next newer entry or the draft from before; both taint. False for neither."""
        return self._show(self._past.down())

    def toggle_shell(self, on: bool) -> None:
        """Shell mode; switching it on with `!` empties the composer, leaving it keeps what was typed."""
        if on and not self.shell:
            self.composer.clear()
        self.shell = on
        self.history.leave()
        self.shell_history.leave()

    def keep(self) -> None:
        """Stash the text, pastes expanded; the composer stays as it is."""
        self.stash = None if self.composer.is_empty else self.composer.expanded

    def put_away(self) -> bool:
        """Stash the draft for later and empty the composer; a submit of another text leaves it where it is.

        Pastes are expanded and chips become references: what is put away is text. False when there is none.
        """
        if self.shell or self.composer.is_empty:
            return False
        self.shelf = (*self.shelf, self.composer.whole)
        self.stash = None
        self.history.leave()
        self.composer.clear()
        return True

    def take_out(self) -> bool:
        """Put the draft back that was put away last, into a blank composer only; it taints. False for nothing done."""
        if self.shell or not self.shelf or not self.composer.is_empty:
            return False
        self.stash = self.shelf[-1]
        self.shelf = self.shelf[:-1]
        self.composer.fill(self.stash, Act.STASH)
        return True

    def rewind(self, text: str) -> None:
        """The conversation was cut back to before `text`, which replaces the draft and taints."""
        self.history.leave()
        self.composer.fill(text, Act.REWIND)

    @property
    def _past(self) -> History:
        return self.shell_history if self.shell else self.history

    def _show(self, found: Entry | Draft | None) -> bool:
        if found is None:
            return False
        act = Act.SHELL_HISTORY if self.shell else Act.HISTORY
        if isinstance(found, Draft):
            self.composer.fill(found.text, act, pastes=found.pastes)
        else:
            self.composer.fill(found.text, act, compact=found.compact)
        return True

    def _submit(self, *, vouch: bool, defer: bool) -> tuple[Effect, ...]:
        for name in self.composer.lost:
            return (Refused(reason=f"{name} has lost its text: paste it again, or delete it"),)
        capture = self.composer.capture(vouch=vouch)
        return () if capture is None else self._route(capture, defer)

    def _route(self, capture: Capture, defer: bool) -> tuple[Effect, ...]:
        """Steps 3 to 8 of a submit, with what the composer gave: who gets it, and when."""
        self.stash = None
        self.history.leave()
        self.shell_history.leave()
        speculation, self._speculation = self._speculation, None
        text = trim(capture.model_text)
        if capture.typed in _QUIT_WORDS:
            return (Quit(),)
        if self.agent_tab:
            return (ToAgent(text=text),)
        if self.shell:
            line = trim(capture.expanded)
            self.shell_history.add(line)
            return (RunShell(command=line),)
        command = self._command(capture.typed)
        if not (defer or command or self.busy) and text == speculation:
            self._turns.add_row()
            self.history.add(text)
            return (AcceptSpeculation(text=text),)
        item = Item(
            text=trim(capture.expanded) if command else self._reminded(text),
            submitted_prompt=capture.submitted_prompt,
            visible=capture.visible,
            kind=Kind.DEFERRED if defer else Kind.PLAIN,
            command=command,
        )
        if command and not defer and (command == "btw" or not self.busy):
            return (*self._go(item), *self._drain())
        self.queue.add(item)
        return self._drain()

    def _drain(self) -> tuple[Effect, ...]:
        effects: list[Effect] = []
        while not self.busy and (item := self.queue.next()) is not None:
            effects += self._go(item)
        return tuple(effects)

    def _go(self, item: Item) -> tuple[Effect, ...]:
        """Start what an item is: a side question, a local command, or a turn."""
        if item.command == "btw":
            return (SideQuestion(item=item, entry=self.history.add(item.text)),)
        if item.command and item.command not in self._prompts:
            return (RunCommand(name=item.command, text=item.text),)
        return (self._turns.begin(item),)

    def _command(self, typed: str) -> str:
        """The name of the slash command that a trimmed text is, "" for a text (S9)."""
        if not typed.startswith(("/", "?")):
            return ""
        word = typed[: next((at for at, character in enumerate(typed) if is_blank(character)), len(typed))]
        if word in _SIDE_QUESTIONS:
            return "btw"
        name = word[1:]
        return name if word[0] == "/" and (name in self._local or name in self._prompts) else ""

    def _reminded(self, text: str) -> str:
        reminders, self._reminders = self._reminders, []
        return "".join(f"<system-reminder>\n{reminder}\n</system-reminder>\n\n" for reminder in reminders) + text
