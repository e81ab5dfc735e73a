"""What a session has to do with its transcript: what others wrote to it, what was sent, what was seen."""

from __future__ import annotations

import logging
import os
import threading
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, Self, get_args
from urllib.parse import unquote

from .errors import TranscriptError
from .ledger import Ledger
from .records import USER_KEY, VERSION, Record
from .resume import Shown, replay, rows
from .told import Told, instruction_of
from .transcript import Branch, Scribe, TranscriptWriter, load
from .transcript.checking import faults_in
from .transcript.foreign import recognise
from .transcript.located import read_located
from .transcript.reader import not_a_transcript
from .transcript.rewinding import cut_before
from .transcript.wire import anthropic_request, openai_request
from .transcript.writer import Durability
from .turn import Opened, Scene

__all__ = ["Recorded", "folder"]

_GAPS = ("history_gap", "orphan_result")
_log = logging.getLogger("firsthand")


class Recorded:
    """A session as far as its transcript tells of it; without a `scribe` none is kept.

    The ledger is rebuilt from the records, and goes on from there.
    """

    _lock: threading.Lock

    def __init__(self, *, id: str | None, user: str | None, scribe: Callable[[str], Scribe] | None) -> None:
        self.named = id is not None
        self.id = id if id is not None else str(uuid.uuid4())
        self.ledger = Ledger()
        self._told = Told(self.ledger)
        self._scribe = scribe(self.id) if scribe is not None else None
        self._path = str(self._scribe.writer.path) if self._scribe is not None else ""
        self._turns = 0
        self._warned = False
        self._opened: Opened | None = None
        self._owner = self._scribe.owner() if self._scribe is not None and self.named else None
        self.user = user
        self.check_user()

    @classmethod
    def resume(
        cls,
        path: str | Path,
        *,
        user: str | None = None,
        durability: Durability = "group",
        strict: bool = False,
    ) -> Self:
        """The session of a transcript, to go on with: `app.wrap(client, session=Session.resume(path))`.

        What it sends next is written to that file, by a middleware without `transcripts` too. Raises OSError
        when it cannot be read, `TranscriptError` for one that is no transcript or another program's, ValueError when
        it is another user's.
        """
        if durability not in get_args(Durability):
            raise ValueError(f"{durability!r} is no durability; one of {', '.join(get_args(Durability))}")
        place = Path(path).absolute()
        foreign = recognise(place)
        if foreign is not None:
            hint = ""
            if foreign.program == "Claude Code":
                hint = "; bring it over with `firsthand transcript import` and resume that"
            raise TranscriptError(f"{place} is a session of {foreign.program}, which goes on in its own files{hint}")
        branch = load(place)
        if not len(branch) and place.stat().st_size:
            raise not_a_transcript(place)
        written = next((id for record in branch if isinstance(id := record.get("sessionId"), str) and id), None)

        def scribe(session_id: str) -> Scribe:
            writer = TranscriptWriter(place, durability=durability)
            return Scribe(writer=writer, session_id=session_id, version=VERSION, strict=strict)

        session = cls(id=written or unquote(place.stem), user=user, scribe=scribe)
        session.catch_up()
        session._warn_of_gaps(branch)
        if session._scribe is not None:
            weakref.finalize(session, session._scribe.writer.close)
        return session

    @property
    def user(self) -> str | None:
        """Whose session it is: who is recalled for, and who is named in its records."""
        return self._user

    @user.setter
    def user(self, user: str | None) -> None:
        self._user = user
        if self._scribe is not None:
            self._scribe.user = user

    @property
    def is_anothers(self) -> bool:
        """True when its transcript turned out to be another user's: nothing can be sent in it any more."""
        return self._owner is not None and self._user not in (None, self._owner)

    def check_user(self, user: str | None = None) -> None:
        """Take it for `user` if it has none yet; without one it stays its transcript's or its opener's.

        Raises ValueError when it is another user's.
        """
        mine = self._owner if self._owner is not None else self._user
        wanted = user if user is not None else self._user
        if mine is not None and wanted not in (None, mine):
            # Whose it is stays unsaid: the message may reach the one who asked.
            raise ValueError(f"session {self.id!r} is of another user than {wanted!r}; open another one for them")
        if self._user is None and (mine or wanted) is not None:
            self.user = mine or wanted

    @property
    def transcript_path(self) -> str:
        """Where its transcript is, or "" when none is kept."""
        return self._path

    @property
    def transcript_error(self) -> Exception | None:
        """The last failure to write the transcript, or None."""
        return self._scribe.error if self._scribe is not None else None

    def history(self) -> list[Record]:
        """The model's history exactly as it was sent, injected text included: `{"role", "parts"}` each (3.6).

        Read from the transcript, as `shown` is. Raises `TranscriptError` when none is kept, OSError when it cannot
        be read.
        """
        return replay(self._conversation())

    def messages(self, shape: Literal["openai", "anthropic"] = "openai") -> list[dict[str, Any]]:
        """The history as messages to send, of `chat.completions` or Anthropic's `messages`; append the next one.

        Injected text is in them, and goes out once, with the bytes that it had. The caller's own system message is
        in no record. Where records are lost, a warning says so, and what is left is given as it was sent.
        """
        branch = self._branch()
        if shape == "anthropic":
            messages = anthropic_request(branch)["messages"]
        elif shape == "openai":
            messages = openai_request(branch)["messages"]
        else:
            raise ValueError(f"{shape!r} is no shape of messages; openai or anthropic")
        # What hooks added to the system message is added again by the session.
        return [message for message in messages if message["role"] != "system"]

    def shown(self) -> list[Shown]:
        """The rows of a resumed screen: what the person typed, and never what was injected."""
        return list(rows(self._conversation()))

    @property
    def asked(self) -> str | None:
        """The uuid of the record that began the last turn of this process, for `rewind`; None when none is kept."""
        return self._scribe.asked if self._scribe is not None else None

    def rewind(self, uuid: str) -> str:
        """Take back the turn that began with this user record (`asked`, or a row of `shown`), and all after it.

        The conversation goes on from before it; the transcript keeps what was, on a branch of its own. Answers what
        the turn said to the model, without what was injected. Raises ValueError when no turn of the conversation
        began with that record, `TranscriptError` when none is kept or it cannot be written.
        """
        if self._scribe is None:
            raise self._unkept()
        cut = cut_before(self._branch(), uuid)
        scene = Scene(session_id=self.id, transcript_path=self._path, cwd=folder())
        if not self._scribe.rewound(cut.parent, cut.rows, scene):
            raise TranscriptError(f"transcript {self._path} cannot be written: {self._scribe.error}")
        self._scribe.asked = None
        return cut.text

    def catch_up(self) -> None:
        """Read what the transcript holds and this process has not read: the next turn goes on from there.

        A named session does so by itself before each turn. Raises ValueError when it is another user's.
        """
        if self._scribe is None:
            raise self._unkept()
        if self._scribe.is_behind():
            self._catch_up()
        self.check_user()

    def _catch_up(self) -> None:
        if self._scribe is None:
            return
        with self._lock:
            self._told.read(self._heard(self._scribe.told_by_others()))
        self.check_user()

    def _heard(self, told: Iterable[Record]) -> Iterator[Record]:
        """What was told, while it is noted what the session has to know of it."""
        for record in told:
            if self._opened is None and (instruction := instruction_of((record,))) is not None:
                self._opened = Opened(instruction=instruction)
            self._turns += record.get("type") == "user"
            owner = record.get(USER_KEY)
            if self._owner is None and isinstance(owner, str):
                self._owner = owner
            yield record

    def _branch(self) -> Branch | list[Record]:
        if self._scribe is None:
            raise self._unkept()
        path = self._scribe.writer.path
        if not path.exists():
            return []
        branch = load(path)
        self._warn_of_gaps(branch)
        return branch

    def _warn_of_gaps(self, branch: Branch) -> None:
        """Say once where records are lost: what is given out goes to a model, which may refuse or misread it."""
        if self._warned or all(flaw.name != "history_gap" for flaw in branch.flaws):
            return
        self._warned = True
        found = [fault for fault in faults_in(read_located(branch.path)) if fault.name in _GAPS]
        where = "; ".join(f"line {fault.line}: {fault.detail}" for fault in found[:3])
        more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
        _log.warning(
            "firsthand: records of transcript %s are lost (%s%s); its messages go on across the gap, and a provider "
            "refuses tool results without their calls",
            branch.path,
            where,
            more,
        )

    def _conversation(self) -> Iterable[Record]:
        branch = self._branch()
        return branch.conversation() if isinstance(branch, Branch) else branch

    def _unkept(self) -> TranscriptError:
        return TranscriptError(f"session {self.id!r} keeps no transcript; set transcripts to a folder")


def folder() -> str:
    """The working directory, "" for one that is gone."""
    try:
        return os.getcwd()  # noqa: PTH109  (Path.cwd() costs as much as the rest of the scene)
    except OSError:
        return ""
