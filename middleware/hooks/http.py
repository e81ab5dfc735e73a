"""Executor `http`: posts the payload to a URL and reads the answer as a hook's output.

Fail-open as the reference: whatever goes wrong on the way, the hook says `continue`; only a URL that the guard
refuses is a failure. Text that is no JSON is never context (D17): an error page must not become instructions. The
exchange runs in a worker thread, so that the timeout holds for lookups, headers and bodies that come drop by drop.
Source: hooks-and-transcripts 1.5, 1.10, 1.11.
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ..errors import SettingsError
from . import guard
from .base import HookResult, Payload
from .guard import Refused, Resolver, Security
from .interpolation import interpolated, names_in
from .jsontext import encode
from .output import timed_out
from .weburl import parse
from .workers import TooManyAbandoned, call_in_worker

__all__ = ["EXECUTOR", "HttpHook", "timeout_of"]

DEFAULT_TIMEOUT_MS = 600_000
_LONGEST_MS = 2**31 - 1
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LABEL = re.compile(r"[a-z0-9._:-]{1,253}")
_CONTINUE: Mapping[str, object] = {"continue": True}
_called_once: set[tuple[str, str]] = set()
_once_lock = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpHook:
    """A POST to `url`, with `headers`; in both, variables of the environment that `allowed_env` lists.

    With `once` it is asked once a process, URL and event. `timeout_ms` is for everything together. `repr` shows
    neither the URL nor the headers. `resolver` finds the addresses of a name; all of them are checked, and only
    checked ones are connected to.
    """

    type: ClassVar[str] = "http"
    is_async: ClassVar[bool] = False

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    allowed_env: tuple[str, ...] = ()
    name: str = ""
    event: str = "UserPromptSubmit"
    sequential: bool = False
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    once: bool = False
    security: Security = Security()
    resolver: Resolver = field(default=guard.resolve, repr=False, compare=False)

    @property
    def label(self) -> str:
        """The configured name, or the host as it is written in the configuration; never more of the URL."""
        if self.name.strip():
            return self.name
        try:
            host = parse(self.url).host
        except ValueError:
            host = ""
        return host if _LABEL.fullmatch(host) else "unknown-host"

    @property
    def key(self) -> str:
        """`name:url`, or the URL of an unnamed hook (1.6)."""
        return f"{self.name}:{self.url}" if self.name else self.url

    def call(self, payload: Payload) -> HookResult:
        """Post and wait; see `Hook.call`."""
        started = time.perf_counter()
        try:
            result = self._result(payload)
        except Refused as refusal:
            result = HookResult(success=False, outcome="non_blocking_error", error=f"HTTP hook was not asked: {refusal}")
        except TooManyAbandoned:
            result = _failed("HTTP hook was not asked: too many earlier calls of hooks still hang")
        except Exception as error:  # noqa: BLE001 - no hook may break the turn
            result = _failed(f"HTTP hook could not be asked: {type(error).__name__}")
        return replace(result, duration_ms=(time.perf_counter() - started) * 1000)

    async def call_async(self, payload: Payload) -> HookResult:
        """Run it in a thread of the loop's default executor."""
        import asyncio

        return await asyncio.to_thread(self.call, payload)

    def secured(self, security: object, where: str) -> tuple[HttpHook, tuple[str, ...]]:
        """This hook under the `security` of a settings file, and a warning when that refuses its URL.

        Raises `SettingsError` for a `security` that cannot be read.
        """
        hook = replace(self, security=Security.configured(security, where=where))
        if names_in(self.url):
            return hook, ()
        try:
            guard.admitted(self.url, hook.security)
        except Refused as refusal:
            return hook, (f"{where}: this hook will never be asked: {refusal}",)
        return hook, ()

    def _result(self, payload: Payload) -> HookResult:
        if self.once and not _first(self.url, self.event):
            return HookResult(success=True, outcome="success", output=_CONTINUE)
        # The reference marks it before it looks at anything else, and the file's text is the key, not the values.
        url = guard.admitted(interpolated(self.url, self.allowed_env, os.environ), self.security)
        headers = {name: interpolated(value, self.allowed_env, os.environ) for name, value in self.headers.items()}
        body = encode({**payload, "hook_event_name": self.event})
        from .exchange import Exchange

        exchange = Exchange(url, headers=headers, body=body, timeout=self.timeout_ms / 1000)
        try:
            result = call_in_worker(lambda: self._exchanged(exchange, url), self.timeout_ms / 1000)
        finally:
            exchange.cancel()
        return replace(timed_out(self.timeout_ms), success=True, output=_CONTINUE) if result is None else result
