"""A file of texts that several chats write at once: a line is added for a text, under a lock.

The file is made anew, from what is in it then, only when a text is taken back or when it gets too long.
"""

from __future__ import annotations

import errno
import json
import os
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ...transcript.files import lock_briefly, open_file

__all__ = ["Kept"]

_MOST_BYTES = 8_000_000


class Kept:
    """The texts in the file at `path`, the newest `most` of them.

    A line that is no record (torn by a kill, written by a newer version) is passed over. Files are made for their
    owner only. Reading raises nothing; writing raises OSError.
    """

    def __init__(self, path: Path, *, most: int) -> None:
        self.path = path
        self._most = most

    def read(self) -> dict[str, str]:
        """Texts by id, oldest first; none when the file cannot be read."""
        try:
            # A pipe would be waited for, for good.
            data = self.path.read_bytes() if self.path.is_file() else b""
        except OSError:
            return {}
        texts: dict[str, str] = {}
        for line in data.splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            id, text = (record.get("id"), record.get("text")) if isinstance(record, dict) else (None, None)
            if isinstance(id, str) and isinstance(text, str):
                texts[id] = text
        return dict(list(texts.items())[-self._most :])

    def write(self, *, new: Sequence[str] = (), gone: Sequence[str] = ()) -> list[str]:
        """Add texts, take ids back; answers the ids of what was added. Of what is taken back no byte stays."""
        ids = [uuid.uuid4().hex for _ in new]
        added = dict(zip(ids, new, strict=True))
        if not (added or gone):
            return []
        with self._alone():
            if gone:
                left = {id: text for id, text in self.read().items() if id not in gone}
                self._make_anew([_line(id, text) for id, text in (left | added).items()])
            elif self._append(b"".join(_line(id, text) for id, text in added.items())) > _MOST_BYTES:
                self._make_anew(_newest([_line(id, text) for id, text in self.read().items()]))
        return ids

    def _append(self, data: bytes) -> int:
        """Write at the end; how long the file is then."""
        fd = open_file(self.path, create=True)
        try:
            size = os.lseek(fd, 0, os.SEEK_END)
            # What was torn stays on a line of its own.
            os.lseek(fd, max(0, size - 1), os.SEEK_SET)
            data = b"\n" + data if size and os.read(fd, 1) != b"\n" else data
            if os.write(fd, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            return size + len(data)
        finally:
            os.close(fd)

    def _make_anew(self, lines: Sequence[bytes]) -> None:
        """Replace the file; a kill in between leaves the old one whole."""
        # mkstemp makes it 0600.
        handle, made = tempfile.mkstemp(prefix=self.path.name, dir=self.path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
            Path(made).replace(self.path)
        except BaseException:
            Path(made).unlink(missing_ok=True)
            raise

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the folder's lock for a moment: another program may be writing, or making the file anew."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = open_file(self.path.parent / "lock", create=True)
        try:
            lock_briefly(fd)
            yield
        finally:
            os.close(fd)


def _line(id: str, text: str) -> bytes:
    return f"{json.dumps({'id': id, 'text': text})}\n".encode()


def _newest(lines: list[bytes]) -> list[bytes]:
    """The newest lines that fit into half of the most, one at least."""
    left, first = _MOST_BYTES // 2, len(lines)
    while first and (left := left - len(lines[first - 1])) >= 0:
        first -= 1
    return lines[min(first, len(lines) - 1) :]
