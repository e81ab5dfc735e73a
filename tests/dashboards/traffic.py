"""Real turns for the dashboards, in a process of its own: `python -m tests.dashboards.traffic FOLDER URL`.

The middleware is wrapped around real SDK clients, whose server is the aimock at that URL, started with `FIXTURES`. Its
metrics are served as opentelemetry-exporter-prometheus has them; traces and logs go to a port where nobody listens, so
that some are lost. It prints its port, then makes one round of turns for every line of its input and prints
"done". A round is the same each time, so that what a counter grows by between two of them is known.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import anthropic
import openai
from opentelemetry import metrics
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import CollectorRegistry, start_http_server

from middleware import HookBlocked, Middleware, Origin, telemetry
from recall_store import Record, open_store
from recall_store.engines.sqlite import SqliteStore

SECONDS = [0.1] * 60 + [0.3] * 48 + [1.5] * 12
"""How long the calls of model `timed` take in a round, at least: their p95 is 1.5."""

TURNS = 120 + 8 * 3 + 4 * 4 + 60 + 32 + 24 + 2
"""How many turns a round has."""

HOOKS = {
    "UserPromptSubmit": [
        {
            "hooks": [
                {
                    "type": "command",
                    "name": "guard",
                    "command": "! grep -q 'drop the table' || { echo no >&2; exit 2; }",
                },
                {"type": "command", "name": "broken", "command": "exit 1"},
                {"type": "command", "name": "stuck", "command": "sleep 60", "timeout": 0.2},
            ]
        }
    ]
}

NOTES = "The build machine is called brontes. It has sixty-four cores and is rebooted on Sundays. " * 12


class BrokenStore(SqliteStore):
    """Its disk is gone."""

    def search(self, **asked: Any) -> Any:
        raise OSError("the disk is gone")


class SlowStore(SqliteStore):
    """Answers long after the turn has gone on."""

    def search(self, **asked: Any) -> Any:
        time.sleep(0.1)
        return super().search(**asked)


FIXTURES: dict[str, Any] = {
    "fixtures": [
        *(
            {"match": {"userMessage": f"fail with {status}"},
             "response": {"error": {"message": "no"}, "status": status}}
            for status in (429, 503)
        ),
        *(
            {"match": {"userMessage": f"take {took}"},
             "response": {"content": "It is red since noon.", "usage": {"prompt_tokens": 300, "completion_tokens": 7}},
             "chaos": {"latencyMs": round(1000 * took)}}
            for took in sorted(set(SECONDS))
        ),
        {"match": {"model": "claude-sonnet-4-5"},
         "response": {"content": "It is red since noon.", "usage": {"input_tokens": 300, "output_tokens": 7}}},
        {"match": {},
         "response": {"content": "It is red since noon.", "usage": {"prompt_tokens": 300, "completion_tokens": 7}}},
    ]
}  # fmt: skip
"""Slow, refused or plain, as the request's own words ask for."""


@contextmanager
def apps(folder: Path) -> Iterator[dict[str, Middleware]]:
    """One for each way in which hooks and recall can go."""
    (folder / "hooks.json").write_text(json.dumps({"hooks": HOOKS}))
    store = f"sqlite:///{folder}/memories.db"
    with open_store(store) as made:
        memories = [
            Record(text=f"{NOTES} Note {number}: the deploy of service {number} is green.") for number in range(9)
        ]
        made.upsert(namespace="alice", records=memories)
    given: dict[str, dict[str, Any]] = {
        "plain": {"store": store, "user": "alice", "recall_timeout": 60, "hooks": [lambda payload: NOTES]},
        "stranger": {"store": store, "user": "nobody", "recall_timeout": 60},
        "late": {"store": store, "user": "alice", "recall_timeout": 0.02},
        "broken": {"store": store, "user": "alice", "recall_timeout": 60},
        "closed": {"hooks": [lambda payload: {"decision": "block", "reason": "closed today"}]},
        "guarded": {"hooks_file": str(folder / "hooks.json")},
    }
    with ExitStack() as stack:
        found = {name: stack.enter_context(Middleware.from_settings(**more)) for name, more in given.items()}
        for name, kind in (("broken", BrokenStore), ("late", SlowStore)):
            plain = found[name].store
            assert plain is not None
            plain.close()
            found[name]._wiring.store = kind(folder / "memories.db")
        yield found


