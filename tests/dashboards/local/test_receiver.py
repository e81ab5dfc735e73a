"""The receiver takes OTLP as the protocol has it, and refuses everything else in one line that its sender can read."""

import asyncio
import gzip
import json
import logging
import socket
import threading
import zlib

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from dashboards.local import otlp, receiver
from dashboards.local.errors import DashboardError
from dashboards.local.guards import MOST_UNDER_WAY, POLICY, Guard
from dashboards.local.otlp import MOST_BYTES
from dashboards.local.server import listen

from .sending import NOON, NS, Trace, histogram, log
from .serving import PROTOBUF, serving

SPAN = {
    "traceId": "0102030405060708090a0b0c0d0e0f10",
    "spanId": "0102030405060708",
    "name": "firsthand.turn",
    "startTimeUnixNano": str(NOON * NS),
    "endTimeUnixNano": str((NOON + 1) * NS),
    "attributes": [{"key": "firsthand.turn.outcome", "value": {"stringValue": "sent"}}],
}


def document(*spans):
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


def as_json(served, value, path="/v1/traces"):
    body = value if isinstance(value, (str, bytes)) else json.dumps(value)
    return served.post(path, body, content_type="application/json")


@pytest.mark.parametrize("encode", [lambda b: (b, ""), lambda b: (gzip.compress(b), "gzip"),
                                    lambda b: (zlib.compress(b), "deflate"), lambda b: (b, "identity")])  # fmt: skip
def test_spans_are_on_disk_once_they_are_answered(served, encode):
    body, encoding = encode(Trace().hook(1).call(1).turn(1).body)
    answer = served.post("/v1/traces", body, **({"content_encoding": encoding} if encoding else {}))
    assert (answer.status, answer.headers["content-type"]) == (200, PROTOBUF)
    assert ExportTraceServiceResponse.FromString(answer.body) == ExportTraceServiceResponse()
    assert served.rows("SELECT name, service FROM spans ORDER BY name") == [
        ("chat gpt-5", "chat"), ("firsthand.hook state", "chat"), ("firsthand.turn", "chat"),
    ]  # fmt: skip


def test_metrics_and_logs_are_taken(served):
    assert served.post("/v1/metrics", histogram("m", [1], [], 5.0).SerializeToString()).status == 200
    assert served.post("/v1/logs", log("firsthand.hook_call", number=1).SerializeToString()).status == 200
    assert served.rows("SELECT total FROM metric_sums") == [(5.0,)]
    assert served.rows("SELECT event, severity FROM logs") == [("firsthand.hook_call", "INFO")]


def test_json_is_taken_as_otlp_writes_it(served):
    answer = as_json(served, document(SPAN))
    assert (answer.status, answer.headers["content-type"], json.loads(answer.body)) == (200, "application/json", {})
    [(trace_id, outcome)] = served.rows("SELECT trace_id, outcome FROM turns")
    assert (trace_id.hex(), outcome) == (SPAN["traceId"], "sent")


def test_one_broken_span_of_json_costs_the_others_nothing(served):
    others = [{**SPAN, "spanId": f"{number:016x}"} for number in range(1, 4)]
    broken = [
        {**SPAN, "spanId": "xyz"},
        {**SPAN, "spanId": "00" * 8},
        {**SPAN, "traceId": 7},
        {**SPAN, "startTimeUnixNano": "yesterday"},
        {**SPAN, "startTimeUnixNano": str(2**63)},
        {**SPAN, "attributes": "none"},
        "a span",
        None,
    ]
    answer = as_json(served, document(others[0], *broken, *others[1:]))
    assert answer.status == 200
    partial = json.loads(answer.body)["partialSuccess"]
    assert partial["rejectedSpans"] == str(len(broken))
    assert "\n" not in partial["errorMessage"]
    assert served.rows("SELECT count(*) FROM spans") == [(3,)]


def test_spans_without_ids_are_rejected_and_the_others_kept(served):
    trace = Trace().turn(1)
    trace.span(2, 1, "no trace", parent=None).trace_id = b""
    trace.span(2, 2, "short", parent=None).span_id = b"abc"
    trace.span(2, 3, "at no time", parent=None).start_time_unix_nano = 0
    answer = served.post("/v1/traces", trace.body)
    partial = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert partial.rejected_spans == 3
    assert partial.error_message == "span 'no trace': its trace id is not 16 bytes, or all zero"
    assert served.rows("SELECT count(*) FROM spans") == [(1,)]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"\xff\xff\xff", "the body is no OTLP traces request in protobuf: "),
        (Trace().turn(1).body[:-3], "the body is no OTLP traces request in protobuf: "),
        (b"hello", "the body is no OTLP traces request in protobuf: "),
    ],
)
def test_what_is_no_protobuf_is_refused_in_protobuf(served, body, line):
    answer = served.post("/v1/traces", body)
    assert answer.status == 400
    assert answer.line.startswith(line)
    assert Status.FromString(answer.body).code == 3


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"", "the body is no JSON: "),
        (b"{", "the body is no JSON: "),
        (b"\xff{}", "the body is no JSON: "),
        (b"[" * 200_000, "the body is no JSON: "),
        (b"[]", "the body is no OTLP traces request: it is no JSON object"),
        (b'{"resourceSpans": 3}', "the body is no OTLP request: resourceSpans is no list"),
    ],
)
def test_what_is_no_json_is_refused_in_json(served, body, line):
    answer = as_json(served, body)
    assert answer.status == 400
    said = json.loads(answer.body)
    assert said["code"] == 3
    assert said["message"].startswith(line)


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "%"])
def test_what_a_form_could_send_is_refused(served, kind):
    answer = served.post("/v1/traces", b"", content_type=kind)
    assert answer.status == 415
    assert json.loads(answer.body)["message"] == "Content-Type must be application/x-protobuf or application/json"


