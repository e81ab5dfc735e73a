"""The start of a session, hooks that are not waited for, and hooks that ask the model: through wrapped clients."""

import asyncio
import json
import threading

import anthropic
import httpx2
import openai
import pytest

from middleware import HookBlocked, Middleware
from middleware.hooks import PromptHook
from tests.test_prefix import BASE, MODELS, AnthropicModel, OpenAIModel, bytes_of, sync_client

SESSION = "<qwen:session-start-context>\n{}\n</qwen:session-start-context>"
SUBAGENT = "<qwen:subagent-start-context>\n{}\n</qwen:subagent-start-context>"
HOOK = "<qwen:user-prompt-submit-context>\n{}\n</qwen:user-prompt-submit-context>"


def app_with(hooks, **settings):
    app = Middleware.from_settings(**settings)
    for event, function in hooks:
        app.hook(event, function)
    return app


class Bodies(OpenAIModel):
    """Keeps whole bodies."""

    def __call__(self, request):
        self.body = json.loads(request.content)
        return super().__call__(request)


class AnthropicBodies(AnthropicModel):
    __call__ = Bodies.__call__

    def __init__(self):
        super().__init__()
        self.answer_to = super().__call__


def texts(content):
    return [part["text"] for part in content]


def ask(client, *messages):
    return client.chat.completions.create(model="m", messages=list(messages))


def user(text):
    return {"role": "user", "content": text}


def test_session_start_context_is_a_tagged_block_of_the_system_instruction(tmp_path):
    seen, model = [], OpenAIModel()
    app = app_with([("SessionStart", lambda payload: seen.append(payload) or "be <kind>")])
    with sync_client(model) as plain:
        client = app.wrap(plain, session=app.open("s"))
        ask(client, {"role": "system", "content": "be brief"}, user("hi"))
        ask(client, {"role": "system", "content": "be brief"}, user("hi"))
    assert [texts(messages[0]["content"]) for messages in model.requests] == [
        ["be brief", SESSION.format("be &lt;kind&gt;")]
    ] * 2
    assert [(p["hook_event_name"], p["source"], p["model"]) for p in seen] == [("SessionStart", "startup", "m")]
    assert "prompt" not in seen[0]


def test_without_a_system_message_one_is_put_first():
    model = OpenAIModel()
    app = app_with([("SessionStart", lambda payload: "ctx")])
    with sync_client(model) as plain:
        ask(app.wrap(plain), user("hi"))
    assert model.requests[0] == [
        {"role": "system", "content": [{"type": "text", "text": SESSION.format("ctx")}]},
        user("hi"),
    ]


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (None, [SESSION.format("ctx")]),
        ("be brief", ["be brief", SESSION.format("ctx")]),
        ([{"type": "text", "text": "be brief"}], ["be brief", SESSION.format("ctx")]),
    ],
)
def test_anthropics_system_parameter_gets_the_block_last(given, sent):
    bodies = []

    def answer(request):
        bodies.append(json.loads(request.content))
        return httpx2.Response(200, json=AnthropicModel().reply(1, wants_tool=False))

    app = app_with([("SessionStart", lambda payload: "ctx")])
    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    with anthropic.Anthropic(api_key="k", base_url=BASE, http_client=http) as plain:
        extra = {} if given is None else {"system": given}
        app.wrap(plain).messages.create(model="m", max_tokens=9, messages=[user("hi")], **extra)
    assert texts(bodies[0]["system"]) == sent


def test_session_start_runs_once_for_an_anonymous_conversation_too():
    calls, model, history = [], OpenAIModel(), [user("hi")]
    app = app_with([("SessionStart", lambda payload: calls.append(1) or "ctx")])
    with sync_client(model) as plain:
        client = app.wrap(plain)
        while model.turn(history, model.call(client, history)):
            pass
    assert (len(calls), len(model.requests)) == (1, 2)
    assert bytes_of(model.requests[1])[: len(model.requests[0])] == bytes_of(model.requests[0])


def test_session_start_context_outlives_the_process(tmp_path):
    calls, model = [], OpenAIModel()
    for _ in range(2):
        hook = ("SessionStart", lambda payload: calls.append(payload["source"]) or f"ctx {len(calls)}")
        with app_with([hook], transcripts=tmp_path) as app, sync_client(model) as plain:
            ask(app.wrap(plain, session=app.open("s")), user("hi"))
    assert calls == ["startup"]
    assert model.requests[0][0] == model.requests[1][0]


