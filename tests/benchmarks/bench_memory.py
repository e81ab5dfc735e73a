"""Whether memory grows with the number of calls: resident memory over many calls, its slope, a verdict.

Each way of calling runs in a process of its own; the slope is of the second half, when caches and sessions are full.
`python -m tests.benchmarks.bench_memory [--calls N] [WAY...]`; 20,000 calls by default, and 100,000 for the record.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WAYS = ("bare client", "anonymous", "named", "streams", "streams left", "dead exporter")
POINTS = 40
ALLOWED_MB = 2.0
"""More than this for 10,000 calls is growth: 200 bytes kept of each. Up to 20,000 calls the arenas fill, at about 1."""


def memory() -> float:
    """Resident megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def ways(folder: str) -> dict[str, Callable[[int], object]]:
    """What one call is, by its number."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    from middleware import Middleware
    from middleware.telemetry.providers import providers
    from middleware.testing import LocalModel

    class Nowhere(SpanExporter):
        def export(self, spans: object) -> SpanExportResult:
            return SpanExportResult.SUCCESS

    model = LocalModel(default="one two three")

    def forgetting(body: object) -> str:
        for kept in (model.requests, model.paths_asked, model.headers):
            del kept[:-1]
        return "one two three"

    model._default = forgetting
    plain = model.openai()
    tracers = TracerProvider()
    tracers.add_span_processor(BatchSpanProcessor(Nowhere()))
    settings: dict[str, Any] = {"capture_content": "SPAN_AND_EVENT", "tracer_provider": tracers}
    app = Middleware.from_settings(
        hooks=[lambda payload: "branch=main"], transcripts=folder, durability="os", user="bench", **settings
    )
    client = app.wrap(plain)
    logging.disable(logging.CRITICAL)
    os.environ.update(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", OTEL_BSP_SCHEDULE_DELAY="500")
    down = providers()
    dead = Middleware.from_settings(
        hooks=[lambda payload: "branch=main"],
        capture_content="SPAN_AND_EVENT",
        tracer_provider=down.traces,
        meter_provider=down.metrics,
        logger_provider=down.logs,
    ).wrap(plain)

    def asked(called: Any, number: int, **more: Any) -> Any:
        text = f"question {number}: " + "word " * 400
        return called.chat.completions.create(model="m", messages=[{"role": "user", "content": text}], **more)

    def named(number: int) -> None:
        with app.session(f"conversation-{number % 50}-{number // 1000}"):
            asked(client, number)

    return {
        "bare client": lambda number: asked(plain, number),
        "anonymous": lambda number: asked(client, number),
        "named": named,
        "streams": lambda number: list(asked(client, number, stream=True)),
        "streams left": lambda number: next(asked(client, number, stream=True)),
        "dead exporter": lambda number: asked(dead, number),
    }


def measured(way: str, calls: int) -> list[tuple[int, float]]:
    """(calls so far, megabytes) at equal distances."""
    with tempfile.TemporaryDirectory() as folder:
        call = ways(folder)[way]
        found = []
        for number in range(calls):
            call(number)
            if (number + 1) % max(1, calls // POINTS) == 0:
                gc.collect()
                found.append((number + 1, memory()))
            if number % 2000 == 0:
                for path in sorted(Path(folder).glob("*.jsonl"), key=lambda path: path.stat().st_mtime)[:-200]:
                    path.unlink()  # The disk is not what is measured.
        return found


def slope(points: list[tuple[int, float]]) -> float:
    """Megabytes for 10,000 calls, by least squares over the second half."""
    half = points[len(points) // 2 :]
    middle = sum(x for x, _ in half) / len(half), sum(y for _, y in half) / len(half)
    above = sum((x - middle[0]) * (y - middle[1]) for x, y in half)
    return 10_000 * above / sum((x - middle[0]) ** 2 for x, _ in half)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ways", nargs="*", default=WAYS)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measured(given.measure, given.calls)), flush=True)
        os._exit(0)  # A dead exporter would be tried once more.
    print(
        "| way | calls | seconds | MB at 1/40, half, end | MB for 10,000 calls | verdict |\n|---|---|---|---|---|---|"
    )
    grew = 0
    for way in given.ways:
        started = time.perf_counter()
        command = [sys.executable, "-m", "tests.benchmarks.bench_memory", "--calls", str(given.calls)]
        done = subprocess.run([*command, "--measure", way], capture_output=True, text=True, check=True)
        points = [(int(calls), float(size)) for calls, size in json.loads(done.stdout)]
        found = slope(points)
        grew += found > ALLOWED_MB
        sizes = ", ".join(f"{points[place][1]:.0f}" for place in (0, len(points) // 2, -1))
        verdict = "grows" if found > ALLOWED_MB else "does not grow"
        took = time.perf_counter() - started
        print(f"| {way} | {given.calls:,} | {took:.0f} | {sizes} | {found:+.2f} | {verdict} |", flush=True)
    return min(grew, 1)


if __name__ == "__main__":
    sys.exit(main())
