"""What our exporters log of one export: what was given up, with its reason, and not every attempt before that.

OpenTelemetry's say each attempt at WARNING, in loggers that exporters of the application share: only what is said
within `attempts` is held back.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["attempts", "hold_back"]


class _Export(threading.local):
    """The export that this thread is in; `reason` of its last attempt that failed."""

    ours = False
    reason = ""


_export = _Export()


@contextmanager
def attempts() -> Iterator[None]:
    """Mark the block as one export of ours."""
    _export.ours, _export.reason = True, ""
    try:
        yield
    finally:
        _export.ours = False


def hold_back(name: str) -> None:
    """Hold back the attempts of our exports in the logger `name`; at DEBUG they are all there. Twice is once."""
    logging.getLogger(name).addFilter(_is_said)


def _is_said(record: logging.LogRecord) -> bool:
    if not _export.ours or logging.getLogger(record.name).isEnabledFor(logging.DEBUG):
        return True
    text = str(record.msg)
    if text.startswith("Transient error"):
        _export.reason = str(record.args[0]) if isinstance(record.args, tuple) and record.args else ""
        return False
    if _export.reason and text.startswith("Failed to export"):
        # Of a server that is not there the exporter's last word names no reason; its attempts did.
        record.msg, record.args = f"{record.getMessage()} The reason: {_export.reason}", ()
    return True
