"""Through the real OTLP exporters to a receiver that nobody here wrote (oteltap), and every byte on the way."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from oteltap import OtelTapHttpProtobufReceiver, OtelTapHttpProtobufReceiverSettings

from middleware import Middleware, Settings
from middleware.telemetry.providers import providers
from middleware.testing import LocalModel
from recall_store import Record, open_store

from .relay import Relay
from .spellings import resource

PROMPT = "PROMPTWORD what is the billing runner called"
HOOK, MEMORY = "HOOKCANARY-4711", "the billing runner is called MEMORYCANARY-4712"
SPANS = ("firsthand.turn", "search_memory", "firsthand.hook branch", "chat local")
METRICS = (
    "gen_ai.client.operation.duration",
    "gen_ai.client.token.usage",
    "firsthand.hook.duration",
    "firsthand.recall.duration",
    "firsthand.turn.count",
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def conversation(folder: Path, sdk: str, capturing: str) -> LocalModel:
    """One turn with a command hook, a recalled memory and our own exporters, flushed to the end."""
    hooks = [{"type": "command", "name": "branch", "command": f"echo {HOOK}; echo {HOOK} >&2"}]
    (folder / "hooks.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": hooks}]}}))
    store = f"sqlite:///{folder}/memories.db"
    with open_store(store, embedder="hash") as memories:
        memories.upsert(namespace="ann", records=[Record(text=MEMORY, id="m1")])
    ours = providers(service_name="e2e")
    settings = Settings(
        hooks_file=str(folder / "hooks.json"),
        store=store,
        user="ann",
        recall_timeout=30.0,
        transcripts=str(folder / "transcripts"),
        capture_content=capturing,  # type: ignore[arg-type]
    )
    model = LocalModel()
    fields: dict[str, Any] = {} if sdk == "openai" else {"max_tokens": 9}
    app = Middleware(settings, tracer_provider=ours.traces, meter_provider=ours.metrics, logger_provider=ours.logs)
    with app, getattr(model, sdk)() as client:
        messages = [{"role": "user", "content": PROMPT}]
        resource(sdk, app.wrap(client)).create(model="local", messages=messages, **fields)
    ours.shutdown()
    return model


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
@pytest.mark.parametrize("capturing", ["NO_CONTENT", "SPAN_AND_EVENT"])
def test_spans_events_and_metrics_arrive_and_injected_text_is_in_no_byte(
    sdk: str, capturing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clean_environment: None
) -> None:
    for name in ("OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER"):
        monkeypatch.delenv(name, raising=False)
    port = free_port()

    async def main(relay: Relay) -> tuple[LocalModel, list[Any], Any, list[Any]]:
        async with OtelTapHttpProtobufReceiver(OtelTapHttpProtobufReceiverSettings(http_port=port)) as tap:
            awaited = [
                *(asyncio.create_task(tap.await_trace(lambda got, name=name: got.name == name, 60)) for name in SPANS),
                asyncio.create_task(tap.await_log(lambda got: got.event_name == "firsthand.hook_call", 60)),
                *(
                    asyncio.create_task(tap.await_metric(lambda got, name=name: got.name == name, 60))
                    for name in METRICS
                ),
            ]
            await asyncio.sleep(0)  # Let them begin to wait.
            model = await asyncio.to_thread(conversation, tmp_path, sdk, capturing)
            found = await asyncio.gather(*awaited)
            return model, found[: len(SPANS)], found[len(SPANS)], found[len(SPANS) + 1 :]

    with Relay(f"http://127.0.0.1:{port}") as relay:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", relay.url)
        model, (turn, recall, hook, chat), event, metrics = asyncio.run(main(relay))
        sent = b"".join(relay.received)

    parts = model.requests[0]["messages"][0]["content"]
    assert [part["text"].count("CANARY") for part in parts] == [0, 1, 1]

    assert turn.parent_span_id == b""
    assert {span.parent_span_id for span in (recall, hook, chat)} == {turn.span_id}
    assert {span.trace_id for span in (recall, hook, chat)} == {turn.trace_id}
    assert (event.trace_id, event.span_id) == (turn.trace_id, hook.span_id)
    said = {item.key: item.value for item in chat.attributes}
    assert said["gen_ai.request.model"].string_value == "local"
    assert said["firsthand.injection.count"].int_value == 2
    assert [value.string_value for value in said["firsthand.injection.sources"].array_value.values] == [
        "memory",
        "hook",
    ]
    assert list(metrics[0].histogram.data_points[0].explicit_bounds) == [0.01 * 2**k for k in range(14)]
    assert sorted(point.sum for point in metrics[1].histogram.data_points) == [3, 12]

    assert b"e2e" in sent and b"firsthand.turn" in sent
    assert b"CANARY" not in sent
    assert (b"PROMPTWORD" in sent) is (capturing == "SPAN_AND_EVENT")
    transcript = next((tmp_path / "transcripts").glob("*.jsonl")).read_text()
    assert json.loads(transcript.splitlines()[0])["traceId"] == turn.trace_id.hex()
