"""Hooks: what may add context to a turn or refuse it, before anything is sent."""

from .aggregate import aggregate, blocks, chain
from .base import CallHooks, Hook, HookResult
from .command import CommandHook
from .function import FunctionHook
from .select import HookSet, load_hooks

__all__ = [
    "CallHooks",
    "CommandHook",
    "FunctionHook",
    "Hook",
    "HookResult",
    "HookSet",
    "aggregate",
    "blocks",
    "chain",
    "load_hooks",
]
