"""What stands before every page and every route: only this machine's own pages may talk to the dashboard.

A page of another origin cannot read (no CORS header is ever sent), cannot get at it under a name of its own (the Host
must be a loopback name: DNS rebinding), cannot be embedded around it, and cannot write: nothing but OTLP is taken, in
content types that no form can send, and never with an Origin.
"""

from __future__ import annotations

import logging
import traceback
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["MOST_UNDER_WAY", "POLICY", "Guard"]

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Pages run no inline script and no inline style, and fetch from here alone."""

MOST_UNDER_WAY: Final = 256
"""Requests at once; whoever sends another is told to come again."""

_HEADERS: Final = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_log = logging.getLogger("firsthand")
_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Guard:
    """ASGI middleware: refuses what is not meant for this machine, and puts the security headers on every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        why = _refused(Headers(scope=scope))
        if why is not None:
            await PlainTextResponse(f"{why}\n", 403)(scope, receive, guarded)
            return
        if self._under_way >= MOST_UNDER_WAY:
            busy = PlainTextResponse("too many requests at once; send again later\n", 503, {"retry-after": "1"})
            await busy(scope, receive, guarded)
            return
        self._under_way += 1
        try:
            await self._app(scope, receive, guarded)
        except Exception as error:
            if begun:
                raise
            # Not its words: they may be somebody's.
            place = traceback.extract_tb(error.__traceback__)[-1]
            _log.error("dashboard: %s at %s:%s", type(error).__name__, place.filename, place.lineno)
            failed = PlainTextResponse("the dashboard has a fault here; its log says where\n", 500)
            await failed(scope, receive, guarded)
        finally:
            self._under_way -= 1


def _refused(headers: Headers) -> str | None:
    hosts = headers.getlist("host")
    if len(hosts) != 1 or _name(hosts[0]) not in _HOSTS:
        return "the dashboard answers to localhost and 127.0.0.1 only"
    origin = headers.get("origin")
    if origin is not None and origin.lower() != f"http://{hosts[0].lower()}":
        return "a page of another origin may not talk to the dashboard"
    if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
        return "a page of another origin may not talk to the dashboard"
    return None


def _name(host: str) -> str:
    """A Host without its port, in lower case; "" for what is no host."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        return host.lower()
    return name.lower() if port.isdecimal() and port.isascii() else ""
