"""Writes a file that was not there, whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .files import make_folders

__all__ = ["write_new"]


def write_new(path: Path, chunks: Iterable[bytes], *, force: bool = False) -> None:
    """Write a file, mode 0600, its missing folders 0700; what cannot be finished leaves nothing behind.

    Raises FileExistsError when something of that name is there and `force` is off, OSError when it cannot be
    written. A link is replaced, never written through.
    """
    if not force and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, "there already", str(path))
    make_folders(path.parent)
    try:
        fd, name = tempfile.mkstemp(prefix=f".{path.stem[:70]}{path.suffix}.", suffix=".new", dir=path.parent)
    except OSError as error:
        # The name of a file that nobody asked for says nothing.
        raise OSError(error.errno, error.strerror, str(path.parent)) from None
    try:
        with os.fdopen(fd, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
        if force:
            Path(name).replace(path)
        else:
            _put(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


def _put(name: str, path: Path) -> None:
    """Give the finished file its name, unless somebody made one of that name meanwhile."""
    try:
        # Unlike a rename, a link never replaces anything.
        os.link(name, path)
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, "there already", str(path)) from None
    except OSError:
        # A file system without links.
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "there already", str(path)) from None
        Path(name).replace(path)
