"""Providers of our own, when the application has none: OTLP, from the standard OTEL_* variables.

Nothing here is loaded until `configure()` is called: the gRPC exporter alone costs 150 ms.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from opentelemetry import _logs, metrics, trace

if TYPE_CHECKING:
    from .providers import Providers

__all__ = ["configure", "flush", "shutdown"]

_lock = threading.Lock()
_ours: Providers | None = None


def configure(*, service_name: str | None = None, protocol: str | None = None) -> None:
    """Export traces, metrics and logs over OTLP; a signal whose provider the application has set keeps it.

    `protocol` is `http/protobuf` or `grpc`; without it OTEL_EXPORTER_OTLP_<SIGNAL>_PROTOCOL, then
    OTEL_EXPORTER_OTLP_PROTOCOL, then `http/protobuf`. OTEL_<SIGNAL>_EXPORTER=none leaves that signal out,
    OTEL_SDK_DISABLED=true all of them. `service_name` wins over OTEL_SERVICE_NAME. A second call does nothing.
    Raises `SettingsError` for another protocol or exporter.
    """
    global _ours
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


def flush(timeout: float = 10.0) -> bool:
    """Export what is waiting, the application's providers included; True when all was done in `timeout` seconds.

    An exporter that hangs is left behind in its thread.
    """
    flushes = [
        force_flush
        for provider in (trace.get_tracer_provider(), metrics.get_meter_provider(), _logs.get_logger_provider())
        if callable(force_flush := getattr(provider, "force_flush", None))
    ]
    done: list[bool] = []

    def run() -> None:
        done.extend(force_flush() is not False for force_flush in flushes)

    return _within(timeout, run) and all(done) and len(done) == len(flushes)


def shutdown(timeout: float = 10.0) -> bool:
    """Flush and stop the providers that `configure` made, within `timeout` seconds; the application's stay."""
    with _lock:
        ours = _ours
    if ours is None:
        return True
    return _within(timeout, ours.shutdown)


def _unset(provider: object) -> bool:
    """True for the API's proxy, which stands for no provider; the API has no public way to ask."""
    return type(provider).__name__.lstrip("_").startswith("Proxy")


def _within(timeout: float, run: Callable[[], None]) -> bool:
    thread = threading.Thread(target=run, name="firsthand-telemetry-flush", daemon=True)
    thread.start()
    thread.join(timeout)
    return not thread.is_alive()
