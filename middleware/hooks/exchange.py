"""One POST to an address that was checked, and its answer.

There is a new connection each time, made to the address and not to the name, with the name in `Host` and in the TLS
handshake, whose certificate must be the name's. No redirect is followed, nothing is tried twice, and no proxy of the
environment is used: a proxy would look the name up itself. urllib3's pools, and its reading of headers, are not used
because they log the path and the query of a URL.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .weburl import WebUrl

if TYPE_CHECKING:
    import http.client

    from urllib3.connection import HTTPConnection

__all__ = ["LIMIT", "Answer", "Exchange", "Unreachable"]

LIMIT = 1024 * 1024
"""Bytes of a body, decoded, that are read; an answer with more is cut."""

_GRACE = 1.0
_CHUNK = 64 * 1024
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "expect", "te", "trailer", "upgrade"})
_DEFAULTS = {"User-Agent": "firsthand", "Content-Type": "application/json"}
_ENCODINGS = frozenset({"gzip", "x-gzip", "deflate"})


class Unreachable(Exception):
    """No answer came; the text says why without an address, a URL or a header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A status, the `Content-Type` in lower case or "", and the decoded body; `cut` when it was longer.

    An answer that is no 2xx has a body only if it was asked for.
    """

    status: int
    content_type: str = ""
    body: bytes = b""
    cut: bool = False

    @property
    def ok(self) -> bool:
        """Whether the status is a 2xx."""
        return 200 <= self.status < 300


class Exchange:
    """One request. A step of `run` blocks for a second over `timeout`; `cancel`, from another thread, ends it at once.

    Of `headers`, which replace the defaults in any case, those that `frames` names are left out. With `reads_failures`
    the body of an answer that is no 2xx is read as well.
    """

    def __init__(
        self,
        url: WebUrl,
        *,
        headers: Mapping[str, str],
        body: bytes,
        timeout: float,
        reads_failures: bool = False,
    ) -> None:
        self._url = url
        self._body = body
        self._reads_failures = reads_failures
        # A little more than the caller waits: its clock says what a timeout is, these only end the thread.
        self._timeout = timeout + _GRACE
        given = {name.lower() for name in headers}
        self._headers = {
            **{name: value for name, value in _DEFAULTS.items() if name.lower() not in given},
            **{name: value for name, value in headers.items() if not frames(name)},
            "Host": url.authority,
        }
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._cancelled = False

    def run(self, addresses: Sequence[str]) -> Answer:
        """Connect to the first of `addresses` that takes the connection, post, and read the answer.

        Raises `Unreachable`.
        """
        try:
            connection = self._connected(addresses)
            try:
                self._send(connection)
                import http.client

                # Not the method of urllib3: it logs the URL, query and all, of an answer whose headers are broken.
                response = http.client.HTTPConnection.getresponse(connection)
                with response:
                    return _answer(_final(response), self._reads_failures)
            finally:
                connection.close()
        except Exception as error:  # noqa: BLE001 - whatever a server can make the libraries raise
            raise Unreachable(_why(error)) from None
        finally:
            with self._lock:
                self._let_go()

    def cancel(self) -> None:
        """Give up: a run that waits for the network ends; one that is over is not affected."""
        with self._lock:
            self._cancelled = True
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)
                self._let_go()

    def _connected(self, addresses: Sequence[str]) -> HTTPConnection:
        deadline = time.monotonic() + self._timeout
        for left in range(len(addresses), 0, -1):
            # No address may take the time of those after it.
            seconds = max(0.001, (deadline - time.monotonic()) / left)
            connection = self._connection(addresses[-left], seconds)
            connection.debuglevel = 0  # an application may have set it for all: it prints headers
            try:
                connection.connect()
            except Exception:
                connection.close()
                if left == 1 or self._cancelled:
                    raise
            else:
                connection.sock.settimeout(self._timeout)
                return connection
        raise OSError("no address")

    def _connection(self, address: str, timeout: float) -> HTTPConnection:
        from urllib3.connection import HTTPConnection, HTTPSConnection

        made: HTTPConnection
        if self._url.scheme == "https":
            made = HTTPSConnection(
                address, self._url.port, timeout=timeout, server_hostname=self._url.host, cert_reqs="CERT_REQUIRED"
            )
        else:
            made = HTTPConnection(address, self._url.port, timeout=timeout)
        # The place where urllib3's own SOCKS connections make theirs.
        made._new_conn = lambda: self._opened(address, timeout)  # type: ignore[method-assign]
        return made

    def _opened(self, address: str, timeout: float) -> socket.socket:
        """A socket that is connected, within reach of `cancel` from before that on."""
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        try:
            sock.settimeout(timeout)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._hold(sock)
            sock.connect((address, self._url.port))
        except BaseException:
            sock.close()
            raise
        return sock

    def _hold(self, sock: socket.socket) -> None:
        # A duplicate: a TLS handshake takes the descriptor of the socket that it wraps away from it.
        held = sock.dup()
        with self._lock:
            self._let_go()
            if not self._cancelled:
                self._socket = held
                return
        held.close()
        raise OSError("cancelled")

    def _let_go(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, connection: HTTPConnection) -> None:
        try:
            connection.request("POST", self._url.target, body=self._body, headers=self._headers)
        except BrokenPipeError:
            pass  # it may have answered before it had read everything


def frames(name: str) -> bool:
    """Whether a header is one that the request needs for itself."""
    return name.lower() in _OURS


def _final(response: http.client.HTTPResponse) -> http.client.HTTPResponse:
    """Read over what comes before the answer: http.client knows 100, and takes 103 (early hints) for the answer."""
    while 101 < response.status < 200:
        response.headers = response.msg = None  # type: ignore[assignment]
        response.begin()
    return response


def _answer(response: http.client.HTTPResponse, reads_failures: bool) -> Answer:
    kind = (response.getheader("Content-Type") or "").lower()
    if not 200 <= response.status < 300 and not reads_failures:
        return Answer(status=response.status, content_type=kind)
    encoding = (response.getheader("Content-Encoding") or "identity").strip().lower()
    if encoding not in ("identity", ""):
        if encoding not in _ENCODINGS:
            raise Unreachable("it answered in an encoding that was not asked for")
        decoder = zlib.decompressobj(_GZIP_OR_ZLIB)
    else:
        decoder = None
    body, piece, started = bytearray(), bytearray(_CHUNK), False
    # Into a buffer: `read` would believe a chunk that gives a size below zero, and read without end.
    while len(body) <= LIMIT and (count := response.readinto(piece)):
        data, started = piece[:count], True
        body += data if decoder is None else decoder.decompress(data, LIMIT + 1 - len(body))
    if len(body) > LIMIT:
        return Answer(status=response.status, content_type=kind, body=bytes(body[:LIMIT]), cut=True)
    if response.length or (decoder is not None and started and not decoder.eof):
        raise Unreachable("it closed the connection in the middle of its answer")
    return Answer(status=response.status, content_type=kind, body=bytes(body))


def _why(error: Exception) -> str:
    """What went wrong in words that the libraries have for everyone: their texts may hold a URL, or what was read."""
    if isinstance(error, Unreachable):
        return str(error)
    cause: BaseException | None = error
    while cause is not None:
        reason = getattr(cause, "reason", None)
        if type(cause).__module__ == "ssl" and isinstance(reason, str):
            return f"TLS failed ({reason})"
        if isinstance(cause, OSError) and cause.strerror and type(cause).__module__ in ("builtins", "socket"):
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return f"the exchange failed ({type(error).__name__})"
