"""Our variants for the overhead benchmark handed to the project: `overhead.py` calls these in a worker process.

`setup` is tracing alone with content on spans; `setup_full` adds a transcript, recall over 10,000 memories and one
function hook. Each returns (sync client, async client, flush).
"""

from __future__ import annotations

import atexit
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from middleware import Middleware

_VOCABULARY = 2_000


def setup(context: Any) -> tuple[Any, Any, Callable[[], object]]:
    """Tracing alone."""
    provider = context.provider()
    app = Middleware.from_settings(tracer_provider=provider, capture_content="SPAN_ONLY")
    return app.wrap(context.mk_sync()), app.wrap(context.mk_async()), provider.force_flush


def setup_full(context: Any) -> tuple[Any, Any, Callable[[], object]]:
    """Tracing, transcript, recall over 10,000 memories, a function hook."""
    from recall_store import Record

    folder = Path(tempfile.mkdtemp(prefix="firsthand-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    provider = context.provider()
    app = Middleware.from_settings(
        hooks=[lambda payload: "branch=main ticket=DEMO-1"],
        tracer_provider=provider,
        capture_content="SPAN_ONLY",
        transcripts=folder / "transcripts",
        store=f"sqlite:///{folder / 'memories.db'}",
        user="bench",
    )
    words = random.Random(7)
    vocabulary = ["lorem", "ipsum", "brief", *(f"word{number}" for number in range(_VOCABULARY))]
    texts = [" ".join(words.choices(vocabulary, k=12)) for _ in range(10_000)]
    assert app.store is not None
    app.store.upsert(namespace="bench", records=[Record(text=text) for text in texts])
    return app.wrap(context.mk_sync()), app.wrap(context.mk_async()), provider.force_flush
