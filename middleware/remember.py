"""Auto-memory: after a settled turn, what its user wrote, or what a model makes of it, becomes a memory.

Only of a turn that carried a `Submission` with the person's words, in a session of an explicit user. Nothing of it is
on the caller's path: words are written in a thread of their own; a model is asked through the client as it was before
it was wrapped, in a thread for a sync client and on its own loop for an async one. Injected text is no memory: it is
neither asked about nor stored when a model says it again.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import re
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from recall_store import Record, ReservedTagError, SecretError, Store

from . import context
from .crew import asking, storing
from .facts import MAX_TOKENS, Fact, NoFactsError, facts_in, question_about
from .forked import renew_in_child
from .hooks import Answer, Ask, Question
from .parroted import Parroted, same_words
from .parts import Reply, is_blank, trim
from .session import Admitted, Session

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task

__all__ = ["Remember", "words_of"]

_MOST_CHARS: Final = 4_000
"""What is longer is a paste and nobody's own words."""
_MOST_WAITING: Final = 256
_MOST_ASKED: Final = 16
_MOST_INJECTED: Final = 64
_ASK_SECONDS: Final = 30.0
_EXIT_SECONDS: Final = 2.0
_COMMAND = re.compile(r"/[^\s/]+(?:\s|\Z)")
_PASTED = re.compile(r"\[Pasted Content \d+ chars\](?: #\d+)?")
_log = logging.getLogger("firsthand")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Turn:
    """What is kept of a settled turn until its memory is stored. `injected` are the bodies that the model was sent."""

    namespace: str
    words: str
    reply: str
    injected: tuple[str, ...]
    source: Mapping[str, Any]
    conversation_id: str | None


