"""The traces of what a turn asks for on its way: a hook call, a recall."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import Token
from dataclasses import dataclass
from types import TracebackType
from typing import Literal

from opentelemetry import context as otel_context
from opentelemetry._logs import Logger, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from ..injection import Memory
from . import names
from .content import Attributes, Writer
from .guard import attempt, guarded, report
from .labels import error_type, short, without_secrets
from .limits import length_limit
from .metrics import Instruments
from .options import Options

__all__ = ["Current", "HookTrace", "Outlets", "RecallTrace"]

FAILED = Status(StatusCode.ERROR)
"""No description: it would be the exception's message, which may quote the prompt."""

DROPPED: Attributes = {names.CONTENT_DROPPED: True}
"""In the place of content that could not be redacted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlets:
    """Where telemetry goes and what may go there; `writer` is None when no content may."""

    tracer: Tracer
    logger: Logger
    instruments: Instruments
    options: Options
    writer: Writer | None


class Current:
    """Makes a span the current one within a `with`, in the frame that entered it; inert for an invalid span.

    `ready` is a context that holds the span already, made from the context `base`: it serves where that is current.
    """

    __slots__ = ("_base", "_ready", "_span", "_token")

    def __init__(self, span: Span, base: Context | None = None, ready: Context | None = None) -> None:
        self._span, self._base, self._ready = span, base, ready
        self._token: Token[Context] | None = None

    def __enter__(self) -> None:
        try:
            if self._ready is not None and otel_context.get_current() is self._base:
                self._token = otel_context.attach(self._ready)
            elif self._span.get_span_context().is_valid:
                self._token = otel_context.attach(set_span_in_context(self._span))
        except Exception as error:  # noqa: BLE001  (a context of the application's may raise anything)
            report("Current.enter", error)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        token, self._token = self._token, None
        if token is not None:
            try:
                otel_context.detach(token)
            except Exception as failed:  # noqa: BLE001  (as above)
                report("Current.exit", failed)


class HookTrace:
    """One hook call: a span, a log event, a duration. Metadata only; the error's text needs content capture."""

    __slots__ = ("_attributes", "_context", "_outlets", "_pending", "_span")

    def __init__(self, outlets: Outlets, parent: Context, *, event: str, type: str, label: str) -> None:
        self._outlets = outlets
        self._context = parent
        self._span: Span = INVALID_SPAN
        self._pending = [None]
        self._attributes: Attributes = {}
        self._start(event, type, label)

    @guarded
    def _start(self, event: str, kind: str, label: str) -> None:
        name = short(label, 128)
        self._attributes = {
            names.HOOK_EVENT: short(event, 64),
            names.HOOK_TYPE: short(kind, 64),
            names.HOOK_NAME: name,
        }
        self._span = self._outlets.tracer.start_span(
            f"{names.SPAN_HOOK} {name}", context=self._context, attributes=self._attributes
        )
        self._context = set_span_in_context(self._span, self._context)

    def current(self) -> Current:
        """Make the span current, in the caller's frame only."""
        return Current(self._span)

    @guarded
    def finish(
        self,
        *,
        outcome: str,
        success: bool,
        duration_ms: float,
        exit_code: int | None = None,
        output_chars: int = 0,
        error: str | None = None,
    ) -> None:
        """End it, once; `duration_ms` in milliseconds, `error` is exported with content capture only."""
        if not self._pending:
            return
        self._pending.clear()
        try:
            self._finish(short(outcome, 64), success, duration_ms, exit_code, output_chars, error)
        finally:
            self._span.end()

    def _finish(
        self, outcome: str, success: bool, duration_ms: float, exit_code: int | None, chars: int, error: str | None
    ) -> None:
        outlets = self._outlets
        found: Attributes = {
            names.HOOK_OUTCOME: outcome,
            names.HOOK_SUCCESS: success,
            names.HOOK_DURATION_MS: duration_ms,
            names.HOOK_OUTPUT_CHARS: chars,
        }
        if exit_code is not None:
            found[names.HOOK_EXIT_CODE] = exit_code
        text: Attributes = {}
        writer = outlets.writer
        if error and writer is not None and outlets.options.capture != "NO_CONTENT":
            text = attempt("HookTrace.error", lambda: {names.HOOK_ERROR: writer.text(error)}, DROPPED)
        if self._span.is_recording():
            self._span.set_attributes({**found, **text} if outlets.options.on_span else found)
            if not success:
                self._span.set_status(FAILED)
        outlets.logger.emit(
            event_name=names.EVENT_HOOK_CALL,
            severity_number=SeverityNumber.INFO if success else SeverityNumber.WARN,
            context=self._context,
            attributes={**self._attributes, **found, **(text if outlets.options.on_event else {})},
        )
        labels = {
            names.LABEL_EVENT: self._attributes.get(names.HOOK_EVENT, ""),
            names.LABEL_TYPE: self._attributes.get(names.HOOK_TYPE, ""),
            names.LABEL_OUTCOME: outcome,
        }
        outlets.instruments.hook_duration.record(duration_ms / 1000, labels, self._context)


