"""The pipeline, hand-fed: what it asks for, in which order, and what it returns."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from middleware.errors import HookBlocked
from middleware.injection import Block, Memory
from middleware.parts import PreInjectionText
from middleware.provenance import Origin
from middleware.turn import HookInput, HookOutcome, Recall, RunHooks, Scene, Turn, outcome, shortened
from tests.talking import assistant, request, tool, user

SCENE = Scene(session_id="s", transcript_path="/t", cwd="/w", prompt_id="p")


def turn(*messages, **how):
    settings = {"scene": SCENE, "origin": Origin.USER_QUERY, "fires": True, "recalls": True, **how}
    return Turn(request=request(*messages), **settings)


def run(steps, answers):
    """Feed the answers; return the steps that were asked and what came back."""
    asked, step = [], next(steps)
    try:
        for answer in answers:
            asked.append(step)
            step = steps.send(answer)
    except StopIteration as end:
        return asked, end.value
    raise AssertionError(f"it still asks for {step}")


def test_hooks_come_first_then_recall_is_asked_with_the_text_from_before_them():
    tea = Memory(id="m", text="tea", score=1.0)
    asked, prepared = run(turn(user("hi")).prepare(), [HookOutcome(additional_context="ctx"), (tea,)])
    assert asked == [
        RunHooks(input=HookInput(scene=SCENE, prompt="hi")),
        Recall(query=PreInjectionText("hi")),
    ]
    assert prepared.block.hook == "ctx" and prepared.block.recalled == (tea,)
    assert prepared.blocks == {0: prepared.block}


def test_two_kilobytes_of_context_change_nothing_about_the_recall_query():
    queries = []
    for context in (None, "x" * 2000):
        asked, _ = run(turn(user("hi")).prepare(), [HookOutcome(additional_context=context), ()])
        queries.append(asked[1])
    assert queries[0] == queries[1]


def test_a_block_raises_before_recall_with_the_text_to_give_back():
    steps = turn(user("rm")).prepare()
    next(steps)
    with pytest.raises(HookBlocked) as caught:
        steps.send(HookOutcome(blocked=True, reason="no", blocked_by=("guard", "police")))
    assert (caught.value.hook, caught.value.reason, caught.value.prompt) == ("guard, police", "no", "rm")


def test_the_prompt_of_a_blocked_turn_is_in_no_text_of_the_exception():
    blocked = HookBlocked(hook="guard", reason="no", prompt="CANARY")
    assert "CANARY" not in f"{blocked} {blocked!r}"


def test_tool_results_run_hooks_with_no_prompt_and_recall_nothing():
    tools = turn(user("hi"), assistant(calls=["c"]), tool("c"), origin=Origin.TOOL_RESULT)
    asked, prepared = run(tools.prepare(), [HookOutcome(additional_context="ctx")])
    assert asked == [RunHooks(input=HookInput(scene=SCENE, prompt=""))]
    assert list(prepared.blocks) == [2]


@pytest.mark.parametrize("origin", [Origin.STEER, Origin.NOTIFICATION, Origin.TEAMMATE, Origin.GOAL, Origin.RETRY])
def test_other_origins_ask_for_nothing(origin):
    with pytest.raises(StopIteration) as end:
        next(turn(user("hi"), origin=origin).prepare())
    assert end.value.value.blocks == {}


def test_cron_recalls_without_hooks():
    asked, _ = run(turn(user("hi"), origin=Origin.CRON).prepare(), [()])
    assert asked == [Recall(query=PreInjectionText("hi"))]


def test_a_retried_turn_asks_for_nothing_and_sends_the_same_block():
    block = Block(hook="ctx")
    with pytest.raises(StopIteration) as end:
        next(turn(user("hi"), sticky=block).prepare())
    assert end.value.value.blocks == {0: block}


def test_a_blank_prompt_recalls_nothing():
    asked, _ = run(turn(user(" \n")).prepare(), [HookOutcome()])
    assert [type(step) for step in asked] == [RunHooks]


def test_memories_in_this_request_are_named_to_recall():
    told = Block(memory="m", recalled=(Memory(id="m1", text="", score=1.0, version="v"),))
    asked, _ = run(turn(user("a"), assistant("b"), user("c"), history={0: told}, fires=False).prepare(), [()])
    assert asked[0].delivered == {"m1": "v"}


def test_the_payload_has_the_references_order_and_leaves_absent_fields_out():
    payload = HookInput(scene=SCENE, prompt="hi").payload("2026-01-01T00:00:00.000Z")
    first = ["session_id", "transcript_path", "cwd", "hook_event_name", "timestamp", "permission_mode"]
    assert list(payload) == [*first, "prompt_id", "prompt"]
    assert HookInput(scene=SCENE, prompt="hi", submitted_prompt=" hi ").payload("t")["submitted_prompt"] == " hi "


@given(st.text(st.characters()))
@example("word " * 200_000)
@example("\U0001f600" * 5000)
@example("a" * 5000)
def test_a_query_has_at_most_64_words_and_1000_bytes(text):
    query = shortened(PreInjectionText(text))
    assert len(query.split()) <= 64
    assert len(query.encode(errors="replace")) <= 1000


def test_a_long_prompt_is_asked_about_from_both_ends():
    text = " ".join(f"w{number}" for number in range(1000))
    words = shortened(PreInjectionText(text)).split()
    assert (words[:2], words[-2:], len(words)) == (["w0", "w1"], ["w998", "w999"], 64)


def test_a_short_query_is_not_touched():
    assert shortened(PreInjectionText("  why is  CI red? ")) == "  why is  CI red? "


@pytest.mark.parametrize(
    ("error", "early", "name"),
    [
        (None, False, "sent"),
        (None, True, "cancelled"),
        (ValueError(), False, "error"),
        (KeyboardInterrupt(), False, "cancelled"),
        (HookBlocked(hook="h", reason="r", prompt="p"), False, "blocked"),
    ],
)
def test_how_a_turn_ended(error, early, name):
    assert outcome(error, ended_early=early) == name
