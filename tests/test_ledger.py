"""Sticky injection: each rule of the ledger, each in the situation that broke the naive one."""

import threading

import pytest

from middleware.errors import HookBlocked
from middleware.injection import Memory
from middleware.parts import Reply
from middleware.provenance import Origin, Submission
from middleware.session import Session
from middleware.turn import HookOutcome
from tests.talking import BLOCKED, Talk, assistant, system, tool, user


@pytest.fixture
def talk():
    return Talk()


def named(talk, id="s"):
    return talk.sessions.named(id, None)


def test_a_blocked_prompt_sent_again_is_blocked_again(talk):
    talk.outcome = BLOCKED
    for _ in range(2):
        with pytest.raises(HookBlocked, match="hook guard blocked the prompt: no"):
            talk.ask(user("rm -rf /"), session=named(talk))
    assert len(talk.hook_inputs) == 2


def test_a_blocked_turn_leaves_nothing_in_the_ledger(talk):
    talk.outcome = BLOCKED
    with pytest.raises(HookBlocked):
        talk.ask(user("rm -rf /"), session=named(talk))
    assert list(named(talk).ledger) == []


def test_two_strangers_saying_hi_get_a_block_each(talk):
    first, second = talk.ask(user("hi"), reply="Hello!"), talk.ask(user("hi"), reply="Hello!")
    assert (first.blocks, second.blocks) == ({0: "ctx-1"}, {0: "ctx-2"})
    assert first.session is not second.session


def test_when_two_strangers_said_the_same_neither_gets_the_others_block(talk):
    talk.ask(user("hi"), reply="Hello!")
    talk.ask(user("hi"), reply="Hello!")
    third = talk.ask(user("hi"), assistant("Hello!"), user("my secret"))
    assert third.blocks == {2: "ctx-3"}


def test_parallel_strangers_saying_hi_do_not_share_a_flight(talk):
    first = talk.send(user("hi"))
    second = talk.send(user("hi"))
    assert (first.blocks, second.blocks) == ({0: "ctx-1"}, {0: "ctx-2"})


@pytest.mark.parametrize("how", [{}, {"declared": Origin.USER_QUERY}])
def test_an_hourly_prompt_in_the_same_words_is_a_new_turn_each_time(talk, how):
    sent = [talk.ask(user("check the mail"), session=named(talk), **how) for _ in range(3)]
    assert [turn.origin for turn in sent] == [Origin.USER_QUERY] * 3
    assert [turn.blocks for turn in sent] == [{0: "ctx-1"}, {0: "ctx-2"}, {0: "ctx-3"}]


def test_an_hourly_cron_fires_no_hook_and_is_no_retry(talk):
    sent = [talk.ask(user("check the mail"), session=named(talk), declared=Origin.CRON) for _ in range(2)]
    assert [turn.origin for turn in sent] == [Origin.CRON, Origin.CRON]
    assert talk.hook_inputs == []


def test_a_window_drops_old_turns_and_yes_is_typed_again(talk):
    session = named(talk)
    talk.ask(user("yes"), session=session, reply="which?")
    talk.ask(user("yes"), assistant("which?"), user("both"), session=session, reply="sure?")
    third = talk.ask(user("both"), assistant("sure?"), user("yes"), session=session)
    assert (third.origin, third.blocks) == (Origin.USER_QUERY, {0: "ctx-2", 2: "ctx-3"})


def test_a_window_of_one_message_is_a_new_turn_when_its_words_return(talk):
    session = named(talk)
    talk.ask(user("yes"), session=session)
    again = talk.ask(user("yes"), session=session)
    assert (again.origin, again.blocks) == (Origin.USER_QUERY, {0: "ctx-2"})


def test_continue_twice_is_two_turns_with_a_block_each(talk):
    session = named(talk)
    history = [user("write"), assistant("one")]
    talk.ask(history[0], session=session, reply=history[1])
    history += [user("continue"), assistant("two")]
    talk.ask(*history[:3], session=session, reply=history[3])
    last = talk.ask(*history, user("continue"), session=session)
    assert (last.origin, last.blocks) == (Origin.USER_QUERY, {0: "ctx-1", 2: "ctx-2", 4: "ctx-3"})


def test_continue_twice_with_the_same_reply_gives_each_its_own_block(talk):
    session = named(talk)
    history = [user("continue"), assistant("ok")]
    talk.ask(history[0], session=session)
    talk.ask(*history, user("continue"), session=session)
    last = talk.ask(*history, *history, user("more"), session=session)
    assert last.blocks == {0: "ctx-1", 2: "ctx-2", 4: "ctx-3"}


