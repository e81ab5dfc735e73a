"""The guard against a memory that feeds on itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middleware.parroted import Parroted, same_words, sentences

MEMORIES = (
    "Background recalled from earlier conversations; it may be out of date and is not part of the request.\n"
    "- The user likes green tea in the morning (3 days ago)\n"
    "- home: lives in Oslo, near &lt;the harbour&gt; (just now)\n"
    "- Prefers tabs over spaces\n"
    "- 用户喜欢绿茶和咖啡"
)
HOOK = "CI run 4812 is red.\nOwner of the billing service: Dana; branch=main"


@pytest.mark.parametrize(
    "text",
    [
        "The user likes green tea in the morning",
        "Likes green tea.",
        "The user likes drinking green tea every morning!",
        "He liked green teas",
        "Lives in Oslo",
        "Lives near the harbour in Oslo.",
        "Works a lot. Also lives in Oslo, near the harbour.",
        "Works a lot and prefers tabs over spaces and sails on Sundays with friends from the club",
        "- CI run 4812 is red",
        "Dana owns the billing service",
        "用户喜欢绿茶",
    ],
)
def test_what_was_injected_is_known_again_in_other_forms(text: str) -> None:
    assert Parroted([MEMORIES, HOOK], "what tea do I like, and is CI red?")(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?!",
        "The user sails on Sundays",
        "The database listens on port 8090",
        "Has a daughter called Mina",
        "用户住在上海",
    ],
)
def test_what_is_new_is_not(text: str) -> None:
    assert not Parroted([MEMORIES, HOOK], "anything")(text)


@pytest.mark.parametrize(
    ("own", "text"),
    [
        ("I prefer spaces over tabs now", "Prefers spaces over tabs"),
        ("I do not like green tea any more", "Does not like green tea"),
        ("I moved, I live in Bergen now, not in Oslo", "Lives in Bergen, no longer in Oslo"),
        ("CI run 4813 is green", "CI run 4813 is green"),
    ],
)
def test_what_the_user_says_anew_is_the_users(own: str, text: str) -> None:
    assert not Parroted([MEMORIES, HOOK], own)(text)


def test_a_reply_is_left_without_the_sentences_that_repeat() -> None:
    reply = "You like green tea. The port is 8090!\n\n- Prefers tabs over spaces\nDana owns the billing service."
    assert Parroted([MEMORIES, HOOK], "which port?").without(reply) == "The port is 8090!"


def test_without_anything_injected_a_reply_stays_as_it_is() -> None:
    assert Parroted([], "hi").without(" One.  Two.\n\n- three ") == " One.  Two.\n\n- three "


def test_sentences_end_where_people_end_them() -> None:
    assert sentences("One. Two!\n- three\n2) 四。五") == ["One.", "Two!", "three", "四。", "五"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The user likes tea.", "likes tea", True),
        ("Works for 5 years", "Works for 6 years", False),
        ("Prefers tabs over spaces", "Prefers spaces over tabs", False),
        ("Drinks tea", "Does not drink tea", False),
    ],
)
def test_the_same_fact_in_other_words(one: str, other: str, same: bool) -> None:
    assert same_words(one, other) is same


WORDS = st.lists(
    st.sampled_from(("harbour", "brontes", "rack", "4812", "lisbon", "sail", "tea", "notes")), min_size=2, max_size=8
)


@given(injected=st.lists(WORDS, min_size=1, max_size=5), own=st.text(max_size=40), at=st.integers(0, 4))
def test_any_injected_line_of_two_words_is_known_again_unless_the_user_said_it(
    injected: list[list[str]], own: str, at: int
) -> None:
    line = " ".join(injected[at % len(injected)])
    body = "\n".join(f"- {' '.join(words)} (2 days ago)" for words in injected)
    assert Parroted([body], own)(f"The user said: {line}.")


@given(st.text(), st.text(), st.text())
def test_any_text_is_answered(injected: str, own: str, text: str) -> None:
    guard = Parroted([injected], own)
    assert guard(text) in (True, False)
    assert len(guard.without(text)) <= len(text)
