"""What a chat asks its terminal to do, as values. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..provenance import Origin, Submission
from .history import Entry
from .queue import PRODUCER, Item

__all__ = [
    "AcceptSpeculation",
    "Cancelled",
    "Effect",
    "Given",
    "Quit",
    "Refused",
    "RunCommand",
    "RunShell",
    "Send",
    "SideQuestion",
    "ToAgent",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """Start a turn with the model. It is the running turn until `finish`, `cancel`, `blocked` or a refusal.

    `item.command` names a command made of a Markdown file whose body is sent in the text's place, "" for a text.
    `origin` is to be declared with `app.origin` (S5).
    """

    item: Item
    origin: Origin

    def submission(
        self, model_parts: str | Sequence[str | Mapping[str, object]] | None = None, *, session: str | None = None
    ) -> Submission:
        """Mint what `app.submitting` takes; `model_parts` are what is sent after expansion, the item's text by default.

        Only for a user query: what a peer sent is nobody's submission.
        """
        return Submission(
            model_parts=self.item.text if model_parts is None else model_parts,
            submitted_prompt=self.item.submitted_prompt if self.origin is Origin.USER_QUERY else None,
            producer=PRODUCER,
            session=session,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommand:
    """Run a slash command here: no turn, no event. `text` is the whole line as typed."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SideQuestion:
    """Ask beside the running turn, or with none running (`/btw`): no event, no hooks, no recall, nothing injected.

    `entry` is the history entry that it wrote.
    """

    item: Item
    entry: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class RunShell:
    """Run a shell command here; nothing goes to a model."""

    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToAgent:
    """Hand a text to the sub-agent whose tab is open."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptSpeculation:
    """Take the completed speculation for this text as the turn; if that fails, call `speculation_failed`."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Nothing was sent and nothing changed; tell the person."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The running turn was refused by a hook. `restored` is False when a draft kept the text from coming back."""

    text: str
    reason: str
    restored: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """The running turn was cancelled.

    `restored`: its text is in the composer again. `cut`: its row goes from the screen and what follows with it.
    `strip`: its user entry goes from the model history, since nothing was produced (S12). `forgotten`: its history
    entry was removed.
    """

    restored: bool
    cut: bool
    strip: bool
    forgotten: bool


@dataclass(frozen=True, slots=True)
class Quit:
    """Leave."""


Effect: TypeAlias = (
    Send | RunCommand | SideQuestion | RunShell | ToAgent | AcceptSpeculation | Refused | Given | Cancelled | Quit
)