def test_session_start_of_a_session_that_was_there_before_says_resume(tmp_path):
    model, calls = OpenAIModel(), []
    with Middleware.from_settings(transcripts=tmp_path) as app, sync_client(model) as plain:
        ask(app.wrap(plain, session=app.open("s")), user("hi"))
    hook = ("SessionStart", lambda payload: calls.append(payload["source"]))
    with app_with([hook], transcripts=tmp_path) as app, sync_client(model) as plain:
        ask(app.wrap(plain, session=app.open("s")), user("more"))
    assert calls == ["resume"]


def test_a_session_start_hook_cannot_refuse_anything():
    model = OpenAIModel()
    app = app_with([("SessionStart", lambda payload: {"decision": "block", "reason": "no"})])
    with sync_client(model) as plain:
        ask(app.wrap(plain), user("hi"))
    assert model.requests == [[user("hi")]]


def test_session_start_context_is_in_no_span(tmp_path):
    from middleware.testing import capture

    with capture() as seen:
        app = Middleware.from_settings(**seen.providers, capture_content="SPAN_ONLY", transcripts=tmp_path)
        app.hook("SessionStart", lambda payload: "CANARY")
        app.hook("SubagentStart", lambda payload: "CANARY")
        with sync_client(OpenAIModel()) as plain:
            ask(app.wrap(plain, session=app.open("s", parent=app.open("p"))), user("hi"))
        app.close()
    assert "CANARY" not in repr([dict(span.attributes) for span in seen.spans])
    assert "CANARY" in (tmp_path / "s.jsonl").read_text()


def test_subagent_start_context_is_its_own_part_of_the_first_user_message(tmp_path):
    seen, model = [], OpenAIModel()
    hooks = [
        ("SubagentStart", lambda payload: seen.append(payload) or "sub"),
        ("UserPromptSubmit", lambda payload: seen.append(payload) or "ctx"),
    ]
    with app_with(hooks, transcripts=tmp_path) as app, sync_client(model) as plain, app.session("parent") as parent:
        client = app.wrap(plain, session=app.open("child", parent=parent, agent_type="reviewer"))
        history = [user("look")]
        while model.turn(history, model.call(client, history)):
            pass
        ask(client, *history, user("again"))
    assert texts(model.requests[0][0]["content"]) == ["look", SUBAGENT.format("sub"), HOOK.format("ctx")]
    assert model.requests[-1][0] == model.requests[0][0]
    assert texts(model.requests[-1][-1]["content"]) == ["again", HOOK.format("ctx")]
    assert (seen[0]["hook_event_name"], seen[0]["agent_id"], seen[0]["agent_type"]) == (
        "SubagentStart", "child", "reviewer",
    )  # fmt: skip
    assert seen[1]["agent_id"] == "child"
    records = [json.loads(line) for line in (tmp_path / "child.jsonl").read_text().splitlines()]
    assert (records[0]["subtype"], records[0]["systemPayload"]) == ("parent_session", {"parentSessionId": "parent"})
    assert records[1]["systemPayload"] == {"displayText": "look", "hookContext": "ctx", "subagentContext": "sub"}


