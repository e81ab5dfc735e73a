"""The URL of a PostgreSQL store: what it says, and what is said of one that leads nowhere."""

from __future__ import annotations

import logging

import pytest

from recall_store import OpenError, UrlError, open_store
from recall_store.postgresql_pool import parse_url
from tests.recall_store.using_postgres import SECRET


def test_a_url_is_libpqs_with_a_schema_of_ours() -> None:
    address = parse_url("postgresql://bob:p%40ss@db.example:6432/memories?schema=team_a&sslmode=require")
    assert address.schema == "team_a"
    assert address.shown == "memories on db.example:6432"
    assert address.parameters["password"] == "p@ss"
    assert address.parameters["sslmode"] == "require"
    assert parse_url("postgresql:///memories").schema == "firsthand"


@pytest.mark.parametrize(
    "bad",
    [
        f"postgresql://bob:{SECRET}@[db/memories",
        f"postgresql://bob:{SECRET}%zz@db/memories",
        f"postgresql://bob:{SECRET}@db/memories?nonsense=1",
        f"postgresql://bob:{SECRET}@db/memories?schema=Robert');DROP",
        f"postgresql://bob:{SECRET}@db/memories?schema=",
        f"postgresql://bob:{SECRET}@db/memories?schema=pg_catalog",
    ],
)
def test_a_url_that_cannot_be_read_is_refused_without_a_word_of_it(bad: str) -> None:
    with pytest.raises(UrlError) as caught:
        open_store(bad)
    assert SECRET not in str(caught.value)
    assert str(caught.value).startswith("the store URL")
    # Neither does a traceback show what psycopg said of it.
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (f"postgresql://bob:{SECRET}@127.0.0.1:1/memories", "no connection to memories on 127.0.0.1:1 (Connection"),
        (
            f"postgresql://bob:{SECRET}@/memories?host=/nowhere",
            "no connection to memories on /nowhere:5432 (No such file",
        ),
        (f"postgresql://bob:@/memories?host=/nowhere&password={SECRET}", "no connection to memories on /nowhere:5432"),
    ],
)
def test_a_server_that_is_not_there_is_one_line_that_says_where_and_why(
    bad: str, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(OpenError) as caught:
        open_store(bad)
    assert str(caught.value).startswith(says)
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value) + caplog.text


def test_a_database_that_is_not_there_says_so(url: str) -> None:
    with pytest.raises(OpenError, match='database "nothing_here" does not exist'):
        open_store(url.replace("/postgres?", "/nothing_here?"))
