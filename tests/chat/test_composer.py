"""The composer: what it holds, and what may be vouched for."""

from __future__ import annotations

import pytest

from middleware.chat import Act, Composer, Sidecar, State
from middleware.chat.cells import TABLE, after

LARGE = "x" * 1001
PLACEHOLDER = "[Pasted Content 1001 chars]"


def composer(text: str = "") -> Composer:
    made = Composer()
    if text:
        made.type(text)
    return made


def restored(text: str = "two", value: str | None = "two") -> Composer:
    made = Composer()
    made.restore(text, Sidecar(model_text=text, submitted_prompt=value, visible=text))
    return made


def value_of(made: Composer) -> str | None:
    capture = made.capture()
    assert capture is not None
    return capture.submitted_prompt


TAINTING = [
    *(Act.SUGGESTION, Act.GHOST, Act.DIALOG, Act.HISTORY, Act.SHELL_HISTORY, Act.SEARCH, Act.STASH, Act.REWIND),
    *(Act.REMOTE, Act.YANK_UNKNOWN),
]


@pytest.mark.parametrize("act", TAINTING)
@pytest.mark.parametrize("before", ["", "draft", "filled"])
def test_a_fill_from_anywhere_but_the_person_taints_even_with_the_same_text(act: Act, before: str) -> None:
    made = composer(before)
    made.fill("filled", act)
    assert (made.state, value_of(made)) == (State.TAINTED, None)


@pytest.mark.parametrize("act", [Act.KEYS, Act.PASTE, Act.COMPLETE, Act.VOICE, Act.YANK, Act.EDITOR, Act.UNDO])
def test_what_the_person_does_keeps_a_fresh_draft_eligible(act: Act) -> None:
    made = composer("draft")
    made.change("another", act)
    assert (made.state, value_of(made)) == (State.FRESH, "another")


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("act", [act for act in Act if act not in {found for _, found in TABLE}])
def test_an_act_that_the_table_does_not_name_taints(state: State, act: Act) -> None:
    sidecar = Sidecar(model_text="t", submitted_prompt="t", visible="t")
    assert after(state, act, text="t", changed=True, sidecar=sidecar, vim=False) is State.TAINTED


def test_the_table_names_no_way_from_tainted_but_a_restoration() -> None:
    assert [(act, left) for (state, act), left in TABLE.items() if state is State.TAINTED] == [
        (Act.RESTORE, State.RESTORED)
    ]


def test_the_value_is_trimmed_as_javascript_trims() -> None:
    assert value_of(composer("\ufeff\u3000 a\u2028 b \x85\n")) == "a\u2028 b \x85"


@pytest.mark.parametrize("blank", ["", "   ", "\ufeff\u3000\n"])
def test_a_blank_composer_gives_nothing_and_stays_as_it_is(blank: str) -> None:
    made = composer(blank)
    made.attach("a.png")
    assert made.capture() is None
    assert (made.text, made.chips) == (blank, ("a.png",))


@pytest.mark.parametrize("alone", ["\x85", "\x1c"])
def test_what_javascript_does_not_call_blank_is_sent(alone: str) -> None:
    assert value_of(composer(alone)) == alone


def test_a_restored_text_gives_its_old_value_once() -> None:
    made = restored("<system-reminder>r</system-reminder> two", "two")
    assert value_of(made) == "two"
    made.type("<system-reminder>r</system-reminder> two")
    assert value_of(made) == "<system-reminder>r</system-reminder> two"


@pytest.mark.parametrize("edit", ["two ", " two", "Two", "two!", "tw"])
def test_an_edited_restoration_gives_none(edit: str) -> None:
    made = restored()
    made.change(edit)
    assert value_of(made) is None


def test_an_edit_and_its_reverse_do_not_heal() -> None:
    made = restored()
    made.type("!")
    made.backspace()
    assert (made.text, value_of(made)) == ("two", None)


def test_an_editor_over_a_restored_text_taints_also_when_it_comes_back_unchanged() -> None:
    made = restored()
    made.change("two", Act.EDITOR)
    assert value_of(made) is None


