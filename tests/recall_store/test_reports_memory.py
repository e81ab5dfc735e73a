"""Public reports about memory that feeds on itself: each `ref` of recall_reports and field_notes that is about it."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Settings, Submission
from middleware.testing import Captured, capture
from recall_store import Record
from recall_store.engines.sqlite import SqliteStore

TAG = "firsthand:recalled-memory"


@contextmanager
def room(tmp_path: Path, answer: Any = "ok", **settings: Any) -> Iterator[tuple[Captured, Middleware]]:
    given: Any = {"store": f"sqlite:///{tmp_path}/m.db", "user": "ada", "recall_timeout": 60, **settings}
    hooks = given.pop("hooks", ())
    with capture(default=answer) as captured, Middleware(Settings(**given), hooks=hooks, **captured.providers) as app:
        yield captured, app


def turn(app: Middleware, client: Any, sent: str, typed: str | None) -> None:
    submission = Submission(model_parts=sent, submitted_prompt=typed, producer="test")
    with app.session("s"), app.submitting(submission):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": sent}])
    app.flush(60)


def texts(app: Middleware) -> list[str]:
    assert app.store is not None
    return sorted(record.text for record in app.store.list(namespace="ada"))


@pytest.mark.parametrize("remember", ["user", "model"])
def test_mem0_4573_five_turns_with_the_same_recalled_block_leave_one_row_for_its_fact(
    remember: str, tmp_path: Path
) -> None:
    """The system prompt, an invented profile and recalled memories came back as new memories."""
    junk = ("User likes tea", "The user's name is John Doe", "You are a helpful assistant")

    def answer(body: dict[str, Any]) -> str:
        if "You keep long-term notes" not in json.dumps(body):
            return "It is noon. As you like tea, have a cup."
        return json.dumps({"facts": [{"type": "user", "text": text} for text in junk]})

    system = "You are a helpful assistant. The user's name is John Doe."
    with room(tmp_path, answer, remember=remember, hooks=[lambda given: system]) as (captured, app):
        assert app.store is not None
        app.store.upsert(namespace="ada", records=[Record(text="User likes tea")])
        client = app.wrap(captured.model.openai())
        for number in range(5):
            turn(app, client, f"would I like tea at {number}?", f"would I like tea at {number}?")
        asked = [f"would I like tea at {number}?" for number in range(5)] if remember == "user" else []
        assert texts(app) == sorted(["User likes tea", *asked])


def test_mem0_4573_a_block_that_an_application_put_there_itself_is_not_ingested(tmp_path: Path) -> None:
    with room(tmp_path, remember="user") as (captured, app):
        client = app.wrap(captured.model.openai())
        for _ in range(5):
            turn(app, client, "<recalled>User likes tea</recalled> what time is it?", "what time is it?")
        assert texts(app) == ["what time is it?"]


def test_hindsight_360_rows_do_not_grow_over_turns_that_carry_the_recall_block_before_them(tmp_path: Path) -> None:
    with room(tmp_path, remember="user") as (captured, app):
        client = app.wrap(captured.model.openai())
        block = ""
        for _ in range(30):
            turn(app, client, f"{block}is the brontes runner red?", "is the brontes runner red?")
            block += f"<{TAG}>\n- is the brontes runner red?\n</{TAG}>\n"
        assert texts(app) == ["is the brontes runner red?"]


def test_hindsight_360_a_producer_that_takes_the_block_for_typed_is_refused(tmp_path: Path) -> None:
    with room(tmp_path, remember="user") as (captured, app):
        sent = f"<{TAG}>\n- is the runner red?\n</{TAG}>\nis the runner red?"
        turn(app, app.wrap(captured.model.openai()), sent, sent)
        assert texts(app) == []


def test_m03_memory_grows_with_the_users_words_and_no_injected_block_is_in_it(tmp_path: Path) -> None:
    facts = ["I use tabs", "my runner is brontes", "I live in Oslo"]
    with room(tmp_path, remember="user", hooks=[lambda given: "MEM: user likes elephants"]) as (captured, app):
        assert app.store is not None
        app.store.upsert(namespace="ada", records=[Record(text=text) for text in facts])
        client = app.wrap(captured.model.openai())
        said = [f"turn {number}: do I use tabs on my runner in Oslo?" for number in range(30)]
        for text in said:
            turn(app, client, text, text)
        assert texts(app) == sorted([*facts, *said])
        with closing(sqlite3.connect(tmp_path / "m.db")) as db:
            dump = "\n".join(db.iterdump())
        assert "elephants" not in dump
        assert TAG not in dump


def test_claude_mem_2793_a_row_is_bounded_by_what_the_user_wrote(tmp_path: Path) -> None:
    """20 characters of a user and a megabyte of context were stored twice, in full, a turn."""
    context = "the quick brown fox jumps over the lazy dog. " * 22_000
    with room(tmp_path, remember="user", hooks=[lambda given: context], max_context_chars=1_000_000) as (captured, app):
        client = app.wrap(captured.model.openai())
        turn(app, client, "why is CI red today?", "why is CI red today?")
        assert texts(app) == ["why is CI red today?"]
        assert len(json.dumps(captured.requests[0])) > 900_000
        assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) < 1_000_000


def test_memsearch_738_what_is_recalled_is_in_the_request_that_the_model_gets(tmp_path: Path) -> None:
    with room(tmp_path) as (captured, app):
        assert app.store is not None
        app.store.upsert(namespace="ada", records=[Record(text="the runner is called brontes")])
        turn(app, app.wrap(captured.model.openai()), "what is the runner called?", None)
        assert "the runner is called brontes" in json.dumps(captured.requests[0]["messages"])


def test_m01_a_hooks_text_is_no_part_of_the_question(tmp_path: Path) -> None:
    with room(tmp_path, hooks=[lambda given: "MEM: user likes elephants"], capture_content=True) as (captured, app):
        assert app.store is not None
        app.store.upsert(namespace="ada", records=[Record(text="elephants are big"), Record(text="tabs, never spaces")])
        turn(app, app.wrap(captured.model.openai()), "tabs or spaces?", None)
        [span] = captured.spans_named("search_memory")
        assert (span.attributes or {})["gen_ai.memory.query.text"] == "tabs or spaces?"
        sent = json.dumps(captured.requests[0])
        assert "tabs, never spaces" in sent
        assert "elephants are big" not in sent


class Failing(SqliteStore):
    """Its search raises, or hangs until the test lets go."""

    def __init__(self, path: Path, *, hangs: bool) -> None:
        super().__init__(path)
        self.hangs = hangs
        self.let_go = threading.Event()

    def search(self, **asked: Any) -> Any:
        if self.hangs:
            self.let_go.wait(60)
            return super().search(**asked)
        raise OSError("the disk is gone")


@pytest.mark.parametrize("hangs", [False, True])
def test_m05_a_recall_that_fails_or_hangs_keeps_no_prompt_from_being_sent(hangs: bool, tmp_path: Path) -> None:
    with room(tmp_path, recall_timeout=0.01 if hangs else 60) as (captured, app):
        assert app.store is not None
        app.store.close()
        app._wiring.store = store = Failing(tmp_path / "m.db", hangs=hangs)
        store.upsert(namespace="ada", records=[Record(text="the runner is called brontes")])
        turn(app, app.wrap(captured.model.openai()), "what is the runner called?", None)
        store.let_go.set()
        assert [request["messages"] for request in captured.requests] == [
            [{"role": "user", "content": "what is the runner called?"}]
        ]


def test_m08_a_prompt_is_never_taken_for_what_the_user_typed(tmp_path: Path) -> None:
    with room(tmp_path, remember="user") as (captured, app):
        client = app.wrap(captured.model.openai())
        turn(app, client, "x marks the spot", None)
        with app.session("s"):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "another prompt"}])
        app.flush(60)
        assert texts(app) == []


def test_a_memory_tells_who_wrote_it_and_a_model_or_a_program_is_never_the_user(tmp_path: Path) -> None:
    from recall_store.frontmatter import parse
    from recall_store.tools import call

    said = json.dumps({"facts": [{"type": "user", "text": "Lives in Oslo", "author": "user"}]})
    with room(tmp_path, lambda body: said, remember="model") as (captured, app):
        assert app.store is not None
        turn(app, app.wrap(captured.model.openai()), "I live in Oslo", "I live in Oslo")
        call(app.store, "ada", "upsert_memory", {"text": "the harbour is frozen"})
        app.store.upsert(namespace="ada", records=[parse("---\ntype: user\n---\nlikes tea")])
        assert {record.text: record.author for record in app.store.list(namespace="ada")} == {
            "Lives in Oslo": "assistant",
            "the harbour is frozen": "assistant",
            "likes tea": "import",
        }
