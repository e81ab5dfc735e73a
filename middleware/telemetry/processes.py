"""What a forked worker needs to export for itself: an exporter of its own, and locks that nobody holds."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, TypeVar

from opentelemetry.sdk.metrics.export import MetricExporter, PeriodicExportingMetricReader

from ..forked import renew_in_child

__all__ = ["ForkLock", "Own", "Reader"]

ExporterT = TypeVar("ExporterT")

_PATIENCE = 0.5
"""Seconds that a fork waits for an exporter at most; one that hangs must not hang its program."""


class ForkLock:
    """A lock that forks wait for, so that no child begins in the middle of what it guards."""

    def __init__(self) -> None:
        self._held_for_fork = False
        self.renew()
        renew_in_child(self)
        weak = weakref.WeakMethod(self._before), weakref.WeakMethod(self._after)
        # Windows has no forks.
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=lambda: (call := weak[0]()) and call(), after_in_parent=lambda: (call := weak[1]()) and call()
            )

    def renew(self) -> None:
        """Be free, in a child."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def _before(self) -> None:
        self._held_for_fork = self._lock.acquire(timeout=_PATIENCE)

    def _after(self) -> None:
        if self._held_for_fork:
            self._lock.release()


class Own(Generic[ExporterT]):
    """An exporter, made anew in a child: a connection is of one process, and so are its locks."""

    def __init__(self, make: Callable[[], ExporterT]) -> None:
        self.exporting = ForkLock()
        self._make = make
        self._made: ExporterT | None = make()
        self._parents: list[object] = []
        renew_in_child(self)

    def renew(self) -> None:
        """Let go of the parent's exporter, without closing it: its connection is still in use there."""
        self._parents.append(self._made)
        self._made = None

    @property
    def exporter(self) -> ExporterT:
        """This process's own."""
        made = self._made
        if made is None:
            made = self._made = self._make()
        return made


class Reader(PeriodicExportingMetricReader):
    """The SDK's reader, of which a child inherits no lock that is held.

    The SDK starts its thread again in a child, and leaves `_export_lock` and the locks of a collection as they were.
    """

    def __init__(self, exporter: MetricExporter) -> None:
        self._collecting = ForkLock()
        super().__init__(exporter)
        renew_in_child(self)

    def renew(self) -> None:
        """Take a new lock."""
        self._export_lock = threading.Lock()

    def begin(self) -> None:
        """Called once a provider has it: from now on a fork waits for a collection, which takes milliseconds."""
        collect: Callable[..., Any] | None = self._collect

        def collected(*args: Any, **more: Any) -> Any:
            with self._collecting:
                return None if collect is None else collect(*args, **more)

        self._collect = collected
