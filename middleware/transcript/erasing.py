"""Erases transcripts: by session, by user, by when they were last written; nothing of them stays in the folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from ..locks import lock
from ..records import USER_KEY, Record
from .files import lock_briefly, open_file, sync_names
from .listing import REPAIRED, transcripts_in
from .newfile import write_new
from .ours import belongs, called, is_ours, torn_in
from .reader import records_in_line

__all__ = ["Erasable", "erasable", "erase", "left_behind", "remove_unused"]

OnError: TypeAlias = Callable[[Path, OSError], object]
_BEGINS = b'{"uuid":'


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasable:
    """A file that holds `sessions` that are to go; with `others` in it, only their lines go.

    `users` are all that the records of these sessions name, `last` is when one of them was last written.
    """

    path: Path
    sessions: frozenset[str]
    others: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    last: datetime


@dataclass(slots=True)
class _Told:
    """What the records of one session in one file say of it; nothing does but the file's name when it is `alone`."""

    alone: bool = False
    users: set[str] = field(default_factory=set)
    parents: set[str] = field(default_factory=set)
    newest: datetime | None = None


def erasable(
    folder: Path,
    *,
    session: str | None = None,
    user: str | None = None,
    before: datetime | None = None,
    on_error: OnError | None = None,
) -> list[Erasable]:
    """Find the files with sessions that are all that is given: this one, of this user, last written before.

    Only transcripts are found, torn ones too; a file that holds nothing is one when its session is named. The sessions
    of subagents go with the session that opened them. When a session was last written is what its
    records say, else the time of its file. A file that cannot be read goes to `on_error`, and the others are looked
    at; without it that raises OSError. Raises OSError also for a folder that cannot be listed, ValueError when nothing
    is given or `before` has no time zone.
    """
    if session is None and user is None and before is None:
        raise ValueError("nothing says what to erase: give a session, a user or a time")
    if before is not None and before.tzinfo is None:
        raise ValueError(f"{before.isoformat()} has no time zone; give one, such as {before.isoformat()}+00:00")
    told: dict[Path, dict[str, _Told]] = {}
    times: dict[Path, datetime] = {}
    for path in _files(folder):
        with _telling(path, on_error):
            times[path] = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            told[path] = _told(path)
    for name, of in [item for sessions in told.values() for item in sessions.items() if not item[1].users]:
        # A line that was cut may not say whose it is.
        of.users.update(*(sessions[name].users for sessions in told.values() if name in sessions))
    doomed = _named(told, session) if session is not None else None
    found = []
    for path, sessions in told.items():
        last = times[path]
        gone = frozenset(
            name
            for name, of in sessions.items()
            if (name in doomed if doomed is not None else not of.alone)
            and (user is None or user in of.users)
            and (before is None or (of.newest or last) < before)
        )
        if gone:
            found.append(
                Erasable(
                    path=path,
                    sessions=gone,
                    others=frozenset(sessions) - gone,
                    users=frozenset().union(*(sessions[name].users for name in gone)),
                    last=max(sessions[name].newest or last for name in gone),
                )
            )
    return found


def erase(
    folder: Path,
    *,
    session: str | None = None,
    user: str | None = None,
    before: datetime | None = None,
    on_error: OnError | None = None,
) -> list[Erasable]:
    """Erase what `erasable` finds, and return it; folders of projects that are empty then go, too.

    A file that is being written is waited for. A process that goes on with an erased session begins its file anew.
    What cannot be read or erased goes to `on_error`, and the others are erased; without it that raises OSError.
    """
    gone = []
    for file in erasable(folder, session=session, user=user, before=before, on_error=on_error):
        with _telling(file.path, on_error), _held(file.path) as fd:
            if fd is None:
                continue
            if file.others:
                with os.fdopen(os.dup(fd), "rb") as lines:
                    write_new(file.path, _without(lines, file), force=True)
            else:
                file.path.unlink(missing_ok=True)
            gone.append(file)
    places = {file.path.parent for file in gone}
    sync_names(places)
    for place in places:
        with contextlib.suppress(OSError):
            while place != folder and folder in place.parents:
                place.rmdir()
                place = place.parent
    return gone


