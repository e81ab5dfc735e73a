"""What was there before: history, search, stash, rewind, and pastes that lost their text."""

from __future__ import annotations

from middleware.chat import (
    Chat,
    Effect,
    Refused,
    Send,
)

PLACEHOLDER = "[Pasted Content 1001 chars]"


def chat(**how: object) -> Chat:
    return Chat(local=["help"], prompts=["review"], **how)  # type: ignore[arg-type]


def enter(made: Chat, text: str, **how: bool) -> tuple[Effect, ...]:
    made.composer.type(text)
    return made.submit(**how)


def sent(effects: tuple[Effect, ...]) -> list[tuple[str, str | None]]:
    return [(e.item.text, e.item.submitted_prompt) for e in effects if isinstance(e, Send)]


def test_enter_on_an_idle_chat_sends_at_once_and_empties_the_composer() -> None:
    made = chat()
    assert sent(enter(made, " hello ")) == [("hello", "hello")]
    assert (made.composer.text, made.busy) == ("", True)


def test_shell_history_taints_once_a_line_came_back() -> None:
    made = chat(shell_history=["ls -la"])
    made.toggle_shell(True)
    assert made.history_up()
    made.toggle_shell(False)
    assert sent(made.submit()) == [("ls -la", None)]


def test_no_shell_history_leaves_the_text_eligible() -> None:
    made = chat()
    made.toggle_shell(True)
    made.composer.type("ls")
    assert not made.history_up()
    made.toggle_shell(False)
    assert sent(made.submit()) == [("ls", "ls")]


def test_a_search_match_is_history_and_no_match_sends_the_draft() -> None:
    made = chat()
    made.composer.type("draft")
    assert sent(made.submit_found("old")) == [("old", None)]
    made.finish()
    made.composer.type("draft")
    assert sent(made.submit_found(None)) == [("draft", "draft")]


def test_a_lost_paste_is_not_sent_and_nothing_changes() -> None:
    made = chat()
    made.history.add(f"see {PLACEHOLDER}", compact=True)
    made.history_up()
    reason = f"{PLACEHOLDER} has lost its text: paste it again, or delete it"
    assert made.submit() == (Refused(reason=reason),)
    assert made.submit_unvouched() == (Refused(reason=reason),)
    assert made.composer.text == f"see {PLACEHOLDER}"


def test_up_gives_the_queue_back_before_it_goes_into_history() -> None:
    made = chat(history=["old"])
    enter(made, "main")
    enter(made, "waiting")
    assert made.history_up()
    assert sent((*made.submit(), *made.finish())) == [("waiting", "waiting")]


def test_a_draft_that_history_gave_back_is_tainted_and_keeps_its_pastes() -> None:
    made = chat(history=["old"])
    made.composer.paste("x" * 1001)
    made.history_up()
    assert made.history_down()
    assert sent(made.submit()) == [("x" * 1001, None)]


def test_down_to_an_empty_draft_resets_everything() -> None:
    made = chat(history=["old"])
    made.history_up()
    made.history_down()
    made.composer.type("new")
    assert sent(made.submit()) == [("new", "new")]


def test_a_submit_ends_the_walk_through_history() -> None:
    made = chat(history=["a", "b"])
    made.history_up()
    made.submit()
    made.composer.type("draft")
    made.history_up()
    assert made.composer.text == "b"


def test_history_holds_what_the_model_got() -> None:
    made = chat()
    made.remind("r")
    made.composer.paste("x" * 1001)
    made.submit()
    assert [entry.text for entry in made.history.entries] == [
        "<system-reminder>\nr\n</system-reminder>\n\n" + "x" * 1001
    ]


def test_a_stash_comes_back_expanded_and_tainted_until_something_is_submitted() -> None:
    made = chat()
    made.composer.paste("x" * 1001)
    made.keep()
    again = chat(stash=made.stash)
    assert again.composer.text == "x" * 1001
    assert sent(again.submit()) == [("x" * 1001, None)]
    assert again.stash is None


def test_stashing_a_blank_composer_forgets_the_stash() -> None:
    made = chat(stash="old")
    made.composer.clear()
    made.keep()
    assert made.stash is None


def test_a_rewound_text_replaces_the_draft_and_is_tainted() -> None:
    made = chat()
    made.composer.type("draft")
    made.rewind("old")
    assert sent(made.submit()) == [("old", None)]
