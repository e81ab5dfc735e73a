"""Locks after a fork: a child must not wait for a thread that only its parent has."""

from __future__ import annotations

import os
import weakref
from typing import Protocol

__all__ = ["Renewed", "renew_in_child"]


class Renewed(Protocol):
    """What holds a lock."""

    def renew(self) -> None:
        """Take new locks, and forget what other threads were in the middle of."""


_known: weakref.WeakSet[Renewed] = weakref.WeakSet()


def renew_in_child(one: Renewed) -> None:
    """Call `one.renew()` in every child that is forked while `one` lives."""
    _known.add(one)


def _renew_all() -> None:
    for one in list(_known):
        one.renew()


# Windows has no forks.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
