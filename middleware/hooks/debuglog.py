"""The debug log of prompt hooks: what a model was asked, in a private file that neither grows nor ages.

It holds whole prompts. So it is written only to a file of this kind that belongs to this user: never through a
symbolic link, into a pipe, or into a file that holds something else. Programs that write one log at once wait for each
other. Source: hooks-and-transcripts 1.12, field note T12.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

__all__ = ["DAYS", "LIMIT", "append"]

LIMIT = 1 << 20
"""Bytes of the log, and of the file beside it that holds what came before."""

DAYS = 7
"""Older questions are removed by the next one."""

_MOST_CHARS = LIMIT // 8
_BEGIN = b'{"timestamp": "'
_STAMP = slice(len(_BEGIN), len(_BEGIN) + len("2026-01-02T03:04:05"))
_LOCK_SECONDS = 1.0
_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


def append(path: Path, text: str, *, now: datetime | None = None) -> None:
    """Write a question behind the others in `path`; a long one is cut, and says so.

    A full log becomes `<path>.1`. Raises `OSError` when it may not or cannot be written.
    """
    now = datetime.now(UTC) if now is None else now
    line = _line(now, text)
    if len(line) > LIMIT:
        line = _line(now, f"{text[:_MOST_CHARS]}\n... [cut, {len(text) - _MOST_CHARS} more characters]")
    oldest = (now - timedelta(days=DAYS)).isoformat().encode()[: _STAMP.stop - _STAMP.start]
    older = path.with_name(f"{path.name}.1")
    with _opened(path, os.O_CREAT) as log:
        _forget(log, oldest)
        with contextlib.suppress(FileNotFoundError), _opened(older) as before:
            if not _forget(before, oldest):
                older.unlink()
        if os.fstat(log).st_size + len(line) <= LIMIT:
            _write(log, line)
            return
        path.replace(older)
        with _opened(path, os.O_CREAT | os.O_EXCL) as fresh:
            _write(fresh, line)


def _line(now: datetime, text: str) -> bytes:
    said = json.dumps({"timestamp": now.isoformat(), "request": text}, ensure_ascii=False)
    return said.encode("utf-8", "replace") + b"\n"


@contextlib.contextmanager
def _opened(path: Path, flags: int = 0) -> Iterator[int]:
    """The file, locked, private and ours. Raises `OSError`."""
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        # A pipe of that name must not hold us.
        fd = os.open(path, _FLAGS | flags | getattr(os, "O_NONBLOCK", 0), 0o600)
        try:
            _check(fd)
            if _locked(fd) and _is_at(fd, path):
                yield fd
                return
        finally:
            os.close(fd)
        if time.monotonic() > deadline:
            raise BlockingIOError("another program holds the log")
        time.sleep(0.002)


def _check(fd: int) -> None:
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1 or status.st_uid != getattr(os, "geteuid", int)():
        raise PermissionError("the log is no file of this user's own")
    if status.st_size and os.pread(fd, len(_BEGIN), 0) != _BEGIN:
        raise PermissionError("the log holds something else")
    if stat.S_IMODE(status.st_mode) & 0o077:
        os.fchmod(fd, 0o600)


def _locked(fd: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows has no such lock
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(fd: int, path: Path) -> bool:
    """False when another program moved the file away in the meantime."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(fd), path.lstat())
    return False


def _forget(fd: int, oldest: bytes) -> bool:
    """Remove the lines from before `oldest`; False when none are left. Lines are in the order of their time."""
    if os.pread(fd, _STAMP.stop, 0)[_STAMP] >= oldest:
        return True
    lines = os.pread(fd, os.fstat(fd).st_size, 0).splitlines(keepends=True)
    kept = b"".join(line for line in lines if line[_STAMP] >= oldest and line.startswith(_BEGIN))
    os.ftruncate(fd, 0)
    _write(fd, kept)
    return bool(kept)


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
