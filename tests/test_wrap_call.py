"""`app.wrap_call`: functions that take OpenAI-shaped messages go through the middleware, whatever they answer."""

from __future__ import annotations

import asyncio
import copy
import functools
import gc
import inspect
import itertools
import json
from types import SimpleNamespace

import pytest

from middleware import HookBlocked, Middleware
from middleware.hooks.prompt import PromptHook
from middleware.settle import drain_dropped
from middleware.testing import capture
from tests.test_prefix import OpenAIModel, assert_prefixes, counting_hook

TAG = "qwen:user-prompt-submit-context"
HI = [{"role": "user", "content": "hi"}]


def context(number):
    return f"<{TAG}>\ncontext &lt;{number}&gt;\n</{TAG}>"


def completion(text="fine", **usage):
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"id": "c1", "model": "m-1", "choices": [choice], "usage": usage or None}


def chunks(*words):
    for word in words:
        yield {"id": "c1", "model": "m-1", "choices": [{"index": 0, "delta": {"content": word}}]}
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    yield {"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}


class Room:
    """A middleware with a counting hook, what it exports, and what a function was given."""

    def __init__(self, captured, tmp_path):
        self.captured, self.folder = captured, tmp_path
        self.app = Middleware.from_settings(hooks=[counting_hook()], transcripts=tmp_path, **captured.providers)
        self.given = []

    def settled(self):
        gc.collect()
        drain_dropped(30)
        names = ("firsthand.turn.outcome", "error.type", "gen_ai.response.finish_reasons")
        spans = [tuple(dict(s.attributes).get(n) for n in names) for s in self.captured.spans_named("chat")]
        lines = [line for path in self.folder.glob("*.jsonl") for line in path.read_text().splitlines()]
        return spans, [json.loads(line)["type"] for line in lines]

    def texts(self):
        """The texts of the last message that the function was given."""
        return [part["text"] for part in self.given[-1][-1]["content"]]


@pytest.fixture
def room(tmp_path):
    with capture() as captured:
        here = Room(captured, tmp_path)
        with here.app:
            yield here


SENT = ([("sent", None, ("stop",))], ["user", "assistant"])


def test_by_keyword_and_by_position_and_with_the_same_signature(room):
    def ask(model, messages, temperature=1.0):
        """Ask."""
        room.given.append(messages)
        return completion(prompt_tokens=5, completion_tokens=2)

    wrapped = room.app.wrap_call(ask, provider="acme")
    assert inspect.signature(wrapped) == inspect.signature(ask) and wrapped.__doc__ == "Ask."
    before = copy.deepcopy(HI)
    assert wrapped("m", HI) == wrapped(model="m", messages=HI) == completion(prompt_tokens=5, completion_tokens=2)
    assert before == HI
    assert [each[0]["content"][1]["text"] for each in room.given] == [context(1), context(2)]
    span = room.captured.spans_named("chat")[0]
    found = dict(span.attributes)
    assert span.name == "chat m"
    assert (found["gen_ai.provider.name"], found["gen_ai.response.model"]) == ("acme", "m-1")
    assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.output_tokens"]) == (5, 2)


def test_arguments_arrive_as_they_were_given(room):
    seen = []

    @functools.wraps(lambda model, messages, timeout=3: None)
    def ask(*args, **kwargs):
        seen.append((args, kwargs))

    wrapped = room.app.wrap_call(ask)
    wrapped("m", HI, timeout=4)
    wrapped(messages=iter(HI), model="m")
    assert [(len(args), list(kwargs)) for args, kwargs in seen] == [(2, ["timeout"]), (0, ["messages", "model"])]
    assert isinstance(seen[1][1]["messages"], list)


def test_it_is_a_decorator_of_functions_and_methods(room):
    class Gateway:
        @room.app.wrap_call
        def ask(self, msgs=None, *, messages, model="m"):
            room.given.append(messages)
            return self, completion()

    gateway = Gateway()
    assert gateway.ask(messages=HI) == (gateway, completion())
    assert room.captured.spans_named("chat m")
    bound = room.app.wrap_call(SimpleNamespace(ask=lambda prompts: room.given.append(prompts)).ask, messages="prompts")
    assert bound(HI) is None
    assert room.texts() == ["hi", context(2)]


def test_a_function_without_such_a_parameter_is_refused(room):
    def ask(prompt, model): ...

    with pytest.raises(ValueError, match=r"ask, which has no parameter 'messages' \(it has model, prompt\)"):
        room.app.wrap_call(ask)


def test_arguments_that_the_function_refuses_are_refused_by_it(room):
    wrapped = room.app.wrap_call(lambda messages, model: None)
    with pytest.raises(TypeError, match="missing 2 required positional arguments"):
        wrapped()
    assert room.settled() == ([], [])


def objects(value):
    return json.loads(json.dumps(value), object_hook=lambda held: SimpleNamespace(**held))


OLLAMA = {
    "model": "m-1",
    "message": {"role": "assistant", "content": "fine"},
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 5,
    "eval_count": 2,
}


@pytest.mark.parametrize("answer", [completion(), objects(completion()), OLLAMA, objects(OLLAMA)])
def test_replies_in_the_shapes_of_openai_and_ollama_are_read(room, answer):
    assert room.app.wrap_call(lambda messages: answer)(HI) is answer
    assert room.settled() == SENT
    (path,) = room.folder.iterdir()
    assert json.loads(path.read_text().splitlines()[-1])["message"]["parts"] == [{"text": "fine"}]


@pytest.mark.parametrize("answer", [None, "fine", 7, object(), ["fine"], {"message": "fine"}, {"choices": 3}])
def test_any_other_answer_settles_without_a_reply(room, answer):
    assert room.app.wrap_call(lambda messages: answer)(HI) is answer
    assert room.settled() == ([("sent", None, None)], ["user"])


def test_ollamas_tool_calls_are_read(room):
    call = {"function": {"name": "look", "arguments": {"at": 1}}}
    answer = {"message": {"role": "assistant", "content": "", "tool_calls": [call, call]}, "done_reason": "stop"}
    room.app.wrap_call(lambda messages: answer, session=room.app.open("value"))(HI)
    list(room.app.wrap_call(lambda messages: iter([answer, answer]), session=room.app.open("stream"))(HI))
    for name, count in (("value", 2), ("stream", 4)):
        last = json.loads((room.folder / f"{name}.jsonl").read_text().splitlines()[-1])
        said = {"functionCall": {"id": "", "name": "look", "args": {"at": 1}}}
        assert last["message"]["parts"] == [said] * count


def test_an_error_is_the_callers(room):
    def ask(messages):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        room.app.wrap_call(ask)(HI)
    assert room.settled() == ([("error", "KeyError", ("error",))], ["user"])


async def _async_chunks(*words):
    for chunk in chunks(*words):
        yield chunk


def returns(messages, stream=True):
    return chunks("one ", "two")


def yields(messages, stream=True):
    yield from chunks("one ", "two")


def iterates(messages, stream=True):
    return iter(list(chunks("one ", "two")))


def streams_ollama(messages, stream=True):
    for word in ("one ", "two"):
        yield {"message": {"role": "assistant", "content": word}, "done": False}
    yield {**OLLAMA, "message": {"role": "assistant", "content": ""}}


async def awaited(messages, stream=True):
    return _async_chunks("one ", "two")


async def yields_async(messages, stream=True):
    async for chunk in _async_chunks("one ", "two"):
        yield chunk


def returns_async(messages, stream=True):
    return _async_chunks("one ", "two")


@pytest.mark.parametrize("fn", [returns, yields, iterates, streams_ollama])
def test_streams_settle_at_their_end_and_when_they_are_left(room, fn):
    wrapped = room.app.wrap_call(fn)
    assert list(wrapped(HI)) == list(fn(HI))
    assert room.settled() == SENT
    (span,) = room.captured.spans_named("chat")
    assert dict(span.attributes)["gen_ai.usage.input_tokens"] == 5
    stream = wrapped([*HI, {"role": "assistant", "content": "one two"}, {"role": "user", "content": "more"}])
    next(stream)
    del stream
    assert room.settled()[0][1:] == [("cancelled", None, ("error",))]
    assert list(wrapped(HI)) == list(fn(HI))


@pytest.mark.parametrize("fn", [awaited, yields_async, returns_async])
def test_async_streams_settle_at_their_end_and_when_they_are_closed(room, fn):
    wrapped = room.app.wrap_call(fn)

    async def opened():
        made = wrapped(HI)
        return await made if inspect.isawaitable(made) else made

    async def talk():
        said = [chunk async for chunk in await opened()]
        stream = await opened()
        await anext(stream)
        await stream.aclose()
        return said

    assert inspect.iscoroutinefunction(wrapped) == inspect.iscoroutinefunction(fn)
    assert asyncio.run(talk()) == list(chunks("one ", "two"))
    assert room.settled()[0] == [("sent", None, ("stop",)), ("cancelled", None, ("error",))]


@pytest.mark.parametrize("fn", [yields, yields_async])
def test_a_generator_that_is_never_iterated_asks_nobody(room, fn):
    room.app.wrap_call(fn)(HI)
    assert room.settled() == ([], [])


class Either:
    """A stream as litellm's: of both colours."""

    def __init__(self, *words):
        self._chunks = chunks(*words)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._chunks)

    def __aiter__(self):
        return self

    async def __anext__(self):
        try:
            return next(self._chunks)
        except StopIteration:
            raise StopAsyncIteration from None


