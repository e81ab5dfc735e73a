"""A large request is decoded in pieces that together are what it was; an item that is broken costs no other."""

import base64
import json
import logging
import sqlite3
import threading

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from dashboards.local.errors import BadRequest
from dashboards.local.otlp import LONGEST_ITEM, PIECE, decode, decoded_in
from dashboards.local.otlppieces import MOST, Malformed, pieces
from dashboards.local.queries import turn

from .sending import NOON, NS, Trace, framed, key, span_id, trace_id
from .serving import serving


def request_of(shape):
    """A request of resources, of scopes, of so many spans each."""
    request, number = ExportTraceServiceRequest(), 0
    for place, scopes in enumerate(shape):
        held = request.resource_spans.add()
        held.schema_url = f"resource {place}"
        held.resource.attributes.add(key="service.name").value.string_value = f"service {place}"
        for deep, spans in enumerate(scopes):
            scoped = held.scope_spans.add()
            scoped.scope.name = f"scope {place}.{deep}"
            for _ in range(spans):
                number += 1
                scoped.spans.add(
                    trace_id=trace_id(number),
                    span_id=span_id(number, 0),
                    name=f"span {number}",
                    start_time_unix_nano=NOON * NS,
                )
    return request


SHAPES = st.lists(st.lists(st.integers(0, 6), max_size=4), max_size=4)


@given(shape=SHAPES, most_items=st.integers(1, 8), most_bytes=st.integers(1, 400))
def test_pieces_hold_every_item_once_in_order_with_its_resource_and_scope(shape, most_items, most_bytes):
    body = request_of(shape).SerializeToString()
    found, whole = [], decode("traces", body, "protobuf").spans
    for piece in pieces(body, most_items=most_items, most_bytes=most_bytes):
        request = ExportTraceServiceRequest.FromString(piece)
        assert {held.schema_url for held in request.resource_spans} <= {f"resource {n}" for n in range(len(shape))}
        spans = decode("traces", piece, "protobuf").spans
        assert len(spans) <= most_items
        assert spans or not whole
        found += spans
    assert found == whole
    assert len(found) == sum(map(sum, shape))


@given(body=st.binary(max_size=60))
def test_any_bytes_are_cut_or_malformed(body):
    try:
        assert all(isinstance(piece, bytes) for piece in pieces(body, most_items=1, most_bytes=10))
    except Malformed as error:
        assert str(error)


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_of_a_large_request_little_is_decoded_at_a_time(encoding):
    request = request_of([[3_000, 2_000], [4_500]])
    body = request.SerializeToString()
    if encoding == "json":
        body = as_json(request)
    else:
        body += framed(0x12, bytes(PIECE))  # A field that nobody knows makes it as large as a large one is.
    found = list(decoded_in("traces", body, encoding))
    assert [len(some) for some in found] == [2_000, 2_000, 2_000, 2_000, 1_500]
    assert [(span.service, span.scope) for some in found for span in some.spans] == [
        *[("service 0", "scope 0.0")] * 3_000, *[("service 0", "scope 0.1")] * 2_000,
        *[("service 1", "scope 1.0")] * 4_500,
    ]  # fmt: skip


def test_a_body_of_over_a_megabyte_is_stored_whole_and_once(board):
    trace = Trace()
    for number in range(1, 2_501):
        trace.turn(number, said={"x": "y" * 500})
    assert len(trace.body) > PIECE
    assert len(list(decoded_in("traces", trace.body, "protobuf"))) > 1
    for _ in range(2):
        refused, done = board.ingest.receive("traces", trace.body)
        done.result(60)
        assert refused.rejected == 0
    assert board.rows("SELECT count(*) FROM turns") == [(2_500,)]
    assert board.rows("SELECT sum(count) FROM cells WHERE width = 60 AND series = 'turn'") == [(2_500,)]


def broken(body, word):
    """One name of a request made what is no UTF-8."""
    assert body.count(word) == 1
    return body.replace(word, b"\xff" * len(word))


@pytest.mark.parametrize("filler", [0, 3_000])
def test_a_span_that_is_no_protobuf_costs_the_others_nothing(board, filler):
    trace = Trace().turn(1)
    trace.span(2, 0, "unreadable")
    trace.turn(3)
    for number in range(4, 4 + filler):
        trace.turn(number, said={"x": "y" * 500})
    refused, done = board.ingest.receive("traces", broken(trace.body, b"unreadable"))
    done.result(60)
    assert refused.rejected == 1
    assert "TracesData" not in refused.why and "\n" not in refused.why
    assert board.rows("SELECT count(*) FROM turns") == [(2 + filler,)]


@pytest.mark.parametrize(
    "body",
    [
        b"\x0a\x00" * (MOST + 1),
        framed(0x0A, b"\x12\x00" * MOST),
        framed(0x0A, framed(0x12, b"\x12\x00" * MOST)),
        framed(0x0A, framed(0x12, b"\x0a\x00" * MOST)),
    ],
    ids=["resources", "scopes", "spans", "names"],
)
def test_a_request_of_endless_parts_is_refused_before_any_is_decoded(body):
    with pytest.raises(BadRequest, match="it has more than 200,000 items; send smaller batches"):
        decode("traces", body, "protobuf")


@pytest.mark.parametrize("tail", [b"", framed(0x1A, bytes(PIECE))], ids=["small", "large"])
def test_a_request_of_nothing_is_taken(board, tail):
    refused, done = board.ingest.receive("traces", tail)
    done.result(60)
    assert refused.rejected == 0


