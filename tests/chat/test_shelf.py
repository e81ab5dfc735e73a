"""Putting a draft away and taking it out again."""

from __future__ import annotations

from middleware.chat import Act, Chat, Send, State


def test_a_draft_is_put_away_with_its_pastes_and_chips_as_text_and_comes_back_unattributed() -> None:
    chat = Chat()
    chat.composer.type("look ")
    chat.composer.paste("x" * 1001)
    chat.composer.attach("my shot.png")
    assert chat.put_away()
    assert (chat.composer.text, chat.composer.chips, chat.composer.state) == ("", (), State.FRESH)
    assert chat.take_out()
    assert chat.composer.text == '@"my shot.png"\n\nlook ' + "x" * 1001
    assert chat.composer.state is State.TAINTED
    (send,) = chat.submit()
    assert isinstance(send, Send)
    assert send.item.submitted_prompt is None


def test_the_last_one_that_was_put_away_comes_out_first() -> None:
    chat = Chat()
    for text in ("one", "two"):
        chat.composer.type(text)
        chat.put_away()
    chat.take_out()
    assert (chat.composer.text, chat.shelf) == ("two", ("one",))
    assert not chat.take_out()
    assert (chat.composer.text, chat.shelf) == ("two", ("one",))


def test_an_eligible_draft_that_was_put_away_by_mistake_is_had_back_eligible_by_undo() -> None:
    chat = Chat()
    chat.composer.type("mine")
    chat.put_away()
    chat.composer.undo()
    assert (chat.composer.text, chat.composer.state) == ("mine", State.FRESH)


def test_a_tainted_draft_that_was_put_away_is_not_had_back_by_undo() -> None:
    chat = Chat()
    chat.composer.fill("old", Act.HISTORY)
    chat.put_away()
    assert not chat.composer.undo()


def test_blank_drafts_and_shell_commands_are_not_put_away() -> None:
    chat = Chat(shelf=["kept"])
    chat.composer.type(" \n")
    assert not chat.put_away()
    chat.toggle_shell(True)
    chat.composer.type("ls")
    assert not chat.put_away()
    chat.composer.clear()
    assert not chat.take_out()
    assert chat.shelf == ("kept",)


def test_a_draft_that_was_taken_out_and_put_away_again_is_kept_once() -> None:
    chat = Chat(shelf=["draft"])
    chat.take_out()
    assert (chat.stash, chat.shelf) == ("draft", ())
    chat.put_away()
    assert (chat.stash, chat.shelf) == (None, ("draft",))
