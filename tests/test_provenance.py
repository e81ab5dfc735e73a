"""Who may say what a person typed."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middleware.provenance import Origin, Submission, combine, submitted_prompt


def submission(text="hi", value="hi", **how):
    return Submission(model_parts=text, submitted_prompt=value, **{"producer": "chat", **how})


@pytest.mark.parametrize("value", [None, "", "   ", "\ufeff\u3000\n", 5, ["hi"], {"a": 1}, b"hi", True])
def test_only_a_non_blank_string_passes_the_gate(value):
    assert submitted_prompt(Origin.USER_QUERY, value) is None


def test_the_value_passes_as_received():
    assert submitted_prompt(Origin.USER_QUERY, "  hi ") == "  hi "


@pytest.mark.parametrize("origin", [origin for origin in Origin if origin is not Origin.USER_QUERY])
def test_nothing_but_a_fresh_user_query_carries_it(origin):
    assert submitted_prompt(origin, "hi") is None


def test_origins_are_exported_in_lower_case():
    assert [str(origin) for origin in Origin] == [
        "user_query", "tool_result", "hook", "retry", "steer", "cron", "notification", "teammate", "goal",
    ]  # fmt: skip


def test_hooks_fire_on_queries_tool_results_and_continuations():
    assert [origin for origin in Origin if origin.fires_hooks] == [Origin.USER_QUERY, Origin.TOOL_RESULT, Origin.HOOK]


def test_memories_are_asked_for_on_queries_and_cron():
    assert [origin for origin in Origin if origin.recalls] == [Origin.USER_QUERY, Origin.CRON]


def test_a_submission_is_taken_once_whichever_thread_asks():
    one, taken = submission(), []
    threads = [threading.Thread(target=lambda: taken.append(one.take())) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [False] * 15 + [True]
    assert one.spent


def test_model_parts_may_be_a_string_or_parts():
    parts = ["a", {"text": "b"}, {"inlineData": {}}]
    assert Submission(model_parts=parts, producer="chat").model_text == "ab"


def test_a_submission_names_its_producer():
    with pytest.raises(ValueError, match="producer is empty"):
        Submission(model_parts="hi", producer="")


def test_a_batch_keeps_the_field_when_every_item_has_it():
    batch = combine([submission("a", "A", session="s"), submission("b", "B", session="s")])
    assert (batch.model_text, batch.submitted_prompt, batch.session, batch.producer) == (
        "a\n\nb",
        "A\n\nB",
        "s",
        "chat",
    )


@pytest.mark.parametrize(
    "other",
    [
        submission("b", None),
        submission("b", "  "),
        submission("b", "B", session="other"),
        submission("b", "B", producer="voice"),
    ],
)
def test_one_item_without_compatible_provenance_drops_it_for_the_batch(other):
    batch = combine([submission("a", "A"), other])
    assert (batch.model_text, batch.submitted_prompt) == ("a\n\nb", None)


def test_a_batch_of_one_is_that_one_and_of_none_is_none():
    one = submission()
    assert combine([one]) is one
    assert combine([]) is None


def test_what_went_into_a_batch_vouches_for_nothing_else():
    one, two = submission("a", "A"), submission("b", "B")
    assert combine([one, two]).submitted_prompt == "A\n\nB"
    assert (one.take(), two.take()) == (False, False)


def test_a_spent_submission_vouches_for_no_batch():
    spent = submission("a", "A")
    spent.take()
    batch = combine([spent, submission("b", "B")])
    assert (batch.model_text, batch.submitted_prompt) == ("a\n\nb", None)


def test_one_submission_twice_in_a_batch_vouches_for_nothing():
    one = submission("a", "A")
    assert combine([one, one]).submitted_prompt is None


values = st.one_of(st.none(), st.text(max_size=3))


@given(st.lists(st.builds(submission, st.text(max_size=3), values, session=st.sampled_from([None, "s"])), min_size=2))
def test_a_batch_never_says_more_than_all_of_its_items_said(items):
    batch = combine(items)
    if batch.submitted_prompt is not None:
        assert batch.submitted_prompt == "\n\n".join(item.submitted_prompt for item in items)
        assert len({item.session for item in items}) == 1
