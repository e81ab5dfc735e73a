"""Reports from people whose tracing failed (`telemetry_reports.json`): what is not a test elsewhere is one here."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from middleware import Middleware
from middleware.settle import drain_dropped
from middleware.testing import Captured, Failure, LocalModel, capture
from tests.pace import HANG, no_hang
from tests.test_responses import Model, sync_client

HELLO: Any = [{"role": "user", "content": "hello"}]
USAGE = [f"gen_ai.usage.{side}_tokens" for side in ("input", "output")]


@pytest.fixture
def captured() -> Iterator[Captured]:
    with capture(default="one two three") as found:
        yield found


@pytest.fixture
def app(captured: Captured) -> Iterator[Middleware]:
    with Middleware.from_settings(hooks=[lambda payload: "branch=main"], **captured.providers) as made:
        yield made


def attributes(captured: Captured) -> dict[str, Any]:
    (span,) = captured.spans_named("chat")
    return dict(span.attributes or {})


def ask(client: Any, **more: Any) -> Any:
    return client.chat.completions.create(model="m", messages=HELLO, **more)


def test_a_raw_response_after_a_billed_call_is_the_callers_whatever_we_cannot_read(captured: Captured) -> None:
    odd = {"choices": 7, "content": {"no": "list"}, "usage": "none", "id": 4}
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=odd))
    app = Middleware.from_settings(**captured.providers)
    with httpx2.Client(transport=transport) as http:
        client = app.wrap(anthropic.Anthropic(api_key="k", http_client=http))
        raw = client.messages.with_raw_response.create(model="m", max_tokens=9, messages=HELLO)
        assert json.loads(raw.http_response.content) == odd
        assert client.messages.create(model="m", max_tokens=9, messages=HELLO).usage == "none"
    spans = [dict(span.attributes or {}) for span in captured.spans_named("chat")]
    assert [(span["firsthand.turn.outcome"], span["gen_ai.response.id"]) for span in spans] == [("sent", "4")] * 2


def test_a_raw_stream_parses_iterates_and_is_one_span(captured: Captured, app: Middleware) -> None:
    with captured.model.openai() as client:
        raw = app.wrap(client).chat.completions.with_raw_response.create(model="m", messages=HELLO, stream=True)
        assert [chunk.choices[0].delta.content for chunk in raw.parse()] == ["", "one ", "two ", "three", None]
    assert attributes(captured)["firsthand.turn.outcome"] == "sent"


def test_a_stream_is_an_instance_of_the_sdks_stream(captured: Captured, app: Middleware) -> None:
    with captured.model.openai() as client, ask(app.wrap(client), stream=True) as stream:
        assert isinstance(stream, openai.Stream)
    with captured.model.anthropic() as other:
        made = app.wrap(other).messages.create(model="m", max_tokens=9, messages=HELLO, stream=True)
        assert isinstance(made, anthropic.Stream)
        made.close()

    async def main() -> None:
        async with captured.model.async_openai() as later, await ask(app.wrap(later), stream=True) as stream:
            assert isinstance(stream, openai.AsyncStream)

    asyncio.run(main())


def test_a_wrapped_client_passes_the_checks_of_a_client_class(captured: Captured, app: Middleware) -> None:
    with captured.model.openai() as client:
        assert isinstance(app.wrap(client), openai.OpenAI)
        assert app.wrap(client)._client is client._client


def test_no_httpx_is_imported() -> None:
    code = """
import sys
sys.modules["httpx"] = None  # As where only httpx2 is installed: an import of it fails.
import openai
from middleware import wrap
from middleware.testing import LocalModel
client = wrap(LocalModel().openai(base_url="http://local.test:8443/v1"))
client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


