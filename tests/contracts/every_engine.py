"""The engines in `recall_store/engines`: a new file is tested by existing; it needs a URL below."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from recall_store import Record, Store, engines
from tests.recall_store.postgres import server

ENGINES = engines.names()
URLS: dict[str, Callable[[Path], str]] = {
    "postgresql": lambda _: server().empty("contract"),
    "sqlite": lambda folder: f"sqlite:///{folder}/memories.db",
}
YESTERDAY = datetime.now(UTC) - timedelta(days=1)


def add(store: Store, *texts: str, namespace: str = "alice") -> list[Record]:
    return store.upsert(namespace=namespace, records=[Record(text=text) for text in texts])


def found(store: Store, query: str, namespace: str = "alice", **more: object) -> list[str]:
    return [match.record.text for match in store.search(namespace=namespace, query=query, **more)]  # type: ignore[arg-type]
