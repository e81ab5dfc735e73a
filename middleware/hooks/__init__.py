"""Hooks: what may add context to a turn or refuse it, before anything is sent."""

from .abort import abortable, is_aborted, without_abort
from .aggregate import aggregate, blocks, chain, context_of, is_blocking
from .base import CallHooks, Hook, HookResult
from .command import CommandHook
from .effects import counts_as_success, effects
from .events import FIRED
from .function import FunctionHook
from .output import too_late
from .prompt import Answer, Ask, PromptHook, Question
from .select import HookSet, load_hooks

__all__ = [
    "FIRED",
    "Answer",
    "Ask",
    "CallHooks",
    "CommandHook",
    "FunctionHook",
    "Hook",
    "HookResult",
    "HookSet",
    "PromptHook",
    "Question",
    "abortable",
    "aggregate",
    "blocks",
    "chain",
    "context_of",
    "counts_as_success",
    "effects",
    "is_aborted",
    "is_blocking",
    "load_hooks",
    "too_late",
    "without_abort",
]