def test_json_of_endless_brackets_and_items_is_refused():
    with pytest.raises(BadRequest, match="more than 2,000,000 brackets; send smaller batches") as told:
        decode("traces", b'{"resourceSpans":[' + b"{}," * 2_000_000 + b"{}]}", "json")
    assert told.value.status == 413
    found = decode("traces", b'{"resourceSpans":[{"scopeSpans":[' + b"7," * (MOST + 4) + b"7]}]}", "json")
    assert (found.rejected, found.why) == (MOST + 5, "scopeSpans has more than 200,000 items; send smaller batches")


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_a_span_of_over_eight_megabytes_is_rejected_and_the_others_are_stored(board, encoding):
    trace = Trace().turn(1)
    trace.turn(2, said={"x": "y" * (LONGEST_ITEM + 1)}).turn(3)
    body = trace.body if encoding == "protobuf" else as_json(trace.request)
    refused, done = board.ingest.receive("traces", body, encoding)
    done.result(60)
    assert refused.rejected == 1
    assert "is longer than the 8,388,608 that are read" in refused.why
    assert board.rows("SELECT count(*) FROM turns") == [(2,)]


def test_lists_and_maps_of_very_many_values_are_cut_and_say_so(board):
    trace = Trace().turn(1, said={"many": [str(number) for number in range(1_500)], "n" * 70_000: 1})
    board.send(trace)
    attributes = board.ask(turn, key(1)).spans[0].attributes
    assert attributes["many"] == [*map(str, range(1_000)), "[cut: 1000 of 1500 values]"]
    [long] = [name for name in attributes if name.startswith("n")]
    assert long == "n" * 65_536 + " [cut: 65536 of 70000 characters]"


def test_a_resource_is_said_once_however_many_scopes_it_has():
    body = request_of([[1] * 50]).SerializeToString()
    [piece] = pieces(body, most_items=100, most_bytes=100_000)
    assert piece.count(b"service 0") == 1
    assert len(ExportTraceServiceRequest.FromString(piece).resource_spans[0].scope_spans) == 50


def as_json(request):
    document = MessageToDict(request)
    for held in document["resourceSpans"]:
        for scoped in held["scopeSpans"]:
            for span in scoped["spans"]:
                span.pop("parentSpanId", None)
                span["traceId"] = base64.b64decode(span["traceId"]).hex()
                span["spanId"] = base64.b64decode(span["spanId"]).hex()
    return json.dumps(document).encode()


def test_a_request_of_which_nothing_can_be_read_is_refused():
    trace = Trace()
    trace.span(1, 0, "unreadable")
    with pytest.raises(BadRequest, match="the body is no OTLP traces request in protobuf: "):
        decode("traces", broken(trace.body, b"unreadable"), "protobuf")


def test_what_the_file_will_not_take_is_counted_and_the_rest_is_stored(tmp_path, caplog):
    with serving(tmp_path / "odd.db") as served:
        refuse(served.board.ingest, "odd")
        trace = Trace()
        for number in range(1, 41):
            trace.turn(number)
            if number in (7, 8, 23):
                trace.span(number, 1, f"odd {number}")
        with caplog.at_level(logging.CRITICAL):
            answer = served.post("/v1/traces", trace.body)
        assert answer.status == 200
        said = ExportTraceServiceResponse.FromString(answer.body).partial_success
        assert (said.rejected_spans, said.error_message) == (
            3, "span 'odd 7' cannot be stored: IntegrityError: no odd spans",
        )  # fmt: skip
        assert served.rows("SELECT count(*) FROM spans") == [(40,)]
        assert served.rows("SELECT sum(count) FROM cells WHERE width = 60 AND series = 'turn'") == [(40,)]
        assert served.post("/v1/traces", Trace().turn(50).body).body == b""


def test_what_cannot_be_written_beside_other_requests_is_told_to_its_sender_alone(board, caplog):
    refuse(board.ingest, "odd")
    hold = threading.Event()
    board.ingest.submit(lambda connection: hold.wait(60), 0)
    odd = Trace().turn(2)
    odd.span(2, 1, "odd")
    taken = [board.ingest.receive("traces", body) for body in (Trace().turn(1).body, odd.body, Trace().turn(3).body)]
    with caplog.at_level(logging.CRITICAL):
        hold.set()
        for _, done in taken:
            done.result(60)
    assert [refused.rejected for refused, _ in taken] == [0, 1, 0]
    assert board.rows("SELECT count(*) FROM turns") == [(3,)]


def test_a_locked_file_loses_nothing_and_refuses_nothing(board, caplog):
    blocking = sqlite3.connect(board.path, isolation_level=None)
    board.ingest.submit(lambda connection: None, 0).result(60)
    board.ingest._connection.execute("PRAGMA busy_timeout = 1")
    blocking.execute("BEGIN IMMEDIATE")
    with caplog.at_level(logging.CRITICAL):
        refused, done = board.ingest.receive("traces", Trace().turn(1).body)
        assert isinstance(done.exception(60), sqlite3.OperationalError)
    blocking.execute("ROLLBACK")
    blocking.close()
    assert refused.rejected == 0
    board.send(Trace().turn(1))
    assert board.rows("SELECT count(*) FROM turns") == [(1,)]


def refuse(ingest, name):
    """Have the file refuse spans whose names begin so, as it would what nobody has thought of."""
    ingest.submit(
        lambda connection: connection.execute(
            f"""CREATE TEMP TRIGGER odd BEFORE INSERT ON main.spans WHEN new.name LIKE '{name}%'
                  BEGIN SELECT RAISE(ABORT, 'no {name} spans'); END"""
        ),
        0,
    ).result(60)
