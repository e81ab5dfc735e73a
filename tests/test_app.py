"""Wrapping a client: what is ambient, what passes straight through, and what the caller still has."""

import asyncio
import logging

import openai
import pytest

from middleware import HookBlocked, Middleware, Origin, SettingsError, Submission, UnsupportedClient, wrap
from tests.test_prefix import OpenAIModel, async_client, counting_hook, sync_client

TAG = "qwen:user-prompt-submit-context"
HI = [{"role": "user", "content": "hi"}]


@pytest.fixture
def model():
    return OpenAIModel()


@pytest.fixture
def plain(model):
    with sync_client(model) as client:
        yield client


def ask(client, text="hi"):
    return client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])


def injected(messages):
    return TAG in repr(messages)


def test_the_wrapped_client_is_the_same_type_and_the_callers_is_untouched(model, plain):
    client = wrap(plain, hooks=[lambda payload: "ctx"])
    assert isinstance(client, openai.OpenAI) and type(client).__name__ == "OpenAI"
    ask(plain)
    ask(client)
    assert [injected(messages) for messages in model.requests] == [False, True]


def test_wrapping_a_wrapped_client_injects_once(model, plain):
    ask(wrap(wrap(plain, hooks=[lambda payload: "inner"]), hooks=[lambda payload: "outer"]))
    assert repr(model.requests[0]).count(f"<{TAG}>") == 1
    assert "outer" in repr(model.requests[0])


def test_a_copy_stays_wrapped(model, plain):
    client = wrap(plain, hooks=[lambda payload: "ctx"])
    ask(client.with_options(timeout=3))
    ask(client.copy())
    assert all(injected(messages) for messages in model.requests)


def test_something_that_is_no_client_is_refused_by_name():
    with pytest.raises(UnsupportedClient, match=r"got builtins\.dict, which is no client of openai"):
        wrap({})


def test_an_unknown_setting_is_refused(plain):
    with pytest.raises(SettingsError, match="unknown setting 'transcript' in argument"):
        wrap(plain, transcript="x")


def test_bypass_is_nobodys_turn(model, plain, tmp_path):
    with Middleware.from_settings(hooks=[lambda payload: "ctx"], transcripts=tmp_path) as app:
        client = app.wrap(plain, session=app.open("s"))
        with app.bypass():
            ask(client, "Give this chat a title")
        assert not injected(model.requests[0]) and not (tmp_path / "s.jsonl").exists()
        ask(client)
    assert injected(model.requests[1])


def test_a_title_call_beside_the_chat_leaves_the_ledger_alone(model, plain):
    app = Middleware.from_settings(hooks=[counting_hook()])
    client = app.wrap(plain, session=app.open("s"))
    ask(client)
    with app.bypass():
        ask(client, "title?")
    history = [*HI, {"role": "assistant", "content": "answer 1"}, {"role": "user", "content": "go"}]
    model.requests.clear()
    client.chat.completions.create(model="m", messages=[*HI, {"role": "user", "content": "go"}])
    assert history and repr(model.requests[0]).count(f"<{TAG}>") == 1


def test_a_model_call_inside_a_hook_passes_straight_through(model, plain):
    def hook(payload):
        ask(clients[0], "is this safe?")
        return "ctx"

    clients = [wrap(plain, hooks=[hook])]
    ask(clients[0])
    assert [injected(messages) for messages in model.requests] == [False, True]


def test_a_model_call_inside_an_async_hook_passes_straight_through(model):
    async def main():
        async def hook(payload):
            await clients[0].chat.completions.create(model="m", messages=HI)
            return "ctx"

        async with async_client(model) as plain:
            clients = [wrap(plain, hooks=[hook])]
            await clients[0].chat.completions.create(model="m", messages=HI)

    asyncio.run(main())
    assert [injected(messages) for messages in model.requests] == [False, True]


def test_a_blocked_prompt_is_not_sent_and_comes_back(model, plain):
    client = wrap(plain, hooks=[lambda payload: {"decision": "block", "reason": "secret inside"}])
    with pytest.raises(HookBlocked, match="secret inside") as caught:
        ask(client, "my password is hunter2")
    assert model.requests == [] and caught.value.prompt == "my password is hunter2"


def test_a_submission_reaches_the_hook_once(plain):
    seen = []
    app = Middleware.from_settings(hooks=[lambda payload: seen.append(payload.get("submitted_prompt"))])
    client = app.wrap(plain)
    with app.submitting(Submission(model_parts="@f why\nFILE", submitted_prompt="@f why", producer="chat")):
        ask(client, "a title please")
        ask(client, "@f why\nFILE")
        ask(client, "@f why\nFILE")
    assert seen == [None, "@f why", None]


def test_an_origin_may_be_declared_by_name(plain):
    seen = []
    app = Middleware.from_settings(hooks=[seen.append])
    client = app.wrap(plain)
    with app.origin("cron"):
        ask(client)
    with app.origin(Origin.USER_QUERY):
        ask(client)
    assert len(seen) == 1


def test_without_continuations_only_user_queries_fire_hooks(model, plain):
    client = wrap(plain, hooks=[counting_hook()], continuations=False)
    history = list(HI)
    while model.turn(history, model.call(client, history)):
        pass
    assert repr(model.requests[-1]).count(f"<{TAG}>") == 1


def test_ambient_sessions_of_two_middlewares_do_not_mix(plain, tmp_path):
    apps = [Middleware.from_settings(transcripts=tmp_path / name) for name in "ab"]
    with apps[0].session("s"), apps[1].session("t"):
        for app in apps:
            ask(app.wrap(plain))
    assert [(tmp_path / path).exists() for path in ("a/s.jsonl", "b/t.jsonl")] == [True, True]
    for app in apps:
        app.close()


