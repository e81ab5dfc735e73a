"""`remember`: what becomes a memory after a settled turn, and what never does."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Origin, Settings, Submission
from middleware.chat import Chat, Send
from middleware.chat.expand import expand
from middleware.testing import Failure, capture
from tests.recall_store.planted import PLANTED
from tests.remembering import fact, is_question, noting, room, say, stored, texts


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
