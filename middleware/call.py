"""One model call on its way through: what the two colours of the seam share."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import recall_store

from . import context
from .drive import Fetch
from .hooks import Answer, Ask, HookSet, Question
from .ledger import thread_of
from .parts import Reply
from .provenance import Origin, Submission
from .remember import Remember
from .sdks import Adapter, AsksUsage, Endpoint, Placement
from .session import Admitted, Pipeline, Session
from .sessions import Sessions
from .settings import Settings
from .settle import Account
from .telemetry import Signals, too_long
from .turn import Outcome

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

__all__ = ["Call", "Wiring"]

_log = logging.getLogger("firsthand")
_RESHAPED = (400, 422)


@dataclass(slots=True, kw_only=True, eq=False)
class Wiring:
    """What one `Middleware` has put together; its identity owns what is ambient."""

    settings: Settings
    signals: Signals
    hooks: HookSet
    sessions: Sessions
    placement: Placement
    store: recall_store.Store | None = None
    remember: Remember | None = None
    transcribes: bool = False


class Call:
    """One model call on its way through: what the two colours of `Seam` share."""

    __slots__ = (
        "_adapter",
        "_admitted",
        "_ask",
        "_body",
        "_client",
        "_declared",
        "_endpoint",
        "_is_turn",
        "_loop",
        "_request",
        "_session",
        "_submission",
        "_wiring",
        "account",
    )

    def __init__(
        self, wiring: Wiring, adapter: Adapter, bound: Session | None, client: Any, endpoint: Endpoint, body: Any
    ) -> None:
        self._wiring, self._adapter = wiring, adapter
        self._client, self._endpoint, self._body = client, endpoint, body
        self._request = request = endpoint.read(body)
        here = context.ambient_of(wiring)
        declared, submission = here.get("origin"), here.get("submission")
        self._declared = declared if isinstance(declared, Origin) else None
        self._submission = submission if isinstance(submission, Submission) else None
        self._admitted: Admitted | None = None
        self._ask: Ask | None = None
        self._loop: AbstractEventLoop | None = None
        self._is_turn = endpoint.is_turn and not here.get("bypass")
        origin = self._declared or (Origin.TOOL_RESULT if request.tool_result else Origin.USER_QUERY)
        session = bound if bound is not None else here.get("session")
        self._session = session if isinstance(session, Session) else None
        named = self._session.id if self._session is not None and self._session.named else None
        if self._is_turn:
            trace = wiring.signals.start_turn(conversation_id=named, origin=origin)
        else:
            trace = wiring.signals.start_alone(conversation_id=named)
        self.account = Account(trace=trace, request=request, origin=origin if self._is_turn else None)

    @property
    def is_watched_only(self) -> bool:
        """True when nothing is injected, written down or vouched for: the request goes out as it came."""
        wiring = self._wiring
        if not self._is_turn:
            return True
        kept = wiring.transcribes or (self._session is not None and self._session.transcript_path)
        return self._submission is None and wiring.store is None and not kept and not wiring.hooks.hooks

    def steps(self) -> Generator[Any, Any, Admitted]:
        """The steps of this turn, for a driver."""
        wiring, given = self._wiring, self._wiring.settings
        if self._session is None:
            self._session = wiring.sessions.anonymous(thread_of(self._request), given.user, self._request.thread)
        return self._session.steps(
            self._request,
            pipeline=Pipeline(
                fires=bool(wiring.hooks.for_event("UserPromptSubmit")),
                starts=tuple(event for event in ("SessionStart", "SubagentStart") if wiring.hooks.for_event(event)),
                recalls=wiring.store is not None and self._namespace is not None,
                continuations=given.continuations,
                max_context_chars=given.max_context_chars,
            ),
            submission=self._submission,
            declared=self._declared,
            ids=self.account.trace.ids,
        )

    def fetch(self, ask: Ask) -> Fetch:
        """What performs the steps of this turn; `ask` puts a prompt hook's question to the unwrapped client."""
        wiring, given = self._wiring, self._wiring.settings
        self._ask = ask
        if inspect.iscoroutinefunction(ask):
            import asyncio

            self._loop = asyncio.get_running_loop()
        return Fetch(
            trace=self.account.trace,
            hooks=wiring.hooks,
            store=wiring.store,
            store_id=(given.store or "").partition("://")[0],
            namespace=self._namespace,
            top_k=given.recall_top_k,
            recall_timeout=given.recall_timeout,
            ask=ask,
            later=self._session.hear_later if self._session is not None else None,
        )

    def question(self, question: Question, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments that ask a prompt hook's question: the turn's own type of reply and credentials, no more."""
        given = arguments.get("options") or {}
        options = {"timeout": question.timeout, **{name: given[name] for name in ("security",) if name in given}}
        body = self._endpoint.question(question.model or self._request.model, question.text, question.max_tokens)
        # How to read the answer: the SDKs with a `post` are told, the others know.
        reading = {name: arguments[name] for name in ("cast_to",) if name in arguments}
        return {**reading, "body": body, "options": options}

    async def said_async(self, reply: Any) -> Answer:
        """`said`, of an asynchronous client."""
        if not inspect.isasyncgen(reply):
            return self.said(reply)
        return self.said(chunk for chunk in [chunk async for chunk in reply])

    def said(self, reply: Any) -> Answer:
        """What the model answered to a question of ours, also where a function can but give it in chunks."""
        if inspect.isgenerator(reply):
            chunks = self._endpoint.collector()
            for chunk in reply:
                chunks.add(chunk)
            read = chunks.reply()
        else:
            read = self._endpoint.reply(reply)
        whole = not {"length", "max_tokens"}.intersection(read.finish_reasons)
        return Answer(text="".join(message.text for message in read.messages), whole=whole)

    def admit(self, admitted: Admitted) -> None:
        """Take what the steps came to: the blocks of this request, and the session that is told how it ends."""
        account, prepared = self.account, admitted.prepared
        account.origin, account.block, account.blocks = admitted.turn.origin, prepared.block, prepared.blocks
        account.submitted_prompt = admitted.turn.submitted_prompt
        account.settled = self._settled
        self._admitted = admitted
        if prepared.blocks:
            how = self._wiring.placement
            self._body = self._endpoint.write(self._body, self._request, prepared.blocks, how)

    def start(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Start the span of the call; return the arguments to send."""
        adapter, endpoint = self._adapter, self._endpoint
        if self._is_turn and self._wiring.settings.request_usage and isinstance(endpoint, AsksUsage):
            asking = endpoint.asking_usage(self._body)
            if asking is not self._body:
                self._body, self.account.unasked = asking, endpoint.is_usage_alone
        provider, host, port = adapter.destination(self._client)
        self.account.trace.start_call(
            self._request,
            operation=endpoint.operation,
            provider=provider,
            server_address=host,
            server_port=port,
        )
        return {**arguments, "body": self._body}

    @property
    def _namespace(self) -> str | None:
        session = self._session
        if session is None or session.user is None:
            return None
        return self._wiring.settings.namespace or session.user

    def _settled(self, reply: Reply | None, error: BaseException | None, outcome: Outcome) -> None:
        session, admitted = self._session, self._admitted
        if session is None or admitted is None:
            return
        session.settled(admitted, reply, outcome, self.account.trace.ids)
        remember, namespace = self._wiring.remember, self._namespace
        if remember is not None and namespace is not None and outcome == "sent":
            remember.settled(session, admitted, reply, namespace=namespace, ask=self._ask, loop=self._loop)
        if not session.named:
            self._wiring.sessions.heard(session, reply.id if reply is not None else None)

    def addressed(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with the headers of the span that is current."""
        headers = self._adapter.headers(self._client)
        if not headers:
            return arguments
        options = dict(arguments.get("options") or {})
        return {**arguments, "options": {**options, "headers": {**headers, **(options.get("headers") or {})}}}

    def failed(self, error: BaseException) -> None:
        """Settle a call that raised; a reshaped request that was refused gets one line that names the setting."""
        status = getattr(error, "status_code", getattr(error, "code", None))
        # With a thread it may be that which the server does not know.
        if status in _RESHAPED and self.account.block and not too_long(error) and not self._request.thread:
            how = "tool_placement" if self._request.tool_result else "placement"
            value = "tool_part" if self._request.tool_result else "inline"
            _log.warning(
                "firsthand: the server answered %s to a request with injected text; if it takes none such, set %s = %r",
                status,
                how,
                value,
            )
        self.account.settle(error=error)

    def answered(self, answer: Any) -> Any:
        """What the caller gets: the answer, settled now or watched to its end."""
        return _watch()(answer, self.account, self._endpoint)


@functools.cache
def _watch() -> Callable[[Any, Account, Endpoint], Any]:
    """`watch`, imported by the first answer: wrapt is slow to load."""
    from .responses import watch

    return watch
