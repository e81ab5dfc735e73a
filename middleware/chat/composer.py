"""The composer: text, pastes, chips, undo, and the provenance of what it holds.

Pure: it is told what the person did and answers with values; a terminal mirrors its `text`. Rules:
submitted-prompt 2.1 to 2.3 and 2.7 to 2.11, decisions S2, S3, S7 and S10.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..parts import is_blank, trim
from . import pastes as large
from .cells import KEEPS_PASTES, TABLE, Act, Sidecar, State, after
from .mentions import reference
from .pastes import Pastes

__all__ = ["Capture", "Composer", "Draft"]

_MOST_STEPS = 100
_MOST_KEPT_CHARACTERS = 20_000_000
_MOST_KILLS = 60


@dataclass(frozen=True, slots=True)
class Draft:
    """What an undo step brings back: the text, its pastes and the attachment chips (S7)."""

    text: str = ""
    pastes: Pastes = field(default_factory=dict)
    chips: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What one submit took out of the composer.

    `model_text` has pastes and chips expanded, `expanded` pastes only; `submitted_prompt` is what may be vouched for,
    or None; `typed` is the trimmed text that decides about slash commands; `visible` is what the composer showed,
    chips as references, bodies of pastes left out.
    """

    model_text: str
    expanded: str
    submitted_prompt: str | None
    typed: str
    visible: str


