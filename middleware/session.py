"""One conversation: who it is, its ledger, its transcript, and what kind of send the next call is."""

from __future__ import annotations

import os
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from .errors import HookBlocked
from .injection import Block
from .ledger import CatchUp, Entry, Flight, Ledger, Thread, Wait, learned, thread_of
from .parts import Identity, Reply, Request
from .provenance import Origin, Submission, submitted_prompt
from .transcript import Scribe, TraceIds
from .turn import Outcome, Prepared, Scene, Turn

__all__ = ["Admitted", "Pipeline", "Session", "Sessions"]

_NO_IDS: TraceIds = (None, None)
_STARTERS = (Origin.USER_QUERY, Origin.CRON, Origin.NOTIFICATION, Origin.TEAMMATE, Origin.GOAL)
_KEPT_SESSIONS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """What is configured for every turn: whether there are hooks and a store to ask, and the limits."""

    fires: bool = False
    recalls: bool = False
    continuations: bool = True
    max_context_chars: int = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A turn that may be sent, and the ledger's entry for it."""

    turn: Turn
    prepared: Prepared
    thread: Thread
    entry: Entry | None


class Session:
    """One conversation's state, shared by every client and thread that speaks in it.

    `id` is exported as `gen_ai.conversation.id` only when `named`; `user` is whose memories may be recalled.
    """

    def __init__(
        self,
        *,
        id: str | None = None,
        user: str | None = None,
        transcript_path: str = "",
        scribe: Callable[[str], Scribe] | None = None,
    ) -> None:
        self.named = id is not None
        self.id = id if id is not None else str(uuid.uuid4())
        self.user = user
        self.said: tuple[Identity, ...] = ()
        self.ledger = Ledger()
        self._scribe = scribe(self.id) if scribe is not None else None
        self._path = str(self._scribe.writer.path) if self._scribe is not None else transcript_path
        self._turns = 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Session(id={self.id!r})"

    @property
    def transcript_path(self) -> str:
        """Where its transcript is, or "" when none is kept."""
        return self._path

    @property
    def transcript_error(self) -> Exception | None:
        """The last failure to write the transcript, or None."""
        return self._scribe.error if self._scribe is not None else None

    def steps(
        self,
        request: Request,
        *,
        pipeline: Pipeline,
        submission: Submission | None = None,
        declared: Origin | None = None,
        ids: TraceIds = _NO_IDS,
    ) -> Generator[Any, Any, Admitted]:
        """The steps from a request to what may be sent: find its place, prepare it, admit it.

        A submission counts only for the message that it names, in the session that it names; it is spent here.
        Raises `HookBlocked`; nothing of a blocked turn stays but its record (ledger rule 4, D9).
        """
        if self.named and self._scribe is not None and self._scribe.is_behind():
            yield CatchUp(read=self._catch_up)
        thread = thread_of(request)
        vouched = self._vouched(request, submission)
        alone = vouched is not None or declared is not None or thread.current is None
        flight: Flight | None = None
        leads = True
        while True:
            sticky = self._sticky(thread, vouched, declared, flight)
            if sticky is not None or alone:
                flight = None
                break
            flight, leads = self.ledger.board(thread)
            if leads:
                break
            if not (yield Wait(flight=flight)):
                flight = None
                break
            if flight.blocked is not None:
                raise HookBlocked(hook=flight.blocked.hook, reason=flight.blocked.reason, prompt=flight.blocked.prompt)
        turn = self._turn(request, thread, vouched, declared, sticky, pipeline)
        blocked: HookBlocked | None = None
        entry = sticky
        try:
            prepared = yield from turn.prepare()
            if sticky is None:
                entry = self.ledger.admit(thread, prepared.block)
        except HookBlocked as refusal:
            blocked = refusal
            if self._scribe is not None:
                self._scribe.blocked(refusal, turn.scene, ids)
            raise
        finally:
            if flight is not None:
                self.ledger.land(flight, entry=entry, blocked=blocked)
        if self._scribe is not None:
            self._scribe.turn(turn, prepared, ids)
        return Admitted(turn=turn, prepared=prepared, thread=thread, entry=entry)

    def settled(self, admitted: Admitted, reply: Reply | None, outcome: Outcome, ids: TraceIds = _NO_IDS) -> None:
        """Note how an admitted turn ended: its reply in the ledger and in the transcript.

        Only a whole reply counts as delivered; what came of a broken one is remembered to recognise the history.
        """
        if reply is None or not any(message.parts for message in reply.messages):
            return
        identities = tuple(message.identity() for message in reply.messages)
        if admitted.entry is not None:
            self.ledger.answered(admitted.entry, identities, whole=outcome == "sent")
        if outcome == "sent":
            self.said = (*admitted.thread.identities, identities[0])
        if self._scribe is not None:
            self._scribe.reply(reply, admitted.turn.scene, ids)

    def _catch_up(self) -> None:
        if self._scribe is None:
            return
        with self._lock:
            told = self._scribe.told_by_others()
            for entry in learned(told):
                self.ledger.restore(entry)
            self._turns += sum(record.get("type") == "user" for record in told)

    def _vouched(self, request: Request, submission: Submission | None) -> Submission | None:
        if submission is None or request.tool_result or request.current is None or submission.spent:
            return None
        if submission.session is not None and submission.session != self.id:
            return None
        if submission.model_text != request.pre_injection_text():
            return None
        return submission if submission.take() else None

    def _sticky(
        self, thread: Thread, vouched: Submission | None, declared: Origin | None, joined: Flight | None
    ) -> Entry | None:
        if joined is not None and joined.entry is not None:
            return joined.entry
        if vouched is None and declared is Origin.RETRY:
            return self.ledger.declared_retry(thread)
        if vouched is not None or declared is not None:
            self.ledger.drop_cancelled(thread)
            return None
        return self.ledger.retried(thread, whole=self.named)

    def _turn(
        self,
        request: Request,
        thread: Thread,
        vouched: Submission | None,
        declared: Origin | None,
        sticky: Entry | None,
        pipeline: Pipeline,
    ) -> Turn:
        if sticky is not None or (declared is Origin.RETRY and vouched is None):
            origin = Origin.RETRY
        elif request.tool_result and (declared is None or declared in _STARTERS):
            # What started the turn was declared for its first send; the results of its tools are what they are.
            origin = Origin.TOOL_RESULT
        else:
            origin = declared if declared is not None else Origin.USER_QUERY
        with self._lock:
            self._turns += origin not in (Origin.TOOL_RESULT, Origin.RETRY, Origin.HOOK)
            prompt_id = f"{self.id}########{max(0, self._turns - 1)}"
        return Turn(
            request=request,
            scene=Scene(session_id=self.id, transcript_path=self._path, cwd=_folder(), prompt_id=prompt_id),
            origin=origin,
            submitted_prompt=submitted_prompt(origin, vouched.submitted_prompt) if vouched is not None else None,
            history=self.ledger.history(thread),
            sticky=sticky.block if sticky is not None else Block() if origin is Origin.RETRY else None,
            fires=pipeline.fires and (pipeline.continuations or origin is Origin.USER_QUERY),
            recalls=pipeline.recalls,
            max_context_chars=pipeline.max_context_chars,
        )