def test_a_stream_of_both_colours_is_read_in_either(room):
    async def acompletion(messages):
        return Either("one")

    async def talk():
        return [chunk async for chunk in await room.app.wrap_call(acompletion)(HI)]

    assert list(room.app.wrap_call(lambda messages: Either("one"))(HI)) == asyncio.run(talk()) == list(chunks("one"))
    assert room.settled()[0] == [("sent", None, ("stop",))] * 2


def test_an_async_function_is_awaited_and_its_callable_object_too(room):
    class Gateway:
        async def __call__(self, messages):
            room.given.append(messages)
            return completion()

    assert asyncio.run(room.app.wrap_call(Gateway())(HI)) == completion()
    assert room.texts() == ["hi", context(1)] and room.settled() == SENT


def test_string_content_stays_a_string_with_inline():
    given = []
    app = Middleware.from_settings(hooks=[counting_hook()], placement="inline")
    app.wrap_call(lambda messages: given.append(messages))(HI)
    assert given == [[{"role": "user", "content": f"hi\n\n{context(1)}"}]]


def test_a_blocked_prompt_does_not_reach_the_function():
    given = []
    wrapped = Middleware.from_settings(hooks=[lambda payload: False]).wrap_call(lambda messages: given.append(messages))
    with pytest.raises(HookBlocked):
        wrapped(HI)
    assert given == []


