"""`remember` by a model: what it is asked, and which of its answers become memories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from middleware.testing import Failure
from tests.remembering import fact, is_question, noting, room, say, stored, texts


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


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("I noted that Alice is from Oslo.", "the model did not answer in JSON"),
        ('{"notes": ["Alice is from Oslo."]}', "the model did not answer with a list of facts"),
        (
            '{"facts": ["Alice is from Oslo."]}',
            (
                "the model did not answer with facts: none of 1 is an object with a text and one of the types "
                "user, feedback, project, reference"
            ),
        ),
    ],
)
def test_an_answer_that_holds_no_fact_is_an_event_and_a_line_with_its_cause(
    said: str, cause: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with room(tmp_path, "model", lambda body: said if is_question(body) else "fine") as (captured, app):
        say(app, app.wrap(captured.model.openai()), "I am from Oslo.")
        assert texts(app) == []
        [event] = [each for each in captured.events if each.log_record.event_name == "firsthand.remember_error"]
        assert dict(event.log_record.attributes or {})["error.type"] == "middleware.facts.NoFactsError"
    assert f"a turn cannot be remembered ({cause}); the calls are not affected" in caplog.text
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
