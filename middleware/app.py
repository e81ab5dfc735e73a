"""`Middleware` and `wrap()`: the only wiring of hooks, store, transcripts and telemetry to a client."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, TypeVar, overload

import recall_store
from recall_store.embedders import kept

from . import context, telemetry
from .arguments import check_agent, check_id, check_user, hooks_of, no_settings, providers_of, settings_of
from .call import Wiring
from .hooks import FIRED, FunctionHook, Hook, HookSet, load_hooks
from .provenance import Origin, Submission
from .records import VERSION
from .remember import Remember
from .sdks import Placement, adapter_for
from .seam import Seam
from .session import Session
from .sessions import Sessions
from .settings import Settings, duration
from .settle import drain_dropped
from .telemetry import Options, Signals
from .transcript import Scribe, TranscriptFolder

if TYPE_CHECKING:
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

__all__ = ["VERSION", "Middleware", "wrap"]

ClientT = TypeVar("ClientT")
CallT = TypeVar("CallT", bound=Callable[..., Any])
_A_STORE = 'store = "sqlite:///memories.db"'
_log = logging.getLogger("firsthand")


class Middleware:
    """Everything that sits around a client: one a process, shared by any number of clients, threads and loops.

    `hooks` are functions for UserPromptSubmit (or `Hook` values); providers default to the application's
    global ones. Opens the store, so that a store that cannot be used is an error here and not in a turn.
    `from_settings` takes settings by name. Raises `SettingsError`, `recall_store.StoreError` and TypeError.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        hooks: Sequence[Callable[..., Any] | Hook] = (),
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
        **unknown: Never,
    ) -> None:
        no_settings("Middleware()", unknown)
        functions = hooks_of(hooks)
        given = self.settings = settings_of(settings)
        signals = Signals(
            Options(
                capture=given.capture_content,
                capture_injected=given.capture_injected,
                max_attribute_chars=given.max_attribute_chars,
                redact=given.redact,
            ),
            **providers_of(
                tracer_provider=tracer_provider, meter_provider=meter_provider, logger_provider=logger_provider
            ),
        )
        configured = load_hooks(Path(given.hooks_file)) if given.hooks_file is not None else HookSet()
        for warning in configured.warnings:
            _log.warning("%s", warning)
        self._folder: TranscriptFolder | None = None
        if given.transcripts is not None:
            self._folder = TranscriptFolder(
                Path(given.transcripts),
                layout=given.layout,
                durability=given.durability,
                keep=duration(given.keep) if given.keep is not None else None,
            )
        store: recall_store.Store | None = None
        if given.store is not None:
            store = recall_store.open_store(given.store, embedder_if_new=given.embedder)
            if (told := kept(store.embedder, given.embedder)) is not None:
                _log.warning("firsthand: %s", told)
            # What a first search loads would cost the first turns their memories: it takes longer than they wait.
            store.warm(namespace=given.namespace or given.user)
        remember: Remember | None = None
        if given.remember != "off":
            if store is None:
                _log.warning("firsthand: remember is %r and there is no store; set one: %s", given.remember, _A_STORE)
            else:
                remember = Remember(given.remember, store, on_error=signals.remember_failed)
        self._wiring = Wiring(
            settings=given,
            signals=signals,
            hooks=configured.adding(*functions),
            sessions=Sessions(self._make_session),
            placement=Placement(placement=given.placement, tool_placement=given.tool_placement),
            transcribes=given.transcripts is not None,
            store=store,
            remember=remember,
        )

    @classmethod
    def from_settings(
        cls,
        *,
        hooks: Sequence[Callable[..., Any] | Hook] = (),
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
        **settings: Any,
    ) -> Middleware:
        """Make one from arguments, `FIRSTHAND_*`, `firsthand.toml` and `[tool.firsthand]`, in that order."""
        return cls(
            Settings.load(**settings),
            hooks=hooks,
            tracer_provider=tracer_provider,
            meter_provider=meter_provider,
            logger_provider=logger_provider,
        )

    @property
    def store(self) -> recall_store.Store | None:
        """The store that is asked before a turn, or None."""
        return self._wiring.store

    def wrap(self, client: ClientT, *, session: Session | str | None = None, **unknown: Never) -> ClientT:
        """A client of the same type, with the same methods, that goes through this middleware.

        The caller's client is not changed and shares its connections with the new one. With `session` every
        call of it belongs to that session (or the one of that id), whatever thread it is made in. A client that
        is wrapped already is bound anew, not wrapped twice. Raises `UnsupportedClient`.
        """
        no_settings("app.wrap()", unknown)
        adapter = adapter_for(client)
        wrapped: ClientT = adapter.sibling(client, Seam(self._wiring, adapter, self._bound(session)))
        return wrapped

    @overload
    def wrap_call(
        self, fn: CallT, messages: str = "messages", *, provider: str = "unknown", session: Session | str | None = None
    ) -> CallT: ...

    @overload
    def wrap_call(
        self,
        fn: None = None,
        messages: str = "messages",
        *,
        provider: str = "unknown",
        session: Session | str | None = None,
    ) -> Callable[[CallT], CallT]: ...

    def wrap_call(
        self,
        fn: Any = None,
        messages: str = "messages",
        *,
        provider: str = "unknown",
        session: Session | str | None = None,
    ) -> Any:
        """A function of the same signature as `fn` that goes through this middleware.

        A decorator as well, bare or with what is not `fn`: `@app.wrap_call(provider="acme")`.
        `fn` takes OpenAI-shaped messages in its parameter `messages`, by keyword or position, and the model in
        `model`, if it has one; it may be a method, `async`, a generator, or return a stream
        (`app.wrap_call(litellm.completion)`). Replies are read in OpenAI's and ollama's shapes; a call that answers
        anything else is settled without one. `provider` is `gen_ai.provider.name` on its spans, as the conventions
        list them or a name of your own. A function that takes string content only needs `placement = "inline"`.
        Raises ValueError when `fn` has no such parameter.
        """
        from .sdks.function import CalledFunction, wrapped

        if not isinstance(provider, str) or not provider:
            raise TypeError(f"a provider is a non-empty string, not {provider!r}")
        if fn is None:
            return partial(self.wrap_call, messages=messages, provider=provider, session=session)
        if not callable(fn):
            raise TypeError(f"wrap_call() takes a function, not {fn!r}; a client is for app.wrap()")
        adapter = CalledFunction(provider)
        return wrapped(
            fn, Seam(self._wiring, adapter, self._bound(session)), is_async=adapter.is_async(fn), messages=messages
        )

    def open(
        self,
        id: str | None = None,
        *,
        user: str | None = None,
        parent: Session | None = None,
        agent_type: str = "general-purpose",
        resume: bool = False,
    ) -> Session:
        """The session of this id, for `wrap(..., session=)`; a new unnamed one without an id.

        With `resume` its transcript is read now, not before its next turn: `history()` is what the model was sent,
        `shown()` what a person saw, and it is of the user that the transcript names. One without a transcript is
        begun. Raises `TranscriptError` when no transcripts are kept.

        With `parent` it is the session of a subagent of `agent_type`, of the parent's user, and SubagentStart
        hooks run before its first turn. Raises ValueError for a session of another user, by what its transcript says
        too; without a user a session is of the one that it has.
        """
        check_id(id)
        check_user(user)
        check_agent(parent, agent_type)
        if user is None:
            user = parent.user if parent is not None else self.settings.user
        session = self._wiring.sessions.named(id, user) if id is not None else self._make_session(None, user)
        if parent is not None:
            session.adopt(parent.id, agent_type)
        if resume:
            if id is None:
                raise TypeError("resume needs the id of the session")
            session.catch_up()
        return session

    @contextlib.contextmanager
    def session(
        self,
        id: str | None = None,
        *,
        user: str | None = None,
        parent: Session | None = None,
        agent_type: str = "general-purpose",
        resume: bool = False,
    ) -> Iterator[Session]:
        """Every call in the block belongs to this session (see `open`); works around `await` as well."""
        session = self.open(id, user=user, parent=parent, agent_type=agent_type, resume=resume)
        with context.setting(self._wiring, "session", session):
            yield session

    def submitting(self, submission: Submission) -> AbstractContextManager[None]:
        """In the block, the call that sends what `submission` names carries its provenance, once."""
        if not isinstance(submission, Submission):
            raise TypeError(f"submitting() takes a Submission, not {type(submission).__name__}")
        return context.setting(self._wiring, "submission", submission)

    def origin(self, origin: Origin | str) -> AbstractContextManager[None]:
        """Say what kind of send the calls in the block are; it beats inference (ledger rule 2).

        Tool results are `tool_result` sends also where the block names what started the turn.
        """
        if origin not in list(Origin):
            raise ValueError(f"{origin!r} is no origin; one of {', '.join(Origin)}")
        return context.setting(self._wiring, "origin", Origin(origin))

    def bypass(self) -> AbstractContextManager[None]:
        """Calls in the block are nobody's turn: a title, a guardrail. They go out as they are, and are traced."""
        return context.setting(self._wiring, "bypass", True)

    def hook(self, event: str, fn: Callable[..., Any], name: str | None = None, timeout: int = 5000) -> None:
        """Register a function hook for `event`; `timeout` is in milliseconds. Raises ValueError for another event."""
        if event not in FIRED:
            raise ValueError(f"{event!r} is not fired here, so the hook would never run; one of {', '.join(FIRED)}")
        added = FunctionHook(fn, event=event, name=name, timeout_ms=timeout)
        self._wiring.hooks = self._wiring.hooks.adding(added)

    def flush(self, timeout: float = 5.0) -> None:
        """Write out what telemetry, transcripts and memories of turns hold, within `timeout` seconds each."""
        drain_dropped(timeout)
        if self._wiring.remember is not None:
            self._wiring.remember.flush(timeout)
        telemetry.flush(timeout)
        if self._folder is not None:
            self._folder.flush()

    def close(self) -> None:
        """Flush, and close the store and the transcripts. Wrapped clients go on without them."""
        self.flush()
        remember, self._wiring.remember = self._wiring.remember, None
        if remember is not None:
            remember.close()
        store, self._wiring.store = self._wiring.store, None
        if store is not None:
            store.close()
        if self._folder is not None:
            self._folder.close()

    def __enter__(self) -> Middleware:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _bound(self, session: object) -> Session | None:
        """The session that `session=` names, opened if it is an id."""
        if session is None or isinstance(session, Session):
            return session
        if isinstance(session, str):
            return self.open(session)
        raise TypeError(f"session is {session!r}; give a session id, a non-empty string, or what app.open() gave")

    def _make_session(self, id: str | None, user: str | None) -> Session:
        folder = self._folder
        if folder is None:
            return Session(id=id, user=user)
        signals = self._wiring.signals

        def scribe(session_id: str) -> Scribe:
            return Scribe(
                writer=folder.writer(session_id),
                session_id=session_id,
                version=VERSION,
                strict=self.settings.strict,
                keep_prompts=self.settings.capture_content != "NO_CONTENT",
                on_error=lambda error: signals.transcript_failed(error, conversation_id=id),
            )

        return Session(id=id, user=user, scribe=scribe)


def wrap(
    client: ClientT,
    *,
    hooks: Sequence[Callable[..., Any] | Hook] = (),
    session: Session | str | None = None,
    **settings: Any,
) -> ClientT:
    """Wrap one client in a middleware of its own: `wrap(OpenAI(), hooks_file="hooks.json", user="alice")`.

    Takes every setting by name; those not given come from the environment and the settings files.
    Raises `SettingsError`, `UnsupportedClient` and `recall_store.StoreError`.
    """
    return Middleware.from_settings(hooks=hooks, **settings).wrap(client, session=session)
