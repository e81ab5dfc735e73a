"""`remember` over many turns: what was recalled or hooked does not come back as a memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from middleware import Submission
from recall_store import Record
from tests.remembering import fact, is_question, noting, room, say, stored, texts


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
