"""What our own providers say of a server that takes nothing, and how a program with them ends."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from middleware.errors import SettingsError
from middleware.telemetry.providers import providers
from tests.pace import HANG

HEAD = """
import logging, sys, threading, time
from middleware import telemetry
from middleware.provenance import Origin
from middleware.telemetry import Options, Signals
from tests.pace import HANG

def turn():
    trace = Signals(Options()).start_turn(conversation_id=None, origin=Origin.CRON)
    trace.settle(outcome="sent", request=None, reply=None, error=None, block=None, blocks={}, origin=Origin.CRON,
                 submitted_prompt=None, ended_early=False)
"""
NOT_DELIVERED = (
    "telemetry: not all was delivered to {} before the program ended; start a collector there, set "
    "OTEL_EXPORTER_OTLP_ENDPOINT, or leave telemetry.configure() out\n"
)


def run(script: str, **variables: str) -> tuple[list[str], str, float]:
    """The lines that a program printed, what it said on stderr, and the seconds that it took to end."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{HEAD}\n{script}\nprint(time.time(), flush=True)"],
        cwd=Path(__file__).parents[2],
        env={"PATH": "/usr/bin:/bin", **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    ended = time.time()
    assert done.returncode == 0, done.stderr
    *said, printed = done.stdout.splitlines()
    return said, done.stderr, ended - float(printed)


@contextmanager
def server(status: int) -> Iterator[tuple[str, list[str]]]:
    """A server that answers every request with `status`; its URL, and the paths that were asked."""
    asked: list[str] = []

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{made.server_port}", asked
    finally:
        made.shutdown()
        made.server_close()
        thread.join()


FLUSHES = """
telemetry.configure()
turn()
print(telemetry.flush(20), telemetry.flush(20), telemetry.shutdown(20), telemetry.shutdown(20))
"""


def test_a_server_that_refuses_everything_makes_flush_and_shutdown_false() -> None:
    with server(404) as (url, asked):
        said, errors, _ = run(FLUSHES, OTEL_EXPORTER_OTLP_ENDPOINT=url)
    assert said == ["False False False False"]
    assert "404" in errors and "once" not in errors and "already" not in errors
    assert {"/v1/traces", "/v1/metrics"} <= set(asked)


def test_what_a_server_took_is_true_and_a_program_that_shut_down_ends_in_silence() -> None:
    with server(200) as (url, _):
        said, errors, _ = run(FLUSHES, OTEL_EXPORTER_OTLP_ENDPOINT=url)
    assert (said, errors) == (["True True True True"], "")


def test_what_was_lost_before_the_flush_makes_it_false_once() -> None:
    with server(404) as (url, _):
        said, _, _ = run(
            "telemetry.configure()\nturn()\ntime.sleep(1)\nprint(telemetry.flush(20), telemetry.flush(20))",
            OTEL_EXPORTER_OTLP_ENDPOINT=url,
            OTEL_METRICS_EXPORTER="none",
            OTEL_BSP_SCHEDULE_DELAY="100",
        )
    assert said == ["False True"]


def test_what_waits_is_exported_when_the_program_ends() -> None:
    with server(200) as (url, asked):
        _, errors, _ = run("telemetry.configure()\nturn()", OTEL_EXPORTER_OTLP_ENDPOINT=url)
    assert (sorted(asked), errors) == (["/v1/metrics", "/v1/traces"], "")


def test_a_program_without_a_server_ends_and_says_what_to_do() -> None:
    _, errors, seconds = run("telemetry.configure()\nturn()", OTEL_EXPORTER_OTLP_ENDPOINT="http://u:p@127.0.0.1:9/x")
    assert seconds < HANG
    assert errors == NOT_DELIVERED.format("http://127.0.0.1:9")


def test_over_grpc_that_is_the_only_line_too() -> None:
    where = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    _, errors, _ = run("telemetry.configure()\nturn()", **where)
    assert errors == NOT_DELIVERED.format("http://127.0.0.1:9")


def test_what_was_given_up_is_one_line_with_its_reason_and_each_attempt_is_told_at_debug() -> None:
    where = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "5"}
    _, errors, _ = run("telemetry.configure()\nturn()\ntelemetry.flush(HANG)", OTEL_METRICS_EXPORTER="none", **where)
    [given_up] = errors.splitlines()
    assert given_up.startswith("Failed to export spans batch due to timeout, max retries or shutdown. The reason: ")
    assert given_up.endswith('Connection refused"))')
    loud = "logging.basicConfig(level=10)\ntelemetry.configure()\nturn()\ntelemetry.flush(HANG)"
    _, errors, _ = run(loud, OTEL_METRICS_EXPORTER="none", **where)
    assert ":Transient error HTTPConnectionPool" in errors


def test_the_attempts_of_an_exporter_of_the_applications_are_all_told() -> None:
    theirs = """
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
telemetry.configure()
provider = TracerProvider(shutdown_on_exit=False)
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(timeout=5)))
provider.get_tracer("theirs").start_span("x").end()
"""
    _, errors, _ = run(theirs, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    assert errors.startswith("Transient error HTTPConnectionPool")


def test_a_program_that_can_start_no_thread_any_more_ends_as_another_does() -> None:
    stops = """
import atexit
telemetry.configure()
turn()

def start(thread):
    raise RuntimeError("can't create new thread at interpreter shutdown")

threading.Thread.start = start
atexit.register(lambda: print(telemetry.flush(20), file=sys.stderr))
"""
    with server(200) as (url, asked):
        _, errors, _ = run(stops, OTEL_EXPORTER_OTLP_ENDPOINT=url)
    assert errors == "True\n"
    assert asked.count("/v1/traces") == 1


def test_a_provider_that_raises_makes_flush_false_and_the_others_are_flushed_all_the_same() -> None:
    script = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

class Raises(TracerProvider):
    def force_flush(self, timeout_millis=0):
        raise OSError("gone")

trace.set_tracer_provider(Raises())
telemetry.configure()
turn()
print(telemetry.flush(20))
"""
    with server(200) as (url, asked):
        said, errors, _ = run(script, OTEL_EXPORTER_OTLP_ENDPOINT=url)
    assert (said, asked[:1]) == (["False"], ["/v1/metrics"])
    assert errors == "telemetry: a provider could not be flushed: gone; the log of its exporter says more\n"


@pytest.mark.parametrize(
    ("variable", "value", "line"),
    [
        ("", "localhost:4318", "is 'localhost:4318', which is no URL of a server; write it as http://localhost:4318"),
        ("TRACES_", "collector", "is 'collector', which is no URL of a server; write it as http://collector"),
        ("", "http://:4318", "is 'http://:4318', which is no URL of a server; write it as http://localhost:4318"),
        ("LOGS_", "http://a:b", "is 'http://a:b', which is no URL of a server; write it as http://localhost:4318"),
        ("", "grpc://ann:secret@c:1", "is 'c:1', which is no URL of a server; write it as http://localhost:4318"),
    ],
)
def test_an_endpoint_that_is_no_url_is_one_line_with_its_variable(
    variable: str, value: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"OTEL_EXPORTER_OTLP_{variable}ENDPOINT", value)
    with pytest.raises(SettingsError) as caught:
        providers()
    assert str(caught.value) == f"OTEL_EXPORTER_OTLP_{variable}ENDPOINT {line}"


def test_grpc_takes_an_address_of_any_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")
    made = providers(protocol="grpc", metrics=False, logs=False)
    assert made.endpoints == ("collector:4317",)
    made.shutdown()