def test_a_clock_in_the_system_prompt_changes_nothing(talk):
    session = named(talk)
    talk.send(system("it is 10:00"), user("hi"), session=session).fail()
    again = talk.send(system("it is 10:01"), user("hi"), session=session)
    assert (again.origin, again.blocks) == (Origin.RETRY, {1: "ctx-1"})


def test_message_one_edited_and_regenerated_gets_a_new_block(talk):
    session = named(talk)
    talk.ask(user("hi"), session=session, reply="Hello!")
    edited = talk.ask(user("hi there"), session=session, reply="Hey!")
    assert (edited.origin, edited.blocks) == (Origin.USER_QUERY, {0: "ctx-2"})


def test_after_a_regeneration_each_branch_keeps_its_own_block(talk):
    session = named(talk)
    talk.ask(user("hi"), session=session, reply="one")
    talk.ask(user("hi"), session=session, reply="two")
    new_branch = talk.ask(user("hi"), assistant("two"), user("go"), session=session, reply="x")
    old_branch = talk.ask(user("hi"), assistant("one"), user("go"), session=session, reply="x")
    assert (new_branch.blocks[0], old_branch.blocks[0]) == ("ctx-2", "ctx-1")


def test_a_historical_message_with_another_reply_gets_no_block(talk):
    session = named(talk)
    talk.ask(user("hi"), session=session, reply="Hello!")
    assert talk.ask(user("hi"), assistant("forged"), user("go"), session=session).blocks == {2: "ctx-2"}


def test_cancel_and_exact_resubmit_is_a_retry_with_the_same_bytes(talk):
    session = named(talk)
    talk.send(user("hi"), session=session).answer("Hel", outcome="cancelled")
    again = talk.send(user("hi"), session=session)
    assert (again.origin, again.blocks, len(talk.hook_inputs)) == (Origin.RETRY, {0: "ctx-1"}, 1)


def test_cancel_and_exact_resubmit_with_a_submission_is_a_new_turn(talk):
    session = named(talk)
    talk.send(user("hi"), session=session).fail()
    submission = Submission(model_parts="hi", submitted_prompt="hi", producer="chat")
    again = talk.send(user("hi"), session=session, submission=submission)
    assert (again.origin, again.blocks) == (Origin.USER_QUERY, {0: "ctx-2"})
    assert len(list(session.ledger)) == 1


def test_cancel_and_exact_resubmit_of_a_declared_query_is_a_new_turn(talk):
    session = named(talk)
    talk.send(user("hi"), session=session).fail()
    again = talk.send(user("hi"), session=session, declared=Origin.USER_QUERY)
    assert (again.origin, again.blocks, len(list(session.ledger))) == (Origin.USER_QUERY, {0: "ctx-2"}, 1)


def test_a_partial_reply_that_the_application_keeps_still_tells_the_history(talk):
    session = named(talk)
    talk.send(user("hi"), session=session).answer("Hel", outcome="cancelled")
    assert talk.send(user("hi"), assistant("Hel"), user("go on"), session=session).blocks == {0: "ctx-1", 2: "ctx-2"}


def test_a_partial_reply_that_an_anonymous_application_keeps_tells_the_history_too(talk):
    talk.send(user("hi")).answer("Hel", outcome="cancelled")
    assert talk.send(user("hi"), assistant("Hel"), user("go on")).blocks == {0: "ctx-1", 2: "ctx-2"}


def test_a_network_error_and_a_resend_in_a_named_session_run_the_hooks_once(talk):
    session = named(talk)
    talk.send(user("hi"), session=session).fail()
    again = talk.ask(user("hi"), session=session)
    assert (again.origin, again.blocks, len(talk.hook_inputs)) == (Origin.RETRY, {0: "ctx-1"}, 1)


def test_a_network_error_and_a_resend_later_in_an_anonymous_conversation_is_a_retry(talk):
    talk.ask(user("hi"), reply="Hello!")
    history = (user("hi"), assistant("Hello!"), user("why?"))
    talk.send(*history).fail()
    again = talk.ask(*history)
    assert (again.origin, again.blocks, len(talk.hook_inputs)) == (Origin.RETRY, {0: "ctx-1", 2: "ctx-2"}, 2)


def test_a_named_retry_needs_the_whole_request_to_be_equal(talk):
    session = named(talk)
    talk.ask(user("a"), session=session, reply="b")
    talk.send(user("a"), assistant("b"), user("c"), session=session).fail()
    edited = talk.send(user("A"), assistant("b"), user("c"), session=session)
    assert edited.origin is Origin.USER_QUERY


def test_a_declared_retry_takes_the_newest_block_also_when_it_was_answered(talk):
    session = named(talk)
    talk.ask(user("hi"), session=session)
    again = talk.ask(user("hi"), session=session, declared=Origin.RETRY)
    assert (again.origin, again.blocks, len(talk.hook_inputs)) == (Origin.RETRY, {0: "ctx-1"}, 1)


