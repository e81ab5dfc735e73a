"""`remember`: what becomes a memory after a settled turn, and what never does."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Origin, Settings, Submission
from middleware.chat import Chat, Send
from middleware.chat.expand import expand
from middleware.testing import Captured, Failure, capture
from recall_store import Record, open_store
from tests.recall_store.planted import PLANTED

NOTES = "You keep long-term notes"
Scripted = Callable[[dict[str, Any]], Any]


def is_question(body: dict[str, Any]) -> bool:
    """Whether a request asks for facts."""
    return NOTES in json.dumps(body)


def noting(*facts: dict[str, str], reply: str = "ok") -> Scripted:
    """A model that answers turns with `reply` and questions about them with `facts`."""
    return lambda body: json.dumps({"facts": list(facts)}) if is_question(body) else reply


def fact(text: str, type: str = "user", **more: str) -> dict[str, str]:
    return {"type": type, "text": text, **more}


@contextmanager
def room(tmp_path: Path, remember: str, answer: Any = "ok", **settings: Any) -> Iterator[tuple[Captured, Middleware]]:
    """A middleware with a store that remembers, and a scripted model."""
    hooks = settings.pop("hooks", ())
    given = Settings(store=f"sqlite:///{tmp_path}/m.db", remember=remember, recall_timeout=60, **settings)  # type: ignore[arg-type]
    with capture(default=answer) as captured, Middleware(given, hooks=hooks, **captured.providers) as app:
        yield captured, app


def say(app: Middleware, client: Any, text: str, *, typed: str | None = "", session: str | None = "s") -> Any:
    """One turn of alice, who typed `typed` ("": the text that is sent)."""
    where = app.session(session, user="alice") if session is not None else nullcontext()
    submission = Submission(model_parts=text, submitted_prompt=text if typed == "" else typed, producer="test")
    with where, app.submitting(submission):
        return client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])


def stored(app: Middleware, namespace: str = "alice") -> list[Record]:
    """What is remembered by now, oldest first."""
    app.flush(60)
    assert app.store is not None
    return app.store.list(namespace=namespace)[::-1]


def texts(app: Middleware, namespace: str = "alice") -> list[str]:
    return [record.text for record in stored(app, namespace)]


def test_the_users_own_words_are_stored_with_where_they_come_from(tmp_path: Path) -> None:
    with room(tmp_path, "user") as (captured, app):
        client = app.wrap(captured.model.openai())
        say(app, client, "I work from Lisbon.")
        say(app, client, "My editor is Helix.")
        one, two = stored(app)
        assert (one.text, one.type, one.author, two.text) == (
            "I work from Lisbon.",
            "user",
            "user",
            "My editor is Helix.",
        )
        assert one.source == {"session": "s", "record": "s########0", "position": 0}
        assert two.source == {"session": "s", "record": "s########1", "position": 1}


def test_what_was_typed_is_stored_and_not_what_it_became(tmp_path: Path) -> None:
    with room(tmp_path, "user") as (captured, app):
        client = app.wrap(captured.model.openai())
        say(app, client, "@notes.md is my plan\n\n(500 kB of notes)", typed="  @notes.md is my plan ")
        assert texts(app) == ["@notes.md is my plan"]


def test_what_is_typed_in_the_chat_is_stored_without_the_files_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("CANARY")
    with room(tmp_path, "user") as (captured, app):
        client, chat = app.wrap(captured.model.openai()), Chat()
        chat.composer.type("@a.txt why is it so?")
        [effect] = chat.submit()
        assert isinstance(effect, Send)
        parts = expand(effect.item, folder=tmp_path).parts
        content: Any = [{"type": "text", "text": part} for part in parts]
        with (
            app.session("s", user="alice"),
            app.submitting(effect.submission(parts)),
            app.origin(effect.origin),
        ):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": content}])
        assert "CANARY" in json.dumps(captured.requests)
        assert texts(app) == ["@a.txt why is it so?"]


def test_the_same_words_are_one_memory(tmp_path: Path) -> None:
    with room(tmp_path, "user") as (captured, app):
        client = app.wrap(captured.model.openai())
        for _ in range(5):
            say(app, client, "what time is it?")
        assert texts(app) == ["what time is it?"]


@pytest.mark.parametrize(
    "typed",
    [
        None,
        "  \n",
        "x" * 4_001,
        "/review the diff",
        "/compact",
        "[Pasted Content 5000 chars]",
        " [Pasted Content 5000 chars] #2 ",
    ],
)
@pytest.mark.parametrize("remember", ["user", "model"])
def test_what_nobody_typed_a_long_paste_and_a_command_are_not_remembered(
    typed: str | None, remember: str, tmp_path: Path
) -> None:
    with room(tmp_path, remember, noting(fact("Alice lives in Oslo."))) as (captured, app):
        say(app, app.wrap(captured.model.openai()), "what the model got", typed=typed)
        assert texts(app) == []
        assert not any(map(is_question, captured.requests))


@pytest.mark.parametrize("typed", ["/var/log is full", "x" * 4_000, "see [Pasted Content 5000 chars]: it fails"])
def test_a_path_and_a_paste_with_words_about_it_are_the_users_words(typed: str, tmp_path: Path) -> None:
    with room(tmp_path, "user") as (captured, app):
        say(app, app.wrap(captured.model.openai()), "what the model got", typed=typed)
        assert texts(app) == [typed]


def test_a_turn_without_a_submission_is_not_remembered(tmp_path: Path) -> None:
    with room(tmp_path, "user") as (captured, app):
        client = app.wrap(captured.model.openai())
        message: Any = [{"role": "user", "content": "I am in Rome"}]
        with app.session("s", user="alice"):
            client.chat.completions.create(model="m", messages=message)
        assert texts(app) == []


def test_a_session_without_a_user_is_not_remembered(tmp_path: Path) -> None:
    with room(tmp_path, "user", namespace="everyone") as (captured, app):
        client = app.wrap(captured.model.openai())
        with app.session("s"), app.submitting(Submission(model_parts="hi", submitted_prompt="hi", producer="test")):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
        assert texts(app, "everyone") == []


def test_off_is_the_default(tmp_path: Path) -> None:
    with capture() as captured, Middleware(Settings(store=f"sqlite:///{tmp_path}/m.db"), **captured.providers) as app:
        say(app, app.wrap(captured.model.openai()), "I am in Rome")
        assert texts(app) == []


@pytest.mark.parametrize("origin", [Origin.CRON, Origin.NOTIFICATION, Origin.STEER, Origin.HOOK])
def test_what_is_no_user_query_is_not_remembered(origin: Origin, tmp_path: Path) -> None:
    with room(tmp_path, "user") as (captured, app), app.origin(origin):
        say(app, app.wrap(captured.model.openai()), "run the nightly report")
        assert texts(app) == []


def test_a_call_that_is_nobodys_turn_is_not_remembered(tmp_path: Path) -> None:
    with room(tmp_path, "user") as (captured, app), app.bypass():
        say(app, app.wrap(captured.model.openai()), "make a title")
        assert texts(app) == []


def test_a_turn_that_failed_is_not_remembered(tmp_path: Path) -> None:
    with room(tmp_path, "user", Failure(status=400)) as (captured, app):
        with pytest.raises(Exception, match="scripted failure"):
            say(app, app.wrap(captured.model.openai()), "I am in Rome")
        assert texts(app) == []


def test_a_blocked_turn_is_not_remembered(tmp_path: Path) -> None:
    with room(tmp_path, "user", hooks=[lambda given: False]) as (captured, app):
        with pytest.raises(Exception, match="hook"):
            say(app, app.wrap(captured.model.openai()), "I am in Rome")
        assert texts(app) == []


def test_a_stream_is_remembered_at_its_end_and_one_that_is_left_is_not(tmp_path: Path) -> None:
    with room(tmp_path, "user", "one two three") as (captured, app):
        client = app.wrap(captured.model.openai())
        for text in ("read to the end", "left early"):
            submission = Submission(model_parts=text, submitted_prompt=text, producer="test")
            with app.session("s", user="alice"), app.submitting(submission):
                stream = client.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": text}], stream=True
                )
            if text == "left early":
                next(iter(stream))
                stream.close()
            else:
                assert [chunk.choices[0].delta.content for chunk in stream if chunk.choices]
        assert texts(app) == ["read to the end"]


def test_the_namespace_of_the_settings_is_where_it_is_stored(tmp_path: Path) -> None:
    with room(tmp_path, "user", namespace="team") as (captured, app):
        say(app, app.wrap(captured.model.openai()), "I am in Rome")
        assert (texts(app, "team"), texts(app, "alice")) == (["I am in Rome"], [])


def test_a_client_with_a_user_of_its_own_needs_no_session(tmp_path: Path) -> None:
    with room(tmp_path, "user", user="alice") as (captured, app):
        say(app, app.wrap(captured.model.openai()), "I am in Rome", session=None)
        assert texts(app) == ["I am in Rome"]


@pytest.mark.parametrize(
    "typed",
    ["my key is AKIAIOSFODNN7EXAMPLE", "<qwen:user-prompt-submit-context>\nbranch\n</qwen:user-prompt-submit-context>"],
)
def test_a_secret_and_a_reserved_tag_are_refused_and_told_by_type_only(
    typed: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with room(tmp_path, "user") as (captured, app), caplog.at_level(logging.DEBUG):
        say(app, app.wrap(captured.model.openai()), "what the model got", typed=typed)
        assert texts(app) == []
        [event] = [each for each in captured.events if each.log_record.event_name == "firsthand.remember_error"]
        kind = "SecretError" if "AKIA" in typed else "ReservedTagError"
        assert dict(event.log_record.attributes or {}) == {
            "error.type": f"recall_store.errors.{kind}",
            "gen_ai.conversation.id": "s",
        }
        assert typed not in caplog.text
        assert typed not in captured.exported()


@pytest.mark.parametrize("remember", ["user", "model"])
def test_no_planted_secret_is_remembered_and_its_value_is_told_nowhere(
    remember: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said = iter([value for _, value in PLANTED])

    def answer(body: dict[str, Any]) -> str:
        return json.dumps({"facts": [fact(f"The key is {next(said)}.")]}) if is_question(body) else "ok"

    with room(tmp_path, remember, answer) as (captured, app), caplog.at_level(logging.DEBUG):
        client = app.wrap(captured.model.openai())
        for number, (_, value) in enumerate(PLANTED):
            text = f"my key is {value}" if remember == "user" else f"turn {number}"
            say(app, client, f"turn {number}", typed=text)
            app.flush(60)
        assert texts(app) == []
        errors = [each for each in captured.events if each.log_record.event_name == "firsthand.remember_error"]
        assert len(errors) == len(PLANTED)
        told = caplog.text + captured.exported()
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert [rule for rule, value in PLANTED if value in told or value.encode() in files] == []


def test_a_store_that_fails_fails_no_call(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with room(tmp_path, "user") as (captured, app):
        assert app.store is not None
        client = app.wrap(captured.model.openai())
        app.store.close()
        assert say(app, client, "I am in Rome").choices[0].message.content == "ok"
        app.flush(60)
        assert "a turn cannot be remembered (ClosedError)" in caplog.text
        assert "Rome" not in caplog.text


def test_remembering_without_a_store_is_said(caplog: pytest.LogCaptureFixture) -> None:
    Middleware(Settings(remember="user")).close()
    assert caplog.messages == [
        "firsthand: remember is 'user' and there is no store; set one: store = \"sqlite:///memories.db\""
    ]


# --- what a model makes of a turn


def test_a_model_is_asked_for_typed_facts_in_the_turns_words_and_reply(tmp_path: Path) -> None:
    facts = (
        fact("Alice lives in Oslo.", name="home", description="when places matter"),
        fact("Answers should be short.", "feedback"),
        fact("Bugs are in the tracker INGEST.", "reference"),
    )
    with room(tmp_path, "model", noting(*facts, reply="Noted: short answers.")) as (captured, app):
        say(app, app.wrap(captured.model.openai()), "with all of the file", typed="I live in Oslo; be short.")
        found = {record.text: record for record in stored(app)}
        assert {text: record.type for text, record in found.items()} == {
            "Alice lives in Oslo.": "user",
            "Answers should be short.": "feedback",
            "Bugs are in the tracker INGEST.": "reference",
        }
        home = found["Alice lives in Oslo."]
        assert (home.author, home.title, home.description) == ("assistant", "home", "when places matter")
        assert home.source == {"session": "s", "record": "s########0", "position": 0}
        [question] = filter(is_question, captured.requests)
        [message] = question["messages"]
        assert '{"user": "I live in Oslo; be short.", "assistant": "Noted: short answers."}' in message["content"]
        assert "with all of the file" not in message["content"]


def test_the_question_is_nobodys_turn(tmp_path: Path) -> None:
    with room(tmp_path, "model", noting(fact("Alice lives in Oslo.")), hooks=[lambda given: "branch=main"]) as (
        captured,
        app,
    ):
        say(app, app.wrap(captured.model.openai()), "I live in Oslo.")
        assert texts(app) == ["Alice lives in Oslo."]
        assert [span.name for span in captured.spans_named("chat")] == ["chat m"]
        assert len(captured.spans_named("firsthand.turn")) == 1
        [question] = filter(is_question, captured.requests)
        assert "branch=main" not in json.dumps(question)


@pytest.mark.parametrize(
    "answer",
    ["no JSON at all", "[1, 2]", '{"facts": "x"}', '{"facts": [{"type": "hook", "text": "x"}, {"text": ""}]}', ""],
)
def test_an_answer_that_is_none_stores_nothing_and_fails_nothing(answer: str, tmp_path: Path) -> None:
    with room(tmp_path, "model", lambda body: answer if is_question(body) else "fine") as (captured, app):
        assert say(app, app.wrap(captured.model.openai()), "hello there").choices[0].message.content == "fine"
        assert texts(app) == []


@pytest.mark.parametrize("shape", ["```json\n{}\n```", "Here you are: {} Done.", "{}"])
def test_fences_and_prose_around_the_facts_are_read_over(shape: str, tmp_path: Path) -> None:
    said = shape.replace("{}", json.dumps({"facts": [fact("Alice lives in Oslo.")]}))
    with room(tmp_path, "model", lambda body: said if is_question(body) else "fine") as (captured, app):
        say(app, app.wrap(captured.model.openai()), "I live in Oslo.")
        assert texts(app) == ["Alice lives in Oslo."]


def test_a_secret_in_one_fact_takes_no_other_with_it(tmp_path: Path) -> None:
    facts = fact("The key is AKIAIOSFODNN7EXAMPLE."), fact("Alice lives in Oslo.")
    with room(tmp_path, "model", noting(*facts)) as (captured, app):
        say(app, app.wrap(captured.model.openai()), "I live in Oslo.")
        assert texts(app) == ["Alice lives in Oslo."]


def test_a_model_that_cannot_be_asked_fails_no_call(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def answer(body: dict[str, Any]) -> Any:
        return Failure(status=500, message="overloaded: I live in Oslo") if is_question(body) else "fine"

    with room(tmp_path, "model", answer) as (captured, app):
        client = app.wrap(captured.model.openai(max_retries=0))
        assert say(app, client, "I live in Oslo.").choices[0].message.content == "fine"
        assert texts(app) == []
        assert "a turn cannot be remembered (InternalServerError)" in caplog.text
        assert "Oslo" not in caplog.text


def test_a_fact_that_is_known_is_not_stored_in_other_words_and_a_new_number_is(tmp_path: Path) -> None:
    said = iter(["Works at Google for 5 years", "The user works at Google for 5 years.", "Works at Google for 6 years"])

    def answer(body: dict[str, Any]) -> Any:
        return json.dumps({"facts": [fact(next(said))]}) if is_question(body) else "ok"

    with room(tmp_path, "model", answer) as (captured, app):
        client = app.wrap(captured.model.openai())
        for number, text in enumerate(("5 years at Google", "five it is", "now I work at Google for 6 years")):
            say(app, client, text, session=f"s{number}")
            app.flush(60)
        assert texts(app) == ["Works at Google for 5 years", "Works at Google for 6 years"]


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


# --- the feedback loop


def test_thirty_turns_of_words_store_the_words_and_nothing_that_was_recalled_or_hooked(tmp_path: Path) -> None:
    said = [f"Note {number}: the brontes runner is number {number} in the rack." for number in range(30)]
    hook = "CI run 4812 on the brontes runner is red"
    with room(tmp_path, "user", "As you know, the argus mirror is in Bergen.", hooks=[lambda given: hook]) as (
        captured,
        app,
    ):
        assert app.store is not None
        app.store.upsert(namespace="alice", records=[Record(text="the argus mirror is in Bergen, near the runner")])
        client = app.wrap(captured.model.openai())
        messages: list[Any] = []
        for text in said:
            messages.append({"role": "user", "content": text})
            submission = Submission(model_parts=text, submitted_prompt=text, producer="test")
            with app.session("s", user="alice"), app.submitting(submission):
                reply = client.chat.completions.create(model="m", messages=messages)
            messages.append({"role": "assistant", "content": reply.choices[0].message.content})
            app.flush(60)
        assert "argus mirror" in json.dumps(captured.requests[5])
        assert sorted(texts(app)) == sorted([*said, "the argus mirror is in Bergen, near the runner"])


PARROTS: tuple[Callable[[str], str], ...] = (
    lambda told: told,
    lambda told: f"The user said that {told}.",
    lambda told: f"{told.capitalize()}!",
    lambda told: f"- {told}",
    lambda told: " ".join(reversed(told.split())),
    lambda told: f"Note: {told} (3 days ago)",
    lambda told: f"The user asked for the weather. Also, {told}",
    lambda told: f"User is into sailing and {told}",
    lambda told: " ".join(told.split()[1:]),
)


@pytest.mark.parametrize("form", range(len(PARROTS)))
def test_thirty_turns_in_which_the_model_parrots_store_none_of_it(form: int, tmp_path: Path) -> None:
    """The reply repeats what was recalled and hooked, and the model that is asked takes both for facts."""
    recalled = "argus mirror is kept in Bergen near the harbour"
    hooked = "the release train leaves on Thursday at noon"
    parrot = PARROTS[form]

    def answer(body: dict[str, Any]) -> str:
        if is_question(body):
            return json.dumps({"facts": [fact(parrot(recalled)), fact(parrot(hooked), "project", name=hooked)]})
        return f"Sure. You told me that {recalled}. By the way, {hooked}."

    with room(tmp_path, "model", answer, hooks=[lambda given: hooked], recall_top_k=3) as (captured, app):
        assert app.store is not None
        [planted] = app.store.upsert(namespace="alice", records=[Record(text=recalled)])
        client = app.wrap(captured.model.openai())
        messages: list[Any] = []
        for number in range(30):
            text = f"question {number} about the argus mirror, and the weather at place {number}?"
            messages.append({"role": "user", "content": text})
            submission = Submission(model_parts=text, submitted_prompt=text, producer="test")
            with app.session("s", user="alice"), app.submitting(submission):
                reply = client.chat.completions.create(model="m", messages=messages[-7:])
            messages.append({"role": "assistant", "content": reply.choices[0].message.content})
            app.flush(60)
        questions = list(filter(is_question, captured.requests))
        assert len(questions) == 30
        assert not any(recalled in json.dumps(each) or hooked in json.dumps(each) for each in questions)
        assert stored(app) == [planted]


def test_what_the_user_says_anew_is_stored_beside_what_was_recalled_of_it(tmp_path: Path) -> None:
    facts = (
        fact("Prefers spaces over tabs."),
        fact("Does not drink green tea."),
        fact("Works at Google for 6 years."),
        fact("The user moved to Lisbon."),
    )
    with room(tmp_path, "model", noting(*facts)) as (captured, app):
        assert app.store is not None
        old = ["Prefers tabs over spaces", "Drinks green tea", "Works at Google for 5 years", "Lives in Oslo"]
        app.store.upsert(namespace="alice", records=[Record(text=text) for text in old])
        client = app.wrap(captured.model.openai())
        say(
            app,
            client,
            "I prefer spaces over tabs now, I do not drink green tea any more, I work at Google for 6 years, "
            "and I moved from Oslo to Lisbon.",
        )
        assert "Prefers tabs over spaces" in json.dumps(captured.requests[0])
        assert sorted(texts(app)) == sorted([*old, *(each["text"] for each in facts)])