class RecallTrace:
    """One recall: a `search_memory` span, its duration and how many memories came."""

    __slots__ = ("_context", "_outlets", "_pending", "_span")

    def __init__(self, outlets: Outlets, parent: Context, *, store_id: str, remote: bool) -> None:
        self._outlets = outlets
        self._context = parent
        self._span: Span = INVALID_SPAN
        self._pending = [None]
        self._start(store_id, remote)

    @guarded
    def _start(self, store_id: str, remote: bool) -> None:
        self._span = self._outlets.tracer.start_span(
            names.SPAN_RECALL,
            context=self._context,
            kind=SpanKind.CLIENT if remote else SpanKind.INTERNAL,
            attributes={names.OPERATION: names.SPAN_RECALL, names.MEMORY_STORE_ID: without_secrets(store_id)},
        )
        self._context = set_span_in_context(self._span, self._context)

    def current(self) -> Current:
        """Make the span current, so that a remote embedder's or store's spans are its children."""
        return Current(self._span)

    @guarded
    def finish(
        self,
        *,
        outcome: Literal["ok", "timeout", "error"],
        matches: Sequence[Memory] = (),
        found: int | None = None,
        query: str | None = None,
        error: BaseException | None = None,
        duration_s: float,
    ) -> None:
        """End it, once. The query, and the ids and scores of `matches`, need content capture.

        `matches` are the memories to be sent; `found` counts beside them those that the request holds already, None
        for none.
        """
        if not self._pending:
            return
        self._pending.clear()
        found = len(matches) if found is None else found
        try:
            if self._span.is_recording():
                self._span.set_attributes(self._attributes(outcome, matches, found, query, error))
                if outcome != "ok":
                    self._span.set_status(FAILED)
            labels = {names.LABEL_OUTCOME: outcome}
            self._outlets.instruments.recall_duration.record(duration_s, labels, self._context)
            if outcome == "ok":
                self._outlets.instruments.recall_matches.record(found, None, self._context)
        finally:
            self._span.end()

    def _attributes(
        self, outcome: str, matches: Sequence[Memory], found: int, query: str | None, error: BaseException | None
    ) -> Attributes:
        told: Attributes = {names.MEMORY_RECORD_COUNT: len(matches), names.RECALL_OUTCOME: outcome}
        if outcome == "ok":
            told[names.RECALL_FOUND] = found
        else:
            told[names.ERROR_TYPE] = outcome if error is None else error_type(error)
        writer = self._outlets.writer
        if writer is not None and self._outlets.options.on_span:
            within = writer.within(length_limit(self._span, None))
            told |= attempt("RecallTrace.content", lambda: _opted_in(within, matches, query), DROPPED)
        return told


def _opted_in(writer: Writer, matches: Sequence[Memory], query: str | None) -> Attributes:
    found: Attributes = {names.MEMORY_RECORDS: writer.of_matches(matches)}
    if query is not None:
        found[names.MEMORY_QUERY_TEXT] = writer.text(query)
    return found