def test_a_prompt_hook_asks_the_function_itself():
    given = []

    def ask(messages, model="m", *, key, tools=None, stream=False, **more):
        given.append({"messages": messages, "model": model, "key": key, "tools": tools, "stream": stream, **more})
        return completion('{"ok": true, "additionalContext": "asked"}')

    app = Middleware.from_settings(hooks=[PromptHook(prompt="Safe? $ARGUMENTS", model="small")])
    app.wrap_call(ask)(HI, key="k", tools=["t"])
    question, turn = given
    assert question["messages"][0]["content"].startswith("Safe? {")
    assert {**question, "messages": None} == {
        "messages": None, "model": "small", "key": "k", "tools": None, "stream": False, "max_tokens": 500,
        "temperature": 0,
    }  # fmt: skip
    assert turn["tools"] == ["t"] and turn["messages"][0]["content"][1]["text"] == f"<{TAG}>\nasked\n</{TAG}>"


@pytest.mark.parametrize("colour", ["sync", "async", "stream"])
def test_each_request_of_ten_tool_turns_is_a_prefix_of_the_next(colour):
    model, history, numbers = OpenAIModel(), [], itertools.count()

    def ask(messages, model_name="m"):
        model.requests.append(copy.deepcopy(messages))
        number = next(numbers)
        return model.reply(number, wants_tool=number % 2 == 0)

    async def ask_async(messages):
        return ask(messages)

    def ask_stream(messages):
        reply = ask(messages)["choices"][0]
        delta = dict(reply["message"])
        calls = [{"index": place, **call} for place, call in enumerate(delta.pop("tool_calls", ()))]
        yield {"choices": [{"index": 0, "delta": {**delta, "tool_calls": calls}}]}
        yield {"choices": [{"index": 0, "delta": {}, "finish_reason": reply["finish_reason"]}]}

    app = Middleware.from_settings(hooks=[counting_hook()])
    wrapped = app.wrap_call({"sync": ask, "async": ask_async, "stream": ask_stream}[colour])
    for number in range(10):
        history.append({"role": "user", "content": f"question {number}"})
        while True:
            reply = wrapped(history)
            if colour == "stream":
                message = next(reply)["choices"][0]["delta"]
                list(reply)
            else:
                reply = asyncio.run(reply) if colour == "async" else reply
                message = reply["choices"][0]["message"]
            calls = message.get("tool_calls") or ()
            history.append({name: value for name, value in message.items() if name != "tool_calls" or calls})
            history += [{"role": "tool", "tool_call_id": call["id"], "content": "noon"} for call in calls]
            if not calls:
                break
    assert_prefixes(model)
    assert TAG not in repr(history) and repr(model.requests[-1]).count(f"</{TAG}>") == 20


@pytest.mark.parametrize("capture_content", ["NO_CONTENT", "SPAN_AND_EVENT"])
def test_a_canary_in_the_context_is_in_nothing_exported(capture_content):
    given = []

    def ask(messages, fails):
        given.append(messages)
        if fails:
            raise ValueError("refused")
        return completion()

    with capture() as seen:
        hooks = [lambda payload: "CANARY"]
        app = Middleware.from_settings(hooks=hooks, capture_content=capture_content, **seen.providers)
        wrapped = app.wrap_call(ask)
        wrapped(HI, fails=False)
        with pytest.raises(ValueError, match="refused"):
            wrapped([{"role": "user", "content": "other"}], fails=True)
        assert "CANARY" in repr(given) and "CANARY" not in seen.exported()
        assert len(seen.spans_named("chat")) == 2
