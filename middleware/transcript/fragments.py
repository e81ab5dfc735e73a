"""Records that are put together, or put right, when they are read; the records on disk stay as they are."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from ..records import Record

__all__ = ["dated", "merged"]


def merged(record: Record, fragments: Iterable[Record]) -> Record:
    """Put fragments of one record together, in a copy.

    Parts stay in file order; the last usage counts, the first tool result and model, the greatest timestamp.
    """
    whole = dict(record)
    message = whole.get("message")
    if isinstance(message, dict):
        whole["message"] = _open(message)
    for fragment in fragments:
        _add(whole, fragment)
    return whole


def dated(record: Record) -> Record:
    """The record, without a timestamp that is none."""
    if "timestamp" not in record or _is_time(record["timestamp"]):
        return record
    return {key: value for key, value in record.items() if key != "timestamp"}


def _open(message: Record) -> Record:
    """A copy of a message that takes further parts."""
    copy = dict(message)
    if isinstance(copy.get("parts"), list):
        copy["parts"] = list(copy["parts"])
    return copy


def _add(whole: Record, fragment: Record) -> None:
    message, more = whole.get("message"), fragment.get("message")
    if not isinstance(message, dict):
        if isinstance(more, dict):
            whole["message"] = _open(more)
    elif isinstance(more, dict) and isinstance(more.get("parts"), list):
        if isinstance(message.get("parts"), list):
            message["parts"] += more["parts"]
        else:
            message["parts"] = list(more["parts"])
    if "usageMetadata" in fragment:
        whole["usageMetadata"] = fragment["usageMetadata"]
    for key, value in fragment.items():
        whole.setdefault(key, value)
    stamps = [str(stamp) for stamp in (whole.get("timestamp"), fragment.get("timestamp")) if _is_time(stamp)]
    if stamps:
        whole["timestamp"] = max(stamps, key=_moment)


def _moment(stamp: str) -> datetime:
    moment = datetime.fromisoformat(stamp)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(datetime.fromisoformat(value))
    except ValueError:
        return False