class Composer:
    """One composer. Offsets are code points; a method that inserts answers where the cursor is afterwards."""

    def __init__(self) -> None:
        self._draft = Draft()
        self._state = State.FRESH
        self._sidecar: Sidecar | None = None
        self._vim = False
        self._undo: list[Draft] = []
        self._redo: list[Draft] = []
        self._kills: list[Draft] = []
        self._lost: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """What is shown: placeholders for large pastes, no chips."""
        return self._draft.text

    @property
    def chips(self) -> tuple[str, ...]:
        """Paths of what is attached, in order."""
        return self._draft.chips

    @property
    def pastes(self) -> Pastes:
        """Bodies of the pending large pastes by placeholder."""
        return self._draft.pastes

    @property
    def state(self) -> State:
        """What is known of where the text is from."""
        return self._state

    @property
    def vim(self) -> bool:
        """Whether Vim mode is on."""
        return self._vim

    @property
    def is_empty(self) -> bool:
        """True when there is nothing that a submit would send (S8)."""
        return is_blank(self.text)

    @property
    def lost(self) -> tuple[str, ...]:
        """Placeholders in the text whose bodies are gone: they must not be sent (S10)."""
        return tuple(sorted(name for name in self._lost if name in self.text and name not in self.pastes))

    @property
    def expanded(self) -> str:
        """The text with the bodies of its pastes, chips left out: what a stash keeps."""
        return large.expand(self.text, self.pastes)

    @property
    def whole(self) -> str:
        """What goes to the model: the text with its pastes, behind references to its chips."""
        return _behind(self._draft.chips, trim(self.expanded)) if self._draft.chips else self.expanded

    def type(self, text: str, at: int | None = None, *, joins: bool = False) -> int:
        """Insert at an offset, the end by default; `joins` makes it part of the undo step before it."""
        return self._insert(text, at, Act.KEYS, joins=joins)

    def paste(self, text: str, at: int | None = None) -> int:
        """Insert what was pasted, line ends normalised; a large text becomes a placeholder."""
        body = large.normalised(text)
        if not large.is_large(body):
            return self._insert(body, at, Act.PASTE)
        taken = [*self.pastes, *(name for kill in self._kills for name in kill.pastes)]
        name = large.placeholder(body, taken)
        return self._insert(name, at, Act.PASTE, pastes={**self.pastes, name: body})

    def change(self, text: str, act: Act = Act.KEYS, *, joins: bool = False) -> None:
        """Replace the whole text by one atomic change, which is one undo step; pastes stay pending."""
        self._become(Draft(text, self.pastes, self.chips), act, joins=joins)

    def fill(self, text: str, act: Act, *, pastes: Pastes = large.NONE, compact: bool = False) -> None:
        """Replace the whole text by one that did not come from the keyboard (S3).

        `pastes` are the bodies that belong to it; `compact` says that placeholders in it stood for bodies that are
        gone, as in a transcript's display text, so that they are not sent as if they were words.
        """
        kept = self.pastes if act in KEEPS_PASTES else large.NONE
        self._become(Draft(text, {**kept, **pastes}, self.chips), act)
        if compact:
            self._lost |= large.unknown_in(text, self.pastes)

    def restore(self, text: str, sidecar: Sidecar) -> None:
        """Give a text back with what it was; the only fill that sets a sidecar.

        A draft that is not blank goes below it, which is another text and so taints.
        """
        draft = self._draft
        merged = Draft(text, large.NONE, draft.chips)
        if not is_blank(draft.text):
            merged = Draft(f"{text}\n{draft.text}", draft.pastes, draft.chips)
        self._become(merged, Act.RESTORE, sidecar=sidecar)

    def backspace(self, at: int | None = None) -> int:
        """Delete before an offset, the end by default: one code point, or a pending placeholder as a whole."""
        at = len(self.text) if at is None else at
        name = large.placeholder_before(self.text, at, self.pastes)
        start = max(0, at - len(name)) if name is not None else max(0, at - 1)
        text = self.text[:start] + self.text[at:]
        left = self.pastes
        if name is not None and name not in text:
            left = {kept: body for kept, body in self.pastes.items() if kept != name}
        self._become(Draft(text, left, self.chips), Act.KEYS)
        return start

    def kill(self, start: int, end: int) -> str:
        """Cut a range for a later `yank`; answers what was cut."""
        killed = self.text[start:end]
        if killed:
            self._kills = [kill for kill in self._kills if kill.text != killed]
            if self._state is State.FRESH and not self._vim:
                bodies = {name: body for name, body in self.pastes.items() if name in killed}
                self._kills = [*self._kills, Draft(killed, bodies)][-_MOST_KILLS:]
        self.change(self.text[:start] + self.text[end:])
        return killed

    def yank(self, killed: str, at: int | None = None) -> int:
        """Insert what was killed; unless it is known to have been killed from an eligible text, this taints."""
        known = next((kill for kill in self._kills if kill.text == killed), None)
        if known is not None:
            return self._insert(killed, at, Act.YANK, pastes={**known.pastes, **self.pastes})
        gone = large.unknown_in(killed, self.pastes)
        end = self._insert(killed, at, Act.YANK_UNKNOWN)
        self._lost |= gone
        return end

    def attach(self, path: str) -> None:
        """Add a chip: it is sent before the text, as a reference."""
        self._become(Draft(self.text, self.pastes, (*self.chips, path)), Act.CHIP)

    def detach(self, path: str) -> None:
        """Take a chip away; no chip of that path, no change."""
        chips = tuple(chip for chip in self.chips if chip != path)
        self._become(Draft(self.text, self.pastes, chips), Act.CHIP)

    def clear(self) -> None:
        """Empty it, chips and pastes too; an eligible draft can be had back by `undo`."""
        self._become(Draft(), Act.KEYS)

    def undo(self) -> bool:
        """Go back one step; False when there is none."""
        return self._travel(self._undo, self._redo, Act.UNDO)

    def redo(self) -> bool:
        """Go forward one step; False when there is none."""
        return self._travel(self._redo, self._undo, Act.REDO)

    def set_vim(self, on: bool) -> None:
        """Switch Vim mode; on with a text in the composer taints."""
        self._vim = on
        if on and self.text:
            self._mark(State.TAINTED, None)

    def capture(self, *, vouch: bool = True) -> Capture | None:
        """Take everything for a submit; None, and nothing changes, when the text is blank (S2), pastes expanded.

        The cells are spent whatever becomes of it. `vouch` False (Vim NORMAL Enter) leaves the text unattributed.
        """
        expanded = self.expanded
        if is_blank(expanded):
            return None
        draft, state, sidecar = self._draft, self._state, self._sidecar
        model_text = self.whole
        visible = _behind(draft.chips, draft.text)
        self._draft = Draft()
        self._mark(State.FRESH, None)
        self._forget_steps()
        typed = trim(draft.text)
        value: str | None = None
        if vouch and not self._vim:
            if state is State.FRESH:
                value = typed
            elif state is State.RESTORED and sidecar is not None and sidecar.model_text == model_text:
                # What was given back reads as it did the first time: a pasted "/help" is still no command.
                value, visible = sidecar.submitted_prompt, sidecar.visible
                typed = typed if value is None else value
        return Capture(model_text=model_text, expanded=expanded, submitted_prompt=value, typed=typed, visible=visible)

    def _insert(self, text: str, at: int | None, act: Act, *, pastes: Pastes | None = None, joins: bool = False) -> int:
        at = len(self.text) if at is None else at
        whole = self.text[:at] + text + self.text[at:]
        self._become(Draft(whole, self.pastes if pastes is None else pastes, self.chips), act, joins=joins)
        return at + len(text)

    def _become(self, draft: Draft, act: Act, *, sidecar: Sidecar | None = None, joins: bool = False) -> None:
        before = self._draft
        if draft != before and not (joins and self._undo):
            _push(self._undo, before)
        if draft != before:
            self._redo.clear()
        self._settle(draft, act, sidecar)

    def _travel(self, source: list[Draft], target: list[Draft], act: Act) -> bool:
        if not source:
            return False
        draft = source.pop()
        _push(target, self._draft)
        self._settle(draft, act, None)
        return True

    def _settle(self, draft: Draft, act: Act, sidecar: Sidecar | None) -> None:
        changed = draft.text != self._draft.text
        # A fill taints before it sets its text, so that one that empties the composer leaves nothing to undo either.
        marked = self._state is not State.FRESH or TABLE.get((self._state, act)) is not State.FRESH
        setting = sidecar if act is Act.RESTORE else self._sidecar
        state = after(self._state, act, text=draft.text, changed=changed, sidecar=setting, vim=self._vim)
        self._draft = draft if draft.text else Draft("", large.NONE, draft.chips)
        self._mark(state, setting)
        if not draft.text and marked:
            self._forget_steps()

    def _mark(self, state: State, sidecar: Sidecar | None) -> None:
        self._state = state
        self._sidecar = sidecar if state is State.RESTORED else None

    def _forget_steps(self) -> None:
        self._undo.clear()
        self._redo.clear()
        self._lost = frozenset()


def _behind(chips: tuple[str, ...], text: str) -> str:
    return f"{' '.join(map(reference, chips))}\n\n{text}" if chips else text


def _push(steps: list[Draft], draft: Draft) -> None:
    """Keep a step; the oldest go when there are too many, or when they hold too much text to keep in memory."""
    steps.append(draft)
    while len(steps) > _MOST_STEPS or (len(steps) > 1 and sum(len(s.text) for s in steps) > _MOST_KEPT_CHARACTERS):
        del steps[0]