def test_encodings_that_are_not_what_they_say_are_refused(served):
    body = gzip.compress(Trace().turn(1).body)
    for sent, encoding, status, line in (
        (b"plain", "gzip", 400, "the body is not gzip: "),
        (body[:-4], "gzip", 400, "the gzip body ends too early, after "),
        (body[:20], "gzip", 400, "the gzip body ends too early, after "),
        (body, "br", 415, "Content-Encoding 'br' is not read here; send gzip, or none"),
    ):
        answer = served.post("/v1/traces", sent, content_encoding=encoding)
        assert (answer.status, answer.line[: len(line)]) == (status, line)
    assert served.rows("SELECT count(*) FROM spans") == [(0,)]


def test_a_bomb_is_refused_before_it_is_large(served):
    answer = served.post("/v1/traces", gzip.compress(bytes(300_000_000), 9), content_encoding="gzip")
    assert (answer.status, answer.line) == (
        413,
        "the body is over 20,971,520 bytes once inflated; send smaller batches",
    )


def test_a_body_that_is_too_long_is_refused_whether_it_says_so_or_not(served):
    assert served.post("/v1/traces", bytes(MOST_BYTES + 1)).status == 413

    def chunks():
        for _ in range(22):
            yield bytes(1024 * 1024)

    try:
        assert served.post("/v1/traces", chunks(), transfer_encoding="chunked").status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass  # Refused while it was still being sent.
    assert served.post("/v1/traces", Trace().turn(1).body).status == 200


def test_other_methods_and_paths_are_refused(served):
    assert [served.ask(method, "/v1/traces").status for method in ("GET", "PUT", "DELETE", "OPTIONS")] == [405] * 4
    assert served.post("/v1/profiles", b"").status in (404, 405)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": "localhost:4318@evil.example"}, 403),
        ({"host": "localhost:"}, 403),
        ({"host": ""}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"host": "localhost"}, 200),
        ({"host": "LOCALHOST:9"}, 200),
        ({"host": "[::1]:4318"}, 200),
        ({"host": "127.0.0.1:4318"}, 200),
    ],
)
def test_no_page_of_another_origin_can_write_or_read(served, headers, status):
    sent = served.post("/v1/traces", Trace().turn(1).body, **headers)
    read = served.ask("GET", "/", headers=headers)
    assert (sent.status, read.status) == (status, status)
    for answer in (sent, read):
        assert not any(name.startswith("access-control") for name in answer.headers)
    assert served.rows("SELECT count(*) FROM spans") == [(int(status == 200),)]


def test_our_own_pages_cannot_write_either(served):
    answer = served.post("/v1/traces", Trace().turn(1).body, host="localhost:1", origin="http://localhost:1")
    assert (answer.status, answer.line) == (403, "a web page may not send telemetry here")


def test_every_answer_has_the_security_headers(served):
    for path in ("/", "/nowhere", "/v1/traces"):
        headers = served.ask("GET", path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


def test_when_too_much_waits_the_client_is_told_when_to_come_again(tmp_path):
    with serving(tmp_path / "full.db", most_waiting=3) as served:
        hold, held = threading.Event(), threading.Event()
        served.board.ingest.submit(lambda connection: (held.set(), hold.wait(60)), 0)
        assert held.wait(60)
        first = threading.Thread(target=served.post, args=("/v1/traces", Trace().hook(1).call(1).turn(1).body))
        first.start()
        while not served.board.ingest._waiting:
            pass
        answer = served.post("/v1/traces", Trace().turn(2).body)
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
        assert answer.line == "3 items wait to be written; send again later"
        hold.set()
        first.join()
        assert served.post("/v1/traces", Trace().turn(2).body).status == 200
        assert served.rows("SELECT count(*) FROM turns") == [(2,)]


def test_one_request_of_any_size_is_taken_when_nothing_waits(tmp_path):
    with serving(tmp_path / "small.db", most_waiting=3) as served:
        trace = Trace()
        for number in range(1, 10):
            trace.turn(number)
        assert served.post("/v1/traces", trace.body).status == 200


def test_a_disk_that_fails_is_told_and_nothing_is_lost(tmp_path):
    with serving(tmp_path / "disk.db") as served:
        connection = served.board.ingest._connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        big = Trace().turn(1, said={"x": "y" * 60_000})
        answer = served.post("/v1/traces", big.body)
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        assert answer.line == "it could not be stored: OperationalError; send again"
        connection.execute("PRAGMA max_page_count = 1000000")
        assert served.post("/v1/traces", big.body).status == 200
        assert served.rows("SELECT count(*) FROM turns") == [(1,)]


def test_a_client_that_hangs_up_in_the_middle_harms_nobody(served):
    with socket.create_connection(("127.0.0.1", served.port)) as half:
        half.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
                     b"Content-Length: 100\r\n\r\nhalf")  # fmt: skip
    assert served.post("/v1/traces", Trace().turn(1).body).status == 200


