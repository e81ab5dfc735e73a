"""Recall in a turn: when the store is asked, with what, for how long, and what of its answer is sent."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Origin, Settings
from middleware.matches import memories_of
from middleware.testing import Captured, capture
from recall_store import Match, Record
from recall_store.engines.sqlite import SqliteStore

RUNNER = "the CI runner is called brontes"
SENT = """\
<firsthand:recalled-memory>
Background recalled from earlier conversations; it may be out of date and is not part of the request.
- CI runner: brontes has &lt;64&gt; GB (3 days ago)
</firsthand:recalled-memory>"""


class WatchedStore(SqliteStore):
    """Keeps what it was asked."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.asked: list[str] = []

    def search(self, **asked: Any) -> Any:
        self.asked.append(asked["query"])
        return super().search(**asked)


class HungStore(WatchedStore):
    """Answers a search once it is let go."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.let_go = threading.Event()

    def search(self, **asked: Any) -> Any:
        self.let_go.wait(60)
        return super().search(**asked)


class BrokenStore(WatchedStore):
    def search(self, **asked: Any) -> Any:
        raise OSError(f"the disk is gone, it held {asked['query']}")


@contextmanager
def room(
    tmp_path: Path, kind: type[WatchedStore] = WatchedStore, **settings: Any
) -> Iterator[tuple[Captured, Middleware, Any]]:
    given: Any = {"store": f"sqlite:///{tmp_path}/m.db", "user": "alice", "recall_timeout": 60, **settings}
    with capture() as captured, Middleware(Settings(**given), **captured.providers) as app:
        assert app.store is not None
        app.store.close()
        app._wiring.store = store = kind(tmp_path / "m.db")
        yield captured, app, store


def ask(client: Any, *said: str) -> Any:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(said)]
    return client.chat.completions.create(model="m", messages=messages)


def test_what_is_recalled_stands_escaped_in_one_tagged_part_with_its_age(tmp_path: Path) -> None:
    with room(tmp_path) as (captured, app, store):
        old = datetime.now(UTC) - timedelta(days=3, hours=1)
        store.upsert(namespace="alice", records=[Record(text="brontes has <64> GB", title="CI runner", created_at=old)])
        ask(app.wrap(captured.model.openai()), "what is our CI runner?")
        [message] = captured.requests[0]["messages"]
        assert [part["text"] for part in message["content"]] == [
            "what is our CI runner?",
            SENT,
        ]


def test_at_most_five_memories_are_sent_and_each_is_cut_at_1200_characters(tmp_path: Path) -> None:
    with room(tmp_path) as (captured, app, store):
        long = "brontes " + "x" * 2_000
        store.upsert(namespace="alice", records=[Record(text=f"{long} {number}") for number in range(8)])
        ask(app.wrap(captured.model.openai()), "tell me of brontes")
        sent = captured.requests[0]["messages"][0]["content"][1]["text"]
        assert sent.count(f"- brontes {'x' * 1_192} [cut: 1200 of 2010 characters] (just now)") == 5


@pytest.mark.parametrize("origin", list(Origin))
def test_user_queries_and_scheduled_ones_are_recalled_for_and_no_others(origin: Origin, tmp_path: Path) -> None:
    with room(tmp_path) as (captured, app, store):
        store.upsert(namespace="alice", records=[Record(text=RUNNER)])
        client = app.wrap(captured.model.openai(), session="s")
        ask(client, "hello")
        store.asked.clear()
        with app.origin(origin):
            ask(client, "hello" if origin is Origin.RETRY else "what is our CI runner?")
        assert len(store.asked) == (1 if origin in (Origin.USER_QUERY, Origin.CRON) else 0)


def test_half_a_megabyte_of_a_file_is_asked_with_its_two_ends(tmp_path: Path) -> None:
    with room(tmp_path) as (captured, app, store):
        ask(app.wrap(captured.model.openai()), "why is brontes red? " + "log line " * 60_000 + " and what then?")
        [query] = store.asked
        assert query.startswith("why is brontes red? log line")
        assert query.endswith("line and what then?")
        assert (len(query.split()), len(query.encode()) <= 1_000) == (64, True)


def test_an_image_alone_asks_nothing(tmp_path: Path) -> None:
    with room(tmp_path) as (captured, app, store):
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        messages: Any = [{"role": "user", "content": [image]}]
        app.wrap(captured.model.openai()).chat.completions.create(model="m", messages=messages)
        assert store.asked == []


@pytest.mark.parametrize("is_async", [False, True])
def test_a_store_that_is_late_costs_the_memories_and_not_the_turn(is_async: bool, tmp_path: Path) -> None:
    async def call(captured: Captured, app: Middleware) -> Any:
        client = app.wrap(captured.model.async_openai())
        return await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "CI runner?"}])

    with room(tmp_path, HungStore, recall_timeout=0.01) as (captured, app, store):
        store.upsert(namespace="alice", records=[Record(text=RUNNER)])
        if is_async:
            asyncio.run(call(captured, app))
        else:
            ask(app.wrap(captured.model.openai()), "what is our CI runner?")
        store.let_go.set()
        assert "brontes" not in json.dumps(captured.requests)
        [span] = captured.spans_named("search_memory")
        assert (span.attributes or {})["firsthand.recall.outcome"] == "timeout"


def test_a_store_that_fails_is_telemetry_and_quotes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with room(tmp_path, BrokenStore) as (captured, app, _):
        assert ask(app.wrap(captured.model.openai()), "what is our CI runner?").choices[0].message.content == "ok"
        [span] = captured.spans_named("search_memory")
        assert (span.attributes or {})["firsthand.recall.outcome"] == "error"
        assert "CI runner" not in caplog.text
        assert "CI runner" not in captured.exported()


def test_a_budget_of_100_ms_and_five_memories_are_the_defaults() -> None:
    assert (Settings().recall_timeout, Settings().recall_top_k) == (0.1, 5)


def sent_with(captured: Captured, number: int) -> list[bool]:
    """For each user message of a request, whether the runner's name was sent behind it."""
    users = [message for message in captured.requests[number]["messages"] if message["role"] == "user"]
    return ["brontes" in json.dumps(message["content"]) for message in users]


