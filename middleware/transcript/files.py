"""Descriptors of transcript files: how they are opened and locked, and what is found at their end."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path

from ..locks import lock
from .flaws import joins_chain
from .reader import records_in_line

__all__ = ["last_newline", "last_uuid", "lock_briefly", "make_folders", "open_file", "sync_names"]

_FIRST_LOOK = 1 << 16
_PATIENCE = 1.0
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
_NO_FOLDER_SYNC = (errno.EINVAL, errno.EBADF, errno.ENOTSUP)
# Windows lacks the first three and would translate line ends without the last.
_MORE = {name: getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_DIRECTORY", "O_BINARY")}
_FOLDER = os.O_RDONLY | _MORE["O_CLOEXEC"] | _MORE["O_DIRECTORY"]
_OPEN = os.O_RDWR | os.O_APPEND | _MORE["O_CLOEXEC"] | _MORE["O_NOFOLLOW"] | _MORE["O_BINARY"]


def open_file(path: Path, *, create: bool) -> int:
    """Open a file for appending and reading; made, it is for its owner only.

    Raises FileNotFoundError when it is not there and not to be made, OSError for a link, a folder or a pipe.
    """
    fd = os.open(path, _OPEN | (os.O_CREAT if create else 0), 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return fd


def lock_briefly(fd: int) -> None:
    """Lock a file as soon as it is free; go on without after a second, or where there are no such locks."""
    deadline = 0.0
    while True:
        try:
            lock(fd)
        except BlockingIOError:
            deadline = deadline or time.monotonic() + _PATIENCE
            if time.monotonic() > deadline:
                return
            time.sleep(0.0005)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            return
        else:
            return


def make_folders(folder: Path) -> list[Path]:
    """Make missing folders for their owner only and return them; those that exist keep their mode."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
    return missing


def sync_names(folders: Iterable[Path]) -> None:
    """Have on disk what is in the folders: a file that is synced is lost with its name all the same."""
    for folder in folders:
        try:
            fd = os.open(folder, _FOLDER)
        except FileNotFoundError:
            # Removed since, and the names with it.
            continue
        try:
            os.fsync(fd)
        except OSError as error:
            if error.errno not in _NO_FOLDER_SYNC:
                raise
        finally:
            os.close(fd)


def last_newline(fd: int, size: int) -> int:
    """The position of the last newline, -1 for none."""
    end = size
    while end:
        start = max(0, end - _FIRST_LOOK)
        found = os.pread(fd, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found
        end = start
    return -1


def last_uuid(fd: int, size: int) -> str | None:
    """The uuid of the last record on the chain, read backwards from the end."""
    length = min(_FIRST_LOOK, size)
    while length:
        lines = os.pread(fd, length, size - length).split(b"\n")
        for line in reversed(lines if length == size else lines[1:]):
            for record in reversed(records_in_line(line)[0]):
                if joins_chain(record):
                    uuid: str = record["uuid"]
                    return uuid
        if length == size:
            return None
        length = min(length * 8, size)
    return None
