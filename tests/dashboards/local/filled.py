"""A running dashboard with real turns and their transcripts: typed, injected, blocked, failed, hostile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import openai
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from dashboards.local.database import Readers
from dashboards.local.following import Follower
from dashboards.local.ingest import Ingest
from dashboards.local.pages import routes
from dashboards.local.server import Board, application, listen, serve
from middleware import HookBlocked, Middleware
from middleware.testing import Failure, LocalModel
from recall_store import Record, open_store

from .serving import Served

HOSTILE = "<script>window.hurt=1</script><img src=x onerror=window.hurt=2> \u202eevil \u0000 مرحبا"
LONG = "long " * 200_000
PROMPTS = ("why is CI red?", "how do we deploy?", HOSTILE, "drop the table users", "fail please", LONG)
ADDED = "branch=main <b>ticket</b>=DEMO-1"


def added(payload: dict[str, Any]) -> str:
    return ADDED


def guard(payload: dict[str, Any]) -> dict[str, str] | None:
    return {"decision": "block", "reason": "no <i>SQL</i> here"} if "drop the table" in payload["prompt"] else None


@contextmanager
def filled(folder: Path, sessions: int = 2) -> Iterator[Any]:
    """Sessions `s1`, `s2`, … of the six prompts each; everything is in the dashboard's file when it is given."""
    transcripts = folder / "transcripts"
    transcripts.mkdir()
    store = f"sqlite:///{folder / 'memories.db'}"
    with open_store(store) as opened:
        opened.upsert(namespace="ann", records=[Record(id="helm", text="We deploy with helm on Fridays")])
    sockets = listen(0)
    ingest = Ingest(folder / "board.db")
    follower = Follower(transcripts, ingest)
    board = Board(ingest=ingest, readers=Readers(ingest.path), follower=follower)
    running, held = threading.Event(), []

    def started(stop: Any) -> None:
        held.append(stop)
        running.set()

    thread = threading.Thread(
        target=serve, args=(application(board, routes(board)), sockets), kwargs={"started": started}
    )
    thread.start()
    assert running.wait(60)
    served: Any = Served(sockets[0].getsockname()[1], board)
    try:
        _talk(served, transcripts, store, sessions)
        yield served
    finally:
        held[0]()
        thread.join(60)
        assert not thread.is_alive()


def _talk(served: Any, transcripts: Path, store: str, sessions: int) -> None:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{served.url}/v1/traces")))
    answers = ["one", "two", "three", Failure(status=500), "five"]
    app = Middleware.from_settings(
        transcripts=transcripts,
        store=store,
        recall_timeout=60,
        user="ann",
        tracer_provider=provider,
        hooks=[added, guard],
        capture_content=True,
    )
    for number in range(1, sessions + 1):
        with LocalModel(*answers).openai(max_retries=0) as plain, app.session(f"s{number}"):
            client = app.wrap(plain)
            for prompt in PROMPTS:
                with suppress(HookBlocked, openai.APIError):
                    client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": prompt}])
    app.close()
    provider.shutdown()
    deadline = time.monotonic() + 60
    while served.rows("SELECT count(*) FROM turns WHERE file IS NOT NULL AND outcome IS NOT NULL")[0][0] < 6 * sessions:
        assert time.monotonic() < deadline