def left_behind(gone: Iterable[Erasable]) -> list[Path]:
    """Files that are called after erased ones, such as their exports and copies: nobody knows what is in them."""
    found: set[Path] = set()
    for file in gone:
        name = file.path.name.removesuffix(".jsonl")
        if file.path.parent.is_dir():
            named = (path for path in file.path.parent.iterdir() if path.name.startswith((f"{name}.", f"{name}~")))
            found.update(path for path in named if path.is_file())
    return sorted(found - {file.path for file in gone})


def remove_unused(path: Path, before: float) -> bool:
    """Remove a file last written before a time in seconds, unless somebody holds it; True when it is gone."""
    try:
        fd = open_file(path, create=False)
    except OSError:
        return False
    try:
        lock(fd)
        # Only now nobody can have begun to write since it was looked at.
        state, named = os.fstat(fd), path.stat()
        if state.st_ino != named.st_ino or state.st_mtime >= before:
            return False
        path.unlink()
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _files(folder: Path) -> Iterator[Path]:
    """The transcripts, what a process that was killed left of writing one anew, and mended copies."""
    places = {folder}
    for path in transcripts_in(folder):
        places.add(path.parent)
        yield path
    for place in sorted(places):
        for pattern in (".*.jsonl.*.new", f"*{REPAIRED}"):
            yield from (path for path in sorted(place.glob(pattern)) if path.is_file())


def _told(path: Path) -> dict[str, _Told]:
    """The sessions in a file and what is told of them.

    A file without a record, but for one that was cut, is that of the session that it is called after.
    """
    sessions: dict[str, _Told] = {}
    ours = is_ours(path)
    with path.open("rb") as file:
        cut = file.peek(1)[: len(_BEGINS)] in (b"", _BEGINS)
        for line in file if ours or cut else ():
            found = records_in_line(line)[0]
            if not ours and found:
                return {}
            torn = torn_in(line) if not found else None
            if torn is not None:
                told = sessions.setdefault(torn.session or called(path), _Told())
                told.users.update(filter(None, [torn.user]))
            for record in filter(belongs, found):
                told = sessions.setdefault(_session_of(record, path), _Told())
                if isinstance(user := record.get(USER_KEY), str):
                    told.users.add(user)
                payload = record.get("systemPayload")
                if isinstance(payload, dict) and isinstance(parent := payload.get("parentSessionId"), str):
                    told.parents.add(parent)
                moment = _moment(record.get("timestamp"))
                told.newest = max(filter(None, (told.newest, moment)), default=None)
    return sessions or ({called(path): _Told(alone=not ours)} if cut or ours else {})


def _named(told: dict[Path, dict[str, _Told]], session: str) -> set[str]:
    """The session, and those that it opened, and those that these opened."""
    doomed = {session}
    while True:
        more = {name for of in told.values() for name, one in of.items() if not doomed.isdisjoint(one.parents)} - doomed
        if not more:
            return doomed
        doomed |= more


def _without(lines: Iterator[bytes], file: Erasable) -> Iterator[bytes]:
    """The lines that are surely of other sessions."""
    for line in lines:
        found = records_in_line(line)[0]
        if found and all(_session_of(record, file.path) in file.others for record in found):
            yield line.rstrip(b"\n") + b"\n"


def _session_of(record: Record, path: Path) -> str:
    session = record.get("sessionId")
    return session if isinstance(session, str) else called(path)


def _moment(stamp: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(stamp) if isinstance(stamp, str) else None
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


@contextmanager
def _telling(path: Path, on_error: OnError | None) -> Iterator[None]:
    """Have an OSError told of, where somebody wants to be told; a file that is gone is no error."""
    try:
        yield
    except FileNotFoundError:
        pass
    except OSError as error:
        if on_error is None:
            raise
        on_error(path, error)


@contextmanager
def _held(path: Path) -> Iterator[int | None]:
    """The file, locked against writers as long as they are patient; None for one that is gone."""
    try:
        fd = open_file(path, create=False)
    except FileNotFoundError:
        yield None
        return
    try:
        lock_briefly(fd)
        yield fd
    finally:
        os.close(fd)