class Remember:
    """Makes memories of settled turns, in the background: `user` stores words, `model` facts.

    What waits is bounded: more is dropped, with one line in the log. `on_error` hears of every memory that was not
    stored, for telemetry. `flush` waits, `close` drops what has not begun.
    """

    def __init__(
        self, mode: Literal["user", "model"], store: Store, *, on_error: Callable[[BaseException, str | None], None]
    ) -> None:
        self._mode = mode
        self._store = store
        self._on_error = on_error
        self._closed = False
        self._said: set[str] = set()
        self._injected: weakref.WeakKeyDictionary[Session, deque[str]] = weakref.WeakKeyDictionary()
        self.renew()
        renew_in_child(self)
        _living.add(self)

    def renew(self) -> None:
        """Start with nothing waiting: what waits in a parent is the parent's to store; see `forked`."""
        self._change = threading.Condition()
        self._waiting: dict[_Turn, AbstractEventLoop | None] = {}
        self._tasks: set[Task[None]] = set()

    def settled(
        self,
        session: Session,
        admitted: Admitted,
        reply: Reply | None,
        *,
        namespace: str,
        ask: Ask | None = None,
        loop: AbstractEventLoop | None = None,
    ) -> None:
        """Remember a turn that was sent and answered; returns at once. `ask` is awaited on `loop`, if there is one."""
        injected = self._injected_in(session, admitted)
        words = words_of(admitted)
        if words is None or self._closed:
            return
        prompt_id = admitted.turn.scene.prompt_id or ""
        turn = _Turn(
            namespace=namespace,
            words=words,
            reply="\n".join(message.text for message in reply.messages) if reply is not None else "",
            injected=injected,
            source={"session": session.id, "record": prompt_id, "position": _position(prompt_id)},
            conversation_id=session.id if session.named else None,
        )
        if self._mode == "user":
            if self._takes(turn, None, _MOST_WAITING):
                self._hand_over(turn, storing.submit(self._store_words, turn))
        elif ask is not None and self._takes(turn, loop, _MOST_ASKED):
            if loop is None:
                self._hand_over(turn, asking.submit(self._learn, turn, ask))
            else:
                self._begin_on(loop, turn, ask)

    def flush(self, timeout: float) -> None:
        """Wait until what is heard so far is stored, at most `timeout` seconds.

        What is asked on the loop that runs in this very thread is not waited for: it could never end.
        """
        with self._change:
            self._change.wait_for(lambda: not self._others(), timeout)

    def close(self) -> None:
        """Take nothing more, and drop what has not begun or is still being asked."""
        self._closed = True
        for task in list(self._tasks):
            with contextlib.suppress(RuntimeError):
                task.get_loop().call_soon_threadsafe(task.cancel)

    def _injected_in(self, session: Session, admitted: Admitted) -> tuple[str, ...]:
        """What the model was sent beside people's words, in this request and in earlier ones of its session."""
        if self._mode != "model":
            return ()
        with self._change:
            kept = self._injected.setdefault(session, deque(maxlen=_MOST_INJECTED))
            for block in admitted.prepared.blocks.values():
                for body in (block.session, block.subagent, block.memory, block.hook):
                    if body and body not in kept:
                        kept.append(body)
            return tuple(kept)

    def _takes(self, turn: _Turn, loop: AbstractEventLoop | None, most: int) -> bool:
        with self._change:
            # A loop that was closed takes its work with it.
            for gone in [each for each, where in self._waiting.items() if where is not None and where.is_closed()]:
                del self._waiting[gone]
            if len(self._waiting) < most:
                self._waiting[turn] = loop
                return True
        self._warn("more turns than can be remembered at once; some are not")
        return False

    def _hand_over(self, turn: _Turn, future: Any) -> None:
        # A future that failed at once is one that no thread could be started for.
        future.add_done_callback(lambda done: self._ended(turn, done.exception()))

    def _begin_on(self, loop: AbstractEventLoop, turn: _Turn, ask: Ask) -> None:
        def begin() -> None:
            task = loop.create_task(self._learn_async(turn, ask))
            # A loop may be closed with it unfinished, which is what is meant by dropped and nothing to log.
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        try:
            loop.call_soon_threadsafe(begin)
        except RuntimeError:
            self._ended(turn, None)

    def _ended(self, turn: _Turn, error: BaseException | None) -> None:
        try:
            if error is not None and not self._closed:
                self._failed(turn, error)
        finally:
            with self._change:
                self._waiting.pop(turn, None)
                self._change.notify_all()

    def _failed(self, turn: _Turn, error: BaseException) -> None:
        self._on_error(error, turn.conversation_id)
        if not isinstance(error, (ReservedTagError, SecretError)):
            # Of other errors the name alone: their words may be the turn's.
            why = str(error) if isinstance(error, NoFactsError) else type(error).__name__
            self._warn(f"a turn cannot be remembered ({why})")

    def _warn(self, what: str) -> None:
        if what not in self._said:
            self._said.add(what)
            _log.warning("firsthand: %s; the calls are not affected (said once)", what)

    def _store_words(self, turn: _Turn) -> None:
        if not self._closed:
            with context.inside():
                self._store.upsert(
                    namespace=turn.namespace,
                    records=[Record(text=turn.words, type="user", author="user", source=turn.source)],
                )

    def _learn(self, turn: _Turn, ask: Ask) -> None:
        if self._closed:
            return
        with context.inside():
            question, parroted = _asked_about(turn)
            answer = cast(Answer, ask(question))
            self._keep(turn, parroted, answer)

    async def _learn_async(self, turn: _Turn, ask: Ask) -> None:
        import asyncio

        try:
            with context.inside():
                # Injected text may be long, and the loop is the caller's.
                question, parroted = await asyncio.wrap_future(asking.submit(_asked_about, turn))
                answer = await asyncio.wait_for(cast(Any, ask(question)), _ASK_SECONDS)
                await asyncio.wrap_future(storing.submit(self._keep, turn, parroted, answer))
        except Exception as error:  # noqa: BLE001  (nobody waits for it)
            self._ended(turn, error)
        finally:
            self._ended(turn, None)

    def _keep(self, turn: _Turn, parroted: Parroted, answer: Answer) -> None:
        """Store the facts that are new, one by one: what is wrong with one takes no other with it."""
        for fact in facts_in(answer.text):
            if self._closed:
                return
            try:
                if not parroted(fact.text) and not self._is_known(turn.namespace, fact.text):
                    self._store.upsert(namespace=turn.namespace, records=[_record(fact, turn, parroted)])
            except (ReservedTagError, SecretError) as refusal:
                self._failed(turn, refusal)

    def _is_known(self, namespace: str, text: str) -> bool:
        near = self._store.search(namespace=namespace, query=text, top_k=5)
        return any(same_words(match.record.text, text) for match in near)

    def _others(self) -> bool:
        """True while something waits that does not run on the loop of this thread."""
        import sys

        here = sys.modules["asyncio"]._get_running_loop() if "asyncio" in sys.modules else None
        return any(loop is None or (loop is not here and loop.is_running()) for loop in self._waiting.values())


def words_of(admitted: Admitted) -> str | None:
    """What its user wrote in a turn, as somebody vouched for it; None where there is nothing to remember.

    That is without a `Submission` that says so, for a paste of over 4,000 characters, for a command, and for nothing.
    """
    said = admitted.turn.submitted_prompt
    if said is None or len(said) > _MOST_CHARS:
        return None
    words = trim(said)
    if _COMMAND.match(words) or is_blank(_PASTED.sub("", words)):
        return None
    return words


def _asked_about(turn: _Turn) -> tuple[Question, Parroted]:
    parroted, today = Parroted(turn.injected, turn.words), datetime.now(UTC).date().isoformat()
    text = question_about(turn.words, parroted.without(turn.reply), today=today)
    return Question(text=text, max_tokens=MAX_TOKENS, timeout=_ASK_SECONDS), parroted


def _record(fact: Fact, turn: _Turn, parroted: Parroted) -> Record:
    name, description = ("" if parroted(line) else line for line in (fact.name, fact.description))
    return Record(
        text=fact.text, title=name, description=description, type=fact.type, author="assistant", source=turn.source
    )


def _position(prompt_id: str) -> int:
    number = prompt_id.rpartition("#")[2]
    return int(number) if number.isdigit() else 0


_living: weakref.WeakSet[Remember] = weakref.WeakSet()


@atexit.register
def _drain() -> None:
    """A program that ends after its last call has said something, too; models are not waited for."""
    until = time.monotonic() + _EXIT_SECONDS
    for one in list(_living):
        if one._mode == "user":
            one.flush(max(0.0, until - time.monotonic()))
