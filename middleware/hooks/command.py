"""Executor `command`: a shell command that reads one JSON object and answers by exit code and output.

The payload travels on standard input only, never in the command line or the environment; the command text is handed to
the shell unchanged. The command sees the whole environment of this process, secrets included: a hooks file is as
trusted as the code that names it. Source: hooks-and-transcripts 1.4 and 1.5.
"""

from __future__ import annotations

import functools
import math
import os
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from ..errors import SettingsError
from .base import HookResult, Payload, label_of
from .jsontext import encode
from .keys import about_timeout
from .output import interpret, refused, timed_out
from .process import LIMIT, run

__all__ = ["EXECUTOR", "CommandHook", "timeout_of"]

DEFAULT_TIMEOUT_MS = 60_000
_LEGACY_FROM = 1000
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_PROJECT_DIRS = ("GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "QWEN_PROJECT_DIR")
_SHELLS = ("bash", "powershell")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandHook:
    """A command, run with `<shell> -c` in the payload's `cwd` (blank: this process's own).

    `env` is added to the environment last. With `fail_closed` any failure refuses the turn, as far as the command
    did not decide itself. Waits are bounded by `timeout_ms` plus 3 seconds. A `background` hook (`async: true`) is
    not waited for: it cannot refuse the turn, and what it says is context of the next one (1.13).
    """

    type: ClassVar[str] = "command"
    is_async: ClassVar[bool] = False

    command: str
    name: str = ""
    event: str = "UserPromptSubmit"
    sequential: bool = False
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    shell: str = "bash"
    env: Mapping[str, str] = field(default_factory=dict, hash=False)
    fail_closed: bool = False
    background: bool = False

    @property
    def label(self) -> str:
        """The configured name, or the base name of the command's first word."""
        return label_of(self.name, self.command)

    @property
    def key(self) -> str:
        """`name:command`, or the command of an unnamed hook (1.6)."""
        return f"{self.name}:{self.command}" if self.name else self.command

    def call(self, payload: Payload) -> HookResult:
        """Run it and wait; see `Hook.call`."""
        started = time.perf_counter()
        try:
            result = self._run(payload)
        except OSError as error:
            result = self._failed(f"Hook could not be started: {error.strerror or type(error).__name__}")
        except Exception as error:  # noqa: BLE001 - no hook may break the turn
            result = self._failed(f"Hook could not be started: {type(error).__name__}")
        return replace(result, duration_ms=(time.perf_counter() - started) * 1000)

    async def call_async(self, payload: Payload) -> HookResult:
        """Run it in a thread of the loop's default executor."""
        import asyncio

        return await asyncio.to_thread(self.call, payload)

    def _run(self, payload: Payload) -> HookResult:
        cwd = payload.get("cwd") or str(Path.cwd())
        if not isinstance(cwd, str) or not Path(cwd).is_dir():
            return self._failed("Hook could not be started: cwd is no directory")
        ran = run(
            argv_of(self.shell, self.command, cwd),
            data=encode(payload),
            cwd=cwd,
            env={**os.environ, **dict.fromkeys(_PROJECT_DIRS, cwd), **self.env},
            timeout=self.timeout_ms / 1000,
        )
        if ran.timed_out:
            result = timed_out(self.timeout_ms, fail_closed=self.fail_closed, name=self.label)
            said = (("stdout", ran.stdout), ("stderr", ran.stderr))
            result = replace(result, printed=tuple((name, data) for name, data in said if data))
        elif ran.exit_code is None:
            result = self._failed("Hook's exit status was taken by another part of the program (is SIGCHLD ignored?)")
        else:
            result = interpret(
                self.event,
                exit_code=ran.exit_code,
                stdout=ran.stdout,
                stderr=ran.stderr,
                fail_closed=self.fail_closed,
                name=self.label,
            )
        if ran.cut:
            result = replace(result, warnings=(*result.warnings, f"output over {LIMIT} bytes a stream was dropped"))
        return result

    def _failed(self, error: str) -> HookResult:
        output = refused(self.label, error) if self.fail_closed else None
        return HookResult(success=False, outcome="non_blocking_error", output=output, error=error)

    @classmethod
    def configured(
        cls, entry: Mapping[str, object], *, event: str, sequential: bool, where: str
    ) -> tuple[CommandHook, tuple[str, ...]]:
        """Read an entry of a hooks file; see `Executor.configured`."""
        command, name = entry.get("command"), entry.get("name", "")
        if not isinstance(command, str) or not command.strip():
            raise SettingsError(f"{where}: a command hook has no command; give it a non-empty string `command`")
        if not isinstance(name, str):
            raise SettingsError(f"{where}: `name` is no string; quote it")
        shell, fail_mode = entry.get("shell", "bash"), entry.get("failMode", "open")
        if shell not in _SHELLS:
            raise SettingsError(f"{where}: `shell` is {shell!r}; use one of {', '.join(_SHELLS)}")
        if fail_mode not in ("open", "closed"):
            raise SettingsError(f"{where}: `failMode` is {fail_mode!r}; use open or closed")
        timeout_ms, _ = timeout_of(entry.get("timeout"))
        hook = cls(
            command=command,
            name=name,
            event=event,
            sequential=sequential,
            timeout_ms=timeout_ms,
            shell=str(shell),
            env=_env_of(entry.get("env"), where),
            fail_closed=fail_mode == "closed",
            background=entry.get("async") is True,
        )
        return hook, about_timeout(cls.type, entry.get("timeout"), timeout_ms, where)


EXECUTOR = CommandHook


def timeout_of(value: object) -> tuple[int, bool]:
    """Milliseconds of a configured `timeout`, and whether it was read as milliseconds (D11, 1.5).

    >>> timeout_of(0.5), timeout_of("30"), timeout_of(1000), timeout_of(True)
    ((500, False), (30000, False), (1000, True), (60000, False))
    """
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return DEFAULT_TIMEOUT_MS, False
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not 0 < number < math.inf:
        return DEFAULT_TIMEOUT_MS, False
    legacy = number >= _LEGACY_FROM
    return max(1, round(number if legacy else number * 1000)), legacy


def argv_of(shell: str, command: str, cwd: str) -> list[str]:
    """The command line; PowerShell knows no `$NAME` of the environment, so the project folder is put in (1.4)."""
    if shell != "powershell":
        return [_posix_shell(), "-c", command]
    quoted = "'" + cwd.replace("'", "''") + "'"
    for name in _PROJECT_DIRS:
        command = command.replace(f"${name}", quoted)
    return [_powershell(), "-NoProfile", "-Command", command]


@functools.cache
def _posix_shell() -> str:
    return shutil.which("bash") or "/bin/sh"


@functools.cache
def _powershell() -> str:
    return shutil.which("pwsh") or "powershell"


def _env_of(value: object, where: str) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise SettingsError(f"{where}: `env` is no object; write names and strings")
    env = {}
    for name, item in value.items():
        if not name or "=" in name or "\0" in name:
            raise SettingsError(f"{where}: `env` has a name that no environment can hold; mend it")
        if not isinstance(item, str) or "\0" in item:
            raise SettingsError(f"{where}: `env.{name}` is no string; quote it")
        env[name] = item
    return env
