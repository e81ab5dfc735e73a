"""What waits for export, bounded by count and by bytes; what is lost is counted."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from opentelemetry.metrics import Counter

from ..forked import renew_in_child
from . import names

__all__ = ["Losses", "Waiting", "sent", "size_of"]

_QUEUE_BYTES: Final = 64 * 1024 * 1024
_REQUEST_BYTES: Final = 3 * 1024 * 1024
"""A gRPC server takes 4 MiB by default, and one request that is too large is lost as a whole."""

_ITEM_BYTES: Final = 2048
"""What an item takes besides its texts."""

ItemT = TypeVar("ItemT")


class Losses:
    """What was lost since somebody asked: spans and log records, and exports of metrics."""

    def __init__(self) -> None:
        self.renew()
        renew_in_child(self)

    def renew(self) -> None:
        """Start with nothing lost: what a parent lost is the parent's to tell."""
        self._lock = threading.Lock()
        self._count = 0

    def add(self, count: int) -> None:
        """Note that this many were lost."""
        with self._lock:
            self._count += count

    def taken(self) -> int:
        """How many were lost since this was last called."""
        with self._lock:
            count, self._count = self._count, 0
        return count


class Waiting:
    """How much waits for export, in items and in bytes of text; what does not fit is dropped and counted.

    The SDK bounds its queue by items only, and an item with content may have 200 kB. What is being sent counts
    until it is: a server that hangs holds a batch for as long as the exporter tries.
    """

    def __init__(
        self,
        signal: str,
        dropped: Counter | None,
        items: int,
        size: int = _QUEUE_BYTES,
        losses: Losses | None = None,
    ) -> None:
        self._labels = {names.LABEL_SIGNAL: signal}
        self._dropped = dropped
        self._losses = losses
        self._most_items = items
        self._most_bytes = size
        self.renew()
        renew_in_child(self)

    def renew(self) -> None:
        """Start with nothing waiting: what waited in a parent is the parent's to export."""
        self._items = 0
        self._bytes = 0
        self._lock = threading.Lock()

    def admit(self, size: int) -> bool:
        """Take room for one item; False, and counted, when there is none."""
        with self._lock:
            fits = self._items < self._most_items and self._bytes + size <= self._most_bytes
            if fits:
                self._items += 1
                self._bytes += size
        if not fits:
            self.lost(1)
        return fits

    def release(self, items: int, size: int) -> None:
        """Give the room back once a batch was sent or lost."""
        with self._lock:
            self._items = max(0, self._items - items)
            self._bytes = max(0, self._bytes - size)

    def lost(self, items: int) -> None:
        """Count items that nobody will receive."""
        if self._losses is not None:
            self._losses.add(items)
        if self._dropped is not None:
            self._dropped.add(items, self._labels)


def size_of(attributes: Mapping[str, Any] | None) -> int:
    """Bytes in memory of the texts; looked up, not counted."""
    return sum(sys.getsizeof(value) for value in (attributes or {}).values() if isinstance(value, str))


def sent(
    items: Sequence[ItemT], size: Callable[[ItemT], int], waiting: Waiting, export: Callable[[Sequence[ItemT]], bool]
) -> bool:
    """Export in requests of a size that servers take; what is lost is counted."""
    done = True
    for part in _parts(items, size):
        try:
            arrived = export(part)
        except Exception:
            waiting.lost(len(part))
            raise
        finally:
            waiting.release(len(part), sum(map(size, part)))
        if not arrived:
            waiting.lost(len(part))
            done = False
    return done


def _parts(items: Sequence[ItemT], size: Callable[[ItemT], int]) -> Iterator[Sequence[ItemT]]:
    start = total = 0
    for place, item in enumerate(items):
        more = size(item) + _ITEM_BYTES
        if place > start and total + more > _REQUEST_BYTES:
            yield items[start:place]
            start, total = place, 0
        total += more
    yield items[start:]