class Sessions:
    """The sessions of one `Middleware`: named ones by id, anonymous ones by what was said in them. Bounded."""

    def __init__(self, make: Callable[[str | None, str | None], Session], *, kept: int = _KEPT_SESSIONS) -> None:
        self._make = make
        self._kept = kept
        self._lock = threading.Lock()
        self._named: OrderedDict[str, Session] = OrderedDict()
        self._anonymous: OrderedDict[str, Session] = OrderedDict()
        self._by_reply: dict[Identity, set[str]] = {}

    def named(self, id: str, user: str | None) -> Session:
        """The session of this id, made if it is new; `user` fills in a session that had none.

        Raises ValueError when the session belongs to another user.
        """
        with self._lock:
            session = self._named.get(id)
            if session is None:
                session = self._named[id] = self._make(id, user)
                if len(self._named) > self._kept:
                    self._named.popitem(last=False)
            self._named.move_to_end(id)
        if user is not None and session.user != user:
            if session.user is not None:
                raise ValueError(f"session {id!r} is of user {session.user!r}; open another session for {user!r}")
            session.user = user
        return session

    def anonymous(self, thread: Thread, user: str | None) -> Session:
        """The one anonymous session whose last request and reply this thread extends, or a new one (rule 7)."""
        with self._lock:
            session = self._extended(thread)
            if session is None:
                session = self._make(None, user)
                self._anonymous[session.id] = session
                if len(self._anonymous) > self._kept:
                    _, oldest = self._anonymous.popitem(last=False)
                    self._unlist(oldest)
            self._anonymous.move_to_end(session.id)
            return session

    def heard(self, session: Session, before: tuple[Identity, ...]) -> None:
        """Note that an anonymous session's last request and reply changed; `before` is what they were."""
        with self._lock:
            if session.id not in self._anonymous:
                return
            if before:
                self._drop(before[-1], session.id)
            if session.said:
                self._by_reply.setdefault(session.said[-1], set()).add(session.id)

    def _extended(self, thread: Thread) -> Session | None:
        said = thread.identities
        for end in range(len(said) - 1, 0, -1):
            ids = self._by_reply.get(said[end - 1], ())
            matching = [
                session
                for session in (self._anonymous[id] for id in ids)
                if len(session.said) == end and session.said == said[:end]
            ]
            if matching:
                return matching[0] if len(matching) == 1 else None
        return None

    def _unlist(self, session: Session) -> None:
        if session.said:
            self._drop(session.said[-1], session.id)

    def _drop(self, reply: Identity, id: str) -> None:
        ids = self._by_reply.get(reply)
        if ids is not None:
            ids.discard(id)
            if not ids:
                del self._by_reply[reply]


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109  (Path.cwd() costs as much as the rest of the scene)
    except OSError:
        return ""
