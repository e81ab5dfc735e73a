"""Records to database rows and JSON, and back. Pure; both engines and the JSONL files use it."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from .base import Record
from .errors import RecordError
from .filters import Filter
from .text import fold

COLUMNS = ("id", "text", "title", "description", "type", "author", "source", "metadata", "created_at", "expires_at")
# json_each and no JSON path, so that a key with a quote or a dot is only a key; types, because true is not 1.
_METADATA = (
    "EXISTS (SELECT 1 FROM json_each(TABLE.metadata) AS entry, json_each(?) AS wanted WHERE entry.key = ?"
    " AND replace(entry.type, 'real', 'integer') = replace(wanted.type, 'real', 'integer')"
    " AND entry.value IS wanted.value)"
)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970 UTC, exact."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment(value: int) -> datetime:
    """The moment, in UTC, of `microseconds`."""
    return _EPOCH + timedelta(microseconds=value)


def to_row(record: Record) -> tuple[Any, ...]:
    """The values of COLUMNS for a record that has an id and a `created_at`."""
    if record.created_at is None:
        raise ValueError("a record without created_at has no row")
    return (
        record.id,
        record.text,
        record.title,
        record.description,
        record.type,
        record.author,
        _compact(record.source) if record.source else "{}",
        _compact(record.metadata) if record.metadata else "{}",
        microseconds(record.created_at),
        None if record.expires_at is None else microseconds(record.expires_at),
    )


class DamagedRowError(Exception):
    """A row of a database is not what was written. `id` is the memory's, if the row says so."""

    def __init__(self, id: object = None) -> None:
        super().__init__(id)
        self.told = f"the memory {id}" if isinstance(id, str) and id.isprintable() else "a memory"


def from_row(row: Sequence[Any]) -> Record:
    """The record that `to_row` gave. Raises DamagedRowError for what it never gave."""
    try:
        return Record(
            id=row[0],
            text=row[1],
            title=row[2],
            description=row[3],
            type=row[4],
            author=row[5],
            source={} if row[6] == "{}" else json.loads(row[6]),
            metadata={} if row[7] == "{}" else json.loads(row[7]),
            created_at=moment(row[8]),
            expires_at=None if row[9] is None else moment(row[9]),
        )
    except (RecordError, TypeError, ValueError, OverflowError, RecursionError):
        raise DamagedRowError(row[0]) from None


def known(record: str | None) -> Record | None:
    """The record of an event of a history. Raises DamagedRowError."""
    try:
        return None if record is None else from_json(record)
    except (RecordError, OverflowError):
        raise DamagedRowError from None


def to_json(record: Record) -> str:
    """One line of JSON. Moments are ISO 8601 in UTC; None and empty fields are left out."""
    fields = {name: getattr(record, name) for name in COLUMNS}
    for name in ("created_at", "expires_at"):
        if fields[name] is not None:
            fields[name] = fields[name].astimezone(UTC).isoformat()
    return _compact({name: value for name, value in fields.items() if value not in (None, "", {})})


def from_json(line: str | bytes) -> Record:
    """The record that `to_json` gave. Raises RecordError for anything else; the message holds none of the line."""
    try:
        fields = json.loads(line)
        for name in ("created_at", "expires_at"):
            if fields.get(name) is not None:
                fields[name] = datetime.fromisoformat(fields[name])
        return Record(**fields)
    except RecordError:
        raise
    except (TypeError, ValueError, AttributeError, RecursionError):
        raise RecordError(f"not a memory as JSON; give an object with keys of {', '.join(COLUMNS)}") from None


def stored(record: Record, *, id: str, created_at: datetime) -> Record:
    """`record` with what a store fills in. Its other fields were looked at once, and are not looked at again."""
    made = object.__new__(Record)
    for name in COLUMNS:
        object.__setattr__(made, name, getattr(record, name))
    object.__setattr__(made, "id", id)
    object.__setattr__(made, "created_at", created_at)
    return made


def digest(record: Record) -> bytes:
    """16 bytes that are equal for two records that say the same: same words, type and author."""
    said = (fold(record.text), fold(record.title), fold(record.description), record.type, record.author)
    return hashlib.blake2b(_compact(said).encode(), digest_size=16).digest()


def embedding_text(record: Record) -> str:
    """What an embedder reads of a record."""
    return "\n".join(part for part in (record.title, record.description, record.text) if part)


def version_text(record: str) -> str:
    """The words of an event's record, as it stands in a database; of a damaged one all that stands there."""
    try:
        return embedding_text(from_json(record))
    except (RecordError, OverflowError):
        return record


def neighbourhood(record: Record) -> tuple[int, float | None]:
    """The session of a record as a number of 64 bits, and its position there; None if it has no neighbours."""
    session, position = record.source.get("session"), record.source.get("position")
    if isinstance(session, str) and session and isinstance(position, int | float) and not isinstance(position, bool):
        with contextlib.suppress(OverflowError):
            hashed = hashlib.blake2b(session.encode(), digest_size=8).digest()
            return int.from_bytes(hashed, "little", signed=True), float(position)
    return 0, None


def condition(chosen: Filter, table: str) -> tuple[str, list[Any]]:
    """SQL for SQLite that is true for the rows of `table` that `chosen` keeps, starting with AND, and its values."""
    terms: list[str] = []
    values: list[Any] = []
    for column, names in (("type", chosen.types), ("author", chosen.authors)):
        if names:
            terms.append(f"{table}.{column} IN ({', '.join('?' * len(names))})")
            values.extend(names)
    if chosen.after is not None:
        terms.append(f"{table}.created_at >= ?")
        values.append(microseconds(chosen.after))
    if chosen.before is not None:
        terms.append(f"{table}.created_at < ?")
        values.append(microseconds(chosen.before))
    for key, value in chosen.metadata:
        terms.append(_METADATA.replace("TABLE", table))
        values.extend((_compact([value]), key))
    return "".join(f" AND {term}" for term in terms), values


def _compact(value: Any) -> str:
    return _ENCODER.encode(dict(value) if isinstance(value, Mapping) else value)
