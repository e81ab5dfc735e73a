"""Serves the receiver and the pages on this machine alone, until it is told to end; what was taken is written first."""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anyio import to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware as Layer
from starlette.routing import BaseRoute

from .database import Readers
from .errors import DashboardError
from .following import Follower
from .guards import Guard
from .ingest import Ingest
from .prices import NO_PRICES, Prices
from .receiver import receiver

__all__ = ["PORT", "Board", "application", "listen", "serve"]

PORT: Final = 4318
"""OTLP over HTTP: where clients send to that were told nothing."""

_BACKLOG: Final = 128
_MOST_CONNECTIONS: Final = 900
"""A process may have 1,024 files open, if nobody says otherwise; those that wait and say nothing cost no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A dashboard: its writer, its readers, and what its pages want to know. `follower` is None without transcripts."""

    ingest: Ingest
    readers: Readers
    follower: Follower | None = None
    prices: Prices = NO_PRICES

    @property
    def transcripts(self) -> Path | None:
        """The folder whose transcripts are followed."""
        return self.follower.folder if self.follower is not None else None

    def close(self) -> None:
        """Stop following, write what was taken, close the file."""
        if self.follower is not None:
            self.follower.close()
        # The writer last: whoever closes last puts the log of what was written into the file, and readers cannot.
        self.readers.close()
        self.ingest.close()


def application(board: Board, pages: Sequence[BaseRoute] = ()) -> Starlette:
    """The ASGI application; it closes the board when it is shut down. Routes find it as `request.app.state.board`."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await to_thread.run_sync(board.close)

    app = Starlette(routes=[*receiver(board.ingest), *pages], middleware=[Layer(Guard)], lifespan=lifespan)
    app.state.board = board
    return app


def listen(port: int) -> list[socket.socket]:
    """Sockets on 127.0.0.1 and, where there is one, on ::1. Raises `DashboardError` when the port is taken.

    0 takes any port that is free.
    """
    try:
        first = _bound(socket.AF_INET, "127.0.0.1", port)
    except OSError as error:
        taken = (
            "is in use: another dashboard or an OpenTelemetry Collector may run; "
            if error.errno == errno.EADDRINUSE
            else ""
        )
        raise DashboardError(
            f"port {port} on 127.0.0.1 {taken or f'cannot be opened ({error.strerror}); '}"
            "stop that, or choose another with --port"
        ) from error
    try:
        return [first, _bound(socket.AF_INET6, "::1", first.getsockname()[1])]
    except OSError:
        return [first]


def serve(
    app: Starlette, sockets: list[socket.socket], *, started: Callable[[Callable[[], None]], None] = lambda stop: None
) -> None:
    """Serve until SIGINT, SIGTERM or `stop`; requests under way are answered first.

    `started` is called once it runs, with the function that ends it, which may be called from any thread.
    """
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started(self.stop)

        def stop(self) -> None:
            self.should_exit = True

    # What it warns of is told to whoever sent it: bytes that are no HTTP, a connection too many.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=20,
    )
    Server(config).run(sockets=sockets)


def _bound(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name != "nt":
            # There it would take a port from whoever has it.
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind((host, port))
        opened.listen(_BACKLOG)
    except OSError:
        opened.close()
        raise
    return opened
