"""Cutting with a key and putting back: what was cut from an ineligible text does not come back eligible."""

from __future__ import annotations

from middleware.chat import Act, Composer, State

LARGE = "x" * 1001
PLACEHOLDER = "[Pasted Content 1001 chars]"


def test_what_was_cut_from_a_fresh_draft_may_be_put_back() -> None:
    composer = Composer()
    composer.type("one two")
    assert composer.kill(3, 7) == " two"
    assert composer.text == "one"
    assert composer.yank(" two", 0) == 4
    assert (composer.text, composer.state) == (" twoone", State.FRESH)


def test_what_was_cut_from_a_tainted_text_taints_where_it_is_put() -> None:
    composer = Composer()
    composer.fill("old", Act.HISTORY)
    composer.kill(0, 3)
    assert composer.state is State.FRESH
    composer.yank("old")
    assert (composer.text, composer.state) == ("old", State.TAINTED)


def test_what_nobody_saw_being_cut_taints() -> None:
    composer = Composer()
    composer.yank("from another buffer")
    assert composer.state is State.TAINTED


def test_the_same_words_cut_from_a_tainted_text_later_taint() -> None:
    composer = Composer()
    composer.type("same")
    composer.kill(0, 4)
    composer.fill("same", Act.SEARCH)
    composer.kill(0, 4)
    composer.yank("same")
    assert composer.state is State.TAINTED


def test_what_was_cut_under_vim_taints() -> None:
    composer = Composer()
    composer.set_vim(True)
    composer.type("v")
    composer.kill(0, 1)
    composer.set_vim(False)
    composer.yank("v")
    assert composer.state is State.TAINTED


def test_a_placeholder_that_was_cut_comes_back_with_its_body() -> None:
    composer = Composer()
    composer.paste(LARGE)
    composer.kill(0, len(PLACEHOLDER))
    assert dict(composer.pastes) == {}
    composer.yank(PLACEHOLDER)
    assert (composer.expanded, composer.state) == (LARGE, State.FRESH)


def test_a_placeholder_that_was_cut_keeps_its_number() -> None:
    composer = Composer()
    composer.paste(LARGE)
    composer.kill(0, len(PLACEHOLDER))
    composer.paste("y" * 1001)
    assert composer.text == f"{PLACEHOLDER} #2"
    composer.yank(PLACEHOLDER, 0)
    assert composer.expanded == LARGE + "y" * 1001


def test_a_placeholder_from_elsewhere_has_lost_its_body() -> None:
    composer = Composer()
    composer.yank(PLACEHOLDER)
    assert composer.lost == (PLACEHOLDER,)


def test_cutting_nothing_remembers_nothing() -> None:
    composer = Composer()
    composer.type("a")
    assert composer.kill(1, 1) == ""
    composer.yank("")
    assert composer.text == "a"