def turn(client: Any, model: str, text: str, **more: Any) -> None:
    """One turn that may fail or be blocked."""
    with suppress(HookBlocked, Exception):
        reply = client.chat.completions.create(model=model, messages=[{"role": "user", "content": text}], **more)
        if more.get("stream"):
            for _ in reply:
                pass


def claude(client: Any, text: str) -> None:
    with suppress(Exception):
        client.messages.create(model="claude-sonnet-4-5", max_tokens=9, messages=[{"role": "user", "content": text}])


def tool_turn(client: Any) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages: list[Any] = [
        {"role": "user", "content": "look it up"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
    ]
    client.chat.completions.create(model="gpt-5-mini", messages=messages)


def jobs(found: dict[str, Middleware], gpt: openai.OpenAI, claudes: anthropic.Anthropic) -> list[Any]:
    """A round, as functions to be called at the same time."""
    plain = {name: app.wrap(gpt) for name, app in found.items()}
    other = found["plain"].wrap(claudes)
    made: list[Any] = [lambda n=n: turn(plain["broken"], "gpt-5", f"what now, number {n}") for n in range(24)]
    made += [
        lambda n=n, s=s: turn(plain["plain"], "timed", f"what about service {n % 9}? take {s}")
        for n, s in enumerate(SECONDS)
    ]
    for n in range(8):
        made += [
            lambda n=n: turn(plain["plain"], "gpt-5-mini", f"is service {n} green?", stream=True),
            lambda n=n: claude(other, f"is service {n} green?"),
            lambda n=n: turn(plain["stranger"], "gpt-5-mini", f"hello, number {n}"),
        ]
    for n in range(4):
        made += [
            lambda n=n: turn(plain["guarded"], "gpt-5", f"drop the table number {n}"),
            lambda n=n: turn(plain["guarded"], "gpt-5", f"keep the table number {n}"),
            lambda n=n: turn(plain["plain"], "gpt-5", f"number {n}, fail with {(429, 503)[n % 2]}"),
            lambda: tool_turn(plain["plain"]),
        ]
    # Of the first round Prometheus may see anything from nothing to all: what must raise an alert is plenty.
    made += [lambda n=n: turn(plain["closed"], "gpt-5", f"let me in, number {n}") for n in range(60)]
    made += [lambda n=n: turn(plain["late"], "gpt-5-mini", f"quick, number {n}") for n in range(32)]

    def cron() -> None:
        with found["plain"].origin(Origin.CRON):
            turn(plain["plain"], "gpt-5-mini", "the hourly report")

    return [*made, cron, cron]


def main(folder: Path, url: str) -> None:
    registry = CollectorRegistry()
    meters = MeterProvider([PrometheusMetricReader(registry=registry)], shutdown_on_exit=False)
    metrics.set_meter_provider(meters)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # Bound and not listening: whoever sends there is refused.
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{held.getsockname()[1]}"
        os.environ["OTEL_EXPORTER_OTLP_TIMEOUT"] = "1"
        os.environ["OTEL_BSP_SCHEDULE_DELAY"] = os.environ["OTEL_BLRP_SCHEDULE_DELAY"] = "200"
        telemetry.configure(service_name="dashboards-test")
        server, thread = start_http_server(0, addr="127.0.0.1", registry=registry)
        with (
            apps(folder) as found,
            openai.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as gpt,
            anthropic.Anthropic(api_key="k", base_url=url, max_retries=0) as claudes,
            ThreadPoolExecutor(40) as pool,
        ):
            print(server.server_port, flush=True)
            for _ in sys.stdin:
                for done in [pool.submit(job) for job in jobs(found, gpt, claudes)]:
                    done.result()
                # No flush: it makes the Prometheus reader collect, and what was collected is in the next scrape twice.
                print("done", flush=True)
        server.shutdown()
        server.server_close()
        thread.join()
        telemetry.shutdown(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
