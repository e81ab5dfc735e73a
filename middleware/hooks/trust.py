"""In which folders a project's hooks may run: a file of the person's own that names them.

A folder is trusted with the hooks that it had when it was: `digest_of` says what they are, and when they change they
have to be trusted again. Scripts that a hook calls are not looked at. Source: hooks-and-transcripts 1.14.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from ..errors import SettingsError

__all__ = ["KEYS", "Standing", "digest_of", "distrust", "standing_of", "trust", "trusted"]

Standing: TypeAlias = Literal["trusted", "changed", "untrusted"]

KEYS = ("hooks", "security", "disableAllHooks")
"""What belongs to hooks in a settings file; a new colour theme beside it needs no new trust."""


def digest_of(documents: Mapping[str, object]) -> str:
    """A digest of what parsed hooks files, by name, say about hooks: 64 hexadecimal digits.

    Spaces, comments, the order of keys and other programs' keys do not change it.
    """
    said = {
        name: {key: document[key] for key in KEYS if key in document} if isinstance(document, Mapping) else document
        for name, document in documents.items()
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


def standing_of(folder: Path, digest: str, *, file: Path) -> Standing:
    """Whether `folder` is trusted with these hooks, was trusted with others, or neither. Raises `SettingsError`."""
    known = trusted(file).get(_name_of(folder))
    return "untrusted" if known is None else "trusted" if known == digest else "changed"


def trust(folder: Path, digest: str, *, file: Path) -> None:
    """Trust `folder`, symbolic links resolved, with the hooks of that digest.

    Raises `SettingsError` for a trust file that holds something else, `OSError` for one that cannot be written.
    """
    with _changing(file) as folders:
        folders[_name_of(folder)] = digest


def distrust(folder: Path, *, file: Path) -> bool:
    """Trust `folder` no longer; False if it was not trusted. Raises as `trust` does."""
    if _name_of(folder) not in trusted(file):
        return False
    with _changing(file) as folders:
        folders.pop(_name_of(folder), None)
    return True


def trusted(file: Path) -> dict[str, str]:
    """The trusted folders and their digests; none if there is no such file. Raises `SettingsError`."""
    try:
        value = json.loads(_bytes_of(file))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read ({error.strerror}); check its permissions") from None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or not all(isinstance(digest, str) for digest in value.values()):
        raise SettingsError(f"{file}: is no list of trusted folders; delete it, then trust your folders again")
    return value


def _bytes_of(file: Path) -> bytes:
    # A pipe of that name must not hold us.
    fd = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(fd, "rb") as opened:
        return opened.read() if stat.S_ISREG(os.fstat(fd).st_mode) else b""


def _name_of(folder: Path) -> str:
    return str(folder.resolve())


@contextlib.contextmanager
def _changing(file: Path) -> Iterator[dict[str, str]]:
    """The folders, to be changed in place and written back at the end: all of the file or nothing, mode 0600."""
    # Through a link: a person may keep the file elsewhere.
    file = Path(os.path.realpath(file))
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(file.parent):
        folders = trusted(file)
        yield folders
        draft = file.with_name(f".{file.name}.{os.getpid()}")
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:  # noqa: PTH123
                out.write(json.dumps(folders, indent=2) + "\n")
                out.flush()
                os.fsync(out.fileno())
            draft.replace(file)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder, so that of two programs that trust something at once neither undoes the other."""
    try:
        import fcntl
    except ImportError:  # Windows has no such lock
        yield
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
