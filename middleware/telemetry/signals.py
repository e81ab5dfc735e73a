"""Where a turn's telemetry begins: providers, instruments and options, put together once for a process."""

from __future__ import annotations

import errno
from collections.abc import Callable

from opentelemetry import _logs, metrics, trace
from opentelemetry._logs import LoggerProvider, SeverityNumber
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from ..provenance import Origin
from . import names
from .calls import Outlets
from .content import Writer
from .guard import attempt, guarded
from .labels import error_type
from .metrics import instruments
from .options import Options
from .redaction import redactor
from .turns import TurnTrace

__all__ = ["Signals"]


class Signals:
    """Spans, metrics and log events of model calls.

    Providers default to the application's global ones. They may be set later: until then the API's proxies do
    nothing, afterwards they are the real ones.
    """

    __slots__ = ("_outlets",)

    def __init__(
        self,
        options: Options,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
    ) -> None:
        release = _version()
        self._outlets = Outlets(
            tracer=trace.get_tracer(names.SCOPE, release, tracer_provider),
            logger=_logs.get_logger(names.SCOPE, release, logger_provider),
            instruments=instruments(metrics.get_meter(names.SCOPE, release, meter_provider)),
            options=options,
            writer=_writer(options),
        )

    def start_turn(self, *, conversation_id: str | None, origin: Origin) -> TurnTrace:
        """Start the `firsthand.turn` span, child of the span that is current now.

        `conversation_id` is None unless the session was named: an id that we made up is not exported.
        """
        return TurnTrace(self._outlets, conversation_id=conversation_id, origin=origin)

    def start_alone(self, *, conversation_id: str | None = None) -> TurnTrace:
        """Begin the trace of a model call that is no turn: an embedding, a title. It has its own span only."""
        return TurnTrace(self._outlets, conversation_id=conversation_id, origin=None)

    @guarded
    def transcript_failed(self, error: BaseException, *, conversation_id: str | None = None) -> None:
        """Tell that a session's transcript cannot be written: a log event, with the system's name for the error."""
        code = errno.errorcode.get(error.errno or 0) if isinstance(error, OSError) else None
        attributes = {names.ERROR_TYPE: code or error_type(error)}
        if conversation_id is not None:
            attributes[names.CONVERSATION_ID] = conversation_id
        self._outlets.logger.emit(
            event_name=names.EVENT_TRANSCRIPT_ERROR, severity_number=SeverityNumber.WARN, attributes=attributes
        )

    @guarded
    def remember_failed(self, error: BaseException, conversation_id: str | None = None) -> None:
        """Tell that a settled turn, or a fact of it, could not become a memory: a log event, with the error's type."""
        attributes = {names.ERROR_TYPE: error_type(error)}
        if conversation_id is not None:
            attributes[names.CONVERSATION_ID] = conversation_id
        self._outlets.logger.emit(
            event_name=names.EVENT_REMEMBER_ERROR, severity_number=SeverityNumber.WARN, attributes=attributes
        )


def _writer(options: Options) -> Writer | None:
    if options.capture == "NO_CONTENT" and not options.capture_injected:
        return None
    refuse: Callable[[str], str] = _refuse
    redact = attempt("redaction", lambda: redactor(options.redact), refuse)
    return Writer(limit=options.max_attribute_chars, redact=redact)


def _refuse(text: str) -> str:
    raise ValueError("the redaction rules could not be loaded: content is not exported")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("firsthand")
    except PackageNotFoundError:
        return ""
