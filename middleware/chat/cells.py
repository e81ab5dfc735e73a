"""The two provenance cells beside the composer, as a table of states and acts (submitted-prompt 2.1, 2.2, S3).

A pair that the table does not name taints: an act that is added and forgotten here makes text ineligible, never
eligible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from types import MappingProxyType

__all__ = ["KEEPS_PASTES", "ORDINARY", "TABLE", "Act", "Sidecar", "State", "after"]


class State(Enum):
    """What is known of where the composer's text is from."""

    FRESH = auto()
    """Neither cell is set: the person wrote what is there."""
    RESTORED = auto()
    """A sidecar is set: the text was given back and has not changed since."""
    TAINTED = auto()
    """Unknown, until the composer is empty."""


class Act(Enum):
    """What was done to the composer."""

    KEYS = auto()
    PASTE = auto()
    COMPLETE = auto()
    VOICE = auto()
    CHIP = auto()
    YANK = auto()
    """Yanking what was killed while neither cell was set."""
    UNDO = auto()
    REDO = auto()
    EDITOR = auto()
    RESTORE = auto()
    YANK_UNKNOWN = auto()
    SUGGESTION = auto()
    GHOST = auto()
    DIALOG = auto()
    HISTORY = auto()
    SHELL_HISTORY = auto()
    SEARCH = auto()
    STASH = auto()
    REWIND = auto()
    REMOTE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """What a restored text was when it was first submitted.

    `model_text` is compared with what is about to be sent; `submitted_prompt` is what the person submitted, or
    None; `visible` is where `@file` mentions are looked for (see `queue.Item`).
    """

    model_text: str
    submitted_prompt: str | None
    visible: str


TABLE: Mapping[tuple[State, Act], State] = MappingProxyType(
    {
        (State.FRESH, Act.KEYS): State.FRESH,
        (State.FRESH, Act.PASTE): State.FRESH,
        (State.FRESH, Act.COMPLETE): State.FRESH,
        (State.FRESH, Act.VOICE): State.FRESH,
        (State.FRESH, Act.CHIP): State.FRESH,
        (State.FRESH, Act.YANK): State.FRESH,
        (State.FRESH, Act.UNDO): State.FRESH,
        (State.FRESH, Act.REDO): State.FRESH,
        (State.FRESH, Act.EDITOR): State.FRESH,
        (State.FRESH, Act.RESTORE): State.RESTORED,
        (State.RESTORED, Act.RESTORE): State.RESTORED,
        (State.TAINTED, Act.RESTORE): State.RESTORED,
    }
)

ORDINARY = frozenset(
    {Act.KEYS, Act.PASTE, Act.COMPLETE, Act.VOICE, Act.CHIP, Act.YANK, Act.UNDO, Act.REDO},
)
"""Acts that count only when they change the text; every other one counts also when the same text comes back."""

KEEPS_PASTES = frozenset(
    {Act.KEYS, Act.COMPLETE, Act.VOICE, Act.YANK, Act.YANK_UNKNOWN, Act.EDITOR, Act.SUGGESTION, Act.GHOST},
)
"""Acts that work on the draft: its placeholders still mean their bodies. Other fills bring a text of their own."""


def after(state: State, act: Act, *, text: str, changed: bool, sidecar: Sidecar | None, vim: bool) -> State:
    """The state when `act` left `text` in the composer; `sidecar` is the one that is set, or is being set."""
    if not text:
        return State.FRESH
    if act in ORDINARY and not changed:
        return state
    found = TABLE.get((state, act), State.TAINTED)
    if found is State.RESTORED and (sidecar is None or sidecar.model_text != text):
        return State.TAINTED
    return State.TAINTED if vim else found
