"""Where a conversation goes on when its last turns are taken back (hooks-and-transcripts 3.5).

Nothing is removed from the file: the next record hangs from what was before the turn, so that the turn and all
after it are on a branch that is no longer read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..records import SYSTEM, USER, Record, part_text, parts_of
from ..resume import rows, strip

__all__ = ["Cut", "cut_before"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A place in a conversation: `parent` is the uuid of the record before it, None for the beginning.

    `rows` says how many rows of a screen come after it; `text` is what the turn that was there said to the model,
    without what was injected and without further text parts, such as the bodies of files.
    """

    parent: str | None
    rows: int
    text: str


def cut_before(branch: Iterable[Record], uuid: str) -> Cut:
    """The place before the turn that the user record `uuid` began. Raises ValueError when it began none here."""
    parent: str | None = None
    text: str | None = None
    gone: list[Record] = []
    for record in branch:
        if text is None and record["uuid"] == uuid and _begins_a_turn(record):
            said = map(part_text, parts_of(strip(record)))
            text = next((words for words in said if words is not None), "")
        if text is not None:
            gone.append(record)
        elif record.get("type") != SYSTEM or record.get("subtype") != "at_command":
            # What was read for a turn is recorded before it, and goes with it.
            parent = record["uuid"]
    if text is None:
        raise ValueError(f"no turn of this conversation begins with the record {uuid!r}")
    return Cut(parent=parent, rows=sum(1 for _ in rows(gone)), text=text)


def _begins_a_turn(record: Record) -> bool:
    return record.get("type") == USER and record.get("subtype") is None
