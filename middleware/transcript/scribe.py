"""What is written down of a turn: its user message, its tool results, its reply, or that it was blocked."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeAlias

import msgspec

from .. import records
from ..errors import HookBlocked, TranscriptError
from ..parts import Message, Part, Reply, clean
from ..provenance import Origin
from ..turn import Opened, Prepared, Scene, Turn
from .given import given_call, given_message, given_result
from .listing import beginning, user_of
from .live import load
from .writer import TranscriptWriter

__all__ = ["Scribe", "TraceIds"]

TraceIds: TypeAlias = tuple[str | None, str | None]
"""Hex ids of the trace and the turn span, so that a line and a span find each other."""

_KEPT_NAMES = 256
_ALWAYS_DISPLAYED = (Origin.CRON, Origin.NOTIFICATION, Origin.TEAMMATE, Origin.STEER)
"""What these say to a person is in their records as the reference has it, whether anything was injected or not."""

_log = logging.getLogger("firsthand")


@dataclass(slots=True, kw_only=True)
class Scribe:
    """Writes the records of one session.

    A failure to write is reported once, as a warning and in `error`, and the turn goes on; with `strict` it
    raises `TranscriptError`. `keep_prompts` lets the record of a blocked prompt hold its text (D9). `user` is whose
    session it is, for each record to say. `on_error` is told of the failure that is reported. `asked` is the uuid of
    the record that began the last turn, None when there was none or it could not be written.
    """

    writer: TranscriptWriter
    session_id: str
    version: str
    strict: bool = False
    keep_prompts: bool = False
    user: str | None = None
    on_error: Callable[[Exception], None] | None = None
    error: Exception | None = None
    asked: str | None = None
    _looked: bool = False
    _refused: TranscriptError | None = None
    _names: dict[str, str] = field(default_factory=dict)
    _unanswered: set[str] = field(default_factory=set)

    def owner(self) -> str | None:
        """Whose session it is by the beginning of its transcript; None where that does not say."""
        return user_of(beginning(self.writer.path)[0])

    def is_behind(self) -> bool:
        """True when the transcript holds something that `told_by_others` has not given yet."""
        try:
            return not self._looked or self.writer.grew()
        except OSError as error:
            self._failed(error)
            return False

    def told_by_others(self) -> Iterator[records.Record]:
        """What an earlier process, or another worker since the last look, wrote; oldest first.

        The first time it is the live branch of the whole file, read while it is asked for.
        """
        first, self._looked = not self._looked, True
        try:
            told = self.writer.catch_up()
            yield from told if not first else self._branch()
        except (OSError, TranscriptError) as error:
            self._failed(error)

    def _branch(self) -> Iterable[records.Record]:
        """The live branch of the file; one that is not this session's own transcript is not written into."""
        if not self.writer.path.exists():
            return ()
        try:
            branch = load(self.writer.path)
            held = next((id for record in branch if isinstance(id := record.get("sessionId"), str)), None)
            if held not in (None, clean(self.session_id)):
                raise TranscriptError(f"it holds the session {held!r}; move it out of the way")
        except TranscriptError as error:
            self._refused = error
            raise
        self.writer.hang_from(branch.leaf, branch.size)
        return branch

    def opened(self, opened: Opened, scene: Scene, ids: TraceIds, *, parent: str | None) -> None:
        """Write what a session's start brought: its parent, and the context in its system instruction."""
        if parent is not None:
            self._append(scene, ids, lambda stamp: records.parent_session_record(stamp=stamp, parent=parent))
        body = opened.instruction.session
        if body:
            self._append(scene, ids, lambda stamp: records.session_start_record(stamp=stamp, context=body))

    def turn(self, turn: Turn, prepared: Prepared, ids: TraceIds) -> None:
        """Write an admitted turn's message before it is sent; a retry was written when it was first admitted."""
        request, current = turn.request, turn.request.current
        if current is None or turn.origin is Origin.RETRY:
            return
        if request.tool_result:
            self._tool_results(turn, prepared, ids)
            return
        self._results_before(turn, current, ids)
        message, block = request.messages[current], prepared.block
        display = turn.submitted_prompt if turn.submitted_prompt is not None else message.text
        payload = records.display_payload(display, block) if turn.origin is not Origin.HOOK else None
        if payload is None and turn.origin in _ALWAYS_DISPLAYED:
            payload = {"displayText": clean(display)}
        parts = records.record_parts(message, block)
        wire = given_message(message, parts, request.shape)
        written = self._append(
            turn.scene,
            ids,
            lambda stamp: records.user_record(stamp=stamp, parts=parts, payload=payload, origin=turn.origin, wire=wire),
        )
        if written is None or "subtype" not in written:
            self.asked = written["uuid"] if written is not None else None

    def rewound(self, parent: str | None, truncated: int, scene: Scene) -> bool:
        """Write that what is after the record `parent` was taken back; False when it could not be written."""
        written = self._append(
            scene,
            (None, None),
            lambda stamp: records.rewind_record(stamp=replace(stamp, parent=parent), truncated=truncated),
        )
        return written is not None

    def blocked(self, blocked: HookBlocked, scene: Scene, ids: TraceIds) -> None:
        """Write that a hook refused the prompt."""
        prompt = blocked.prompt if self.keep_prompts else None
        self._append(
            scene,
            ids,
            lambda stamp: records.blocked_record(stamp=stamp, hook=blocked.hook, reason=blocked.reason, prompt=prompt),
        )

    def reply(self, reply: Reply, scene: Scene, ids: TraceIds, *, shape: str = "") -> None:
        """Write what came back, one record a choice that says anything, after what was said on the way to it.

        `shape` is that of the request.
        """
        for message in reply.before:
            if message.role == "assistant":
                self._assistant(message, Reply(model=reply.model), scene, ids, shape)
                continue
            for part in message.parts:
                if part.kind == "tool_response":
                    self._tool_result(part, Message(role="tool", parts=(part,)), None, scene, ids, shape)
        for message in reply.messages:
            if message.parts:
                self._assistant(message, reply, scene, ids, shape)

    def _assistant(self, message: Message, reply: Reply, scene: Scene, ids: TraceIds, shape: str) -> None:
        parts = records.record_parts(message, None)
        wire = given_call(message, parts, shape)
        for part in message.parts:
            if part.kind == "tool_call":
                self._names[part.id] = part.name
                self._unanswered.add(part.id)
        for oldest in list(self._names)[:-_KEPT_NAMES]:
            del self._names[oldest]
            self._unanswered.discard(oldest)
        self._append(
            scene,
            ids,
            lambda stamp: records.assistant_record(
                stamp=stamp, parts=parts, model=reply.model, usage=reply.usage, wire=wire
            ),
        )

    def _results_before(self, turn: Turn, current: int, ids: TraceIds) -> None:
        """Write the results that go out together with what a person says after them: steering, or after a cancel."""
        messages = turn.request.messages
        start = current
        while start > 0 and messages[start - 1].role == "tool":
            start -= 1
        for message in messages[start:current]:
            for part in message.parts:
                if part.kind == "tool_response" and part.id in self._unanswered:
                    part = self._named(part)
                    held = Message(role="tool", parts=(part,), echoed=message.echoed)
                    self._tool_result(part, held, None, turn.scene, ids, turn.request.shape)

    def _tool_results(self, turn: Turn, prepared: Prepared, ids: TraceIds) -> None:
        shape, messages = turn.request.shape, turn.request.tool_group()
        group = [self._named(part) for message in messages for part in message.parts]
        responses = [part for part in group if part.kind == "tool_response"]
        others = [part for part in group if part.kind != "tool_response"]
        # Where each result is a message of its own, it may hold our part that an application sent back.
        echoed = {id(part.raw): message.echoed for message in messages for part in message.parts}
        for part in responses[:-1]:
            message = Message(role="tool", parts=(part,), echoed=echoed[id(part.raw)])
            self._tool_result(part, message, None, turn.scene, ids, shape)
        # The block belongs to the send, which several results share: it stays on the last of them (D8).
        last = Message(role="tool", parts=(responses[-1], *others), echoed=echoed[id(responses[-1].raw)])
        self._tool_result(responses[-1], last, prepared, turn.scene, ids, shape)

    def _named(self, part: Part) -> Part:
        # Where the provider keeps the history, a request holds the result of a call without the call and its name.
        if part.kind != "tool_response" or part.name or part.id not in self._names:
            return part
        return msgspec.structs.replace(part, name=self._names[part.id])

    def _tool_result(
        self, part: Part, message: Message, prepared: Prepared | None, scene: Scene, ids: TraceIds, shape: str
    ) -> None:
        parts = records.record_parts(message, prepared.block if prepared is not None else None)
        wire = given_result(part, message, parts, shape)
        result = {"callId": part.id, "status": "success"}
        self._unanswered.discard(part.id)
        self._append(
            scene,
            ids,
            lambda stamp: records.tool_result_record(stamp=stamp, parts=parts, tool_call_result=result, wire=wire),
        )

    def _append(
        self, scene: Scene, ids: TraceIds, build: Callable[[records.Stamp], records.Record]
    ) -> records.Record | None:
        """Write a record, and answer it; None when it could not be written."""
        writer = self.writer
        if self._refused is not None:
            self._failed(self._refused)
            return None
        try:
            with writer.exclusive():
                stamp = records.Stamp(
                    uuid=str(uuid.UUID(bytes=os.urandom(16), version=4)),
                    parent=writer.tail,
                    session_id=self.session_id,
                    timestamp=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                    cwd=scene.cwd,
                    version=self.version,
                    prompt_id=scene.prompt_id,
                    trace_id=ids[0],
                    span_id=ids[1],
                    user=self.user,
                )
                record = build(stamp)
                writer.append(record)
                return record
        except Exception as error:  # noqa: BLE001  (a disk, or a value that no JSON can hold: the turn goes on)
            self._failed(error)
            return None

    def _failed(self, error: Exception) -> None:
        path, first, self.error = self.writer.path, self.error is None, error
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        if first and self.on_error is not None:
            self.on_error(error)
        if self.strict:
            raise TranscriptError(f"transcript {path} cannot be written: {why}") from error
        if first:
            _log.warning(
                "firsthand: transcript %s cannot be written: %s; the conversation goes on without it", path, why
            )
