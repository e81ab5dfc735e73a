"""The dashboard against its limits: `python -m tests.benchmarks.bench_dashboard [--turns 100000] [--browser]`.

Spans are those of real turns (`tests.e2e.load`), copied with ids and times of their own, sent over HTTP in batches of
512 as the SDK sends them, to `firsthand dashboard` in a process of its own. Rates are by that process's CPU time: what
one core would do. The overview is timed inside a second process, which reads the same file, over several ranges and
filters, and by asking for the page. With `--browser` Chromium opens pages of it, each in a profile of its own so that
nothing is cached, and says how long it took to the `load` event and until the charts were drawn.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from dashboards.local.database import Readers
from dashboards.local.queries import Filter, overview, sessions, status, turn, turns

from ..e2e.chromium import browse
from ..e2e.load import Load, run

SPANS_PER_SECOND = 5_000
OVERVIEW_MS = 300
RSS_MB = 150
PAGE_MS = 1_000
HERE = Path(__file__).parent
BATCH = 512
DAY = 86_400
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--days", type=float, default=3.0, help="over how long they lie")
    parser.add_argument("--kept", type=Path, help="keep the file here; one that is there is used as it is")
    parser.add_argument("--browser", action="store_true", help="open pages in Chromium too (needs node and npm)")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = said.kept or Path(folder, "board.db")
        now = time.time()
        if not path.exists():
            ingest(path, Path(folder), said.turns, said.days)
        reading(path, now)
        if said.browser:
            browsing(path, Path(folder))


def ingest(path: Path, folder: Path, count: int, days: float) -> None:
    samples = real_turns(folder)
    with served(path, folder) as (server, url):
        port = int(url.rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        before, began, spans = cpu(server.pid), time.perf_counter(), 0
        for body, held in bodies(samples, count, days):
            connection.request("POST", "/v1/traces", body, {"content-type": "application/x-protobuf"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, answer.status
            spans += held
        used = cpu(server.pid) - before
        rate = spans / used
        print(f"ingest: {spans:,} spans of {count:,} turns; {rate:,.0f} spans a CPU second, "
              f"{rate / SPANS_PER_SECOND:.1f} x the limit of {SPANS_PER_SECOND:,}; "
              f"{spans / (time.perf_counter() - began):,.0f} a second beside the sender")  # fmt: skip
        asked = []
        for _ in range(5):
            start = time.perf_counter()
            connection.request("GET", "/")
            page = connection.getresponse()
            size = len(page.read())
            asked.append((time.perf_counter() - start) * 1000)
        print(f"page /: {min(asked):.0f} ms, {size:,} bytes, status {page.status}")
        peak = rss(server.pid)
        print(f"RSS: {peak:.0f} MB at its highest, {peak / RSS_MB:.0%} of the limit; "
              f"file {path.stat().st_size / 1e6:,.0f} MB")  # fmt: skip


@contextmanager
def served(path: Path, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A dashboard over that file in a process of its own, and its address."""
    command = [sys.executable, "-m", "middleware", "dashboard", "--port", "0", "--db", str(path), "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
    assert server.stdout is not None
    try:
        said = ""
        while not said.endswith("}\n"):
            said += server.stdout.readline()
        yield server, json.loads(said)["url"]
    finally:
        server.terminate()
        server.wait(60)
        server.stdout.close()


def browsing(path: Path, folder: Path) -> None:
    readers = Readers(path)
    with readers.reading() as connection:
        session = sessions(connection, Filter(model="gpt-5"), limit=1).items[0].session
        key = turns(connection, Filter(session=session), limit=1).items[0].key
    readers.close()
    within = urlencode({"session": session, "range": "all"})
    pages = {
        "overview, everything": "/?range=all",
        "overview, 24 hours": "/?range=24h",
        "overview of a session": f"/?{within}",
        "sessions": "/sessions?range=all",
        "a session": f"/turns?{within}",
        "turns, the slowest": "/turns?range=all&sort=duration",
        "a turn": f"/turn/{key}",
    }
    with served(path, folder) as (_, url):
        told = json.loads(browse(HERE / "open_pages.js", url, *pages.values()))
    for name, address in pages.items():
        loaded, drawn = told[address]
        usual = median(drawn)
        print(f"{name}: in the browser {median(loaded):.0f} ms to load, {usual:.0f} drawn, at most {max(drawn):.0f} of "
              f"{len(drawn)}; {usual / PAGE_MS:.0%} of {PAGE_MS:,} ms")  # fmt: skip


def reading(path: Path, now: float) -> None:
    readers = Readers(path)
    with readers.reading() as connection:
        found = status(connection)
        session = sessions(connection, limit=1, sort="turns").items[0].session
        key = turns(connection, limit=1).items[0].key
        print(f"file: {found.turns:,} turns, {found.spans:,} spans, {found.sessions:,} sessions")
        asked: dict[str, Callable[[], Any]] = {
            "overview, everything": lambda: overview(connection, Filter()),
            "overview, 24 hours": lambda: overview(connection, Filter(start=now - DAY)),
            "overview, 1 hour": lambda: overview(connection, Filter(start=now - 3600)),
            "overview, one model": lambda: overview(connection, Filter(model="gpt-5")),
            "overview, the largest session": lambda: overview(connection, Filter(session=session)),
            "sessions, first page": lambda: sessions(connection),
            "sessions, searched": lambda: sessions(connection, search="session-1"),
            "turns of a session": lambda: turns(connection, Filter(session=session)),
            "turns, the slowest": lambda: turns(connection, sort="duration", descending=True),
            "a turn": lambda: turn(connection, key),
            "status": lambda: status(connection),
        }
        for name, ask in asked.items():
            times = []
            for _ in range(5):
                start = time.perf_counter()
                ask()
                times.append((time.perf_counter() - start) * 1000)
            print(
                f"{name}: {min(times):.0f} ms, first {times[0]:.0f}; {times[0] / OVERVIEW_MS:.0%} of {OVERVIEW_MS} ms"
            )
    readers.close()


def real_turns(folder: Path) -> list[list[Any]]:
    """The spans of real turns in protobuf, a list a trace."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    run(Load(folder=folder / "load", turns=200, seconds=0.001), tracer_provider=provider)
    traces: dict[bytes, list[Any]] = {}
    for held in encode_spans(exporter.get_finished_spans()).resource_spans:
        for scoped in held.scope_spans:
            for span in scoped.spans:
                traces.setdefault(span.trace_id, []).append(span)
    return list(traces.values())


def bodies(samples: list[list[Any]], count: int, days: float) -> Iterator[tuple[bytes, int]]:
    """Requests of 512 spans: turn after turn, over so many days that end now."""
    began = time.time_ns() - int(days * DAY * 1e9)
    request, spans = _request()
    for number in range(count):
        sample = samples[number % len(samples)]
        at = began + int(days * DAY * 1e9 * number / count)
        shift = at - min(span.start_time_unix_nano for span in sample)
        salt = number.to_bytes(8, "big")
        for span in sample:
            copied = spans.add()
            copied.CopyFrom(span)
            copied.trace_id = salt + span.trace_id[8:]
            copied.start_time_unix_nano += shift
            copied.end_time_unix_nano += shift
            for pair in copied.attributes:
                if pair.key == "gen_ai.conversation.id":
                    pair.value.string_value = f"session-{number // 50}"
        if len(spans) >= BATCH:
            yield request.SerializeToString(), len(spans)
            request, spans = _request()
    if len(spans):
        yield request.SerializeToString(), len(spans)


def _request() -> tuple[Any, Any]:
    request = ExportTraceServiceRequest()
    held = request.resource_spans.add()
    pair = held.resource.attributes.add()
    pair.key, pair.value.string_value = "service.name", "bench"
    scoped = held.scope_spans.add()
    scoped.scope.name = "firsthand"
    return request, scoped.spans


def cpu(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def rss(pid: int) -> float:
    """MB of memory, at its highest."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
