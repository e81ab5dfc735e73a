"""A namespace as lines of JSON, out and in. Works on any engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .base import Progress, Record, Store
from .errors import RecordError
from .guard import check_record
from .rows import from_json, to_json

GROUP = 256
"""Memories stored in one transaction."""


def write(store: Store, namespace: str) -> Iterator[str]:
    """See `Store.export`."""
    return map(to_json, store.list(namespace=namespace))


def read(store: Store, namespace: str, lines: Iterable[str | bytes], progress: Progress | None) -> int:
    """See `Store.import_`."""
    whole = lines if isinstance(lines, list) else list(lines)
    count = 0
    group: list[Record] = []
    for number, line in enumerate(whole, 1):
        if line.strip():
            group.append(_record(number, line))
            count += 1
        if len(group) == GROUP or number == len(whole):
            store.upsert(namespace=namespace, records=group)
            group = []
            if progress is not None:
                progress(number, len(whole))
    return count


def _record(number: int, line: str | bytes) -> Record:
    try:
        record = from_json(line)
        check_record(record)
    except RecordError as error:
        raise type(error)(f"line {number}: {error}") from None
    return record
