"""`remember` by a model: how it is asked by every kind of client, and what is not waited for."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Submission
from middleware.testing import Captured
from recall_store import open_store
from tests.remembering import fact, is_question, noting, room, say, texts


def clients(captured: Captured, app: Middleware) -> dict[str, Callable[[str], Any]]:
    """A call of every kind of client; each returns what is to be awaited, or nothing of that kind."""
    model = captured.model
    openai, anthropic, google = app.wrap(model.openai()), app.wrap(model.anthropic()), app.wrap(model.google())
    plain = model.openai()

    @app.wrap_call
    def ask(messages: Any, model: str = "m") -> Any:
        return plain.chat.completions.create(model=model, messages=messages)

    @app.wrap_call
    def stream(messages: Any, model: str = "m") -> Iterator[Any]:
        yield from plain.chat.completions.create(model=model, messages=messages, stream=True)

    def message(text: str) -> Any:
        return [{"role": "user", "content": text}]

    return {
        "chat": lambda text: openai.chat.completions.create(model="m", messages=message(text)),
        "responses": lambda text: openai.responses.create(model="m", input=text),
        "raw": lambda text: openai.chat.completions.with_raw_response.create(model="m", messages=message(text)).parse(),
        "anthropic": lambda text: anthropic.messages.create(model="m", max_tokens=9, messages=message(text)),
        "google": lambda text: google.models.generate_content(model="m", contents=text),
        "function": lambda text: ask(message(text)),
        "generator": lambda text: list(stream(message(text))),
    }


def async_clients(captured: Captured, app: Middleware) -> dict[str, Callable[[str], Any]]:
    model = captured.model
    openai, anthropic = app.wrap(model.async_openai()), app.wrap(model.async_anthropic())
    google = app.wrap(model.google()).aio
    plain = model.async_openai()

    @app.wrap_call
    async def ask(messages: Any, model: str = "m") -> Any:
        return await plain.chat.completions.create(model=model, messages=messages)

    @app.wrap_call
    async def stream(messages: Any, model: str = "m") -> Any:
        async for chunk in await plain.chat.completions.create(model=model, messages=messages, stream=True):
            yield chunk

    async def read(text: str) -> Any:
        return [chunk async for chunk in stream(message(text))]

    def message(text: str) -> Any:
        return [{"role": "user", "content": text}]

    return {
        "chat": lambda text: openai.chat.completions.create(model="m", messages=message(text)),
        "responses": lambda text: openai.responses.create(model="m", input=text),
        "anthropic": lambda text: anthropic.messages.create(model="m", max_tokens=9, messages=message(text)),
        "google": lambda text: google.models.generate_content(model="m", contents=text),
        "function": lambda text: ask(message(text)),
        "generator": read,
    }


TEXT = "I live in Oslo."


@pytest.mark.parametrize("kind", ["chat", "responses", "raw", "anthropic", "google", "function", "generator"])
def test_every_kind_of_client_is_asked_as_it_was_before_it_was_wrapped(kind: str, tmp_path: Path) -> None:
    with room(tmp_path, "model", noting(fact("Alice lives in Oslo."))) as (captured, app):
        call = clients(captured, app)[kind]
        with (
            app.session("s", user="alice"),
            app.submitting(Submission(model_parts=TEXT, submitted_prompt=TEXT, producer="test")),
        ):
            call(TEXT)
        assert texts(app) == ["Alice lives in Oslo."]
        assert len(captured.requests) == 2


@pytest.mark.parametrize("kind", ["chat", "responses", "anthropic", "google", "function", "generator"])
def test_every_kind_of_async_client_is_asked_on_its_own_loop(kind: str, tmp_path: Path) -> None:
    async def run(captured: Captured, app: Middleware) -> None:
        with (
            app.session("s", user="alice"),
            app.submitting(Submission(model_parts=TEXT, submitted_prompt=TEXT, producer="test")),
        ):
            await async_clients(captured, app)[kind](TEXT)
        await asyncio.to_thread(app.flush, 60)

    with room(tmp_path, "model", noting(fact("Alice lives in Oslo."))) as (captured, app):
        asyncio.run(run(captured, app))
        assert texts(app) == ["Alice lives in Oslo."]
        assert len(captured.requests) == 2


def test_a_loop_that_ends_before_its_question_is_answered_drops_it_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run(captured: Captured, app: Middleware) -> None:
        client = app.wrap(captured.model.async_openai())
        with (
            app.session("s", user="alice"),
            app.submitting(Submission(model_parts=TEXT, submitted_prompt=TEXT, producer="test")),
        ):
            await client.chat.completions.create(model="m", messages=[{"role": "user", "content": TEXT}])

    with room(tmp_path, "model", noting(fact("Alice lives in Oslo."))) as (captured, app):
        asyncio.run(run(captured, app))
        assert texts(app) == []
        assert caplog.text == ""


def test_a_flush_on_the_loop_that_has_to_ask_does_not_wait_for_it(tmp_path: Path) -> None:
    async def run(captured: Captured, app: Middleware) -> None:
        client = app.wrap(captured.model.async_openai())
        with (
            app.session("s", user="alice"),
            app.submitting(Submission(model_parts=TEXT, submitted_prompt=TEXT, producer="test")),
        ):
            await client.chat.completions.create(model="m", messages=[{"role": "user", "content": TEXT}])
        app.flush(600)

    with room(tmp_path, "model", noting(fact("Alice lives in Oslo."))) as (captured, app):
        asyncio.run(run(captured, app))


def test_what_is_not_asked_yet_is_dropped_at_close(tmp_path: Path) -> None:
    with room(tmp_path, "model", noting(fact("Alice lives in Oslo."))) as (captured, app):
        remember = app._wiring.remember
        assert remember is not None
        remember.close()
        say(app, app.wrap(captured.model.openai()), TEXT)
        assert texts(app) == []
        assert not any(map(is_question, captured.requests))


PROGRAM = """
import sys, threading
from middleware import Middleware, Settings, Submission

def model(messages, model="m"):
    if "You keep long-term notes" in str(messages):
        print("asked", flush=True)
        threading.Event().wait()
    return {"choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]}

app = Middleware(Settings(store="sqlite:///m.db", remember=sys.argv[1], user="alice"))
with app.submitting(Submission(model_parts="I live in Oslo.", submitted_prompt="I live in Oslo.", producer="test")):
    app.wrap_call(model)([{"role": "user", "content": "I live in Oslo."}])
if sys.argv[1] == "model":
    app.close()
print("done")
"""


@pytest.mark.parametrize(("remember", "kept"), [("user", ["I live in Oslo."]), ("model", [])])
def test_a_program_that_ends_keeps_what_was_said_and_waits_for_no_model(
    remember: str, kept: list[str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, remember],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1], done.stderr) == (0, "done", "")
    with open_store(f"sqlite:///{tmp_path}/m.db") as store:
        assert [record.text for record in store.list(namespace="alice")] == kept


def test_more_questions_than_can_wait_are_dropped_with_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    let_go = threading.Event()

    def answer(body: dict[str, Any]) -> str:
        if is_question(body):
            let_go.wait(60)
            return '{"facts": []}'
        return "ok"

    with room(tmp_path, "model", answer) as (captured, app):
        client = app.wrap(captured.model.openai())
        for number in range(30):
            say(app, client, f"turn {number}", session=f"s{number}")
        let_go.set()
        app.flush(60)
        assert len(list(filter(is_question, captured.requests))) == 16
        assert caplog.messages == [
            "firsthand: more turns than can be remembered at once; some are not; the calls are not affected (said once)"
        ]