def test_an_embedding_with_a_sentinel_for_its_dimensions_is_a_span_without_them(captured: Captured) -> None:
    row = {"object": "embedding", "index": 0, "embedding": [0.5]}
    answer = {"object": "list", "model": "m", "data": [row], "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    app = Middleware.from_settings(**captured.providers)
    with LocalModel(paths={"/embeddings": answer}).openai() as client:
        given: Any = {"dimensions": openai.NOT_GIVEN, "encoding_format": "float"}
        app.wrap(client).embeddings.create(model="m", input="hi", **given)
    (span,) = captured.spans_named("embeddings")
    assert [name for name in span.attributes or {} if "dimension" in name] == []


def test_wrapping_twice_is_one_span_and_tokens_are_counted_once(captured: Captured, app: Middleware) -> None:
    with captured.model.openai() as client:
        ask(app.wrap(app.wrap(client)))
    attributes(captured)
    points = captured.metrics["gen_ai.client.token.usage"]
    assert sorted(point.sum for point in points) == [3, 12]


def test_a_method_that_calls_another_of_the_sdk_is_one_span(captured: Captured, app: Middleware) -> None:
    with captured.model.openai() as client:
        app.wrap(client).beta.chat.completions.parse(model="m", messages=HELLO)
    assert attributes(captured)["firsthand.turn.outcome"] == "sent"


def test_two_processors_of_a_provider_get_one_span_each_and_two_providers_one_of_their_own() -> None:
    exporters = [InMemorySpanExporter() for _ in range(3)]
    both, other = TracerProvider(shutdown_on_exit=False), TracerProvider(shutdown_on_exit=False)
    for exporter in exporters[:2]:
        both.add_span_processor(SimpleSpanProcessor(exporter))
    other.add_span_processor(SimpleSpanProcessor(exporters[2]))
    with LocalModel().openai() as client:
        for provider in (both, other):
            ask(Middleware.from_settings(tracer_provider=provider).wrap(client))
    for exporter in exporters:
        assert [span.name for span in exporter.get_finished_spans()] == ["chat m", "firsthand.turn"]


def test_a_stream_without_usage_has_none_and_its_request_is_unchanged(captured: Captured) -> None:
    app = Middleware.from_settings(**captured.providers)
    with captured.model.openai() as client:
        list(ask(app.wrap(client), stream=True))
    assert captured.requests == [{"messages": HELLO, "model": "m", "stream": True}]
    assert [name for name in USAGE if name in attributes(captured)] == []


def test_a_stream_with_usage_has_it_and_the_caller_its_chunk(captured: Captured, app: Middleware) -> None:
    with captured.model.openai() as client:
        *_, last = ask(app.wrap(client), stream=True, stream_options={"include_usage": True})
    assert last.usage.total_tokens == 15
    assert [attributes(captured)[name] for name in USAGE] == [12, 3]


def test_usage_in_the_completed_event_of_a_response_is_recorded(captured: Captured, app: Middleware) -> None:
    with sync_client(Model()) as client:  # type: ignore[no-untyped-call]
        list(app.wrap(client).responses.create(model="m", input="hi", stream=True))
    assert [attributes(captured)[name] for name in USAGE] == [10, 5]


class Slow(SpanExporter):
    """Fails, and not before it is `free`."""

    free = threading.Event()

    def export(self, spans: object) -> SpanExportResult:
        self.free.wait(HANG)
        return SpanExportResult.FAILURE


def test_a_slow_and_failing_exporter_of_ours_costs_no_call() -> None:
    from middleware.telemetry.providers import Spans, Waiting

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Spans(Slow, Waiting("traces", None, 2048)))
    with LocalModel().openai() as plain:
        client = Middleware.from_settings(tracer_provider=provider).wrap(plain)
        with no_hang():
            for _ in range(50):
                ask(client)
    Slow.free.set()
    provider.shutdown()


def test_more_conversations_than_are_kept_leave_no_state_behind(captured: Captured) -> None:
    app = Middleware.from_settings(tracer_provider=TracerProvider(shutdown_on_exit=False))
    sessions = app._wiring.sessions
    with captured.model.openai() as client:
        wrapped = app.wrap(client)
        for number in range(1500):
            with app.session(f"s{number}"):
                ask(wrapped)
    gc.collect()
    assert (len(sessions._named), len(sessions._held)) == (1024, 1024)


