"""Situations that broke an earlier version, each with what has to happen."""

import asyncio
import contextvars
import gc
import itertools
import json
import logging
import os
import signal
import threading
import time

import anthropic
import httpx2
import openai
import pytest

from middleware import HookBlocked, Middleware, TranscriptError
from middleware.crew import Crew
from middleware.testing import Answer, LocalModel
from tests.pace import HANG, no_hang
from tests.test_prefix import BASE, OpenAIModel, sync_client

TAG = "qwen:user-prompt-submit-context"


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def send(client, *history, **how):
    return client.chat.completions.create(model="m", messages=list(history), **how)


def counting():
    numbers = itertools.count(1)
    return lambda payload: f"ctx-{next(numbers)}"


class Replies:
    """Scripted assistant messages, a list of them being choices."""

    def __init__(self, *messages):
        self.messages = list(messages)
        self.requests = []

    def __call__(self, request):
        self.requests.append(json.loads(request.content)["messages"])
        said = self.messages.pop(0)
        choices = [
            {"index": number, "message": message, "finish_reason": "stop"}
            for number, message in enumerate(said if isinstance(said, list) else [said])
        ]
        return httpx2.Response(
            200, json={"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
        )

    def client(self):
        http = httpx2.Client(transport=httpx2.MockTransport(self))
        return openai.OpenAI(api_key="k", base_url=BASE, http_client=http, max_retries=0)


class Held:
    """A store that answers nobody before it is `free`."""

    def __init__(self):
        self.free = threading.Event()

    def search(self, *, namespace, query, top_k, where=None):
        self.free.wait(HANG)
        return []

    def warm(self, **how):
        """Nothing to load."""

    def close(self):
        """Nothing to close."""


class SlowStore:
    def __init__(self, seconds, error=None):
        self.seconds, self.error = seconds, error
        self.searches = 0

    def search(self, *, namespace, query, top_k, where=None):
        self.searches += 1
        time.sleep(self.seconds)
        if self.error is not None:
            raise self.error(f"cannot search for {query}")
        return []

    def warm(self, **how):
        """Nothing to load."""

    def close(self):
        """Nothing to close."""


def test_what_is_ambient_belongs_to_its_middleware_and_not_to_its_address():
    def gone():
        app = Middleware.from_settings(hooks=[lambda payload: "ALICE"])
        with app.session("a", user="alice"):
            return contextvars.copy_context(), id(app._wiring)

    context, address = gone()
    gc.collect()
    apps = []
    for _ in range(50):
        apps.append(Middleware.from_settings())
        if id(apps[-1]._wiring) == address:
            break
    model = OpenAIModel()
    with sync_client(model) as plain:
        session = []
        app = apps[-1]
        app.hook("UserPromptSubmit", lambda payload: session.append(payload["session_id"]))
        context.run(lambda: send(app.wrap(plain), user("hi")))
    assert session != ["a"]


@pytest.mark.parametrize(
    "first",
    [
        {"role": "assistant", "content": None, "refusal": "I cannot"},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": None, "audio": {"id": "a", "data": "AA", "expires_at": 1, "transcript": "hi"}},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
    ],
)
def test_a_reply_of_any_kind_was_delivered(first):
    model = Replies(first, assistant("x"))
    app = Middleware.from_settings(hooks=[counting()])
    with model.client() as plain:
        client = app.wrap(plain, session="s")
        reply = send(client, user("q1")).choices[0].message
        send(client, user("q1"), reply.model_dump(exclude_none=True), user("q2"))
    assert model.requests[1][0] == model.requests[0][0]


SEARCH = [
    {"type": "server_tool_use", "id": "st1", "name": "web_search", "input": {}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "st1",
        "content": [{"type": "web_search_result", "title": "t", "url": "u", "encrypted_content": "e"}],
    },
    {"type": "text", "text": "a"},
]


@pytest.mark.parametrize("how", ["objects", "dumped", "dumped without nulls"])
def test_anthropics_server_tools_are_known_again_as_objects_and_as_json(how):
    requests = []

    def answer(request):
        requests.append(json.loads(request.content)["messages"])
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "r", "type": "message", "role": "assistant", "model": "m", "content": SEARCH, "usage": usage}
        return httpx2.Response(200, json={**message, "stop_reason": "end_turn", "stop_sequence": None})

    app = Middleware.from_settings(hooks=[counting()])
    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    with anthropic.Anthropic(api_key="k", base_url=BASE, http_client=http, max_retries=0) as plain:
        client = app.wrap(plain, session="s")
        said = client.messages.create(model="m", max_tokens=5, messages=[user("q1")]).content
        if how != "objects":
            said = [block.model_dump(exclude_none="without" in how) for block in said]
        history = [user("q1"), {"role": "assistant", "content": said}, user("q2")]
        client.messages.create(model="m", max_tokens=5, messages=history)
    assert requests[1][0] == requests[0][0]


