"""What the next record hangs from: the leaf of the conversation that a file holds."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import TranscriptError
from ..records import Record
from .files import last_uuid
from .flaws import joins_chain
from .live import load
from .reader import parse

__all__ = ["Tail"]


class Tail:
    """The uuid of the leaf that `walk` finds in the first `end` bytes of a file, -1 for not looked for yet.

    A whole file is read once; of what is appended to it later only that, as long as each record follows the last.
    """

    __slots__ = ("end", "uuid")

    def __init__(self) -> None:
        self.uuid: str | None = None
        self.end = 0

    def forget(self, size: int) -> None:
        """Begin with another file, of `size` bytes."""
        self.uuid, self.end = None, -1 if size else 0

    def found(self, leaf: str | None, end: int) -> None:
        """Take a leaf that somebody found who read the first `end` bytes; what is known of more stays."""
        if end >= self.end:
            self.uuid, self.end = leaf, end

    def move(self, fd: int, path: Path, size: int) -> None:
        """Have it be that of the first `size` bytes of the file, which is open as `fd`."""
        if self.end == size or (0 <= self.end < size and self._followed(fd, size)):
            return
        try:
            branch = load(path)
            self.uuid, self.end = branch.leaf, branch.size
        except (OSError, TranscriptError):
            # Nothing that could be walked: it goes on from its end.
            self.uuid, self.end = last_uuid(fd, size), size

    def appended(self, record: Record, before: int, end: int) -> None:
        """Move behind a record of ours that was written where the file had `before` bytes, to its byte `end`."""
        uuid = record.get("uuid")
        if isinstance(uuid, str) and joins_chain(record):
            self.uuid = uuid
        self.end = end if self.end == before else -1

    def _followed(self, fd: int, size: int) -> bool:
        """Move along records each of which is the child of the one before it; False for any others."""
        start, uuid = self.end, self.uuid
        data = os.pread(fd, size - start + 1, start - 1) if start else b"\n" + os.pread(fd, size, 0)
        if b"\n" not in data[:2] or data[-1:] != b"\n":
            return False
        for record in parse(data).records:
            if joins_chain(record):
                if record["uuid"] == uuid or record.get("parentUuid") != uuid:
                    return False
                uuid = record["uuid"]
        self.uuid, self.end = uuid, size
        return True