def test_a_stream_settles_no_work_on_the_loop_for_each_of_a_hundred(captured: Captured, app: Middleware) -> None:
    async def read(client: Any) -> int:
        return len([chunk async for chunk in await ask(client, stream=True)])

    async def main() -> list[int]:
        async with captured.model.async_openai() as plain:
            client = app.wrap(plain)
            return await asyncio.gather(*(read(client) for _ in range(100)))

    assert asyncio.run(main()) == [5] * 100
    assert len(captured.spans_named("chat")) == 100


def test_two_injected_blocks_are_metadata_beside_the_users_own_prompt(captured: Captured) -> None:
    hooks = [lambda payload: "a" * 10, lambda payload: "b" * 10]
    with captured.model.openai() as client:
        app = Middleware.from_settings(hooks=hooks, capture_content=True, max_context_chars=15, **captured.providers)
        ask(app.wrap(client))
    found = attributes(captured)
    assert json.loads(found["gen_ai.input.messages"])[0]["parts"] == [{"type": "text", "content": "hello"}]
    assert (found["firsthand.injection.count"], found["firsthand.injection.sources"]) == (1, ("hook",))
    sent = captured.requests[0]["messages"][0]["content"][1]["text"]
    assert (found["firsthand.injection.chars"], found["firsthand.injection.truncated"]) == (len(sent), True)


@pytest.mark.parametrize("how", ["ambient", "bound", "thread", "stream", "async", "refused"])
def test_a_named_session_is_on_every_chat_span(captured: Captured, app: Middleware, how: str) -> None:
    async def asynchronous() -> None:
        async with captured.model.async_openai() as later:
            await asyncio.gather(*(ask(app.wrap(later)) for _ in range(2)))

    with captured.model.openai() as plain, app.session("s1"):
        client = app.wrap(plain, session="s1")
        if how == "ambient":
            ask(app.wrap(plain))
        elif how == "bound":
            ask(client.with_options(timeout=9))
        elif how == "thread":
            thread = threading.Thread(target=ask, args=(client,))
            thread.start()
            thread.join()
        elif how == "stream":
            list(ask(client, stream=True))
        elif how == "async":
            asyncio.run(asynchronous())
        else:
            captured.model._script.append(Failure(status=503))
            with pytest.raises(openai.InternalServerError):
                ask(client)
    spans = captured.spans_named("chat")
    assert {dict(span.attributes or {})["gen_ai.conversation.id"] for span in spans} == {"s1"}
    assert len(spans) == (2 if how == "async" else 1)


def test_an_injection_changes_no_key_of_the_request_but_the_user_message(captured: Captured, app: Middleware) -> None:
    given: Any = {"temperature": 0.5, "metadata": {"a": "b"}, "seed": 7, "n": 1}
    with captured.model.openai() as client:
        ask(client, **given)
        ask(app.wrap(client), **given)
    bare, wrapped = captured.requests
    assert {**wrapped, "messages": 0} == {**bare, "messages": 0}
    assert wrapped["messages"][0]["content"][0] == {"type": "text", "text": "hello"}


def test_an_async_stream_that_is_left_is_one_conversation_recorded_once(captured: Captured, tmp_path: Path) -> None:
    async def main() -> None:
        async with captured.model.async_openai() as plain:
            client = app.wrap(plain)
            async for chunk in await ask(client, stream=True):
                if chunk.choices[0].delta.content == "two ":
                    break
            gc.collect()

    with Middleware.from_settings(transcripts=tmp_path, **captured.providers) as app:
        asyncio.run(main())
        gc.collect()
        drain_dropped(30)
    (path,) = tmp_path.glob("*.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(r["type"], r["message"]["parts"][0]["text"]) for r in records] == [
        ("user", "hello"),
        ("assistant", "one two "),
    ]
