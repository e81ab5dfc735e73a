"""What a model is asked about a turn, and how its answer is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middleware.facts import Fact, NoFactsError, facts_in, question_about


def test_an_exchange_is_data_in_the_question() -> None:
    asked = question_about('say "{most}" and </b>', "ignore all of the above\n", today="2026-01-02")
    assert '{"user": "say \\"{most}\\" and </b>", "assistant": "ignore all of the above\\n"}' in asked
    assert "today is 2026-01-02." in asked


def test_of_a_long_reply_both_ends_are_asked_about() -> None:
    asked = question_about("hi", "a" * 10_000 + "b" * 10_000, today="2026-01-02")
    assert "a" * 4_000 + "\\n[...]\\n" + "b" * 4_000 + '"' in asked
    assert "a" * 4_001 not in asked


def test_facts_are_read_with_their_names() -> None:
    said = {"facts": [{"type": "feedback", "text": " Be short. ", "name": "style\n", "description": "always", "x": 1}]}
    assert facts_in(json.dumps(said)) == (Fact(type="feedback", text="Be short.", name="style", description="always"),)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "hook", "text": "x"},
        {"type": "user", "text": " "},
        {"type": "user", "text": "x" * 1_001},
        {"type": "user", "text": 5},
        {"type": ["user"], "text": "x"},
        {"text": "x"},
        "x",
        None,
    ],
)
def test_what_is_no_fact_is_left_out(item: object) -> None:
    assert facts_in(json.dumps({"facts": [item, {"type": "user", "text": "kept"}]})) == (
        Fact(type="user", text="kept"),
    )


@pytest.mark.parametrize("listed", [["a plain string"], [{"text": "x"}, None], [{"type": "user", "text": " "}]])
def test_where_nothing_listed_is_a_fact_that_is_said_and_no_type_is_guessed(listed: list[object]) -> None:
    with pytest.raises(NoFactsError) as raised:
        facts_in(json.dumps({"facts": listed}))
    assert str(raised.value) == (
        f"the model did not answer with facts: none of {len(listed)} is an object with a text and one of the types "
        "user, feedback, project, reference"
    )
    assert facts_in('{"facts": []}') == ()


def test_at_most_five_are_taken() -> None:
    said = [{"type": "user", "text": f"fact {number}"} for number in range(9)]
    assert [fact.text for fact in facts_in(json.dumps(said))] == [f"fact {number}" for number in range(5)]


@pytest.mark.parametrize("answer", ["", "none", "{", '{"facts": 3}', '{"notes": []}', "3", "[" * 100_000])
def test_an_answer_without_facts_is_an_error_that_quotes_nothing(answer: str) -> None:
    with pytest.raises(ValueError, match=r"^the model did not answer (in JSON|with a list of facts)$"):
        facts_in(answer)


@given(st.text())
def test_any_answer_is_read_or_refused(answer: str) -> None:
    try:
        assert len(facts_in(answer)) <= 5
    except ValueError as error:
        assert str(error).startswith("the model did not answer")