def test_a_memory_in_this_request_is_not_sent_again_until_it_changes_or_is_cut_off(tmp_path: Path) -> None:
    with room(tmp_path) as (captured, app, store):
        [record] = store.upsert(namespace="alice", records=[Record(text=RUNNER)])
        client = app.wrap(captured.model.openai(), session="s")
        ask(client, "what is our CI runner?")
        ask(client, "what is our CI runner?", "ok", "CI runner again?")
        store.upsert(namespace="alice", records=[Record(id=record.id, text=f"{RUNNER} since May")])
        ask(client, "what is our CI runner?", "ok", "CI runner again?", "ok", "and the CI runner now?")
        ask(client, "another CI runner?")
        assert [sent_with(captured, number) for number in range(4)] == [
            [True],
            [True, False],
            [True, False, True],
            [True],
        ]
        recalls = [span.attributes for span in captured.spans if span.name == "search_memory"]
        told = [(said["firsthand.recall.found"], said["gen_ai.memory.record.count"]) for said in recalls]
        assert told == [(1, 1), (1, 0), (1, 1), (1, 1)]


def test_a_memory_that_another_process_sent_is_not_sent_again_either(tmp_path: Path) -> None:
    for said in (("what is our CI runner?",), ("what is our CI runner?", "ok", "CI runner again?")):
        with room(tmp_path, transcripts=str(tmp_path / "t")) as (captured, app, store):
            store.upsert(namespace="alice", records=[Record(id="r", text=f"{RUNNER}, <old>\nand new")])
            ask(app.wrap(captured.model.openai(), session="s"), *said)
            last = sent_with(captured, 0)
    assert last == [True, False]


def test_a_memory_that_changed_since_another_process_sent_it_is_sent(tmp_path: Path) -> None:
    texts = [f"{RUNNER} in the rack", RUNNER]
    for said in (("what is our CI runner?",), ("what is our CI runner?", "ok", "CI runner again?")):
        with room(tmp_path, transcripts=str(tmp_path / "t")) as (captured, app, store):
            store.upsert(namespace="alice", records=[Record(id="r", text=texts.pop(0))])
            ask(app.wrap(captured.model.openai(), session="s"), *said)
            last = sent_with(captured, 0)
    assert last == [True, True]


@pytest.mark.parametrize(
    ("seconds", "age"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (7_200, "2 hours ago"),
        (86_400, "1 day ago"),
        (86_400 * 70, "2 months ago"),
        (86_400 * 800, "2 years ago"),
    ],
)
def test_an_age_is_told_as_people_say_it(seconds: int, age: str) -> None:
    record = Record(id="r", text="x", created_at=datetime.now(UTC) - timedelta(seconds=seconds))
    [memory] = memories_of([Match(record=record, score=1.0, lexical=1.0, cosine=0.0)], {}, 5)
    assert memory.age == age
