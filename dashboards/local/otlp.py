"""OTLP over HTTP, decoded: traces, metrics and logs, in protobuf and in JSON, gzipped or not.

A request that is no OTLP raises `BadRequest`, which says what is wrong with it in one line. One that is OTLP gives all
of its items that can be stored; the others are counted in `Decoded.rejected` (OTLP's partial success). In JSON a
single broken item costs the others nothing; protobuf that is broken anywhere is broken as a whole.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from . import otlpjson, otlplogs, otlpmetrics, otlptraces
from .errors import BadRequest
from .signals import Decoded

__all__ = ["MOST_BYTES", "Encoding", "Signal", "decode", "inflated"]

Signal: TypeAlias = Literal["traces", "metrics", "logs"]
Encoding: TypeAlias = Literal["protobuf", "json"]

MOST_BYTES: Final = 20 * 1024 * 1024
"""Of a body, inflated or not: what the OpenTelemetry Collector takes."""

_MOST_MEMBERS: Final = 1_000
"""Of a gzip body: each of them costs a copy of all that follow it."""

_REQUESTS: Final[dict[str, type[Message]]] = {
    "traces": ExportTraceServiceRequest,
    "metrics": ExportMetricsServiceRequest,
    "logs": ExportLogsServiceRequest,
}
_READERS: Final[dict[str, Callable[[Any, Decoded], None]]] = {
    "traces": otlptraces.read,
    "metrics": otlpmetrics.read,
    "logs": otlplogs.read,
}


def inflated(body: bytes, encoding: str, *, most: int = MOST_BYTES) -> bytes:
    """Undo a Content-Encoding (`gzip`, `deflate`, `identity` or ""). Raises `BadRequest`, 413 for over `most` bytes."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return body
    if name not in ("gzip", "x-gzip", "deflate"):
        raise BadRequest(f"Content-Encoding {name[:40]!r} is not read here; send gzip, or none", status=415)
    left, out, members = body, bytearray(), 0
    while left:
        members += 1
        if members > _MOST_MEMBERS:
            raise BadRequest(f"the {name} body is of more than {_MOST_MEMBERS} members; send it as one", status=413)
        undo = zlib.decompressobj(zlib.MAX_WBITS | 32)
        try:
            out += undo.decompress(left, most + 1 - len(out))
        except zlib.error as error:
            raise BadRequest(f"the body is not {name}: {error}") from error
        if len(out) > most:
            raise BadRequest(f"the body is over {most:,} bytes once inflated; send smaller batches", status=413)
        if not undo.eof:
            raise BadRequest(f"the {name} body ends too early, after {len(out):,} bytes; send it again whole")
        left = undo.unused_data.lstrip(b"\0")
    return bytes(out)


def decode(signal: Signal, body: bytes, encoding: Encoding) -> Decoded:
    """What a request's body holds. Raises `BadRequest`."""
    request = _REQUESTS[signal]()
    decoded = Decoded()
    if encoding == "json":
        otlpjson.parse(signal, body, request, decoded)
    else:
        try:
            request.ParseFromString(body)
        except (DecodeError, RecursionError) as error:
            raise BadRequest(f"the body is no OTLP {signal} request in protobuf: {_line(error)}") from error
    _READERS[signal](request, decoded)
    return decoded


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
