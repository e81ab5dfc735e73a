"""Which hook refused a turn, for lists: its name is in telemetry, its reason only in the transcript."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .views import Place, TurnSummary

__all__ = ["Refused", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A turn that was blocked: `hook` is the first that did so, None if no span of it came; `place` as of a turn."""

    hook: str | None
    place: Place | None


def refused(connection: sqlite3.Connection, items: Iterable[TurnSummary]) -> Mapping[str, Refused]:
    """What is known of the blocked ones among `items`, by the turn's key."""
    keys = [bytes.fromhex(item.key) for item in items if item.outcome == "blocked"]
    marks = ", ".join("?" * len(keys))
    rows = connection.execute(
        f"""SELECT key, path, position, line, uuid,
              (SELECT name FROM hook_calls WHERE turn = turns.id AND outcome = 'blocking'
                 ORDER BY started, id LIMIT 1) AS hook
            FROM turns LEFT JOIN files ON files.id = file WHERE key IN ({marks})""",  # noqa: S608
        keys,
    )
    return {
        row["key"].hex(): Refused(
            hook=row["hook"],
            place=None
            if row["path"] is None
            else Place(path=row["path"], position=row["position"], line=row["line"], uuid=row["uuid"]),
        )
        for row in rows
    }
