"""What happened to the memories of a SQLite store. Every function takes a connection inside a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from . import postings, rows
from .base import Change, Record
from .text import words


def blank(db: sqlite3.Connection, namespace_id: int, ids: Iterable[str]) -> None:
    """Blank the texts of memories' histories."""
    db.executemany(
        "UPDATE history SET record = NULL WHERE namespace_id = ? AND id = ?", ((namespace_id, id) for id in ids)
    )


def earlier(db: sqlite3.Connection, namespace_id: int, query_words: Sequence[str]) -> dict[str, list[int]]:
    """The numbers of the events that left a version with every word, which another followed, by the memory's id."""
    wanted = set(postings.stems(db, query_words))
    found: dict[str, list[int]] = {}
    if not wanted:
        return found
    versions = db.execute(
        "SELECT id, number, record FROM history WHERE namespace_id = ? AND record IS NOT NULL AND EXISTS (SELECT 1"
        " FROM history AS later WHERE later.namespace_id = history.namespace_id AND later.id = history.id"
        " AND later.number > history.number)",
        (namespace_id,),
    )
    for id, number, record in versions:
        if wanted <= {*postings.stems(db, words(rows.version_text(record)))}:
            found.setdefault(id, []).append(number)
    return found


def blank_versions(db: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Blank the texts of events."""
    db.executemany("UPDATE history SET record = NULL WHERE number = ?", ((number,) for number in numbers))


def note(db: sqlite3.Connection, namespace_id: int, at: int, events: Iterable[tuple[str, str, Record | None]]) -> None:
    """Add events to memories' histories: id, event, and the memory after it."""
    db.executemany(
        "INSERT INTO history (namespace_id, id, at, event, record) VALUES (?, ?, ?, ?, ?)",
        (
            (namespace_id, id, at, event, None if record is None else rows.to_json(record))
            for id, event, record in events
        ),
    )


def read(db: sqlite3.Connection, namespace_id: int, id: str) -> list[Change]:
    """The events of a memory, oldest first."""
    found = db.execute(
        "SELECT event, at, record FROM history WHERE namespace_id = ? AND id = ? ORDER BY number", (namespace_id, id)
    )
    return [Change(event=event, at=rows.moment(at), record=rows.known(record)) for event, at, record in found]


def read_all(db: sqlite3.Connection, namespace_id: int, ids: Sequence[str]) -> dict[str, list[Change]]:
    """The events of memories by id, oldest first."""
    return {id: found for id in ids if (found := read(db, namespace_id, id))}


def restore(db: sqlite3.Connection, namespace_id: int, id: str, changes: Sequence[Change]) -> None:
    """Put events in the place of a memory's only "added"; another history is kept."""
    statement = "SELECT number, event FROM history WHERE namespace_id = ? AND id = ? LIMIT 2"
    found = db.execute(statement, (namespace_id, id)).fetchall()
    if len(found) == 1 and found[0][1] == "added" and changes:
        db.execute("DELETE FROM history WHERE number = ?", (found[0][0],))
        for change in changes:
            note(db, namespace_id, rows.microseconds(change.at), [(id, change.event, change.record)])