def test_a_slow_store_stalls_no_turn_however_many_come():
    async def main():
        app = Middleware.from_settings(hooks=[lambda payload: "ctx"], user="u")
        app._wiring.store = store = Held()
        client = app.wrap(model.async_openai())
        for number in range(40):
            await send(client, user(f"a question {number}"))
        await client.close()
        store.free.set()

    model = LocalModel()
    with no_hang():
        asyncio.run(main())
    assert len(model.requests) == 40


def test_a_recall_that_fails_late_quotes_nothing_in_a_log(caplog):
    async def main():
        app = Middleware.from_settings(user="u")
        app._wiring.store = SlowStore(0.3, ValueError)
        client = app.wrap(LocalModel().async_openai())
        await send(client, user("CANARY please"))
        await asyncio.sleep(0.4)
        gc.collect()
        await client.close()

    with caplog.at_level(logging.DEBUG):
        asyncio.run(main())
    assert "CANARY" not in "".join(r.getMessage() for r in caplog.records if not r.name.startswith("openai"))


def test_when_no_thread_can_be_started_the_turn_goes_on_and_later_ones_too(monkeypatch):
    def refuse(thread):
        if thread.name.startswith("firsthand"):
            raise RuntimeError("can't start new thread")
        return start(thread)

    start = threading.Thread.start
    crew = Crew(2)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="no thread is free"):
        crew.submit(lambda: 1).result(timeout=60)
    monkeypatch.undo()
    assert crew.submit(lambda: 1).result(timeout=60) == 1


class Stop(BaseException):
    pass


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("mute")


@pytest.mark.parametrize("raised", [Stop, Mute, GeneratorExit, SystemExit])
@pytest.mark.parametrize("colour", ["sync", "async"])
def test_whatever_a_function_hook_raises_the_turn_goes_on(raised, colour):
    def hook(payload):
        raise raised

    async def hook_async(payload):
        raise raised

    async def main():
        client = Middleware.from_settings(hooks=[hook_async]).wrap(model.async_openai())
        await send(client, user("x"))
        await client.close()

    model = LocalModel()
    if colour == "async":
        asyncio.run(main())
    else:
        with model.openai() as plain:
            send(Middleware.from_settings(hooks=[hook]).wrap(plain), user("x"))
    assert len(model.requests) == 1