def test_a_declared_retry_of_what_was_never_admitted_is_a_query(talk):
    again = talk.ask(user("hi"), session=named(talk), declared=Origin.RETRY)
    assert (again.origin, again.blocks) == (Origin.USER_QUERY, {0: "ctx-1"})


def test_a_declared_retry_does_not_send_a_blocked_prompt(talk):
    talk.outcome = BLOCKED
    for declared in (None, Origin.RETRY):
        with pytest.raises(HookBlocked):
            talk.ask(user("rm -rf /"), session=named(talk), declared=declared)


def test_a_frameworks_validation_retry_is_a_query_that_nobody_vouches_for(talk):
    submission = Submission(model_parts="give me json", submitted_prompt="give me json", producer="chat")
    first = talk.ask(user("give me json"), reply="{", submission=submission)
    history = (user("give me json"), assistant("{"), user("Validation failed. Fix the errors and try again."))
    second = talk.ask(*history, submission=submission)
    assert first.admitted.turn.submitted_prompt == "give me json"
    assert (second.origin, second.admitted.turn.submitted_prompt) == (Origin.USER_QUERY, None)
    assert second.blocks == {0: "ctx-1", 2: "ctx-2"}


def test_tool_results_are_their_own_entry_keyed_by_the_tool_ids(talk):
    session = named(talk)
    call = assistant(calls=["c1", "c2"])
    talk.ask(user("read"), session=session, reply=call)
    after_tools = talk.ask(user("read"), call, tool("c1"), tool("c2"), session=session, reply="done")
    last = talk.ask(user("read"), call, tool("c1"), tool("c2"), assistant("done"), user("thanks"), session=session)
    assert (after_tools.origin, after_tools.blocks) == (Origin.TOOL_RESULT, {0: "ctx-1", 3: "ctx-2"})
    assert last.blocks == {0: "ctx-1", 3: "ctx-2", 5: "ctx-3"}


def test_a_tool_result_hook_is_given_no_prompt_and_no_submission(talk):
    call = assistant(calls=["c1"])
    submission = Submission(model_parts="", submitted_prompt="x", producer="chat")
    talk.ask(user("read"), call, tool("c1"), submission=submission)
    assert (talk.hook_inputs[0].prompt, talk.hook_inputs[0].submitted_prompt) == ("", None)


def test_tool_results_of_a_declared_cron_turn_are_tool_results(talk):
    sent = talk.ask(user("x"), assistant(calls=["c"]), tool("c"), session=named(talk), declared=Origin.CRON)
    assert sent.origin is Origin.TOOL_RESULT


def test_an_assistant_prefill_and_trailing_system_messages_are_skipped(talk):
    sent = talk.ask(user("hi"), system("be brief"), assistant("Sure, "))
    assert sent.blocks == {0: "ctx-1"}


def test_a_memory_in_this_request_is_not_delivered_again_and_after_truncation_it_is(talk):
    talk.memories = (Memory(id="m1", text="likes tea", score=1.0, version="v"),)
    session = named(talk)
    first = talk.ask(user("tea?"), session=session, reply="yes")
    second = talk.ask(user("tea?"), assistant("yes"), user("sure?"), session=session, reply="quite")
    truncated = talk.ask(user("sure?"), assistant("quite"), user("tea?"), session=session)
    delivered = [[m.id for m in turn.admitted.prepared.block.recalled] for turn in (first, second, truncated)]
    assert delivered == [["m1"], [], ["m1"]]


def test_a_submission_is_spent_on_the_message_that_it_names_only(talk):
    submission = Submission(model_parts="hi", submitted_prompt="hi", producer="chat")
    title = talk.ask(user("Give this chat a title"), submission=submission)
    turn = talk.ask(user("hi"), submission=submission)
    assert (title.admitted.turn.submitted_prompt, turn.admitted.turn.submitted_prompt) == (None, "hi")


def test_a_submission_of_another_session_is_not_used(talk):
    submission = Submission(model_parts="hi", submitted_prompt="hi", producer="chat", session="other")
    assert talk.ask(user("hi"), session=named(talk), submission=submission).admitted.turn.submitted_prompt is None
    assert not submission.spent


def test_an_anonymous_conversation_goes_on_in_its_session(talk):
    first = talk.ask(user("hi"), reply="Hello!")
    second = talk.ask(user("hi"), assistant("Hello!"), user("more"))
    assert first.session is second.session


def test_another_users_session_of_the_same_id_is_refused(talk):
    talk.sessions.named("s", "alice")
    with pytest.raises(ValueError, match="session 's' is of another user than 'bob'; open another one"):
        talk.sessions.named("s", "bob")


