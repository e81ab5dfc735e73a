"""Providers of our own, when the application has none: OTLP, from the standard OTEL_* variables.

Nothing here is loaded until `configure()` is called: the gRPC exporter alone costs 150 ms.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from opentelemetry import _logs, metrics, trace

from ..forked import renew_in_child

if TYPE_CHECKING:
    from .providers import Providers

__all__ = ["configure", "flush", "shutdown"]

_EXIT_SECONDS: Final = 5.0
"""How long the end of a program waits for the last export; OpenTelemetry's own waits 10 s a signal, and retries."""

_log = logging.getLogger("firsthand")
_lock = threading.Lock()
_ours: Providers | None = None
_standby: _Standby | None = None
_ended: bool | None = None


class _Standby:
    """A thread that is there at the end of the program, when Python from 3.12 on starts none."""

    def __init__(self) -> None:
        self.renew()
        renew_in_child(self)

    def renew(self) -> None:
        """Stand by; in a child with a thread of its own."""
        self._asked: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._work, args=(self._asked,), name="firsthand-telemetry-end", daemon=True).start()

    def do(self, run: Callable[[], None]) -> None:
        """Have it done."""
        self._asked.put(run)

    @staticmethod
    def _work(asked: queue.SimpleQueue[Callable[[], None]]) -> None:
        while True:
            asked.get()()


def configure(*, service_name: str | None = None, protocol: str | None = None) -> None:
    """Export traces, metrics and logs over OTLP; a signal whose provider the application has set keeps it.

    `protocol` is `http/protobuf` or `grpc`; without it OTEL_EXPORTER_OTLP_<SIGNAL>_PROTOCOL, then
    OTEL_EXPORTER_OTLP_PROTOCOL, then `http/protobuf`. OTEL_<SIGNAL>_EXPORTER=none leaves that signal out,
    OTEL_SDK_DISABLED=true all of them. `service_name` wins over OTEL_SERVICE_NAME. A second call does nothing.
    What waits when the program ends is exported then, for 5 seconds at most. Raises `SettingsError` for another
    protocol or exporter, and for an HTTP endpoint that is no URL.
    """
    global _ours, _standby
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return
    with _lock:
        if _ours is not None:
            return
        from .providers import providers

        _ours = providers(
            service_name=service_name,
            protocol=protocol,
            traces=_unset(trace.get_tracer_provider()),
            metrics=_unset(metrics.get_meter_provider()),
            logs=_unset(_logs.get_logger_provider()),
        )
        # Metrics first: the counters of the others report to them.
        if _ours.metrics is not None:
            metrics.set_meter_provider(_ours.metrics)
        if _ours.traces is not None:
            trace.set_tracer_provider(_ours.traces)
        if _ours.logs is not None:
            _logs.set_logger_provider(_ours.logs)
        _standby = _Standby()
        atexit.register(_at_exit)


def flush(timeout: float = 10.0) -> bool:
    """Export what is waiting, the application's providers included; True when it was done in `timeout` seconds.

    False as well when something was lost since the last flush on its way to a server of `configure`; the
    application's providers do not tell what becomes of theirs. An exporter that hangs is left behind in its thread.
    """
    # Metrics last: they tell what the others lost.
    flushes = [
        force_flush
        for provider in (trace.get_tracer_provider(), _logs.get_logger_provider(), metrics.get_meter_provider())
        if callable(force_flush := getattr(provider, "force_flush", None))
    ]
    done: list[bool] = []

    def run() -> None:
        for force_flush in flushes:
            done.append(_flushed(force_flush))

    if not _within(timeout, run):
        return False
    lost = _ours.losses.taken() if _ours is not None else 0
    return all(done) and not lost


def shutdown(timeout: float = 10.0) -> bool:
    """Flush and stop the providers that `configure` made, within `timeout` seconds; the application's stay.

    False when that took longer, or something was lost since the last flush. Later calls do nothing, and answer
    what the first did.
    """
    global _ended
    with _lock:
        ours, ended = _ours, _ended
        if ours is not None and ended is None:
            _ended = False
    if ours is None or ended is not None:
        return ended is not False
    _ended = _within(timeout, ours.shutdown) and not ours.losses.taken()
    return _ended


def _at_exit() -> None:
    if _ended is None and _ours is not None and not shutdown(_EXIT_SECONDS):
        _log.warning(
            "telemetry: not all was delivered to %s before the program ended; start a collector there, set "
            "OTEL_EXPORTER_OTLP_ENDPOINT, or leave telemetry.configure() out",
            " or ".join(_ours.endpoints),
        )


def _flushed(force_flush: Callable[[], object]) -> bool:
    try:
        return force_flush() is not False
    except Exception as error:  # noqa: BLE001 - a provider of the application's may raise anything; others go on
        _log.warning("telemetry: a provider could not be flushed: %s; the log of its exporter says more", error)
        return False


def _unset(provider: object) -> bool:
    """True for the API's proxy, which stands for no provider; the API has no public way to ask."""
    return type(provider).__name__.lstrip("_").startswith("Proxy")


def _within(timeout: float, run: Callable[[], None]) -> bool:
    """Whether it was done in `timeout` seconds, by a thread that may go on afterwards."""
    done = threading.Event()

    def work() -> None:
        try:
            run()
        finally:
            done.set()

    try:
        threading.Thread(target=work, name="firsthand-telemetry-flush", daemon=True).start()
    except RuntimeError:
        if _standby is None:
            work()
        else:
            _standby.do(work)
    return done.wait(timeout)
