"""A store in PostgreSQL, for tests that have no `url` and no `store` of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recall_store import open_store
from recall_store.engines.postgresql import PostgresqlStore
from tests.recall_store.postgres import server


@pytest.fixture
def url() -> str:
    return server().empty("engine")


@pytest.fixture
def store(url: str) -> Iterator[PostgresqlStore]:
    with open_store(url) as opened:
        assert isinstance(opened, PostgresqlStore)
        yield opened
