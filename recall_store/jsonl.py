"""A namespace as lines of JSON, out and in. Works on any engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import BinaryIO

from .base import Progress, Record, Store
from .errors import RecordError
from .guard import check_record
from .past import PastRecord, from_line, to_line

GROUP = 256
"""Memories stored in one transaction."""
_MOST_BYTES = 64 * 1024 * 1024
"""Of a line with a memory and its history."""


def write(store: Store, namespace: str) -> Iterator[str]:
    """See `Store.export`."""
    records = store.list(namespace=namespace)
    for start in range(0, len(records), GROUP):
        some = records[start : start + GROUP]
        histories = store.histories(namespace=namespace, ids=[str(record.id) for record in some])
        for record in some:
            yield to_line(record, histories.get(str(record.id), ()))


def read(store: Store, namespace: str, lines: Iterable[str | bytes], progress: Progress | None) -> int:
    """See `Store.import_`."""
    return keep(store, namespace, records_in(lines), progress)


def records_in(lines: Iterable[str | bytes]) -> list[Record]:
    """The memories in `lines`, every one looked at. Raises RecordError or a kind of it, with the number of the line."""
    found: list[Record] = []
    for record in looked_at(lines):
        if isinstance(record, RecordError):
            raise record
        found.append(record)
    return found


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file. Raises RecordError at one that is too long to be a memory; what follows is not read."""
    number = 1
    while line := file.readline(_MOST_BYTES + 1):
        if len(line) > _MOST_BYTES:
            raise RecordError(f"line {number}: over {_MOST_BYTES // 1024 // 1024} MiB, which is no memory")
        yield line
        number += 1


def looked_at(lines: Iterable[str | bytes]) -> Iterator[Record | RecordError]:
    """The memories in `lines`, and for each line that holds none an error with its number."""
    for number, line in enumerate(lines, 1):
        bare = _without_mark(line) if number == 1 else line
        if bare.strip():
            try:
                yield _record(number, bare)
            except RecordError as error:
                yield error


def keep(store: Store, namespace: str, records: Sequence[Record], progress: Progress | None = None) -> int:
    """Store records in groups; return how many. Stopped in between, the same call goes on: what is there stays one.

    Those with dates go in by their dates, and what was exported as one moment, newest first, from its end. A history
    that a memory brings along takes the place of that it was added now. What became large is indexed.
    """
    if all(record.created_at is not None for record in records):
        records = [*reversed(records)]
        records.sort(key=attrgetter("created_at"))
    for start in range(0, len(records), GROUP):
        some = records[start : start + GROUP]
        store.upsert(namespace=namespace, records=some)
        past = {str(one.id): one.history for one in some if isinstance(one, PastRecord) and one.id is not None}
        if past:
            store.restore(namespace=namespace, histories=past)
        if progress is not None:
            progress(min(start + GROUP, len(records)), len(records))
    store.index()
    return len(records)


def _without_mark(line: str | bytes) -> str | bytes:
    return line.removeprefix("\ufeff") if isinstance(line, str) else line.removeprefix(b"\xef\xbb\xbf")


def _record(number: int, line: str | bytes) -> Record:
    try:
        record = from_line(line)
        check_record(record)
        for change in record.history if isinstance(record, PastRecord) else ():
            if change.record is not None:
                check_record(change.record)
    except RecordError as error:
        raise type(error)(f"line {number}: {error}") from None
    return record
