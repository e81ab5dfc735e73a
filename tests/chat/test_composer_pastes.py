"""Large pastes and attachment chips in the composer."""

from __future__ import annotations

from middleware.chat import Act, Composer, Sidecar

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


def test_undo_brings_pastes_and_chips_back_and_an_edit_clears_redo() -> None:
    made = composer()
    made.paste(LARGE)
    made.backspace()
    assert (made.text, dict(made.pastes)) == ("", {})
    made.undo()
    assert (made.text, dict(made.pastes)) == (PLACEHOLDER, {PLACEHOLDER: LARGE})
    made.attach("a.png")
    made.undo()
    assert made.chips == ()
    made.type("!")
    assert not made.redo()


def test_a_large_paste_stays_compact_in_the_value_and_is_whole_for_the_model() -> None:
    made = composer("see ")
    assert made.paste(LARGE) == 4 + len(PLACEHOLDER)
    capture = made.capture()
    assert capture is not None
    assert (capture.submitted_prompt, capture.visible) == (f"see {PLACEHOLDER}",) * 2
    assert capture.model_text == f"see {LARGE}"


def test_a_paste_goes_where_the_cursor_is() -> None:
    made = composer("ab")
    assert made.paste("X\r\nY", 1) == 4
    assert made.text == "aX\nYb"


def test_backspace_behind_a_placeholder_takes_it_whole_and_frees_its_number() -> None:
    made = composer("a")
    made.paste(LARGE)
    made.type("b")
    assert made.backspace(1 + len(PLACEHOLDER)) == 1
    assert (made.text, dict(made.pastes)) == ("ab", {})
    made.paste(LARGE)
    assert made.text == f"ab{PLACEHOLDER}"


def test_backspace_keeps_the_body_while_its_placeholder_stands_elsewhere() -> None:
    made = composer()
    made.paste(LARGE)
    made.type(PLACEHOLDER)
    made.backspace()
    assert made.expanded == LARGE


def test_backspace_in_front_of_everything_does_nothing() -> None:
    made = composer("a")
    assert (made.backspace(0), made.text) == (0, "a")


def test_a_placeholder_typed_by_hand_is_text() -> None:
    made = composer(PLACEHOLDER)
    capture = made.capture()
    assert capture is not None
    assert (capture.model_text, capture.submitted_prompt) == (PLACEHOLDER, PLACEHOLDER)


def test_a_fill_forgets_the_pastes_of_the_draft_and_undo_brings_them_back() -> None:
    made = composer()
    made.paste(LARGE)
    made.fill(f"old {PLACEHOLDER}", Act.HISTORY)
    assert made.expanded == f"old {PLACEHOLDER}"
    made.undo()
    assert made.expanded == LARGE


def test_an_editor_and_a_completion_keep_the_pastes() -> None:
    made = composer()
    made.paste(LARGE)
    made.change(f"{PLACEHOLDER} edited", Act.EDITOR)
    made.change(f"{PLACEHOLDER} edited @a.txt", Act.COMPLETE)
    assert made.expanded == f"{LARGE} edited @a.txt"


def test_a_placeholder_that_lost_its_body_is_told_of() -> None:
    made = composer()
    made.fill(f"see {PLACEHOLDER}", Act.HISTORY, compact=True)
    assert made.lost == (PLACEHOLDER,)
    made.change("see")
    assert made.lost == ()


def test_chips_go_before_the_text_and_not_into_the_value() -> None:
    made = composer(" look ")
    made.attach("a.png")
    made.attach("b.png")
    capture = made.capture()
    assert capture is not None
    assert (capture.model_text, capture.submitted_prompt) == ("@a.png @b.png\n\nlook", "look")
    assert (capture.expanded, made.chips) == (" look ", ())


def test_a_chip_added_to_a_restored_text_makes_it_another_text_and_taking_it_away_does_not() -> None:
    made = restored()
    made.attach("a.png")
    assert value_of(made) is None
    again = restored()
    again.attach("a.png")
    again.detach("a.png")
    assert value_of(again) == "two"
