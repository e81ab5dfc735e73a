"""The OTLP/HTTP receiver: POST /v1/traces, /v1/metrics, /v1/logs.

A request is answered 200 once everything in it is on disk. What cannot be read is refused with 4xx and one line, as a
`google.rpc.Status` in the request's own encoding; a client must not send that again. Nor what is counted as rejected
in an answer of 200: that item will never be taken. When too much waits the answer is 429, while shutting down or when
the file cannot be written 503, each with Retry-After; the client sends it again, and what was taken is passed over. A
page in a browser, which always names its origin when it posts, is refused.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from anyio import CapacityLimiter, to_thread
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from .errors import BadRequest
from .ingest import Closed, Full, Ingest
from .otlp import MOST_BYTES, Encoding, Signal, inflated
from .signals import Refused
from .writing import is_of_the_file

__all__ = ["receiver"]

_TYPES: Final[dict[str, Encoding]] = {
    "application/x-protobuf": "protobuf",
    "application/protobuf": "protobuf",
    "application/json": "json",
}
_MEDIA: Final[dict[Encoding, str]] = {"protobuf": "application/x-protobuf", "json": "application/json"}
_ANSWERS: Final[dict[Signal, tuple[type[Message], str]]] = {
    "traces": (ExportTraceServiceResponse, "rejected_spans"),
    "metrics": (ExportMetricsServiceResponse, "rejected_data_points"),
    "logs": (ExportLogsServiceResponse, "rejected_log_records"),
}
_CODES: Final = {400: 3, 403: 7, 408: 4, 413: 8, 415: 3, 429: 8, 503: 14}
"""HTTP status to the code of google.rpc.Status."""

_MOST_IN_FLIGHT: Final = 21 * 1024 * 1024
"""Bytes of bodies that are here and not decoded yet, of all requests together."""

_LARGE: Final = 128 * 1024
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
"""All of them, so that no page takes these paths for its own."""

_BODY_SECONDS: Final = 30.0
_log = logging.getLogger("firsthand")


def receiver(ingest: Ingest) -> list[Route]:
    """The routes that take OTLP and have it written by `ingest`."""
    post = _Receiver(ingest)
    return [
        Route("/v1/traces", post.taking("traces"), methods=_METHODS),
        Route("/v1/metrics", post.taking("metrics"), methods=_METHODS),
        Route("/v1/logs", post.taking("logs"), methods=_METHODS),
    ]


class _Receiver:
    def __init__(self, ingest: Ingest) -> None:
        self._ingest = ingest
        self._in_flight = 0
        # What is decoded at once: a body of a megabyte may be twenty once it is inflated.
        self._small, self._large = CapacityLimiter(2), CapacityLimiter(1)

    def taking(self, signal: Signal) -> Callable[[Request], Any]:
        async def take(request: Request) -> Response:
            if request.method != "POST":
                return Response("send OTLP here, with POST\n", 405, headers={"allow": "POST"}, media_type="text/plain")
            encoding = _TYPES.get(request.headers.get("content-type", "").partition(";")[0].strip().lower())
            try:
                return await self._take(signal, request, encoding)
            except BadRequest as error:
                return _refusal(error.status, str(error), encoding)
            except Full as error:
                return _refusal(429, str(error), encoding, retry_after=error.retry_after)
            except Closed as error:
                return _refusal(503, str(error), encoding, retry_after=1)
            except ClientDisconnect:
                # Nobody hears this.
                return _refusal(400, "the body ended too early", encoding)

        return take

    async def _take(self, signal: Signal, request: Request, encoding: Encoding | None) -> Response:
        if "origin" in request.headers:
            raise BadRequest("a web page may not send telemetry here", status=403)
        if encoding is None:
            raise BadRequest("Content-Type must be application/x-protobuf or application/json", status=415)
        held = 0
        try:
            body = bytearray()
            async with asyncio.timeout(_BODY_SECONDS):
                self._check_length(request.headers.get("content-length"))
                async for chunk in request.stream():
                    body += chunk
                    held += len(chunk)
                    self._in_flight += len(chunk)
                    if len(body) > MOST_BYTES:
                        raise _too_long()
                    if self._in_flight > _MOST_IN_FLIGHT:
                        raise _too_many()
            refused, done = await to_thread.run_sync(
                self._receive, signal, body, request.headers.get("content-encoding", ""), encoding,
                limiter=self._large if len(body) > _LARGE else self._small,
            )  # fmt: skip
            del body
            await asyncio.shield(asyncio.wrap_future(done))
        except TimeoutError:
            raise BadRequest(f"the body did not come within {_BODY_SECONDS:.0f} seconds", status=408) from None
        except (BadRequest, Full, Closed, ClientDisconnect):
            raise
        except Exception as error:
            if not is_of_the_file(error):
                _log.warning("dashboard: %s could not be read: %s", signal, type(error).__name__)
                raise BadRequest(f"it could not be read: {type(error).__name__}") from error
            # Whatever became of the disk, the client is to keep what it has; the writer has told of it.
            return _refusal(503, f"it could not be stored: {type(error).__name__}; send again", encoding, retry_after=5)
        finally:
            self._in_flight -= held
        return _answer(signal, refused, encoding)

    def _check_length(self, said: str | None) -> None:
        """Refuse what would be too long before it is read."""
        length = int(said[:20]) if said is not None and said.isdecimal() else 0
        if length > MOST_BYTES:
            raise _too_long()
        if self._in_flight + length > _MOST_IN_FLIGHT:
            raise _too_many()

    def _receive(self, signal: Signal, body: bytearray, content_encoding: str, encoding: Encoding) -> Any:
        return self._ingest.receive(signal, inflated(body, content_encoding), encoding)


def _too_many() -> Full:
    return Full("too many large requests at once; send again later")


def _too_long() -> BadRequest:
    return BadRequest(f"the body is over {MOST_BYTES:,} bytes; send smaller batches", status=413)


def _answer(signal: Signal, refused: Refused, encoding: Encoding) -> Response:
    kind, field = _ANSWERS[signal]
    answer: Any = kind()
    if refused.rejected:
        setattr(answer.partial_success, field, refused.rejected)
        answer.partial_success.error_message = _valid(refused.why)
    return Response(_written(answer, encoding), 200, media_type=_MEDIA[encoding])


def _refusal(status: int, text: str, encoding: Encoding | None, *, retry_after: int | None = None) -> Response:
    said = Status(code=_CODES[status], message=_valid(text))
    headers = {"retry-after": str(retry_after)} if retry_after is not None else {}
    return Response(_written(said, encoding or "json"), status, headers=headers, media_type=_MEDIA[encoding or "json"])


def _written(message: Message, encoding: Encoding) -> bytes:
    if encoding == "json":
        return MessageToJson(message, indent=None).encode()
    return bytes(message.SerializeToString())


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
