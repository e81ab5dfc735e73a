"""One conversation: who it is, its ledger, its transcript, and what kind of send the next call is."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from .errors import HookBlocked, TranscriptError
from .forked import renew_in_child
from .ledger import CatchUp, Entry, Flight, Thread, Wait, thread_of
from .parts import Identity, Message, Part, Reply, Request
from .provenance import Origin, Submission, submitted_prompt
from .recorded import Recorded, folder
from .transcript import Scribe, TraceIds
from .turn import HookInput, Opened, Outcome, Prepared, Scene, Turn, opened

__all__ = ["Admitted", "Pipeline", "Session"]

_NO_IDS: TraceIds = (None, None)
_STARTERS = (Origin.USER_QUERY, Origin.CRON, Origin.NOTIFICATION, Origin.TEAMMATE, Origin.GOAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """What is configured for every turn: whether there are hooks and a store to ask, and the limits.

    `starts` names the events with hooks that a session's start fires.
    """

    fires: bool = False
    starts: tuple[str, ...] = ()
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


class Session(Recorded):
    """One conversation's state, shared by every client and thread that speaks in it.

    `id` is exported as `gen_ai.conversation.id` only when `named`; `user` is whose memories may be recalled;
    `parent` is the session that opened this one for a subagent of `agent_type`. `said` is the last request with its
    reply, in every form in which a next request may begin with it. `history` and `shown` read its transcript.
    """

    def __init__(
        self,
        *,
        id: str | None = None,
        user: str | None = None,
        scribe: Callable[[str], Scribe] | None = None,
    ) -> None:
        super().__init__(id=id, user=user, scribe=scribe)
        self.parent: str | None = None
        self.agent_type = ""
        self.said: tuple[tuple[Identity, ...], ...] = ()
        self._later: list[str] = []
        self.renew()
        renew_in_child(self)

    def renew(self) -> None:
        """Start with nobody inside; see `forked`."""
        self._lock = threading.Lock()
        self._opening: Flight | None = None

    def __repr__(self) -> str:
        return f"Session(id={self.id!r})"

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
        self.check_user()
        self._owner = self._owner or self.user
        while self._opened is None and (yield from self._open(request, pipeline, ids)):
            pass
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
            if self._scribe is not None:
                # Before anybody else may find it in the ledger and send it: a reply is written behind its message.
                self._scribe.turn(turn, prepared, ids)
            if sticky is None:
                entry = self.ledger.admit(thread, prepared.block)
        except HookBlocked as refusal:
            blocked = refusal
            if self._scribe is not None:
                with contextlib.suppress(TranscriptError):
                    # The scribe has it in `error`; the refusal is what the caller has to hear.
                    self._scribe.blocked(refusal, turn.scene, ids)
            raise
        finally:
            if entry is None:
                self._give_back(turn)
            if flight is not None:
                self.ledger.land(flight, entry=entry, blocked=blocked)
        return Admitted(turn=turn, prepared=prepared, thread=thread, entry=entry)

    def settled(self, admitted: Admitted, reply: Reply | None, outcome: Outcome, ids: TraceIds = _NO_IDS) -> None:
        """Note how an admitted turn ended: its reply in the ledger and in the transcript.

        Only a whole reply counts as delivered; what came of a broken one is remembered to recognise the history.
        """
        if reply is None or not reply.messages or (outcome != "sent" and not any(m.parts for m in reply.messages)):
            return
        identities = tuple(message.identity() for message in reply.messages)
        # What the model said first follows the message in a history that holds the tool calls of the same call.
        on_the_way = tuple(message.identity() for message in reply.before)
        asked, prefill = admitted.thread.asked()
        merged = tuple(_continued(prefill, message) for message in reply.messages) if prefill else ()
        if admitted.entry is not None:
            delivered = (*identities, *on_the_way, *merged, *prefill[:1])
            self.ledger.answered(admitted.entry, delivered, whole=outcome == "sent")
        self.said = (
            *((*admitted.thread.identities, said) for said in identities),
            *((*asked, said) for said in merged),
            *([(*admitted.thread.identities, *on_the_way, identities[0])] if on_the_way else []),
        )
        if self._scribe is not None:
            self._scribe.reply(reply, admitted.turn.scene, ids, shape=admitted.turn.request.shape)

    def adopt(self, parent: str, agent_type: str) -> None:
        """Say that this session is a subagent's, before its first turn."""
        self.parent, self.agent_type = parent, agent_type

    def hear_later(self, context: str) -> None:
        """Take what a background hook said after its turn: it is context of the next one."""
        with self._lock:
            self._later.append(context)

    def _open(self, request: Request, pipeline: Pipeline, ids: TraceIds) -> Generator[Any, Any, bool]:
        """Run the hooks of the session's start, once; calls that come meanwhile wait for it.

        Returns True where it has to be tried again if the session is not open still.
        """
        with self._lock:
            flight, leads = self._opening, self._opening is None
            if flight is None:
                flight = self._opening = Flight(key=())
        if not leads:
            waited: bool = yield Wait(flight=flight)
            return waited
        scene = self._scene(None)
        details: dict[str, dict[str, object]] = {
            "SessionStart": {"source": "resume" if self._turns else "startup", "model": request.model},
            "SubagentStart": {"agent_type": self.agent_type},
        }
        # A subagent starts once: its first message, which holds what its start left, may be an earlier process's.
        starts = self.parent is not None and not self._turns
        events = [event for event in pipeline.starts if starts or event != "SubagentStart"]
        inputs = [HookInput(event=event, scene=scene, details=details[event]) for event in events]
        try:
            start = yield from opened(inputs, max_context_chars=pipeline.max_context_chars)
            if self._scribe is not None:
                self._scribe.opened(start, scene, ids, parent=None if self._turns else self.parent)
            self._opened = start
            return False
        finally:
            self._opening = None
            flight.landed.set_result(None)

    def _give_back(self, turn: Turn) -> None:
        """Keep for the next turn what was meant for one that is not sent."""
        with self._lock:
            self._later[:0] = turn.pending
            if turn.subagent is not None and self._opened is not None:
                self._opened = Opened(instruction=self._opened.instruction, subagent=turn.subagent)

    def _scene(self, prompt_id: str | None) -> Scene:
        return Scene(
            session_id=self.id,
            transcript_path=self._path,
            cwd=folder(),
            prompt_id=prompt_id,
            agent_id=self.id if self.parent is not None else None,
        )

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
        if sticky is not None:
            origin = Origin.RETRY
        elif request.tool_result and (declared is None or declared in (*_STARTERS, Origin.RETRY)):
            # What started the turn was declared for its first send; the results of its tools are what they are.
            origin = Origin.TOOL_RESULT
        elif declared is None or declared is Origin.RETRY:
            # A retry of what was never admitted is no retry: what was blocked is blocked again (rule 4).
            origin = Origin.USER_QUERY
        else:
            origin = declared
        with self._lock:
            self._turns += origin not in (Origin.TOOL_RESULT, Origin.RETRY, Origin.HOOK)
            prompt_id = f"{self.id}########{max(0, self._turns - 1)}"
            # What a retry sends is fixed, and without a message there is no place: it stays for the next turn.
            taken = sticky is None and request.current is not None
            pending, self._later = (tuple(self._later), []) if taken else ((), self._later)
            start = self._opened or Opened()
            subagent = start.subagent if taken and origin is not Origin.TOOL_RESULT else None
            if subagent is not None:
                self._opened = Opened(instruction=start.instruction)
        return Turn(
            request=request,
            scene=self._scene(prompt_id),
            instruction=start.instruction,
            subagent=subagent,
            pending=pending,
            origin=origin,
            submitted_prompt=submitted_prompt(origin, vouched.submitted_prompt) if vouched is not None else None,
            history=self.ledger.history(thread),
            sticky=sticky.block if sticky is not None else None,
            fires=pipeline.fires and (pipeline.continuations or origin is Origin.USER_QUERY),
            recalls=pipeline.recalls,
            max_context_chars=pipeline.max_context_chars,
        )


def _continued(prefill: tuple[Identity, ...], reply: Message) -> Identity:
    """The identity of a reply that an application puts together with the prefill that it continues."""
    begun = prefill[-1][1]
    parts = (Part(kind="text", text=begun if isinstance(begun, str) else ""), *reply.parts)
    return Message(role="assistant", parts=parts).identity()