def test_of_a_subagents_parallel_first_messages_one_has_the_context_of_its_start():
    model, both = OpenAIModel(), threading.Barrier(3)

    def slow(payload):
        both.wait(60)

    app = app_with([("SubagentStart", lambda payload: "be brief"), ("UserPromptSubmit", slow)])
    with sync_client(model) as plain:
        client = app.wrap(plain, session=app.open("sub", parent=app.open("main")))
        threads = [threading.Thread(target=ask, args=(client, user(f"question {n}"))) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    sent = [str(request) for request in model.requests]
    assert sorted(SUBAGENT.format("be brief").replace("\n", "\\n") in one for one in sent) == [False, False, True]


def test_a_blocked_first_message_leaves_the_context_of_the_start_to_the_next():
    model, verdicts = OpenAIModel(), iter([False, None])
    app = app_with(
        [("SubagentStart", lambda payload: "be brief"), ("UserPromptSubmit", lambda payload: next(verdicts))]
    )
    with sync_client(model) as plain:
        client = app.wrap(plain, session=app.open("sub", parent=app.open("main")))
        with pytest.raises(HookBlocked):
            ask(client, user("first"))
        ask(client, user("second"))
    assert SUBAGENT.format("be brief").replace("\n", "\\n") in str(model.requests[0])


def test_a_subagent_of_an_earlier_process_does_not_start_again(tmp_path):
    model, calls = OpenAIModel(), []
    for _ in range(2):
        hook = ("SubagentStart", lambda payload: calls.append(1) or "sub")
        with app_with([hook], transcripts=tmp_path) as app, sync_client(model) as plain:
            ask(app.wrap(plain, session=app.open("child", parent=app.open("parent"))), user("look"))
    assert len(calls) == 1


def test_a_session_without_a_parent_starts_no_subagent():
    model, calls = OpenAIModel(), []
    app = app_with([("SubagentStart", calls.append)])
    with sync_client(model) as plain:
        ask(app.wrap(plain, session=app.open("s")), user("hi"))
    assert calls == []


def hooks_file(tmp_path, *entries):
    path = tmp_path / "hooks.json"
    path.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": list(entries)}]}}))
    return path


def test_an_async_hook_is_not_waited_for_and_speaks_in_the_next_turn(tmp_path):
    go = tmp_path / "go"
    command = f"while [ ! -e {go} ]; do sleep 0.02; done; echo late"
    file = hooks_file(tmp_path, {"type": "command", "command": command, "name": "slow", "async": True, "timeout": 20})
    model = OpenAIModel()
    with Middleware.from_settings(hooks_file=file) as app, sync_client(model) as plain:
        session = app.open("s")
        heard, hear = threading.Event(), session.hear_later
        session.hear_later = lambda context: (hear(context), heard.set())
        client = app.wrap(plain, session=session)
        ask(client, user("one"))
        go.touch()
        assert heard.wait(60)
        ask(client, user("two"))
    assert model.requests[0] == [user("one")]
    assert texts(model.requests[1][-1]["content"]) == ["two", HOOK.format("late")]


def test_an_async_hook_cannot_refuse_the_turn(tmp_path):
    file = hooks_file(tmp_path, {"type": "command", "command": "echo no >&2; exit 2", "async": True})
    model = OpenAIModel()
    with Middleware.from_settings(hooks_file=file) as app, sync_client(model) as plain:
        ask(app.wrap(plain), user("hi"))
    assert len(model.requests) == 1


@pytest.mark.parametrize("model_class", MODELS)
def test_a_prompt_hook_asks_the_unwrapped_client(model_class):
    model = model_class()
    hook = PromptHook(prompt="Judge: $ARGUMENTS", name="judge")
    app = Middleware.from_settings(hooks=[hook])
    with sync_client(model) as plain:
        model.call(app.wrap(plain), [user("hi")])
    assert len(model.requests) == 2
    question = model.requests[0][0]["content"]
    assert question.startswith("Judge: {") and '"prompt": "hi"' in question


def test_a_prompt_hook_that_says_no_blocks():
    def answer(request):
        body = json.loads(request.content)
        assert body["model"] == "judge-model" and body["max_tokens"] == 500 and body["temperature"] == 0
        message = {"role": "assistant", "content": '{"ok": false, "reason": "not today"}'}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return httpx2.Response(
            200, json={"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        )

    app = Middleware.from_settings(hooks=[PromptHook(prompt="$ARGUMENTS", model="judge-model")])
    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    with openai.OpenAI(api_key="k", base_url=BASE, http_client=http) as plain:
        client = app.wrap(plain)
        with pytest.raises(HookBlocked, match="not today"):
            client.chat.completions.create(model="m", messages=[user("hi")], stream=True)


def test_a_prompt_hook_of_an_async_client_is_awaited():
    async def main():
        from tests.test_prefix import async_client

        model = OpenAIModel()
        app = Middleware.from_settings(hooks=[PromptHook(prompt="Judge: $ARGUMENTS")])
        async with async_client(model) as plain:
            await app.wrap(plain).chat.completions.create(model="m", messages=[user("hi")])
        return model

    assert len(asyncio.run(main()).requests) == 2