def test_a_session_without_an_id_holds_its_calls_together(plain, tmp_path):
    with Middleware.from_settings(transcripts=tmp_path) as app, app.session() as session:
        client = app.wrap(plain)
        ask(client, "one")
        ask(client, "two")
    assert [path.stem for path in tmp_path.iterdir()] == [session.id]


def test_a_hook_that_fails_or_prints_rubbish_never_stops_the_prompt(model, plain, tmp_path, caplog):
    (tmp_path / "hooks.json").write_text(
        '{"hooks": {"UserPromptSubmit": [{"hooks": ['
        '{"type": "command", "command": "exit 3", "name": "crash"},'
        '{"type": "command", "command": "sleep 30", "name": "hang", "timeout": 0.1},'
        '{"type": "command", "command": "echo \'{rubbish\'", "name": "rubbish"},'
        '{"type": "command", "command": "echo context", "name": "fine"}]}]}}'
    )
    with caplog.at_level(logging.WARNING, "firsthand"):
        ask(wrap(plain, hooks_file=tmp_path / "hooks.json"))
    assert f"<{TAG}>\ncontext\n</{TAG}>" == model.requests[0][0]["content"][-1]["text"]
    told = "\n".join(record.message for record in caplog.records)
    assert all(f"hook {name}" in told for name in ("crash", "hang", "rubbish")) and "hook fine" not in told


def test_a_wrong_hooks_file_is_refused_when_wrapping(plain, tmp_path):
    (tmp_path / "hooks.json").write_text('{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "carrier-pigeon"}]}]}}')
    with pytest.raises(SettingsError, match="carrier-pigeon") as caught:
        wrap(plain, hooks_file=tmp_path / "hooks.json")
    assert "\n" not in str(caught.value) and "hooks.json" in str(caught.value)


def test_recall_needs_an_explicit_user(model, plain, tmp_path):
    from recall_store import Record

    with Middleware.from_settings(store=f"sqlite:///{tmp_path}/m.db", recall_timeout=60) as app:
        app.store.upsert(namespace="alice", records=[Record(text="the CI runner is called brontes")])
        ask(app.wrap(plain), "what is our CI runner called?")
        ask(app.wrap(plain, session=app.open("s", user="alice")), "what is our CI runner called?")
        ask(app.wrap(plain, session=app.open("t", user="bob")), "what is our CI runner called?")
    assert ["brontes" in repr(messages) for messages in model.requests] == [False, True, False]


def test_a_recall_that_fails_or_is_late_costs_no_turn(model, plain, tmp_path):
    with Middleware.from_settings(store=f"sqlite:///{tmp_path}/m.db", user="alice") as app:
        app.store.close()
        ask(app.wrap(plain), "what is our CI runner called?")
    assert len(model.requests) == 1


def test_a_sync_call_in_a_loops_thread_does_not_wait_for_that_loops_own_task(model, plain):
    async def main():
        started, session = asyncio.Event(), app.open("s")

        async def hook(payload):
            if not started.is_set():
                started.set()
                await finished.wait()
            return "ctx"

        app.hook("UserPromptSubmit", hook)
        finished = asyncio.Event()
        async with async_client(model) as slow:
            client = app.wrap(slow, session=session)
            task = asyncio.create_task(client.chat.completions.create(model="m", messages=HI))
            await started.wait()
            ask(app.wrap(plain, session=session))
            finished.set()
            await task

    app = Middleware.from_settings()
    asyncio.run(main())
    assert len(model.requests) == 2


def test_a_request_that_cannot_be_read_is_the_servers_to_refuse(model, plain, caplog):
    client = wrap(plain, hooks=[lambda payload: "ctx"])
    client.post("/chat/completions", body={"model": "m", "messages": [5]}, cast_to=object)
    assert model.requests == [[5]]


def test_the_ledger_does_not_keep_a_megabyte(plain):
    from middleware.parts import Message, Part

    text = "x" * 1_000_000
    identity = Message(role="user", parts=(Part(kind="text", text=text),)).identity()
    assert len(repr(identity)) < 300
    assert identity != Message(role="user", parts=(Part(kind="text", text=text[:-1] + "y"),)).identity()


def test_a_hook_for_an_event_that_is_never_fired_is_refused():
    app = Middleware.from_settings()
    with pytest.raises(ValueError, match="'PreToolUse' is not fired here, so the hook would never run; one of"):
        app.hook("PreToolUse", lambda payload: False)


@pytest.mark.parametrize("hooks", [lambda payload: None, "hooks.json", ["hooks.json"]])
def test_hooks_that_are_no_list_of_functions_are_refused_with_what_to_give(plain, hooks):
    with pytest.raises(TypeError, match="hooks takes a list of functions"):
        wrap(plain, hooks=hooks)


def test_a_session_may_be_named_by_its_id(plain, tmp_path):
    with Middleware.from_settings(transcripts=tmp_path) as app:
        ask(app.wrap(plain, session="conv"))
    assert (tmp_path / "conv.jsonl").exists()


def test_what_is_no_session_id_no_submission_and_no_origin_is_refused():
    app = Middleware.from_settings()
    with pytest.raises(TypeError, match="a session id is a non-empty string, not 42"):
        app.open(42)
    with pytest.raises(TypeError, match="takes a Submission, not str"):
        app.submitting("hello")
    with pytest.raises(ValueError, match="'cronn' is no origin; one of user_query, tool_result"):
        app.origin("cronn")
