"""Through the real OTLP exporter to a receiver that nobody here wrote: what arrives, and what is in no byte."""

from __future__ import annotations

import asyncio
import http.server
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from oteltap import OtelTapHttpProtobufReceiver, OtelTapHttpProtobufReceiverSettings

from middleware.injection import Block, Memory, block_of
from middleware.parts import Message, Part, Reply
from middleware.provenance import Origin
from middleware.telemetry import CaptureMode, Options, Signals
from middleware.telemetry.providers import Providers, providers

from .taps import reply, request, settle, text, turn

PROMPT = "PROMPT-51c0"
CANARY = "CANARY-7f3a"
ANSWER = "ANSWER-90be"


@dataclass
class Received:
    spans: list[Span] = field(default_factory=list)
    logs: list[LogRecord] = field(default_factory=list)
    metrics: list[Metric] = field(default_factory=list)
    raw: bytes = b""

    @property
    def names(self) -> set[str]:
        return (
            {span.name for span in self.spans} | {log.event_name for log in self.logs} | {m.name for m in self.metrics}
        )


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def keeping_bytes() -> Iterator[tuple[str, list[bytes]]]:
    """An HTTP server behind the tap that keeps every byte of every request, resources included."""
    kept: list[bytes] = []

    class Keep(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kept.append(self.path.encode() + self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Keep)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def received(send: object, monkeypatch: pytest.MonkeyPatch) -> Received:
    """What arrives when `send(made)` is done with providers of ours."""
    found = Received()

    async def run() -> None:
        port = free_port()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
        with keeping_bytes() as (url, kept):
            settings = OtelTapHttpProtobufReceiverSettings(
                http_port=port,
                reemit_traces_to_url=f"{url}/v1/traces",
                reemit_logs_to_url=f"{url}/v1/logs",
                reemit_metrics_to_url=f"{url}/v1/metrics",
            )
            async with OtelTapHttpProtobufReceiver(settings) as tap:
                outer = asyncio.ensure_future(tap.await_trace(keep(found.spans, "firsthand.turn"), timeout=60))
                logs = asyncio.ensure_future(tap.await_log(keep(found.logs, None), timeout=60))
                counted = asyncio.ensure_future(
                    tap.await_metric(keep(found.metrics, "firsthand.turn.count"), timeout=60)
                )
                await asyncio.sleep(0)
                made = providers(service_name="test")
                await asyncio.to_thread(send, made)  # type: ignore[arg-type]
                await asyncio.to_thread(made.shutdown)
                await asyncio.gather(outer, logs, counted)
                for _ in range(1200):
                    if {part.split(b"\n", 1)[0][:7] for part in kept} >= {b"/v1/tra", b"/v1/log", b"/v1/met"}:
                        break
                    await asyncio.sleep(0.05)
                found.raw = b"\n".join(kept)

    asyncio.run(run())
    return found


def keep(into: list, name: str | None):  # type: ignore[no-untyped-def, type-arg]
    """A predicate that keeps all it is shown and is true for `name` (the last item of a batch to be waited for)."""

    def predicate(item) -> bool:  # type: ignore[no-untyped-def]
        into.append(item)
        return name is None or item.name == name

    return predicate


def everything(capture: CaptureMode):  # type: ignore[no-untyped-def]
    """Turns of every kind: sent, streamed and left early, failed with a message that quotes all, hook errors."""

    def send(made: Providers) -> None:
        signals = Signals(
            Options(capture=capture),
            tracer_provider=made.traces,
            meter_provider=made.metrics,
            logger_provider=made.logs,
        )
        block = block_of(CANARY, (Memory(id="m1", text=CANARY, score=0.5),))
        said = Message(role="user", parts=(Part(kind="text", text=PROMPT),), echoed=(Part(kind="text", text=CANARY),))
        asked = request(text("system", "be brief"), said)
        one(signals, asked, block, answer=reply(ANSWER))
        one(signals, asked, block, answer=Reply(messages=(text("assistant", ANSWER),)), early=True)
        one(signals, asked, block, error=RuntimeError(f"{PROMPT} {CANARY}"))

    return send


def one(signals: Signals, asked, block: Block, answer=None, error=None, early: bool = False) -> None:  # type: ignore[no-untyped-def]
    trace = signals.start_turn(conversation_id="s1", origin=Origin.USER_QUERY)
    hook = trace.start_hook(event="UserPromptSubmit", type="command", label="check.sh")
    hook.finish(outcome="error", success=False, duration_ms=3, exit_code=1, output_chars=len(CANARY))
    found = trace.start_recall(store_id="sqlite", remote=False)
    found.finish(outcome="ok", matches=block.recalled, query=PROMPT, duration_s=0.003)
    trace.start_call(asked, operation="chat", provider="openai", server_address="api.test", server_port=443)
    with trace.current():
        trace.first_chunk()
    settle(
        trace,
        asked,
        outcome="error" if error else "cancelled" if early else "sent",
        answer=answer,
        error=error,
        block=block,
        blocks={1: block},
        submitted_prompt=PROMPT,
        ended_early=early,
    )


def test_everything_arrives_and_no_byte_holds_a_prompt_an_answer_or_injected_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = received(everything("NO_CONTENT"), monkeypatch)
    assert {"firsthand.turn", "firsthand.turn.count"} <= found.names
    for name in (b"chat gpt-5", b"search_memory", b"firsthand.hook check.sh", b"firsthand.hook_call"):
        assert name in found.raw
    for metric in (
        b"gen_ai.client.operation.duration",
        b"gen_ai.client.operation.time_to_first_chunk",
        b"gen_ai.client.token.usage",
        b"firsthand.hook.duration",
        b"firsthand.recall.duration",
        b"firsthand.recall.matches",
        b"firsthand.injection.size",
        b"firsthand.input.size",
    ):
        assert metric in found.raw
    assert b"firsthand.injection.chars" in found.raw
    for secret in (PROMPT, ANSWER, CANARY):
        assert secret.encode() not in found.raw


@pytest.mark.parametrize("mode", ["SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT"])
def test_with_content_on_the_prompt_is_there_and_injected_text_is_in_no_byte(
    mode: CaptureMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = received(everything(mode), monkeypatch)
    assert PROMPT.encode() in found.raw
    assert ANSWER.encode() in found.raw
    assert CANARY.encode() not in found.raw


def test_invalid_unicode_does_not_kill_the_export(monkeypatch: pytest.MonkeyPatch) -> None:
    def send(made: Providers) -> None:
        signals = Signals(
            Options(capture="SPAN_AND_EVENT"),
            tracer_provider=made.traces,
            meter_provider=made.metrics,
            logger_provider=made.logs,
        )
        asked = request(text("user", "a\ud800b\x00c"), model="m\udc8f")
        trace = turn(signals, asked, conversation_id="s\ud83e")
        settle(trace, asked, answer=reply("x\ud83ey"), submitted_prompt="\ud800")

    found = received(send, monkeypatch)
    assert "a\ufffdb\ufffdc".encode() in found.raw
    assert "x\ufffdy".encode() in found.raw


CONFIGURE = """
import sys
from middleware import telemetry
from middleware.provenance import Origin
signals = telemetry.Signals(telemetry.Options())
telemetry.configure(service_name="configured-service")
telemetry.configure()
trace = signals.start_turn(conversation_id=None, origin=Origin.CRON)
assert None not in trace.ids
trace.settle(outcome="sent", request=None, reply=None, error=None, block=None, blocks={}, origin=Origin.CRON,
             submitted_prompt=None, ended_early=False)
assert telemetry.flush(20)
assert telemetry.shutdown(20)
assert "grpc" not in sys.modules
"""


def test_configure_exports_from_signals_that_were_made_before_it() -> None:
    with keeping_bytes() as (url, kept):
        run(CONFIGURE, OTEL_EXPORTER_OTLP_ENDPOINT=url)
    raw = b"".join(kept)
    assert b"configured-service" in raw
    assert b"firsthand.turn" in raw
    assert b"firsthand.turn.count" in raw


APPLICATIONS_OWN = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
own = TracerProvider()
trace.set_tracer_provider(own)
from middleware import telemetry
telemetry.configure()
assert trace.get_tracer_provider() is own
"""


def test_configure_leaves_the_applications_provider() -> None:
    run(
        APPLICATIONS_OWN,
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9",
        OTEL_METRICS_EXPORTER="none",
        OTEL_LOGS_EXPORTER="none",
    )


LIGHT = """
import sys
import middleware.telemetry
heavy = {"grpc", "urllib3", "requests", "opentelemetry.exporter", "opentelemetry.sdk.metrics", "detect_secrets"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""


def test_importing_telemetry_loads_no_exporter() -> None:
    run(LIGHT)


GRPC = """
import os, sys
from middleware import telemetry
telemetry.configure()
assert "grpc" in sys.modules
os._exit(0)
"""


def test_configure_with_grpc_loads_grpc() -> None:
    run(GRPC, OTEL_EXPORTER_OTLP_PROTOCOL="grpc")


def run(script: str, **variables: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=Path(__file__).parents[2],
        env={"PATH": "/usr/bin:/bin", **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
