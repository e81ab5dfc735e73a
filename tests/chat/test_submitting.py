"""From Enter to who gets the text, and when."""

from __future__ import annotations

import pytest

from middleware.chat import (
    AcceptSpeculation,
    Act,
    Chat,
    Effect,
    Item,
    Kind,
    Quit,
    RunCommand,
    RunShell,
    Send,
    SideQuestion,
    ToAgent,
)
from middleware.provenance import Origin

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


@pytest.mark.parametrize("word", ["exit", "quit", ":q", ":q!", ":wq", ":wq!", "/quit", "/exit", " exit "])
def test_quit_words_leave(word: str) -> None:
    assert enter(chat(), word) == (Quit(),)


def test_a_quit_word_among_others_is_text() -> None:
    assert sent(enter(chat(), "exit now")) == [("exit now", "exit now")]


@pytest.mark.parametrize(
    ("text", "command"),
    [("/help", "help"), ("/help me", "help"), ("/help\nme", "help"), ("/review it", "review"), ("/btw why", "btw")],
)
def test_a_slash_and_a_known_name_is_a_command(text: str, command: str) -> None:
    (effect,) = enter(chat(), text)
    if isinstance(effect, RunCommand):
        assert (effect.name, effect.text) == (command, text)
    else:
        assert isinstance(effect, (Send, SideQuestion))
        assert (effect.item.command, effect.item.text) == (command, text)


@pytest.mark.parametrize("text", ["/var/log", "/helpme", "/ help", "//help", "?help", "see /help", "/", "?"])
def test_all_else_with_a_slash_is_text(text: str) -> None:
    assert sent(enter(chat(), text)) == [(text, text)]


def test_a_pasted_command_is_no_command_also_when_it_comes_back() -> None:
    made, body = chat(), "/help " + "x" * 996
    made.composer.paste(body)
    assert len(body) == 1002
    assert sent(made.submit()) == [(body, "[Pasted Content 1002 chars]")]
    made.cancel()
    assert sent(made.submit()) == [(body, "[Pasted Content 1002 chars]")]


def test_a_command_that_is_a_prompt_leaves_no_row_and_no_history() -> None:
    made = chat()
    assert sent(enter(made, "/review it")) == [("/review it", "/review it")]
    assert made.history.entries == ()


def test_chips_of_a_command_stay_out_of_its_arguments() -> None:
    made = chat()
    made.composer.attach("a.png")
    (effect,) = enter(made, "/review it")
    assert isinstance(effect, Send)
    assert (effect.item.text, effect.item.visible) == ("/review it", "@a.png\n\n/review it")


def test_a_side_question_goes_out_beside_the_running_turn_and_writes_its_own_entry() -> None:
    made = chat()
    enter(made, "main")
    (effect,) = enter(made, "?btw side")
    assert isinstance(effect, SideQuestion)
    assert [entry.text for entry in made.history.entries] == ["main", "?btw side"]
    assert made.busy


def test_a_deferred_side_question_waits() -> None:
    made = chat()
    enter(made, "main")
    assert enter(made, "/btw side", defer=True) == ()
    (effect,) = made.finish()
    assert isinstance(effect, SideQuestion)


def test_commands_wait_while_a_turn_runs_and_then_go_one_after_the_other() -> None:
    made = chat()
    enter(made, "main")
    assert enter(made, "/help") == ()
    assert enter(made, "/review it") == ()
    assert enter(made, "text") == ()
    assert sent(made.finish()) == [("text", "text")]
    local, prompt = made.finish()
    assert local == RunCommand(name="help", text="/help")
    assert sent((prompt,)) == [("/review it", "/review it")]


def test_reminders_go_before_the_next_text_once_and_not_before_commands() -> None:
    made = chat()
    made.remind("one")
    made.remind("two")
    enter(made, "/help")
    enter(made, "/btw side")
    assert made.reminders == ("one", "two")
    blocks = "<system-reminder>\none\n</system-reminder>\n\n<system-reminder>\ntwo\n</system-reminder>\n\n"
    assert sent(enter(made, "go")) == [(f"{blocks}go", "go")]
    made.finish()
    assert sent(enter(made, "again")) == [("again", "again")]


def test_a_program_spends_reminders_and_a_peer_does_not() -> None:
    made = chat()
    made.remind("r")
    assert sent(made.program_submit("p", kind=Kind.PEER)) == [("p", None)]
    made.finish()
    assert sent(made.program_submit("start")) == [("<system-reminder>\nr\n</system-reminder>\n\nstart", None)]


@pytest.mark.parametrize("kind", [Kind.PROGRAM, Kind.REMOTE, Kind.PEER])
def test_what_nobody_typed_is_sent_without_a_value_and_leaves_the_composer_alone(kind: Kind) -> None:
    made = chat()
    made.composer.type("draft")
    assert sent(made.program_submit(" text ", kind=kind)) == [("text", None)]
    assert made.composer.text == "draft"
    made.finish()
    assert sent(made.submit()) == [("draft", "draft")]


def test_a_peer_is_sent_as_a_teammate_and_its_submission_says_nothing() -> None:
    (effect,) = chat().program_submit("p", kind=Kind.PEER)
    assert isinstance(effect, Send)
    assert (effect.origin, effect.submission().submitted_prompt) == (Origin.TEAMMATE, None)


