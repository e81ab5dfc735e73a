"""What can be done to a chat, each with a witness that knows only what the person did with their own hands.

An operation raises AssertionError when the chat vouches for anything that the witness does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from middleware.chat import Act, Chat, Effect, Item, Kind, Send, SideQuestion
from middleware.chat.composer import Composer
from middleware.chat.history import History
from middleware.chat.queue import Queue
from middleware.chat.turns import Turns
from middleware.parts import trim

PASTE = "p" * 1001
OURS = (Composer, Queue, History, Turns)
NAMES = ["[Pasted Content 1001 chars]", *(f"[Pasted Content 1001 chars] #{number}" for number in range(2, 9))]
FOREIGN = "written by somebody else"


@dataclass
class Witness:
    """What the person has in the composer by their own doing.

    `own` is the text they wrote there, None once anything else had a part in it. `given` is the value of the
    submission that was given back and not touched since. `wrote` are all texts they ever had there, `cut` those that
    they cut out of their own.
    """

    own: str | None = ""
    given: tuple[str | None, bool] = (None, False)
    wrote: frozenset[str] = frozenset({""})
    cut: frozenset[str] = frozenset()


@dataclass
class Scene:
    chat: Chat
    witness: Witness = field(default_factory=Witness)
    newest: Send | SideQuestion | None = None
    steered: tuple[Item, ...] = ()

    def twin(self) -> Scene:
        return Scene(twin(self.chat), replace(self.witness), self.newest, self.steered)


def twin(thing: Any) -> Any:
    """A copy that shares the values and none of what changes."""
    other = object.__new__(type(thing))
    for name, value in vars(thing).items():
        kind = type(value)
        if kind is list:
            value = value[:]
        elif kind in OURS:
            value = twin(value)
        other.__dict__[name] = value
    if isinstance(thing, Chat):
        other._turns._history = other.history
        running = thing._turns._running
        other._turns._running = running and replace(running)
    return other


def by_hand(act: Callable[[Composer], object], after: Callable[[str], str]) -> Callable[[Scene], None]:
    """The person changes the text, and the composer shows exactly that."""

    def run(scene: Scene) -> None:
        composer, own = scene.chat.composer, scene.witness.own
        before = composer.text
        act(composer)
        assert composer.text == after(before)
        touched(scene, before, own if own is None else after(own))

    return run


def large(scene: Scene) -> None:
    """A large paste shows as a placeholder, whose number depends on what is pending."""
    before, own, pending = scene.chat.composer.text, scene.witness.own, scene.chat.composer.pastes
    name = next(name for name in NAMES if name not in pending)
    scene.chat.composer.paste(PASTE)
    assert scene.chat.composer.text == before + name
    touched(scene, before, own if own is None else own + name)


def deletes(scene: Scene) -> None:
    """Backspace; a placeholder goes as a whole."""
    before, own = scene.chat.composer.text, scene.witness.own
    scene.chat.composer.backspace()
    assert before.startswith(scene.chat.composer.text)
    touched(scene, before, own if own is None else scene.chat.composer.text)


def ups(scene: Scene) -> None:
    """Up gives back what waits; with nothing waiting it is history."""
    if any(item.is_user_text for item in scene.chat.queue.items):
        pops(scene)
    else:
        fill(lambda chat: chat.history_up())(scene)


def touched(scene: Scene, before: str, own: str | None) -> None:
    text, witness = scene.chat.composer.text, scene.witness
    if not text:
        witness.own, witness.given = "", (None, False)
    elif text != before:
        witness.own, witness.given = (None if scene.chat.composer.vim else own), (None, False)
    if witness.own is not None:
        witness.wrote |= {witness.own}


def fill(act: Callable[[Chat], object]) -> Callable[[Scene], None]:
    """Something else fills the composer, whatever it fills it with."""

    def run(scene: Scene) -> None:
        before = scene.chat.composer.text
        acted = act(scene.chat)
        if acted is not False:
            touched(scene, before + "?", None)

    return run


def back_and_forth(act: Callable[[Composer], bool]) -> Callable[[Scene], None]:
    """Undo and redo bring back what the person had, if nothing but the person was there all the while."""

    def run(scene: Scene) -> None:
        before, own = scene.chat.composer.text, scene.witness.own
        act(scene.chat.composer)
        text = scene.chat.composer.text
        touched(scene, before, text if own is not None and text in scene.witness.wrote else None)

    return run


def given_back(scene: Scene, value: str | None, before: str) -> None:
    merged, vim = bool(trim(before)), scene.chat.composer.vim
    scene.witness.own, scene.witness.given = None, (None, False) if merged or vim else (value, True)


def allowed(scene: Scene) -> set[str | None]:
    """What a submit of the composer as it is may carry."""
    witness, chips = scene.witness, scene.chat.composer.chips
    if witness.given[1]:
        return {None} if chips else {None, witness.given[0]}
    return {None} if witness.own is None else {None, trim(witness.own)}


def yanks(text: str) -> Callable[[Scene], None]:
    """Put a text back that was cut: it is the person's only if they cut it from a text that was all theirs."""

    def run(scene: Scene) -> None:
        before, own = scene.chat.composer.text, scene.witness.own
        scene.chat.composer.yank(text)
        mine = own is not None and text in scene.witness.cut
        touched(scene, before, before + text if mine else None)

    return run


