"""What a hook is, what it answers, and the one step that a driver performs.

An executor is one file in this folder that names its class `EXECUTOR`; its `type` in a hooks file is the file's
name. What an executor may not do is raise: a broken hook is a `HookResult`, and the turn goes on unless it is blocked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol, TypeAlias

__all__ = ["CallHooks", "Executor", "Hook", "HookOutcomeName", "HookResult", "Payload", "label_of"]

HookOutcomeName: TypeAlias = Literal["success", "blocking", "non_blocking_error", "timeout", "cancelled"]
Payload: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookResult:
    """How one call of one hook ended.

    `output` is in the reference's output shape (hooks-and-transcripts 1.3) or None; it counts even when `success` is
    false. `error` says what went wrong, without what the hook printed. `exit_code` is -1 for a death by signal, None
    when there was no process or no exit. `duration_ms` is wall time; `output_chars` counts the code points of the text
    that was interpreted. `warnings` name what the author of the hook should mend; they quote nothing it printed.
    `raised_at` is the file and the line where a function failed. `printed` is what a command or a server said, by the
    name of the stream, for nobody but the person who tries the hook: no log and no span has it. `is_answer` says that
    `output` is a JSON object of the hook's own, and not what its text was taken for.
    """

    success: bool
    outcome: HookOutcomeName
    output: Mapping[str, object] | None = None
    error: str | None = None
    exit_code: int | None = None
    duration_ms: float = 0.0
    output_chars: int = 0
    warnings: tuple[str, ...] = ()
    raised_at: str = ""
    printed: tuple[tuple[str, bytes], ...] = field(default=(), repr=False, compare=False)
    is_answer: bool = field(default=False, repr=False, compare=False)


class Hook(Protocol):
    """One configured hook.

    `name` is the configured one or ""; `label` may be exported: it holds no argument, path or value of a command.
    `timeout_ms` is milliseconds; `key` is equal for two hooks of which only the first runs.
    """

    @property
    def type(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def event(self) -> str: ...
    @property
    def sequential(self) -> bool: ...
    @property
    def timeout_ms(self) -> int: ...
    @property
    def key(self) -> str: ...
    @property
    def is_async(self) -> bool: ...

    def call(self, payload: Payload) -> HookResult:
        """Run it and wait: never raises an `Exception`, is back within `timeout_ms` plus 3 s, from any thread."""
        ...

    async def call_async(self, payload: Payload) -> HookResult:
        """The same on the running loop; a driver prefers it when `is_async` is true."""
        ...


class Executor(Protocol):
    """The class that a file of this folder offers as `EXECUTOR`."""

    type: ClassVar[str]

    @classmethod
    def configured(
        cls, entry: Mapping[str, object], *, event: str, sequential: bool, where: str
    ) -> tuple[Hook, tuple[str, ...]]:
        """Read one entry of a hooks file into a hook and warnings; `where` names the entry.

        Raises `SettingsError` for an entry that cannot be run.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CallHooks:
    """Step: call these hooks in parallel. Answered with a list of `HookResult` in the same order."""

    calls: tuple[tuple[Hook, Payload], ...]


def label_of(name: str, command: str) -> str:
    """What a span may call a hook: the configured name, or the base name of the command's first word.

    An assignment in front of a command may hold a secret, so everything from a `=` on is left out.
    Source: telemetry, "Hook span".

    >>> label_of("", "/home/u/hooks/check.sh --key=abc"), label_of("", "TOKEN=sk-1 node x.js"), label_of("", " ")
    ('check.sh', 'TOKEN', 'unknown-command')
    """
    if name.strip():
        return name
    words = command.split(maxsplit=1)
    word = words[0].partition("=")[0].strip("\"'") if words else ""
    return word.replace("\\", "/").rpartition("/")[2] or "unknown-command"