def test_a_restoration_above_a_draft_is_tainted_until_the_composer_is_empty() -> None:
    made = composer("draft")
    made.restore("queued", Sidecar(model_text="queued", submitted_prompt="queued", visible="queued"))
    assert (made.text, made.state) == ("queued\ndraft", State.TAINTED)
    made.undo()
    assert (made.text, made.state) == ("draft", State.TAINTED)
    made.clear()
    made.type("draft")
    assert value_of(made) == "draft"


def test_a_blank_draft_is_replaced_by_a_restoration() -> None:
    made = composer(" \n")
    made.restore("queued", Sidecar(model_text="queued", submitted_prompt="typed", visible="queued"))
    assert (made.text, value_of(made)) == ("queued", "typed")


def test_a_restored_text_is_looked_through_for_files_as_it_was_the_first_time() -> None:
    made = Composer()
    made.restore(LARGE, Sidecar(model_text=LARGE, submitted_prompt=PLACEHOLDER, visible=PLACEHOLDER))
    capture = made.capture()
    assert capture is not None
    assert (capture.model_text, capture.submitted_prompt, capture.visible) == (LARGE, PLACEHOLDER, PLACEHOLDER)


def test_a_restored_text_without_a_value_stays_without() -> None:
    assert value_of(restored("configured", None)) is None


def test_emptying_a_tainted_composer_leaves_nothing_to_undo_or_redo() -> None:
    made = composer("draft")
    made.fill("old", Act.HISTORY)
    made.clear()
    assert (made.undo(), made.redo(), made.state) == (False, False, State.FRESH)


def test_a_fill_that_empties_a_fresh_draft_leaves_nothing_to_undo() -> None:
    made = composer("draft")
    made.fill("", Act.REWIND)
    assert (made.undo(), made.state) == (False, State.FRESH)


def test_an_undo_that_reaches_empty_from_a_restored_text_leaves_nothing_to_redo() -> None:
    made = restored()
    assert made.undo()
    assert (made.text, made.redo()) == ("", False)


def test_a_cleared_fresh_draft_can_be_had_back_and_is_eligible() -> None:
    made = composer("typed")
    made.attach("a.png")
    made.clear()
    assert (made.text, made.chips) == ("", ())
    made.undo()
    assert (made.text, made.chips, value_of(made)) == ("typed", ("a.png",), "typed")


def test_a_submit_empties_both_stacks() -> None:
    made = composer("a")
    made.type("b")
    made.undo()
    made.capture()
    assert (made.undo(), made.redo()) == (False, False)


def test_a_hundred_steps_are_kept() -> None:
    made = composer()
    for _ in range(150):
        made.type("a")
    assert sum(made.undo() for _ in range(200)) == 100
    assert made.text == "a" * 50


def test_keys_that_join_are_one_step() -> None:
    made = composer("one")
    made.type(" t")
    made.type("w", joins=True)
    made.type("o", joins=True)
    made.undo()
    assert made.text == "one"


def test_text_under_vim_is_tainted_until_the_composer_is_empty() -> None:
    made = composer("draft")
    made.set_vim(True)
    made.set_vim(False)
    assert made.state is State.TAINTED
    made.change("")
    made.type("fresh")
    assert value_of(made) == "fresh"


def test_under_vim_nothing_is_vouched_for_not_even_a_restoration() -> None:
    made = composer()
    made.set_vim(True)
    made.restore("two", Sidecar(model_text="two", submitted_prompt="two", visible="two"))
    assert (made.state, value_of(made)) == (State.TAINTED, None)
    made.type("v")
    assert value_of(made) is None


def test_switching_vim_over_an_empty_composer_leaves_no_mark() -> None:
    made = composer()
    made.set_vim(True)
    made.set_vim(False)
    made.type("a")
    assert value_of(made) == "a"


def test_a_capture_that_is_not_to_vouch_has_no_value() -> None:
    capture = composer("v").capture(vouch=False)
    assert capture is not None
    assert (capture.model_text, capture.submitted_prompt) == ("v", None)
