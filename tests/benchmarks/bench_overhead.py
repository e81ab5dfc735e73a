"""What wrapping an `openai` client adds to a call, beside a bare client and a hand-written span, in one run.

In process, over a mock transport; CPU time of the calling thread, shuffled batches, medians. The floor is two spans
written by hand with the same attributes, message JSON included. `python -m tests.benchmarks.bench_overhead [ROUNDS]`.
Beside other instrumentors it is measured by `../shared/bench/overhead.py`, which this project does not ship.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import openai
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from middleware import Middleware
from recall_store import Record

SIZES = (100, 10_000, 1_000_000)
CALLS = {100: 40, 10_000: 30, 1_000_000: 6}
MESSAGE = {"role": "assistant", "content": "word " * 50}
USAGE = {"prompt_tokens": 25, "completion_tokens": 50, "total_tokens": 75}
CHOICE = {"index": 0, "finish_reason": "stop", "message": MESSAGE}
REPLY = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [CHOICE], "usage": USAGE}


class Nowhere(SpanExporter):
    def export(self, spans: object) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def provider() -> TracerProvider:
    made = TracerProvider()
    made.add_span_processor(BatchSpanProcessor(Nowhere()))
    return made


def client() -> openai.OpenAI:
    body = json.dumps(REPLY).encode()
    headers = {"content-type": "application/json"}
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, headers=headers, content=body))
    return openai.OpenAI(api_key="k", base_url="http://127.0.0.1:9/v1", http_client=httpx2.Client(transport=transport))


def by_hand(plain: openai.OpenAI) -> Callable[..., object]:
    tracer = provider().get_tracer("floor")

    def call(**request: Any) -> object:
        with tracer.start_as_current_span("turn"), tracer.start_as_current_span("chat m") as span:
            reply = plain.chat.completions.create(**request)
            parts = [
                {"role": m["role"], "parts": [{"type": "text", "content": m["content"]}]} for m in request["messages"]
            ]
            said = [{"role": "assistant", "parts": [{"type": "text", "content": reply.choices[0].message.content}]}]
            span.set_attributes(
                {
                    "gen_ai.input.messages": json.dumps(parts),
                    "gen_ai.output.messages": json.dumps(said),
                    "gen_ai.response.id": reply.id,
                    "gen_ai.usage.input_tokens": 25,
                    "gen_ai.usage.output_tokens": 50,
                }
            )
            return reply

    return call


def variants(folder: Path) -> dict[str, Callable[..., object]]:
    plain = client()
    traced = Middleware.from_settings(tracer_provider=provider(), capture_content="SPAN_ONLY")
    full = Middleware.from_settings(
        hooks=[lambda payload: "branch=main"],
        tracer_provider=provider(),
        capture_content="SPAN_ONLY",
        transcripts=folder / "transcripts",
        store=f"sqlite:///{folder / 'memories.db'}",
        user="bench",
    )
    words = random.Random(7)
    vocabulary = [f"word{number}" for number in range(2000)]
    records = [Record(text=" ".join(words.choices(vocabulary, k=12))) for _ in range(10_000)]
    assert full.store is not None
    full.store.upsert(namespace="bench", records=records)
    return {
        "bare client": plain.chat.completions.create,
        "two spans by hand": by_hand(plain),
        "firsthand, tracing": traced.wrap(plain).chat.completions.create,
        "firsthand, all on": full.wrap(plain).chat.completions.create,
    }


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    shuffled = random.Random(7)
    with tempfile.TemporaryDirectory() as name:
        calls = variants(Path(name))
        taken: dict[tuple[str, int], list[float]] = {}
        for number in range(rounds + 1):
            for size in SIZES:
                text = ("lorem ipsum " * (size // 12 + 1))[:size]
                order = list(calls)
                shuffled.shuffle(order)
                for variant in order:
                    times = []
                    for _ in range(CALLS[size]):
                        started = time.thread_time_ns()
                        calls[variant](model="m", messages=[{"role": "user", "content": text}])
                        times.append((time.thread_time_ns() - started) / 1e3)
                    if number:
                        taken.setdefault((variant, size), []).append(statistics.median(times))
        print("| added CPU µs a call | " + " | ".join(f"{size:,} B" for size in SIZES) + " |")
        print("|---|" + "---|" * len(SIZES))
        for variant in calls:
            cells = []
            for size in SIZES:
                mine, bare = (statistics.median(taken[name, size]) for name in (variant, "bare client"))
                cells.append(f"{mine:.0f}" if variant == "bare client" else f"+{mine - bare:.0f} ({mine / bare:.2f}x)")
            print(f"| {variant} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