def test_a_blank_program_text_sends_nothing_and_a_program_cannot_pose_as_the_composer() -> None:
    assert chat().program_submit(" \n") == ()
    with pytest.raises(ValueError, match="give program, remote or peer"):
        chat().program_submit("x", kind=Kind.PLAIN)


def test_a_program_cannot_quit() -> None:
    assert sent(chat().program_submit("exit")) == [("exit", None)]


def test_shell_mode_runs_the_line_here_with_its_pastes_and_without_chips() -> None:
    made = chat()
    made.composer.type("draft")
    made.toggle_shell(True)
    assert made.composer.text == ""
    made.composer.attach("a.png")
    made.composer.paste("x" * 1001)
    assert made.submit() == (RunShell(command="x" * 1001),)
    assert [entry.text for entry in made.shell_history.entries] == ["x" * 1001]
    assert (made.history.entries, made.busy) == ((), False)


def test_leaving_shell_mode_keeps_what_was_typed() -> None:
    made = chat()
    made.toggle_shell(True)
    made.composer.type("ls")
    made.toggle_shell(False)
    assert sent(made.submit()) == [("ls", "ls")]


def test_an_agents_tab_gets_the_text_and_nothing_is_carried() -> None:
    made = chat()
    made.agent_tab = True
    made.remind("r")
    assert enter(made, "/help me") == (ToAgent(text="/help me"),)
    assert (made.busy, made.history.entries, made.reminders) == (False, (), ("r",))


def test_a_speculation_is_taken_for_exactly_its_text_while_idle() -> None:
    made = chat()
    made.speculation_ready("run the tests")
    made.composer.fill(" run the tests ", Act.SUGGESTION)
    assert made.submit() == (AcceptSpeculation(text="run the tests"),)
    assert sent(enter(made, "run the tests")) == [("run the tests", "run the tests")]


def test_another_submit_drops_a_speculation_and_a_busy_chat_takes_none() -> None:
    made = chat()
    made.speculation_ready("b")
    enter(made, "/help")
    assert sent(enter(made, "b")) == [("b", "b")]
    made.speculation_ready("c")
    made.finish()
    assert sent(enter(made, "c")) == [("c", "c")]


def test_a_program_drops_a_speculation_too() -> None:
    made = chat()
    made.speculation_ready("b")
    made.program_submit("p")
    made.finish()
    assert sent(enter(made, "b")) == [("b", "b")]


def test_a_deferred_text_is_no_acceptance() -> None:
    made = chat()
    made.speculation_ready("b")
    assert sent(enter(made, "b", defer=True)) == [("b", "b")]


def test_an_accepted_speculation_that_fails_is_sent_without_a_value() -> None:
    made = chat()
    assert sent(made.speculation_failed("run the tests")) == [("run the tests", None)]


def test_a_refused_batch_waits_at_the_head_as_one_item_with_its_value() -> None:
    made = chat()
    enter(made, "main")
    enter(made, "a")
    enter(made, "b")
    (effect,) = made.finish()
    assert isinstance(effect, Send)
    made.refused(effect)
    assert [entry.text for entry in made.history.entries] == ["main"]
    assert [item.text for item in made.queue.items] == ["a\n\nb"]
    enter(made, "c")
    assert sent(made.finish()) == [("a\n\nb\n\nc", "a\n\nb\n\nc")]


def test_a_refused_side_question_is_deferred_and_its_entry_is_gone() -> None:
    made = chat()
    enter(made, "main")
    (effect,) = enter(made, "/btw side")
    assert isinstance(effect, SideQuestion)
    made.refused(effect)
    assert [entry.text for entry in made.history.entries] == ["main"]
    assert [(item.kind, item.text) for item in made.queue.items] == [(Kind.DEFERRED, "/btw side")]
    (again,) = made.finish()
    assert isinstance(again, SideQuestion)


def test_a_refusal_of_what_no_longer_runs_changes_nothing() -> None:
    made = chat()
    (effect,) = enter(made, "a")
    assert isinstance(effect, Send)
    made.finish()
    made.refused(effect)
    assert (made.busy, len(made.queue)) == (False, 0)


def test_steering_takes_the_waiting_texts_and_what_is_put_back_has_no_value() -> None:
    made = chat()
    enter(made, "main")
    enter(made, "now")
    enter(made, "later", defer=True)
    items = made.steer()
    assert [item.text for item in items] == ["now"]
    made.unsteer([Item(text="now", submitted_prompt="now")])
    assert [(item.text, item.submitted_prompt) for item in made.queue.items] == [("now", None), ("later", "later")]


def test_a_submission_names_the_terminal_and_carries_what_is_sent_after_expansion() -> None:
    (effect,) = enter(chat(), "@a.txt why")
    assert isinstance(effect, Send)
    submission = effect.submission(["@a.txt why", "\nbody"], session="s-1")
    assert (submission.model_text, submission.submitted_prompt) == ("@a.txt why\nbody", "@a.txt why")
    assert (submission.producer, submission.session, effect.origin) == ("terminal", "s-1", Origin.USER_QUERY)
