"""Injected text is in no byte that leaves by OTLP, HTTP or gRPC, at any capture setting, on any way out of a call."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from middleware import HookBlocked, Middleware
from middleware.telemetry.providers import providers
from recall_store import Record, open_store
from tests.telemetry.test_otlp import keeping_bytes

from .receiver import GrpcReceiver
from .test_exits import EXITS, Place, outcome, scripted, stream_work
from .wire import ENDPOINTS, Wire, call, cheap_collections

CANARY = "CANARY-7f3a"
PROMPT, ANSWER = "count to three", "one two three"
REQUESTS = {
    b"/v1/traces": ExportTraceServiceRequest,
    b"/v1/metrics": ExportMetricsServiceRequest,
    b"/v1/logs": ExportLogsServiceRequest,
}
MODES = ("NO_CONTENT", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT")


@pytest.fixture(autouse=True, scope="module")
def _cheap_collections() -> Iterator[None]:
    with cheap_collections():
        yield


@contextlib.contextmanager
def receiving(protocol: str) -> Iterator[tuple[str, list[bytes], Any]]:
    """A receiver's URL, every byte that it got, and a function that gives the requests, parsed."""
    if protocol == "grpc":
        with GrpcReceiver() as receiver:
            yield receiver.url, receiver.received, lambda: list(receiver.requests)
        return
    with keeping_bytes() as (url, kept):

        def parsed() -> list[Any]:
            found = []
            for body in kept:
                path = next(path for path in REQUESTS if body.startswith(path))
                found.append(REQUESTS[path].FromString(body[len(path) :]))
            return found

        yield url, kept, parsed


def every_way_out(app: Middleware) -> int:
    """Take each of them with each endpoint and colour; what breaks quotes the canary. Returns how many calls."""
    made = 0
    for endpoint in ENDPOINTS:
        for is_async in (False, True):
            gc.collect()
            gc.freeze()
            for how in EXITS:
                wire = scripted(endpoint, how, is_async=is_async)
                wire.message = f"{CANARY}: {PROMPT}"
                if isinstance(wire.error, httpx2.TransportError):
                    wire.error = type(wire.error)(f"{CANARY}: {PROMPT}")
                place = Place(endpoint, is_async, wire, app.wrap(wire.client(is_async=is_async)))
                outcome(lambda place=place, how=how: stream_work(how, place.is_async)(place))
                made += bool(wire.requests)
                assert all(CANARY.encode() in body for body in wire.requests)
        value = Wire(endpoint)
        call(endpoint, app.wrap(value.client(is_async=False)), stream=False, is_async=False)
        made += 1
    return made


def sent(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch, protocol: str, **settings: Any) -> int:
    """Every way out and a blocked turn, exported; returns how many calls were made."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    store = f"sqlite:///{folder}/memories.db"
    with open_store(store, embedder="hash") as memories:
        memories.upsert(namespace="ann", records=[Record(text=f"three is {CANARY}-memory", id="m1")])
    ours = providers(service_name="canary", protocol=protocol)
    given = {"tracer_provider": ours.traces, "meter_provider": ours.metrics, "logger_provider": ours.logs}
    settings = {**given, **settings, "store": store, "user": "ann", "recall_timeout": 30.0}
    with Middleware.from_settings(hooks=[lambda payload: f"{CANARY}-hook"], **settings) as app:
        made = every_way_out(app)
    blocks = [lambda payload: {"decision": "block", "reason": f"{CANARY}-reason"}]
    with Middleware.from_settings(hooks=blocks, **settings) as app, pytest.raises(HookBlocked):
        call("chat", app.wrap(Wire("chat").client(is_async=False)), stream=False, is_async=False)
    ours.shutdown()
    return made


def spans_of(requests: list[Any]) -> list[Any]:
    return [
        span
        for request in requests
        if isinstance(request, ExportTraceServiceRequest)
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
@pytest.mark.parametrize("mode", MODES)
def test_injected_text_is_in_no_byte(
    mode: str, protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with receiving(protocol) as (url, kept, parsed):
        made = sent(url, tmp_path, monkeypatch, protocol, capture_content=mode)
        raw, spans = b"\n".join(kept), spans_of(parsed())
    models = [span for span in spans if span.name in ("chat m", "generate_content m")]
    assert len(models) == made
    assert len([span for span in spans if span.name == "firsthand.turn"]) == made + 1
    for there in (b"search_memory", b"firsthand.hook_call", b"firsthand.injection.chars", b"firsthand.turn.count"):
        assert there in raw
    assert CANARY.encode() not in raw
    assert (PROMPT.encode() in raw) is (mode != "NO_CONTENT")
    assert (ANSWER.encode() in raw) is (mode != "NO_CONTENT")
    ours = [record for record in caplog.records if record.name.split(".")[0] in ("firsthand", "middleware")]
    assert CANARY not in "\n".join(record.getMessage() for record in ours)


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
@pytest.mark.parametrize("mode", ["NO_CONTENT", "SPAN_AND_EVENT"])
def test_with_capture_injected_it_is_in_its_own_attribute_only(
    mode: str, protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving(protocol) as (url, kept, parsed):
        sent(url, tmp_path, monkeypatch, protocol, capture_content=mode, capture_injected=True)
        requests = parsed()
    assert CANARY.encode() in b"\n".join(kept)
    holders = spans_of(requests) + [
        record
        for request in requests
        if isinstance(request, ExportLogsServiceRequest)
        for resource in request.resource_logs
        for scope in resource.scope_logs
        for record in scope.log_records
    ]
    for holder in holders:
        left = [item for item in holder.attributes if item.key != "firsthand.injection.messages"]
        del holder.attributes[:]
        holder.attributes.extend(left)
    assert all(CANARY.encode() not in request.SerializeToString() for request in requests)
