"""The one place where telemetry's own failures end: they cannot break a call.

`strict = True` (our tests) raises them instead. What is swallowed is `Exception`, never a cancel.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["attempt", "guarded", "report", "strict"]

P = ParamSpec("P")
T = TypeVar("T")

strict = False
"""Raise instead of swallowing; for tests."""

_log = logging.getLogger("middleware.telemetry")
_reported: set[str] = set()


def guarded(method: Callable[P, None]) -> Callable[P, None]:
    """Wrap a method so that no `Exception` leaves it; its caller goes on without that piece of telemetry."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            method(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the boundary: whatever fails in here, the model call goes on
            report(method.__qualname__, error)

    return call


def attempt(where: str, build: Callable[[], T], otherwise: T) -> T:
    """What `build` returns, or `otherwise` when it fails."""
    try:
        return build()
    except Exception as error:  # noqa: BLE001 - as above
        report(where, error)
        return otherwise


def report(where: str, error: Exception) -> None:
    """Log one line the first time that `where` fails; raise `error` when `strict`.

    The line names the type only: a message may quote a prompt.
    """
    if strict:
        raise error
    if where not in _reported:
        _reported.add(where)
        _log.warning(
            "telemetry: %s failed with %s and is left out; the model call is not affected (said once)",
            where,
            type(error).__name__,
        )
