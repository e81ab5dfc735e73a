"""Run in an environment with other instrumentors: makes calls beside one of them, prints the spans as JSON.

`python -m tests.e2e.beside NAME [coexist]`; NAME is genai, openinference, traceloop, logfire or none.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from middleware import Middleware
from middleware.testing import LocalModel

MODULES = {
    "genai": "opentelemetry.instrumentation.genai.openai",
    "openinference": "openinference.instrumentation.openai",
    "traceloop": "opentelemetry.instrumentation.openai",
}
MESSAGES: Any = [{"role": "user", "content": "hi"}]


def main(name: str, coexist: bool) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    model = LocalModel("fine")
    plain, later = model.openai(), model.async_openai()
    if name in MODULES:
        importlib.import_module(MODULES[name]).OpenAIInstrumentor().instrument(tracer_provider=provider)
    elif name == "logfire":
        logfire = importlib.import_module("logfire")
        logfire.configure(
            send_to_logfire=False,
            console=False,
            additional_span_processors=[SimpleSpanProcessor(exporter)],
            metrics=False,
        )
        logfire.instrument_openai()
        provider = importlib.import_module("opentelemetry.trace").get_tracer_provider()
    app = Middleware.from_settings(hooks=[lambda payload: "CANARY"], tracer_provider=provider, coexist=coexist)
    client, async_client = app.wrap(plain), app.wrap(later)
    completions = client.chat.completions

    async def asynchronous() -> None:
        await async_client.chat.completions.create(model="m", messages=MESSAGES)

    calls = {
        "create": lambda: completions.create(model="m", messages=MESSAGES),
        "stream": lambda: list(completions.create(model="m", messages=MESSAGES, stream=True)),
        "parse": lambda: completions.parse(model="m", messages=MESSAGES),
        "raw": lambda: completions.with_raw_response.create(model="m", messages=MESSAGES).parse(),
        "copy": lambda: client.with_options(timeout=3).chat.completions.create(model="m", messages=MESSAGES),
        "async": lambda: asyncio.run(asynchronous()),
        "unwrapped": lambda: plain.chat.completions.create(model="m", messages=MESSAGES),
    }
    found = {}
    for kind, call in calls.items():
        exporter.clear()
        call()
        spans = exporter.get_finished_spans()
        assert "CANARY" not in repr([dict(span.attributes or {}) for span in spans]) or coexist
        found[kind] = [span.name for span in spans if not span.name.startswith(("firsthand.", "POST"))]
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], "coexist" in sys.argv[2:])
