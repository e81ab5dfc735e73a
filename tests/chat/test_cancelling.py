"""Taking a turn back: what comes into the composer again, and whose history entry goes."""

from __future__ import annotations

import pytest

from middleware.chat import Cancelled, Chat, Effect, Given, Kind, RunCommand, Send

RESTORED = Cancelled(restored=True, cut=True, strip=True, forgotten=True)
KEPT = Cancelled(restored=False, cut=False, strip=True, forgotten=False)


def chat() -> Chat:
    return Chat(local=["help"], prompts=["review"])


def enter(made: Chat, text: str, **how: bool) -> tuple[Effect, ...]:
    made.composer.type(text)
    return made.submit(**how)


def sent(effects: tuple[Effect, ...]) -> list[tuple[str, str | None]]:
    return [(e.item.text, e.item.submitted_prompt) for e in effects if isinstance(e, Send)]


def history(made: Chat) -> list[str]:
    return [entry.text for entry in made.history.entries]


def test_a_turn_with_nothing_produced_comes_back_whole() -> None:
    made = chat()
    enter(made, "main")
    assert made.cancel() == (RESTORED,)
    assert (made.composer.text, history(made), made.busy) == ("main", [], False)
    assert sent(made.submit()) == [("main", "main")]


def test_without_a_running_turn_cancel_is_nothing() -> None:
    made = chat()
    made.composer.type("draft")
    assert made.cancel() == ()
    assert made.composer.text == "draft"


def test_a_turn_that_produced_something_comes_back_and_stays_in_the_history() -> None:
    made = chat()
    enter(made, "main")
    assert made.cancel(output=True) == (Cancelled(restored=True, cut=False, strip=False, forgotten=False),)
    assert (made.composer.text, history(made)) == ("main", ["main"])


@pytest.mark.parametrize("what", ["tool", "steer"])
def test_a_tools_result_or_steering_counts_as_produced(what: str) -> None:
    made = chat()
    enter(made, "main")
    if what == "tool":
        made.followed()
    else:
        enter(made, "now")
        made.steer()
    assert made.cancel() == (Cancelled(restored=True, cut=False, strip=False, forgotten=False),)


def test_a_steering_that_found_nothing_is_no_steering() -> None:
    made = chat()
    enter(made, "main")
    assert made.steer() == ()
    assert made.cancel() == (RESTORED,)


@pytest.mark.parametrize("how", [{"tool_running": True}, {"pending": True}])
def test_a_running_tool_or_content_on_its_way_keeps_the_text_where_it_is(how: dict[str, bool]) -> None:
    made = chat()
    enter(made, "main")
    assert made.cancel(**how) == (Cancelled(restored=False, cut=False, strip=False, forgotten=False),)
    assert (made.composer.text, history(made)) == ("", ["main"])


def test_a_draft_is_left_alone() -> None:
    made = chat()
    enter(made, "main")
    made.composer.type("next idea")
    assert made.cancel() == (KEPT,)
    assert sent(made.submit()) == [("next idea", "next idea")]


def test_a_blank_draft_is_no_draft() -> None:
    made = chat()
    enter(made, "main")
    made.composer.type(" \n")
    assert made.cancel() == (RESTORED,)
    assert made.composer.text == "main"


def test_what_waits_comes_back_instead() -> None:
    made = chat()
    enter(made, "main")
    enter(made, "a")
    enter(made, "b", defer=True)
    assert made.cancel() == (KEPT,)
    assert sent(made.submit()) == [("a\n\nb", "a\n\nb")]


def test_what_waits_goes_above_a_draft_and_loses_its_value() -> None:
    made = chat()
    enter(made, "main")
    enter(made, "a")
    made.composer.type("draft")
    made.cancel()
    assert sent(made.submit()) == [("a\ndraft", None)]


def test_a_waiting_command_runs_and_does_not_keep_the_text_from_coming_back() -> None:
    made = chat()
    enter(made, "main")
    enter(made, "/help")
    assert made.cancel() == (RESTORED, RunCommand(name="help", text="/help"))
    assert made.composer.text == "main"


def test_a_command_that_became_a_prompt_gives_nothing_back() -> None:
    made = chat()
    enter(made, "/review it")
    assert made.cancel() == (KEPT,)
    assert made.composer.text == ""


def test_nor_does_it_when_it_produced_something() -> None:
    made = chat()
    enter(made, "/review it")
    made.followed()
    assert made.cancel(output=True) == (Cancelled(restored=False, cut=False, strip=False, forgotten=False),)
    assert made.composer.text == ""


def test_a_turn_that_nobody_submitted_here_gives_nothing_back() -> None:
    made = chat()
    made.occupied()
    assert made.cancel() == (KEPT,)


def test_a_peers_turn_gives_nothing_back() -> None:
    made = chat()
    made.program_submit("p", kind=Kind.PEER)
    assert made.cancel() == (KEPT,)
    assert (made.composer.text, history(made)) == ("", [])


def test_a_program_s_text_comes_back_without_a_value() -> None:
    made = chat()
    made.program_submit("configured")
    assert made.cancel() == (RESTORED,)
    assert sent(made.submit()) == [("configured", None)]


def test_a_side_question_keeps_the_newest_entry_and_the_main_text_comes_back() -> None:
    made = chat()
    enter(made, "main")
    enter(made, "/btw side")
    assert made.cancel() == (Cancelled(restored=True, cut=True, strip=True, forgotten=False),)
    assert (made.composer.text, history(made)) == ("main", ["main", "/btw side"])


def test_a_refused_side_question_leaves_the_newest_entry_to_the_turn() -> None:
    made = chat()
    enter(made, "main")
    (effect,) = enter(made, "/btw side")
    made.refused(effect)  # type: ignore[arg-type]
    assert history(made) == ["main"]
    assert made.cancel()[0] == RESTORED
    assert history(made) == ["/btw side"]


def test_only_the_cancelled_turns_entry_goes() -> None:
    made = chat()
    enter(made, "same")
    made.finish()
    enter(made, "same")
    made.cancel()
    assert history(made) == ["same"]


def test_a_blocked_prompt_comes_back_with_its_reason_and_leaves_no_entry() -> None:
    made = chat()
    made.remind("r")
    enter(made, "secret")
    text = "<system-reminder>\nr\n</system-reminder>\n\nsecret"
    assert made.blocked("no secrets") == (Given(text=text, reason="no secrets", restored=True),)
    assert (made.composer.text, history(made), made.busy) == (text, [], False)
    assert sent(made.submit()) == [(text, "secret")]


def test_a_blocked_prompt_leaves_a_draft_alone_and_what_waits_goes_out() -> None:
    made = chat()
    enter(made, "secret")
    enter(made, "next")
    made.composer.type("draft")
    given, *rest = made.blocked("no")
    assert given == Given(text="secret", reason="no", restored=False)
    assert sent(tuple(rest)) == [("next", "next")]
    assert made.composer.text == "draft"


def test_a_blocked_command_comes_back_as_it_was_typed() -> None:
    made = chat()
    enter(made, "/review it")
    made.blocked("no")
    assert sent(made.submit()) == [("/review it", "/review it")]


def test_a_blocked_peer_does_not_come_into_the_composer() -> None:
    made = chat()
    made.program_submit("p", kind=Kind.PEER)
    assert made.blocked("no") == (Given(text="p", reason="no", restored=False),)
    assert made.composer.text == ""


def test_a_block_with_nothing_running_is_nothing() -> None:
    assert chat().blocked("no") == ()
