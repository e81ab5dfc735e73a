"""Programs of their own: configured exporters, forked workers, own providers, a collector that is down."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .test_grpc import receiving

PROTOCOLS = ("http/protobuf", "grpc")
ROOT = Path(__file__).parents[2]

HEAD = """
import multiprocessing, os, sys, threading, time
from middleware import Middleware, telemetry
from middleware.testing import LocalModel

def ask(client, model):
    client.chat.completions.create(model=model, messages=[{"role": "user", "content": "hi"}])
"""


def run(script: str, protocol: str = "http/protobuf", **variables: str) -> str:
    """The output of a program of its own."""
    done = subprocess.run(
        [sys.executable, "-c", HEAD + script],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, **variables},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(params=PROTOCOLS)
def receiver(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, list[bytes]]]:
    """A receiver's URL and protocol, and every byte that it got."""
    with receiving(request.param) as (url, kept, _):
        yield url, request.param, kept


def models(kept: list[bytes]) -> list[str]:
    """The models of the chat spans that came."""
    return sorted(name.decode() for name in re.findall(rb"\bchat ([\w-]+)9", b"\n".join(kept)))


def test_configure_exports_spans_metrics_and_events(receiver: tuple[str, str, list[bytes]]) -> None:
    url, protocol, kept = receiver
    run(
        """
telemetry.configure(service_name="configured")
app = Middleware.from_settings(hooks=[lambda payload: "branch=main"])
ask(app.wrap(LocalModel().openai()), "one9")
assert telemetry.flush(20) and telemetry.shutdown(20)
""",
        protocol,
        OTEL_EXPORTER_OTLP_ENDPOINT=url,
    )
    raw = b"\n".join(kept)
    assert models(kept) == ["one"]
    for there in (b"configured", b"firsthand.hook_call", b"firsthand.turn.count", b"gen_ai.client.operation.duration"):
        assert there in raw


def test_a_forked_child_exports_its_own_span(receiver: tuple[str, str, list[bytes]]) -> None:
    url, protocol, kept = receiver
    run(
        """
telemetry.configure()
client = Middleware.from_settings().wrap(LocalModel().openai())
ask(client, "before9")
telemetry.flush(20)
ask(client, "waiting9")
child = os.fork()
if not child:
    ask(client, "child9")
    os._exit(0 if telemetry.flush(20) else 1)
assert os.waitpid(child, 0)[1] == 0
ask(client, "after9")
assert telemetry.flush(20)
os._exit(0)
""",
        protocol,
        OTEL_EXPORTER_OTLP_ENDPOINT=url,
    )
    assert models(kept) == ["after", "before", "child", "waiting"]


@pytest.mark.parametrize("how", ["fork", "forkserver", "spawn"])
def test_workers_of_multiprocessing_export_theirs(how: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        HEAD
        + """
telemetry.configure()
client = Middleware.from_settings().wrap(LocalModel().openai())

def work(number):
    ask(client, f"worker{number}-9")
    assert telemetry.flush(20)

if __name__ == "__main__":
    ask(client, "parent-9")
    context = multiprocessing.get_context(sys.argv[1])
    workers = [context.Process(target=work, args=(number,)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert telemetry.flush(20)
"""
    )
    with receiving("http/protobuf") as (url, kept, _):
        env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "OTEL_EXPORTER_OTLP_ENDPOINT": url}
        done = subprocess.run([sys.executable, script, how], env=env, capture_output=True, text=True, timeout=100)
        assert (done.returncode, done.stderr) == (0, "")
    assert models(kept) == ["parent-", "worker0-", "worker1-", "worker2-"]


def test_children_forked_in_the_middle_of_exports_do_not_wait_for_them(receiver: tuple[str, str, list[bytes]]) -> None:
    url, protocol, kept = receiver
    run(
        """
telemetry.configure()
client = Middleware.from_settings().wrap(LocalModel().openai())
ask(client, "first")
over = []

def busy():
    while not over:
        ask(client, "noise")
        telemetry.flush(20)

threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads:
    thread.start()
children = []
for number in range(6):
    time.sleep(0.02)
    child = os.fork()
    if not child:
        for call in range(5):
            ask(client, f"child{number}-{call}-9")
            assert telemetry.flush(20)
        os._exit(0)
    children.append(child)
assert [os.waitpid(child, 0)[1] for child in children] == [0] * 6
over.append(True)
for thread in threads:
    thread.join()
os._exit(0)
""",
        protocol,
        OTEL_EXPORTER_OTLP_ENDPOINT=url,
    )
    assert len(set(models(kept))) == 30


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_applications_own_providers_are_used_whenever_it_sets_them(when: str) -> None:
    said = run(
        f"""
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
spans, reader = InMemorySpanExporter(), InMemoryMetricReader()

def configured():
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader]))

if {when!r} == "before":
    configured()
client = Middleware.from_settings().wrap(LocalModel().openai())
if {when!r} == "after":
    ask(client, "unseen")
    configured()
ask(client, "seen")
print(*(span.name for span in spans.get_finished_spans()), sep=", ")
found = reader.get_metrics_data().resource_metrics[0].scope_metrics
print(*(m.data.data_points[0].value for s in found for m in s.metrics if m.name == "firsthand.turn.count"))
"""
    )
    assert said.splitlines() == ["chat seen, firsthand.turn", "1"]


def test_a_collector_that_is_down_drops_spans_counts_them_and_bounds_the_queue() -> None:
    said = run(
        """
import logging
logging.disable(logging.CRITICAL)
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
reader = InMemoryMetricReader()
metrics.set_meter_provider(MeterProvider([reader]))
telemetry.configure()
model = LocalModel()
client = Middleware.from_settings(capture_content="SPAN_ONLY").wrap(model.openai())
ask(client, "m")

def memory():
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20

before = most = memory()
for number in range(2500):
    messages = [{"role": "user", "content": str(number) + "\u4e2d" * 30_000}]
    client.chat.completions.create(model="m", messages=messages)
    model.requests.clear()
    most = max(most, memory()) if number % 50 == 0 else most
found = reader.get_metrics_data().resource_metrics[0].scope_metrics
points = [m.data.data_points for s in found for m in s.metrics if m.name == "firsthand.export.dropped"]
print(most - before, sum(point.value for point in points[0]), flush=True)
os._exit(0)
""",
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9",
        OTEL_LOGS_EXPORTER="none",
    )
    most, dropped = map(int, said.split())
    print(most, dropped)
    assert dropped > 1000
    assert most < 150, "MiB more while 200 MiB of prompts were to be exported to nobody"
