"""Run in an environment with other instrumentors: makes calls beside one of them, prints the spans as JSON.

`python -m tests.e2e.beside NAME [coexist]`; NAME is logfire, none, or one of `INSTRUMENTORS`.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from middleware import Middleware
from middleware.testing import LocalModel

INSTRUMENTORS = {
    "genai": ("opentelemetry.instrumentation.genai.openai", "OpenAIInstrumentor"),
    "openinference": ("openinference.instrumentation.openai", "OpenAIInstrumentor"),
    "traceloop": ("opentelemetry.instrumentation.openai", "OpenAIInstrumentor"),
    "openinference-anthropic": ("openinference.instrumentation.anthropic", "AnthropicInstrumentor"),
    "traceloop-anthropic": ("opentelemetry.instrumentation.anthropic", "AnthropicInstrumentor"),
}
MESSAGES: Any = [{"role": "user", "content": "hi"}]
Calls: TypeAlias = dict[str, Callable[[], object]]


def openai_calls(model: LocalModel, app: Middleware) -> Calls:
    plain = model.openai()
    client, later = app.wrap(plain), app.wrap(model.async_openai())
    completions = client.chat.completions

    def helped(stream: Any) -> None:
        with stream as events:
            list(events)

    return {
        "create": lambda: completions.create(model="m", messages=MESSAGES),
        "stream": lambda: list(completions.create(model="m", messages=MESSAGES, stream=True)),
        "helper": lambda: helped(completions.stream(model="m", messages=MESSAGES)),
        "parse": lambda: completions.parse(model="m", messages=MESSAGES),
        "raw": lambda: completions.with_raw_response.create(model="m", messages=MESSAGES).parse(),
        "copy": lambda: client.with_options(timeout=3).chat.completions.create(model="m", messages=MESSAGES),
        "async": lambda: asyncio.run(_awaited(later.chat.completions.create(model="m", messages=MESSAGES))),
        "unwrapped": lambda: plain.chat.completions.create(model="m", messages=MESSAGES),
    }


def anthropic_calls(model: LocalModel, app: Middleware) -> Calls:
    plain = model.anthropic()
    client, later = app.wrap(plain), app.wrap(model.async_anthropic())
    asked: Any = {"model": "m", "max_tokens": 9, "messages": MESSAGES}

    def helped(resource: Any) -> None:
        with resource.messages.stream(**asked) as stream:
            stream.get_final_text()

    async def helped_later(resource: Any) -> None:
        async with resource.messages.stream(**asked) as stream:
            await stream.get_final_text()

    return {
        "create": lambda: client.messages.create(**asked),
        "stream": lambda: list(client.messages.create(**asked, stream=True)),
        "helper": lambda: helped(client),
        "beta helper": lambda: helped(client.beta),
        "raw": lambda: client.messages.with_raw_response.create(**asked).parse(),
        "copy": lambda: client.with_options(timeout=3).messages.create(**asked),
        "async": lambda: asyncio.run(_awaited(later.messages.create(**asked))),
        "async helper": lambda: asyncio.run(helped_later(later)),
        "async beta helper": lambda: asyncio.run(helped_later(later.beta)),
        "unwrapped": lambda: plain.messages.create(**asked),
    }


async def _awaited(call: Any) -> None:
    await call


def main(name: str, coexist: bool) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    if name in INSTRUMENTORS:
        module, kind = INSTRUMENTORS[name]
        getattr(importlib.import_module(module), kind)().instrument(tracer_provider=provider)
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
    made = anthropic_calls if name.endswith("anthropic") else openai_calls
    found = {}
    for kind, call in made(LocalModel("fine"), app).items():
        exporter.clear()
        call()
        spans = exporter.get_finished_spans()
        assert "CANARY" not in repr([dict(span.attributes or {}) for span in spans]) or coexist
        found[kind] = [span.name for span in spans if not span.name.startswith(("firsthand.", "POST"))]
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], "coexist" in sys.argv[2:])
