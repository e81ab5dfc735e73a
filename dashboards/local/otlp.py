"""OTLP over HTTP, decoded: traces, metrics and logs, in protobuf and in JSON, gzipped or not.

A request that is no OTLP raises `BadRequest`, which says what is wrong with it in one line. One that is OTLP gives all
of its items that can be stored; the others are counted in `Decoded.rejected` (OTLP's partial success): a single broken
item costs the others nothing. A large request is decoded piece by piece, so that no more of it is in memory.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from . import otlpjson, otlplogs, otlpmetrics, otlptraces
from .errors import BadRequest
from .otlppieces import Malformed, pieces
from .signals import Decoded

__all__ = ["MOST_BYTES", "Encoding", "Signal", "decode", "decoded_in", "inflated"]

Signal: TypeAlias = Literal["traces", "metrics", "logs"]
Encoding: TypeAlias = Literal["protobuf", "json"]

MOST_BYTES: Final = 20 * 1024 * 1024
"""Of a body, inflated or not: what the OpenTelemetry Collector takes."""

PIECE: Final = 1 << 18
"""Bytes of protobuf that are decoded at a time, or one item: decoded they are some fifteen times as many. A body of no
more is decoded without a look at how many items it is."""

LONGEST_ITEM: Final = 8 * 1024 * 1024
"""Bytes of a single span, record or metric: it is decoded at once, and may be many times as many then."""

_MOST_ITEMS: Final = 2_000
"""That are decoded at a time."""

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


def inflated(body: bytes | bytearray, encoding: str, *, most: int = MOST_BYTES) -> bytes | bytearray:
    """Undo a Content-Encoding (`gzip`, `deflate`, `identity` or ""). Raises `BadRequest`, 413 for over `most` bytes."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return body
    if name not in ("gzip", "x-gzip", "deflate"):
        raise BadRequest(f"Content-Encoding {name[:40]!r} is not read here; send gzip, or none", status=415)
    left: bytes | bytearray = body
    out, members = bytearray(), 0
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
    return out


def decode(signal: Signal, body: bytes | bytearray, encoding: Encoding) -> Decoded:
    """What a request's body holds, all of it at once. Raises `BadRequest`."""
    whole = Decoded()
    for some in decoded_in(signal, body, encoding):
        whole.spans += some.spans
        whole.logs += some.logs
        whole.points += some.points
        whole.refuse(some.why, some.rejected)
    return whole


def decoded_in(signal: Signal, body: bytes | bytearray, encoding: Encoding) -> Iterator[Decoded]:
    """What a request's body holds, in pieces of bearable size, at least one. Raises `BadRequest` before the first."""
    if encoding == "json":
        found = otlpjson.pieces(
            signal, body, _REQUESTS[signal], most_items=_MOST_ITEMS, most_bytes=2 * PIECE, longest=LONGEST_ITEM
        )
    else:
        found = _parsed(signal, body)
    return _read(signal, found)


def _read(signal: Signal, found: Iterator[tuple[Any, Decoded]]) -> Iterator[Decoded]:
    for request, decoded in found:
        _READERS[signal](request, decoded)
        yield decoded


def _parsed(signal: Signal, body: bytes | bytearray) -> Iterator[tuple[Any, Decoded]]:
    """Parsed messages, with what was broken of each."""
    try:
        if len(body) > PIECE:
            return map(partial(_whole, signal), pieces(body, most_items=_MOST_ITEMS, most_bytes=PIECE))
        request, decoded = _whole(signal, bytes(body))
    except Malformed as error:
        raise BadRequest(f"the body is no OTLP {signal} request in protobuf: {_line(error)}") from error
    if decoded.rejected and not request.ByteSize():
        raise BadRequest(f"the body is no OTLP {signal} request in protobuf: {decoded.why}")
    return iter([(request, decoded)])


def _whole(signal: Signal, body: bytes) -> tuple[Any, Decoded]:
    """A request that is whole, or what of it is. Raises `Malformed` when it cannot be told which."""
    request, decoded, one = _REQUESTS[signal](), Decoded(), _REQUESTS[signal]()
    if len(body) > LONGEST_ITEM:
        # A piece so long holds nothing else.
        decoded.refuse(f"an item of {len(body):,} bytes is longer than the {LONGEST_ITEM:,} that are read")
        return request, decoded
    try:
        request.ParseFromString(body)
        return request, decoded
    except (DecodeError, RecursionError):
        request.Clear()
    for item in pieces(body, most_items=1, most_bytes=PIECE):
        try:
            one.ParseFromString(item)
        except (DecodeError, RecursionError) as error:
            decoded.refuse(_line(error))
            continue
        request.MergeFrom(one)
    return request, decoded


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
