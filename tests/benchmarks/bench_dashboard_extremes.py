"""The dashboard where it is hardest: `python -m tests.benchmarks.bench_dashboard_extremes [--turns 100000]`.

One request as large as is taken, in protobuf and in JSON, and six of them at once by clients that try again: how much
memory that takes at its highest, and whether everything is there once. And one session of many of the turns: how long
its overview takes, the first time.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import logging
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from dashboards.local.database import Readers
from dashboards.local.ingest import Ingest
from dashboards.local.otlp import MOST_BYTES
from dashboards.local.queries import Filter, overview

from . import bench_dashboard
from .bench_dashboard import DAY, OVERVIEW_MS, RSS_MB, bodies, cpu, real_turns, rss

AT_ONCE = 6
SHARES = {"50,000": 50, "10,000": 10, "3,000": 3, "1,000": 1}
"""Sessions, and how many of a hundred turns are theirs."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=100_000)
    said = parser.parse_args()
    # What goes wrong in the turns goes wrong on purpose.
    logging.getLogger("firsthand").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        samples = real_turns(Path(folder))
        for encoding in ("protobuf", "json"):
            large(samples, encoding, 1)
        large(samples, "protobuf", AT_ONCE)
        sessions(samples, said.turns, Path(folder, "sessions.db"))


def large(samples: list[list[Any]], encoding: str, clients: int) -> None:
    """As many requests at once, each nearly as long as one may be."""
    sent = list(requests(samples, encoding, clients))
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (process, port):
        before, began = cpu(process.pid), time.perf_counter()
        refused: list[str] = []
        threads = [threading.Thread(target=insist, args=(port, body, encoding, refused)) for body, _ in sent]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took, used, peak = time.perf_counter() - began, cpu(process.pid) - before, rss(process.pid)
        with closing(sqlite3.connect(Path(folder, "board.db"))) as made:
            there = made.execute("SELECT count(*) FROM spans").fetchone()[0]
    spans = sum(count for _, count in sent)
    assert there == spans, (there, spans)
    print(f"{clients} x {len(sent[0][0]) / 1e6:.1f} MB of {encoding}: {spans:,} spans in {took:.1f} s, all there once; "
          f"{spans / used:,.0f} spans a CPU second; told to come again {len(refused)} times; "
          f"RSS {peak:.0f} MB at its highest, {peak / RSS_MB:.0%} of the limit")  # fmt: skip


def requests(samples: list[list[Any]], encoding: str, clients: int) -> Iterator[tuple[bytes, int]]:
    bench_dashboard.BATCH = 45_000 if encoding == "protobuf" else 20_000
    made = bodies(samples, 10**6, 1.0)
    for _ in range(clients):
        body, count = next(made)
        if encoding == "json":
            document = MessageToDict(ExportTraceServiceRequest.FromString(body))
            for span in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = base64.b64decode(span[name]).hex()
            body = json.dumps(document).encode()
        assert len(body) <= MOST_BYTES
        yield body, count


def insist(port: int, body: bytes, encoding: str, refused: list[str]) -> None:
    """Send until it is taken, waiting as long as is asked."""
    kind = "application/x-protobuf" if encoding == "protobuf" else "application/json"
    while True:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=120)) as connection:
            connection.request("POST", "/v1/traces", body, {"content-type": kind})
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                return
            refused.append(str(answer.status))
            time.sleep(float(answer.headers["retry-after"]))


@contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "middleware", "dashboard", "--port", "0", "--db", str(folder / "board.db")]
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = ""
        while not said.endswith("}\n"):
            said += process.stdout.readline()
        try:
            yield process, int(json.loads(said)["url"].rpartition(":")[2])
        finally:
            process.terminate()


def sessions(samples: list[list[Any]], count: int, path: Path) -> None:
    """Turns of a few large sessions among those of many small ones, and how long the overview of each takes."""
    bench_dashboard.BATCH = 2_000
    ends = [0]
    for share in SHARES.values():
        ends.append(ends[-1] + share)
    named = [name for name, (start, end) in zip(SHARES, pairwise(ends), strict=True) for _ in range(start, end)]
    ingest = Ingest(path)
    for body, _ in bodies(samples, count, 3.0):
        request = ExportTraceServiceRequest.FromString(body)
        for span in request.resource_spans[0].scope_spans[0].spans:
            number = int.from_bytes(span.trace_id[:8], "big")
            place = number * 37 % 100
            name = named[place] if place < len(named) else f"session-{number // 50}"
            if span.name == "firsthand.turn":
                said = [pair for pair in span.attributes if pair.key == "gen_ai.conversation.id"]
                (said[0] if said else span.attributes.add(key="gen_ai.conversation.id")).value.string_value = name
        ingest.receive("traces", request.SerializeToString())[1].result(600)
    ingest.close()
    readers = Readers(path)
    now = time.time()
    with readers.reading() as connection:
        for name in (*SHARES, "session-1"):
            for what, where in (("", {}), (", 24 hours", {"start": now - DAY}), (", one model", {"model": "gpt-5"})):
                asked = Filter(session=name, **where)
                start = time.perf_counter()
                turns = overview(connection, asked).turns
                took = (time.perf_counter() - start) * 1000
                print(f"overview of session {name}{what}: {turns:,} turns in {took:.0f} ms, "
                      f"{took / OVERVIEW_MS:.0%} of {OVERVIEW_MS} ms")  # fmt: skip
    readers.close()


if __name__ == "__main__":
    main()