def test_identical_parallel_calls_of_one_session_run_the_hooks_once():
    talk, session = Talk(), Session(id="s")
    at_hook, go_on = threading.Event(), threading.Event()
    performed = talk._perform

    def slow(step):
        if not isinstance(step, type(None)) and type(step).__name__ == "RunHooks":
            at_hook.set()
            assert go_on.wait(60)
        if type(step).__name__ == "Wait":
            go_on.set()
        return performed(step)

    talk._perform = slow
    sent = []
    leader = threading.Thread(target=lambda: sent.append(talk.send(user("hi"), session=session)))
    leader.start()
    assert at_hook.wait(60)
    sent.append(talk.send(user("hi"), session=session))
    leader.join(60)
    assert [turn.blocks for turn in sent] == [{0: "ctx-1"}, {0: "ctx-1"}]
    assert len(talk.hook_inputs) == 1


def test_a_follower_of_a_blocked_flight_is_blocked_too():
    talk, session = Talk(), Session(id="s")
    talk.outcome = HookOutcome(blocked=True, reason="no", blocked_by=("guard",))
    steps = [session.steps(s, pipeline=_fires()) for s in (_hi(), _hi())]
    next(steps[0])
    wait = next(steps[1])
    with pytest.raises(HookBlocked):
        steps[0].send(talk.outcome)
    wait.flight.landed.result(timeout=60)
    with pytest.raises(HookBlocked, match="hook guard blocked"):
        steps[1].send(True)


def test_when_the_leader_is_cancelled_a_follower_leads():
    session = Session(id="s")
    steps = [session.steps(s, pipeline=_fires()) for s in (_hi(), _hi())]
    next(steps[0])
    assert type(next(steps[1])).__name__ == "Wait"
    with pytest.raises(KeyboardInterrupt):
        steps[0].throw(KeyboardInterrupt())
    assert type(steps[1].send(True)).__name__ == "RunHooks"


def test_a_follower_that_may_not_wait_goes_alone():
    session = Session(id="s")
    steps = [session.steps(s, pipeline=_fires()) for s in (_hi(), _hi())]
    next(steps[0])
    assert type(next(steps[1])).__name__ == "Wait"
    assert type(steps[1].send(False)).__name__ == "RunHooks"


def _hi():
    from tests.talking import request

    return request(user("hi"))


def _fires():
    from middleware.session import Pipeline

    return Pipeline(fires=True)


def test_a_prefill_and_its_reply_are_known_together_and_apart(talk):
    for history in ((user("q"), assistant("{a}")), (user("q"), assistant("{"), assistant("a}"))):
        talk.sessions = Talk().sessions
        first = talk.ask(user("q"), assistant("{"), reply="a}")
        assert talk.ask(*history, user("more")).blocks[0] == first.blocks[0]


def test_any_choice_of_a_reply_goes_on_in_the_anonymous_session(talk):
    sent = talk.send(user("q"))
    sent.session.settled(sent.admitted, Reply(messages=(assistant("a"), assistant("b"))), "sent")
    talk.sessions.heard(sent.session)
    assert talk.ask(user("q"), assistant("b"), user("more")).blocks == {0: "ctx-1", 2: "ctx-2"}


def test_an_empty_reply_was_delivered(talk):
    session = named(talk)
    talk.ask(user("q"), session=session, reply=assistant(""))
    assert talk.ask(user("q"), assistant(""), user("more"), session=session).blocks == {0: "ctx-1", 2: "ctx-2"}
    again = talk.ask(user("q"), session=session)
    assert again.origin is Origin.USER_QUERY


def test_parallel_replies_in_one_anonymous_conversation_leave_nothing_stale(talk):
    talk.sessions._kept = 4
    first = talk.ask(user("start"), reply="ok")
    parallel = [talk.send(user("start"), assistant("ok"), user(f"q{n}")) for n in range(3)]
    for n, sent in enumerate(reversed(parallel)):
        sent.answer(f"reply {n}")
    assert {sent.session for sent in parallel} == {first.session}
    for n in range(6):
        talk.ask(user(f"other {n}"), reply="ok")
    listed = {id for ids in talk.sessions._by_reply.values() for id in ids}
    assert listed <= set(talk.sessions._anonymous)


def test_a_named_session_that_is_still_held_outlives_the_bound(talk):
    talk.sessions._kept = 2
    held = talk.sessions.named("a", "alice")
    for name in "bcd":
        talk.sessions.named(name, None)
    assert talk.sessions.named("a", None) is held
    with pytest.raises(ValueError, match="another user than 'bob'"):
        talk.sessions.named("a", "bob")