def test_a_port_that_is_taken_is_one_line():
    first = listen(0)
    try:
        port = first[0].getsockname()[1]
        with pytest.raises(DashboardError) as caught:
            listen(port)
        assert str(caught.value) == (
            f"port {port} on 127.0.0.1 is in use: another dashboard or an OpenTelemetry Collector may run; "
            "stop that, or choose another with --port"
        )
    finally:
        for opened in first:
            opened.close()


def test_what_was_answered_survives_a_restart_and_what_was_not_is_sent_again(tmp_path):
    path = tmp_path / "again.db"
    with serving(path) as served:
        port = served.port
        for number in range(1, 6):
            assert served.post("/v1/traces", Trace().call(number).turn(number).body).status == 200
    with serving(path, port=port) as served:
        for number in range(4, 9):
            assert served.post("/v1/traces", Trace().call(number).turn(number).body).status == 200
        assert served.rows("SELECT count(*) FROM spans") == [(16,)]
        assert served.rows("SELECT sum(count) FROM cells WHERE width = 60 AND series = 'turn'") == [(8,)]


def test_of_very_many_requests_at_once_some_are_told_to_come_again():
    """Through the guard itself: as many sockets are more than a process may have open everywhere."""

    async def scenario():
        go, full, waiting, answered = asyncio.Event(), asyncio.Event(), [], []

        async def app(scope, receive, send):
            waiting.append(scope)
            if len(waiting) == MOST_UNDER_WAY:
                full.set()
            await go.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})

        async def send(message):
            answered.append(message)

        scope = {"type": "http", "method": "POST", "path": "/v1/traces", "headers": [(b"host", b"localhost")]}
        guard = Guard(app)
        tasks = [asyncio.create_task(guard(scope, None, send)) for _ in range(MOST_UNDER_WAY)]
        await full.wait()
        await guard(scope, None, send)
        refused = answered[:]
        go.set()
        await asyncio.gather(*tasks)
        answered.clear()
        await guard(scope, None, send)
        return refused, answered

    (start, body), after = asyncio.run(scenario())
    assert (start["status"], dict(start["headers"])[b"retry-after"]) == (503, b"1")
    assert body["body"] == b"too many requests at once; send again later\n"
    assert [message["status"] for message in after] == [200]


def test_a_body_that_never_ends_is_given_up_and_harms_nobody(served, monkeypatch):
    monkeypatch.setattr(receiver, "_BODY_SECONDS", 0.05)
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as slow:
        slow.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
                     b"Content-Length: 100\r\n\r\nhalf")  # fmt: skip
        assert served.post("/v1/traces", Trace().turn(1).body).status == 200
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += slow.recv(4_096)
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_what_a_reader_did_not_foresee_is_refused_and_not_sent_again(served, monkeypatch, caplog):
    def odd(request, decoded):
        raise LookupError("nobody thought of it")

    monkeypatch.setitem(otlp._READERS, "traces", odd)
    with caplog.at_level(logging.CRITICAL):
        answer = served.post("/v1/traces", Trace().turn(1).body)
    assert (answer.status, answer.line) == (400, "it could not be read: LookupError")
    assert served.post("/v1/logs", log("e", number=1).SerializeToString()).status == 200


def test_more_bodies_at_once_than_memory_is_for_are_told_to_come_again(served, monkeypatch):
    monkeypatch.setattr(receiver, "_MOST_IN_FLIGHT", 50)
    answer = served.post("/v1/traces", Trace().turn(1).body)
    assert (answer.status, answer.headers["retry-after"]) == (429, "1")
    assert answer.line == "too many large requests at once; send again later"
    monkeypatch.setattr(receiver, "_MOST_IN_FLIGHT", 1_000_000)
    assert served.post("/v1/traces", Trace().turn(1).body).status == 200


def test_a_fault_of_ours_is_answered_with_the_security_headers_and_its_words_are_in_no_log(caplog):
    async def app(scope, receive, send):
        raise KeyError("why is CI red?")

    async def ask():
        answered = []

        async def send(message):
            answered.append(message)

        scope = {"type": "http", "method": "GET", "path": "/turns", "headers": [(b"host", b"localhost")]}
        await Guard(app)(scope, None, send)
        return answered

    start, body = asyncio.run(ask())
    assert (start["status"], dict(start["headers"])[b"content-security-policy"]) == (500, POLICY.encode())
    assert body["body"] == b"the dashboard has a fault here; its log says where\n"
    assert f"dashboard: KeyError at {__file__}:" in caplog.text
    assert "CI" not in caplog.text
