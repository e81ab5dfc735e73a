"""A dashboard beside a command that makes turns itself: spans go to it in this process, as bytes of OTLP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .failures import lacking

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

__all__ = ["beside"]


@contextmanager
def beside(provider: TracerProvider, *, db: Path, transcripts: Path) -> Iterator[str]:
    """Serve the dashboard on a free port of this machine within the block, and answer its address.

    What `provider` exports is in the file `db`, and `transcripts` (made if it is not there) are followed. Raises
    `Failure` when a package is missing, `DashboardError` when the file cannot be used.
    """
    try:
        from dashboards.local.database import Readers
        from dashboards.local.exporting import SpanIngester
        from dashboards.local.following import Follower
        from dashboards.local.ingest import Ingest
        from dashboards.local.pages import routes
        from dashboards.local.server import Board, application, listen, serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("dashboards", "middleware"):
            raise
        raise lacking("the dashboard", error.name, "dashboard") from error
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    transcripts.mkdir(mode=0o700, parents=True, exist_ok=True)
    db.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    ingest = Ingest(db)
    board = Board(ingest=ingest, readers=Readers(db), follower=Follower(transcripts, ingest))
    sockets = listen(0)
    running = threading.Event()
    stops: list[Callable[[], None]] = []

    def started(stop: Callable[[], None]) -> None:
        stops.append(stop)
        running.set()

    def run() -> None:
        try:
            serve(application(board, routes(board)), sockets, started=started)
        finally:
            running.set()

    spans = BatchSpanProcessor(SpanIngester(ingest), schedule_delay_millis=500)
    provider.add_span_processor(spans)
    thread = threading.Thread(target=run, name="firsthand-dashboard", daemon=True)
    thread.start()
    running.wait()
    try:
        yield f"http://localhost:{sockets[0].getsockname()[1]}"
    finally:
        spans.force_flush()
        for stop in stops:
            stop()
        thread.join()