def cuts(scene: Scene) -> None:
    """Cut all of it."""
    before, own = scene.chat.composer.text, scene.witness.own
    scene.witness.cut = (scene.witness.cut | {before}) if own == before else scene.witness.cut - {before}
    scene.chat.composer.kill(0, len(before))
    touched(scene, before, "")


def sends(
    act: Callable[[Chat], tuple[Effect, ...]], *, hands: bool = True, vouched: bool = True
) -> Callable[[Scene], None]:
    def run(scene: Scene) -> None:
        may = allowed(scene) if hands and vouched else {None}
        waiting, blank = scene.chat.queue.items, scene.chat.composer.is_empty
        effects = act(scene.chat)
        new = [item for item in scene.chat.queue.items if item not in waiting]
        assert len(new) <= 1
        assert all(item.submitted_prompt in may for item in new)
        carried(scene, effects, waiting, may)
        if hands and not blank:
            scene.witness.own, scene.witness.given = "", (None, False)

    return run


def carried(scene: Scene, effects: tuple[Effect, ...], waiting: tuple[Item, ...], may: set[str | None]) -> None:
    """A turn carries what its submit may, or exactly what all of the items carry that waited and went into it."""
    for effect in effects:
        if isinstance(effect, (Send, SideQuestion)):
            scene.newest = effect
        if isinstance(effect, Send):
            value = effect.submission().submitted_prompt
            gone = [item for item in waiting if item not in scene.chat.queue.items and item.is_user_text]
            values = [item.submitted_prompt for item in gone]
            joined = "\n\n".join(one for one in values if one is not None) if values and None not in values else None
            assert value in may | {joined} | {item.submitted_prompt for item in waiting if item.command}


def pops(scene: Scene) -> None:
    before = scene.chat.composer.text
    values = [item.submitted_prompt for item in scene.chat.queue.items if item.is_user_text]
    if scene.chat.pop_queue():
        given_back(scene, None if None in values else "\n\n".join(v for v in values if v is not None), before)


def ends(act: Callable[[Chat], tuple[Effect, ...]], *, pops: bool = True) -> Callable[[Scene], None]:
    """The turn ends; what was submitted may come back, with what it was submitted with."""

    def run(scene: Scene) -> None:
        chat, before = scene.chat, scene.chat.composer.text
        running = chat._turns._running
        waiting = chat.queue.items
        popped = [item.submitted_prompt for item in waiting if item.is_user_text and pops]
        effects = act(chat)
        carried(scene, effects, waiting, {None})
        if chat.composer.text != before:
            values = popped or [running.item.submitted_prompt if running and running.item else None]
            given_back(scene, None if None in values else "\n\n".join(v for v in values if v is not None), before)

    return run


def puts_away(scene: Scene) -> None:
    before, own = scene.chat.composer.text, scene.witness.own
    touched(scene, before, "" if scene.chat.put_away() else own)


