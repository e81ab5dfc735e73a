"""The trace of one turn: the `firsthand.turn` span, the `chat` span in it, and their settlement, exactly once."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager
from time import perf_counter

from opentelemetry._logs import SeverityNumber
from opentelemetry.context import Context
from opentelemetry.trace import (
    INVALID_SPAN,
    Span,
    SpanKind,
    format_span_id,
    format_trace_id,
    set_span_in_context,
)

from ..injection import Block
from ..parts import Reply, Request
from ..provenance import Origin
from ..turn import Outcome
from . import names
from .calls import DROPPED, FAILED, Current, HookTrace, Outlets, RecallTrace
from .coexist import outer_context
from .content import Attributes
from .guard import guarded, report
from .injected import metadata, sizes, suspected, too_long
from .labels import error_type, short
from .limits import length_limit
from .requests import call_labels, request_attributes, response_attributes, token_counts

__all__ = ["TurnTrace"]

_log = logging.getLogger("middleware.telemetry")


class TurnTrace:
    """One turn's spans. No method raises; after `settle` none does anything."""

    __slots__ = ("_around", "_chat", "_chat_context", "_context", "_conversation", "_first", "_labels", "_origin",
                 "_outlets", "_pending", "_request", "_span", "_started")  # fmt: skip

    def __init__(self, outlets: Outlets, *, conversation_id: str | None, origin: Origin | None) -> None:
        self._outlets = outlets
        self._conversation = conversation_id
        self._pending = [None]
        self._origin: Origin | None = None
        self._span: Span = INVALID_SPAN
        self._chat: Span | None = None
        self._context: Context = outer_context()
        self._around = self._context
        self._chat_context = self._context
        self._request: Request | None = None
        self._labels: Attributes = {}
        self._started: float | None = None
        self._first: float | None = None
        if origin is not None:
            self._start(origin)

    @guarded
    def _start(self, origin: Origin) -> None:
        self._origin = origin
        attributes: Attributes = {names.TURN_ORIGIN: origin.value}
        if self._conversation:
            self._conversation = attributes[names.CONVERSATION_ID] = short(self._conversation)
        self._span = self._outlets.tracer.start_span(names.SPAN_TURN, context=self._context, attributes=attributes)
        self._context = self._chat_context = set_span_in_context(self._span, self._context)

    @property
    def ids(self) -> tuple[str | None, str | None]:
        """The ids of the trace and of the turn's span, 32 and 16 hexadecimal digits; None when they are not valid."""
        found = self._span.get_span_context()
        return (format_trace_id(found.trace_id), format_span_id(found.span_id)) if found.is_valid else (None, None)

    def start_hook(self, *, event: str, type: str, label: str) -> HookTrace:
        """Start a hook call's span, child of the turn; `label` is never a command line (`hook_label`)."""
        return HookTrace(self._outlets, self._context, event=event, type=type, label=label)

    def start_recall(self, *, store_id: str, remote: bool) -> RecallTrace:
        """Start a recall's span, child of the turn; a `store_id` that is a URL loses its password and query."""
        return RecallTrace(self._outlets, self._context, store_id=store_id, remote=remote)

    @guarded
    def start_call(
        self, request: Request, *, operation: str, provider: str, server_address: str | None, server_port: int | None
    ) -> None:
        """Start the model call's span, CLIENT, child of the turn, with what samplers look at."""
        if self._chat is not None or not self._pending:
            return
        self._request = request
        name, labels = call_labels(operation, provider, str(request.model or ""), server_address, server_port)
        self._labels = labels
        self._started = perf_counter()
        self._chat = self._outlets.tracer.start_span(
            name,
            context=self._context,
            kind=SpanKind.CLIENT,
            attributes=request_attributes(request, labels, self._conversation),
        )
        self._chat_context = set_span_in_context(self._chat, self._context)

    def current(self) -> AbstractContextManager[None]:
        """Make the chat span (before `start_call`, the turn span) current around the SDK call.

        Enter and leave it in one frame; never hold it open across a `yield`.
        """
        if self._chat is None:
            return Current(self._span)
        # Of a span that is valid the context is there already.
        ready = self._chat_context if self._chat.is_recording() else None
        return Current(self._chat, self._around, ready)

    def first_chunk(self) -> None:
        """Note the first streamed chunk; later calls do nothing."""
        if self._first is None and self._started is not None:
            self._first = perf_counter() - self._started

    @guarded
    def settle(
        self,
        *,
        outcome: Outcome,
        request: Request | None,
        reply: Reply | None,
        error: BaseException | None,
        block: Block | None,
        blocks: Mapping[int, Block],
        origin: Origin | None,
        submitted_prompt: str | None,
        ended_early: bool,
    ) -> None:
        """End both spans and count the turn; the first call counts, whichever thread makes it.

        `blocks` are all that the request carries, `block` is the one made for this turn. `origin` is None for a call
        that is no turn.
        """
        try:
            self._pending.pop()
        except IndexError:
            return
        request = request if request is not None else self._request
        chat = self._chat
        try:
            found: Attributes = metadata(blocks)
            if origin is not None:
                found[names.TURN_OUTCOME] = outcome
                if origin is not self._origin:
                    found[names.TURN_ORIGIN] = origin.value
            if error is not None and outcome != "blocked":
                found[names.ERROR_TYPE] = error_type(error)
                if suspected(error, found):
                    found[names.INJECTION_SUSPECTED] = True
                    if too_long(error):
                        self._hint(found)
            elif reply is not None and reply.error:
                found[names.ERROR_TYPE] = short(reply.error)
            failed = names.ERROR_TYPE in found
            for name, value in found.items():
                self._span.set_attribute(name, value)
            if failed:
                self._span.set_status(FAILED)
            if chat is not None:
                if origin is not None:
                    found[names.TURN_ORIGIN] = origin.value
                broken = ended_early or outcome in ("error", "cancelled")
                response = response_attributes(reply, broken=broken, first_chunk=self._first)
                self._settle_chat(chat, {**found, **response}, request, reply, blocks, submitted_prompt)
                if failed and chat.is_recording():
                    chat.set_status(FAILED)
            self._count(outcome, origin, request, reply, found.get(names.ERROR_TYPE), block)
        finally:
            if chat is not None:
                chat.end()
            self._span.end()

    def _settle_chat(
        self,
        chat: Span,
        found: Attributes,
        request: Request | None,
        reply: Reply | None,
        blocks: Mapping[int, Block],
        submitted_prompt: str | None,
    ) -> None:
        options = self._outlets.options
        recording = chat.is_recording()
        evented = options.on_event and self._outlets.logger.enabled(
            context=self._chat_context, severity_number=SeverityNumber.INFO, event_name=names.EVENT_INFERENCE
        )
        content: Attributes = {}
        if evented or (recording and (options.on_span or options.capture_injected)):
            try:
                content = self._content(request, reply, blocks, submitted_prompt)
            except Exception as error:  # noqa: BLE001  (what redacts is the application's, and may raise anything)
                report("TurnTrace.content", error)
                content = DROPPED
        if recording:
            chat.set_attributes({**found, **content} if options.capture != "EVENT_ONLY" else found)
        if evented:
            self._outlets.logger.emit(
                event_name=names.EVENT_INFERENCE,
                severity_number=SeverityNumber.INFO,
                context=self._chat_context,
                attributes={**self._labels, **found, **content},
            )

    def _content(
        self, request: Request | None, reply: Reply | None, blocks: Mapping[int, Block], submitted_prompt: str | None
    ) -> Attributes:
        options, writer = self._outlets.options, self._outlets.writer
        if writer is None or self._chat is None:
            return {}
        writer = writer.within(length_limit(self._chat, self._outlets.logger if options.on_event else None))
        content: Attributes = {}
        if options.capture != "NO_CONTENT":
            content = writer.of_call(request, reply, submitted_prompt)
        if options.capture_injected and blocks:
            content[names.INJECTION_MESSAGES] = writer.of_injection(blocks)
        return content

    def _count(
        self,
        outcome: Outcome,
        origin: Origin | None,
        request: Request | None,
        reply: Reply | None,
        error: object,
        block: Block | None,
    ) -> None:
        meters, context = self._outlets.instruments, self._chat_context
        if meters.idle:
            return
        if self._started is not None:
            elapsed = perf_counter() - self._started
            labels = {**self._labels}
            if reply is not None and reply.model:
                labels[names.RESPONSE_MODEL] = short(reply.model)
            if reply is not None:
                for kind, count in token_counts(reply.usage):
                    meters.tokens.record(count, {**labels, names.LABEL_TOKEN_TYPE: kind}, context)
            if isinstance(error, str):
                labels[names.ERROR_TYPE] = error
            meters.duration.record(elapsed, labels, context)
            if self._first is not None:
                meters.first_chunk.record(self._first, labels, context)
        if origin is None:
            return
        meters.turns.add(1, {names.LABEL_ORIGIN: origin.value, names.LABEL_OUTCOME: outcome}, context)
        if request is not None and request.current is not None and not request.tool_result:
            meters.input_size.record(len(request.pre_injection_text()), None, context)
        if block:
            for source, chars in sizes(block):
                meters.injection_size.record(chars, {names.LABEL_SOURCE: source}, context)

    def _hint(self, found: Attributes) -> None:
        _log.warning(
            "firsthand: model call failed with %s after %s characters were injected; if it is too long, lower "
            "max_context_chars or recall_top_k",
            found[names.ERROR_TYPE],
            found[names.INJECTION_CHARS],
        )
