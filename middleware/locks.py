"""Advisory locks on open files: `flock`, and on Windows a byte far behind the end of the file."""

from __future__ import annotations

import errno
import os
import sys

__all__ = ["lock", "unlock"]

# Windows' locks are mandatory: this byte is one that nobody reads or writes.
_FAR = 0x7FFF_FFFE

if sys.platform == "win32":
    import msvcrt

    def lock(fd: int) -> None:
        """Lock a file for this descriptor alone, at once; raises BlockingIOError while another one holds it."""
        _at_far(fd, msvcrt.LK_NBLCK)

    def unlock(fd: int) -> None:
        """Let it go; nothing when it is not held."""
        try:
            _at_far(fd, msvcrt.LK_UNLCK)
        except OSError:
            return

    def _at_far(fd: int, mode: int) -> None:
        before = os.lseek(fd, 0, os.SEEK_CUR)
        os.lseek(fd, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(fd, mode, 1)
        except PermissionError as error:
            raise BlockingIOError(errno.EAGAIN, "held by another program") from error
        finally:
            os.lseek(fd, before, os.SEEK_SET)

else:
    try:
        import fcntl
    except ImportError:
        fcntl = None  # type: ignore[assignment]

    def lock(fd: int) -> None:
        """Lock a file for this descriptor alone, at once; raises BlockingIOError while another one holds it.

        OSError with ENOSYS where there are no such locks.
        """
        if fcntl is None:
            raise OSError(errno.ENOSYS, "no file locks here")
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def unlock(fd: int) -> None:
        """Let it go; nothing when it is not held."""
        if fcntl is not None:
            fcntl.flock(fd, fcntl.LOCK_UN)