def restarts(scene: Scene) -> None:
    history = [entry.text for entry in scene.chat.history.entries]
    scene.chat = Chat(prompts=["review"], history=history, stash=scene.chat.stash, shelf=scene.chat.shelf)
    scene.witness = Witness(own=None if scene.chat.composer.text else "")
    scene.newest, scene.steered = None, ()


def refuses(scene: Scene) -> None:
    if scene.newest is not None and scene.chat.busy:
        scene.chat.refused(scene.newest)
    scene.newest = None


def steers(scene: Scene) -> None:
    scene.steered = scene.chat.steer()


def unsteers(scene: Scene) -> None:
    scene.chat.unsteer(scene.steered)
    scene.steered = ()


def vim(scene: Scene) -> None:
    scene.chat.composer.set_vim(True)
    if scene.chat.composer.text:
        scene.witness.own, scene.witness.given = None, (None, False)


def plain(act: Callable[[Chat], object]) -> Callable[[Scene], None]:
    def run(scene: Scene) -> None:
        act(scene.chat)

    return run


OPERATIONS: dict[str, Callable[[Scene], None]] = {
    "type": by_hand(lambda c: c.type("a"), lambda text: text + "a"),
    "blank": by_hand(lambda c: c.type(" "), lambda text: text + " "),
    "slash": by_hand(lambda c: c.change("/review it"), lambda text: "/review it"),
    "aside": by_hand(lambda c: c.change("/btw why"), lambda text: "/btw why"),
    "paste": by_hand(lambda c: c.paste("b"), lambda text: text + "b"),
    "complete": by_hand(lambda c: c.change(c.text + "c", Act.COMPLETE), lambda text: text + "c"),
    "delete": deletes,
    "clear": by_hand(lambda c: c.clear(), lambda text: ""),
    "large": large,
    "attach": plain(lambda chat: chat.composer.attach("a.png")),
    "undo": back_and_forth(Composer.undo),
    "redo": back_and_forth(Composer.redo),
    "suggest": fill(lambda chat: chat.composer.fill(FOREIGN, Act.SUGGESTION)),
    "ghost": fill(lambda chat: chat.composer.fill(chat.composer.text + FOREIGN, Act.GHOST)),
    "dialog": fill(lambda chat: chat.composer.fill(FOREIGN, Act.DIALOG)),
    "remote fill": fill(lambda chat: chat.composer.fill(FOREIGN, Act.REMOTE)),
    "shell line": fill(lambda chat: chat.composer.fill("a", Act.SHELL_HISTORY)),
    "editor": by_hand(lambda c: c.change(c.text + "e", Act.EDITOR), lambda text: text + "e"),
    "cut": cuts,
    "yank a": yanks("a"),
    "yank else": yanks(FOREIGN),
    "rewind": fill(lambda chat: chat.rewind("a")),
    "search": fill(lambda chat: chat.composer.fill("a", Act.SEARCH)),
    "down": fill(lambda chat: chat.history_down()),
    "up": ups,
    "vim": vim,
    "no vim": plain(lambda chat: chat.composer.set_vim(False)),
    "submit": sends(lambda chat: chat.submit()),
    "defer": sends(lambda chat: chat.submit(defer=True)),
    "normal": sends(lambda chat: chat.submit_unvouched(), vouched=False),
    "remote": sends(lambda chat: chat.program_submit(FOREIGN, kind=Kind.REMOTE), hands=False),
    "peer": sends(lambda chat: chat.program_submit(FOREIGN, kind=Kind.PEER), hands=False),
    "remind": plain(lambda chat: chat.remind(FOREIGN)),
    "stash": plain(lambda chat: chat.keep()),
    "put away": puts_away,
    "take out": fill(lambda chat: chat.take_out()),
    "restart": restarts,
    "pop": pops,
    "finish": ends(lambda chat: chat.finish()),
    "cancel": ends(lambda chat: chat.cancel()),
    "stop": ends(lambda chat: chat.cancel(output=True)),
    "block": ends(lambda chat: chat.blocked("no"), pops=False),
    "refuse": refuses,
    "steer": steers,
    "unsteer": unsteers,
}