def test_a_reply_is_written_behind_its_message_when_identical_calls_run_together(tmp_path, monkeypatch):
    from middleware.transcript import Scribe

    write = Scribe.turn

    def slowly(self, turn, *rest):
        if turn.origin != "retry":
            time.sleep(0.1)
        return write(self, turn, *rest)

    monkeypatch.setattr(Scribe, "turn", slowly)
    model = LocalModel()
    with Middleware.from_settings(hooks=[counting()], transcripts=tmp_path) as app, model.openai() as plain:
        client = app.wrap(plain, session="s")
        threads = [threading.Thread(target=send, args=(client, user("same"))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    kinds = [json.loads(line)["type"] for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert kinds == ["user", "assistant", "assistant"]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_that_is_forked_in_the_middle_of_a_turn_does_not_wait_for_it(tmp_path):
    at_hook, go_on = threading.Event(), threading.Event()

    def hook(payload):
        at_hook.set()
        go_on.wait(60)
        return "ctx"

    model = LocalModel()
    with Middleware.from_settings(hooks=[hook], transcripts=tmp_path) as app, model.openai() as plain:
        client = app.wrap(plain, session="s")
        writer = app._folder.writer("s")
        thread = threading.Thread(target=send, args=(client, user("hi")))
        thread.start()
        assert at_hook.wait(60)
        with writer.lock:
            child = os.fork()
        if child == 0:
            signal.alarm(8)
            go_on.set()
            send(client, user("hi"))
            os._exit(0)
        go_on.set()
        thread.join()
        assert os.waitpid(child, 0)[1] == 0


def test_with_strict_the_callers_exception_and_a_block_are_what_the_caller_gets(tmp_path):
    error = ConnectionError("mine")
    model = LocalModel(Answer(text="a b c", error=error, error_after=3))
    with Middleware.from_settings(transcripts=tmp_path / "t", strict=True) as app, model.openai() as plain:
        stream = send(app.wrap(plain, session="s"), user("x"), stream=True)
        next(stream)
        app._folder.close()
        (tmp_path / "t" / "s.jsonl").unlink()
        (tmp_path / "t" / "s.jsonl").mkdir()
        with pytest.raises(ConnectionError) as caught:
            list(stream)
        assert caught.value is error
        app.hook("UserPromptSubmit", lambda payload: False)
        with pytest.raises((HookBlocked, TranscriptError)):
            send(app.wrap(plain, session="s"), user("y"))


def test_a_transcript_with_odd_values_costs_no_call(tmp_path):
    payload = {"recall": [{"id": "a", "score": "high"}, 7], "displayText": 5}
    record = {"uuid": "u1", "parentUuid": None, "sessionId": "s", "timestamp": "t", "type": "user"}
    message = {"role": "user", "parts": [{"text": "q"}]}
    line = json.dumps({**record, "message": message, "systemPayload": payload})
    (tmp_path / "s.jsonl").write_text(line + "\n")
    model = LocalModel()
    with Middleware.from_settings(transcripts=tmp_path) as app, model.openai() as plain:
        send(app.wrap(plain, session="s"), user("q"))
    assert len(model.requests) == 1


def test_what_the_sdk_sends_unwrapped_is_sent_wrapped():
    deep = 1
    for _ in range(600):
        deep = [deep]
    model = LocalModel()
    with model.openai() as plain:
        client = Middleware.from_settings(hooks=[lambda payload: "ctx"]).wrap(plain)
        send(client, user([{"type": "image_url", "image_url": {"url": "x"}, "deep": deep}]))
        send(client, user(5))
    assert model.requests[1]["messages"] == [user(5)]


def test_a_reply_that_is_told_in_two_looks_is_known(tmp_path):
    model = LocalModel(default="ok")
    with (
        Middleware.from_settings(hooks=[lambda payload: "A"], transcripts=tmp_path) as one,
        Middleware.from_settings(hooks=[lambda payload: "B"], transcripts=tmp_path) as two,
        model.openai() as plain,
    ):
        first, second = one.wrap(plain, session="s"), two.wrap(plain, session="s")
        stream = send(first, user("qX"), stream=True)
        next(stream)
        send(second, user("side"))
        list(stream)
        send(second, user("qX"), assistant("ok"), user("qY"))
    assert model.requests[-1]["messages"][0] == model.requests[0]["messages"][0]


def test_a_client_of_a_class_with_another_constructor_is_wrapped():
    class Ours(openai.OpenAI):
        def __init__(self, name):
            model = LocalModel()
            self.model = model
            super().__init__(api_key=name, base_url=BASE, http_client=model.openai()._client)

    with Ours("k") as plain:
        client = Middleware.from_settings(hooks=[lambda payload: "ctx"]).wrap(plain)
        send(client, user("hi"))
        assert isinstance(client, Ours) and TAG in repr(plain.model.requests[0])
