"""Who says what a person typed: submissions, origins, and the one gate for `submitted_prompt`.

Absent is the default everywhere (submitted-prompt S1): a producer that can vouch for the text mints a
`Submission`; everything else carries none, and nothing is derived from the prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from .parts import is_blank

__all__ = ["Origin", "Submission", "combine", "submitted_prompt"]


class Origin(StrEnum):
    """What kind of send a model call is; exported in lower case."""

    USER_QUERY = "user_query"
    TOOL_RESULT = "tool_result"
    HOOK = "hook"
    RETRY = "retry"
    STEER = "steer"
    CRON = "cron"
    NOTIFICATION = "notification"
    TEAMMATE = "teammate"
    GOAL = "goal"

    @property
    def fires_hooks(self) -> bool:
        """UserPromptSubmit fires on user queries, tool results and hook continuations (D7)."""
        return self in (Origin.USER_QUERY, Origin.TOOL_RESULT, Origin.HOOK)

    @property
    def recalls(self) -> bool:
        """Memories are asked for on user queries and scheduled ones."""
        return self in (Origin.USER_QUERY, Origin.CRON)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """Text that crossed the input boundary, as the producer that saw it vouches for it.

    `model_parts` are the text parts that the producer sends to the model (a string, or strings or `{"text"}`
    mappings); `submitted_prompt` is what the person submitted, or None when the producer cannot say.
    A submission is good for one turn: `take` answers True once, whichever task or thread asks.
    """

    model_parts: str | Sequence[str | Mapping[str, object]]
    submitted_prompt: str | None = None
    producer: str
    session: str | None = None
    _unspent: list[None] = field(default_factory=lambda: [None], init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.producer:
            raise ValueError("Submission: producer is empty; name the component that saw the input")

    @property
    def model_text(self) -> str:
        """The text of `model_parts`, joined without a separator."""
        if isinstance(self.model_parts, str):
            return self.model_parts
        texts = (part if isinstance(part, str) else part.get("text") for part in self.model_parts)
        return "".join(text for text in texts if isinstance(text, str))

    def take(self) -> bool:
        """Spend it: True the first time, False ever after (`list.pop` is atomic)."""
        try:
            self._unspent.pop()
        except IndexError:
            return False
        return True

    @property
    def spent(self) -> bool:
        """True once it was taken."""
        return not self._unspent


def submitted_prompt(origin: Origin, value: object) -> str | None:
    """The gate: the value as received for a fresh user query and a non-blank string, else None.

    Never trimmed, derived, null or empty. Source: submitted-prompt section 4, `hook_input` vectors.
    """
    if origin is not Origin.USER_QUERY or not isinstance(value, str) or is_blank(value):
        return None
    return value


def combine(submissions: Iterable[Submission], *, separator: str = "\n\n") -> Submission | None:
    """Join queued submissions into one; None for none. A batch of one is that one; a longer one spends its items.

    The field survives only if every item carries it unspent, from one session and one producer (D19).
    """
    items = list(submissions)
    if not items:
        return None
    first = items[0]
    if len(items) == 1:
        return first
    unspent = [item.take() for item in items]
    values = [item.submitted_prompt for item in items]
    compatible = all(item.session == first.session and item.producer == first.producer for item in items)
    complete = [value for value in values if value is not None and not is_blank(value)]
    vouched = compatible and all(unspent) and len(complete) == len(items)
    joined = separator.join(complete) if vouched else None
    same_producer = all(item.producer == first.producer for item in items)
    return Submission(
        model_parts=separator.join(item.model_text for item in items),
        submitted_prompt=joined,
        producer=first.producer if same_producer else "combined",
        session=first.session if compatible else None,
    )
