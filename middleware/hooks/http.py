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
from .abort import on_abort
from .base import HookResult, Payload
from .exchange import Exchange, Unreachable, frames
from .guard import Refused, Resolver, Security
from .interpolation import interpolated, names_in
from .jsontext import encode
from .keys import about_timeout
from .output import timed_out
from .reply import CONTINUE, failed, read
from .weburl import WebUrl, parse
from .workers import TooManyAbandoned, call_in_worker

__all__ = ["EXECUTOR", "HttpHook", "timeout_of"]

DEFAULT_TIMEOUT_MS = 600_000
_LONGEST_MS = 2**31 - 1
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LABEL = re.compile(r"[a-z0-9._:-]{1,253}")
_NO_RULES = Security()
_called_once: set[tuple[str, str]] = set()
_once_lock = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpHook:
    """A POST to `url`, with `headers`; in both, variables of the environment that `allowed_env` lists.

    With `once` it is asked once a process, URL and event. `timeout_ms` is for everything together. `repr` shows
    neither the URL nor the headers. `resolver` finds the addresses of a name; all of them are checked, and only
    checked ones are connected to. With `shows_failures` the body of an answer that is no 2xx is read too, to be shown.
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
    security: Security = _NO_RULES
    resolver: Resolver = field(default=guard.resolve, repr=False, compare=False)
    shows_failures: bool = field(default=False, repr=False, compare=False)

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
            result = _not_asked(refusal)
        except TooManyAbandoned:
            result = failed("HTTP hook was not asked: too many earlier calls of hooks still hang")
        except Exception as error:  # noqa: BLE001 - no hook may break the turn
            result = failed(f"HTTP hook could not be asked: {type(error).__name__}")
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
        refusal = hook.refusal()
        return hook, () if refusal is None else (f"{where}: this hook will never be asked: {refusal}",)

    def refusal(self) -> Refused | None:
        """Why it will never be asked; None if it will, or if its URL holds variables."""
        if names_in(self.url):
            return None
        try:
            guard.admitted(self.url, self.security)
        except Refused as refusal:
            return refusal
        return None

    def _result(self, payload: Payload) -> HookResult:
        # Before anything else, and by the URL as it is configured: as the reference.
        if self.once and not _first(self.url, self.event):
            return HookResult(success=True, outcome="success", output=CONTINUE)
        unset = self._unset()
        result = self._asked(payload)
        return replace(result, warnings=(*unset, *result.warnings)) if unset else result

    def _unset(self) -> tuple[str, ...]:
        used = {name for text in (self.url, *self.headers.values()) for name in names_in(text)}
        missing = sorted(name for name in used.intersection(self.allowed_env) if not os.environ.get(name))
        return (f"{', '.join(missing)} is not set, so it is empty in the URL or a header",) if missing else ()

    def _asked(self, payload: Payload) -> HookResult:
        url = guard.admitted(interpolated(self.url, self.allowed_env, os.environ), self.security)
        headers = {name: interpolated(value, self.allowed_env, os.environ) for name, value in self.headers.items()}
        body = encode({**payload, "hook_event_name": self.event})
        exchange = Exchange(
            url, headers=headers, body=body, timeout=self.timeout_ms / 1000, reads_failures=self.shows_failures
        )
        try:
            with on_abort(exchange.cancel):
                result = call_in_worker(lambda: self._exchanged(exchange, url), self.timeout_ms / 1000)
        finally:
            exchange.cancel()
        return replace(timed_out(self.timeout_ms), success=True, output=CONTINUE) if result is None else result

    def _exchanged(self, exchange: Exchange, url: WebUrl) -> HookResult:
        """Look up, check, post and read; in a worker, which nothing may be raised to."""
        try:
            addresses = guard.addresses_of(url, self.security, self.resolver)
        except Refused as refusal:
            return _not_asked(refusal)
        except Exception:  # noqa: BLE001 - a lookup can fail in any way
            return failed("HTTP hook could not be reached: its host has no address")
        try:
            return read(self.event, exchange.run(addresses))
        except Unreachable as error:
            return failed(f"HTTP hook could not be reached: {error}")
        except Exception as error:  # noqa: BLE001 - as above
            return failed(f"HTTP hook could not be read: {type(error).__name__}")

    @classmethod
    def configured(
        cls, entry: Mapping[str, object], *, event: str, sequential: bool, where: str
    ) -> tuple[HttpHook, tuple[str, ...]]:
        """Read an entry of a hooks file; see `Executor.configured`. Its `security` comes with `secured`."""
        url, name, once = entry.get("url"), entry.get("name", ""), entry.get("once", False)
        if not isinstance(url, str) or not url.strip():
            raise SettingsError(f"{where}: an http hook has no URL; give it a non-empty string `url`")
        if not isinstance(name, str):
            raise SettingsError(f"{where}: `name` is no string; quote it")
        if not isinstance(once, bool):
            raise SettingsError(f"{where}: `once` is neither true nor false; write one of them")
        allowed = entry.get("allowedEnvVars") or []
        if not isinstance(allowed, list) or not all(isinstance(item, str) for item in allowed):
            raise SettingsError(f"{where}: `allowedEnvVars` is no list of strings; write names of variables")
        if not names_in(url):
            try:
                parse(url)
            except ValueError as error:
                raise SettingsError(f"{where}: `url` cannot be used: {error}") from None
        headers, warnings = _headers_of(entry.get("headers"), where)
        unlisted = {name for text in (url, *headers.values()) for name in names_in(text)}.difference(allowed)
        if unlisted:
            warnings += (f"{where}: {', '.join(sorted(unlisted))} is not in allowedEnvVars, so it is empty",)
        timeout_ms = timeout_of(entry.get("timeout"))
        warnings += about_timeout(cls.type, entry.get("timeout"), timeout_ms, where)
        hook = cls(
            url=url,
            headers=headers,
            allowed_env=tuple(allowed),
            name=name,
            event=event,
            sequential=sequential,
            timeout_ms=timeout_ms,
            once=once,
        )
        return hook, warnings


EXECUTOR = HttpHook


def timeout_of(value: object) -> int:
    """Milliseconds of a configured `timeout` in seconds (1.5).

    What is false to JavaScript is the default. Where the reference sets no timer at all (below zero, no number), the
    default holds as well; what its timer cannot hold ends after 1 ms.

    >>> timeout_of(10), timeout_of(0), timeout_of("1.5"), timeout_of(-1), timeout_of(3_000_000)
    (10000, 600000, 1500, 600000, 1)
    """
    if isinstance(value, str):
        value = float(value) if _NUMBER.fullmatch(value.strip()) else None
    if not isinstance(value, (int, float)):
        return DEFAULT_TIMEOUT_MS
    try:
        milliseconds = float(value) * 1000
    except OverflowError:
        milliseconds = math.inf if value > 0 else -math.inf
    if not milliseconds > 0:
        return DEFAULT_TIMEOUT_MS
    return int(milliseconds) if 1 <= milliseconds <= _LONGEST_MS else 1


def _headers_of(value: object, where: str) -> tuple[dict[str, str], tuple[str, ...]]:
    if value is None:
        return {}, ()
    if not isinstance(value, Mapping):
        raise SettingsError(f"{where}: `headers` is no object; write names and strings")
    headers, warnings = {}, []
    for name, item in value.items():
        if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name):
            raise SettingsError(f"{where}: `headers` has a name that no header can have; mend it")
        if not isinstance(item, str):
            raise SettingsError(f"{where}: `headers.{name}` is no string; quote it")
        if frames(name):
            warnings.append(f"{where}: the header {name} belongs to the request itself; it is not sent")
        else:
            headers[name] = item
    return headers, tuple(warnings)


def _first(url: str, event: str) -> bool:
    """Whether this process has not asked `url` for `event` before; asking is marked here, before the attempt."""
    with _once_lock:
        first = (url, event) not in _called_once
        _called_once.add((url, event))
    return first


def _not_asked(refusal: Refused) -> HookResult:
    return HookResult(success=False, outcome="non_blocking_error", error=f"HTTP hook was not asked: {refusal}")
