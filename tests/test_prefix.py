"""Ten turns with a tool loop each: every request starts with the bytes of the one before, and no object is changed."""

import asyncio
import copy
import itertools
import json

import anthropic
import httpx2
import openai
import pytest

from middleware import Middleware

BASE = "http://model.invalid"


class Model:
    """Answers a user message with a tool call and tool results with text; keeps what it was sent."""

    def __init__(self):
        self.requests = []
        self._ids = itertools.count()

    def __call__(self, request):
        body = json.loads(request.content)
        self.requests.append(body["messages"])
        number = next(self._ids)
        return httpx2.Response(200, json=self.reply(number, wants_tool=number % 2 == 0))

    async def answer(self, request):
        return self(request)


class OpenAIModel(Model):
    def reply(self, number, *, wants_tool):
        message = {"role": "assistant", "content": None if wants_tool else f"answer {number}"}
        if wants_tool:
            function = {"name": "clock", "arguments": "{}"}
            message["tool_calls"] = [{"id": f"call-{number}", "type": "function", "function": function}]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if wants_tool else "stop"}
        return {"id": f"r{number}", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    def turn(self, history, reply):
        message = reply.choices[0].message
        history.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls or ():
            history.append({"role": "tool", "tool_call_id": call.id, "content": "noon"})
        return bool(message.tool_calls)

    def call(self, client, history):
        return client.chat.completions.create(model="m", messages=history)


class AnthropicModel(Model):
    def reply(self, number, *, wants_tool):
        use = {"type": "tool_use", "id": f"call-{number}", "name": "clock", "input": {}}
        content = [use] if wants_tool else [{"type": "text", "text": f"answer {number}"}]
        return {
            "id": f"r{number}",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": content,
            "stop_reason": "tool_use" if wants_tool else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def turn(self, history, reply):
        history.append({"role": "assistant", "content": reply.content})
        uses = [block for block in reply.content if block.type == "tool_use"]
        if uses:
            results = [{"type": "tool_result", "tool_use_id": use.id, "content": "noon"} for use in uses]
            history.append({"role": "user", "content": results})
        return bool(uses)

    def call(self, client, history):
        return client.messages.create(model="m", max_tokens=9, messages=history)


def sync_client(model):
    http = httpx2.Client(transport=httpx2.MockTransport(model))
    if isinstance(model, OpenAIModel):
        return openai.OpenAI(api_key="k", base_url=BASE, http_client=http, max_retries=0)
    return anthropic.Anthropic(api_key="k", base_url=BASE, http_client=http, max_retries=0)


def async_client(model):
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(model.answer))
    if isinstance(model, OpenAIModel):
        return openai.AsyncOpenAI(api_key="k", base_url=BASE, http_client=http, max_retries=0)
    return anthropic.AsyncAnthropic(api_key="k", base_url=BASE, http_client=http, max_retries=0)


def bytes_of(messages):
    return [json.dumps(message, sort_keys=True, ensure_ascii=False).encode() for message in messages]


def assert_prefixes(model):
    assert len(model.requests) == 20
    for before, after in itertools.pairwise(model.requests):
        assert bytes_of(after)[: len(before)] == bytes_of(before)


def counting_hook():
    calls = itertools.count(1)
    return lambda payload: f"context <{next(calls)}>"


MODELS = [OpenAIModel, AnthropicModel]
SESSIONS = [None, "conversation-1"]


@pytest.mark.parametrize("model_class", MODELS)
@pytest.mark.parametrize("session_id", SESSIONS)
def test_each_request_is_a_prefix_of_the_next(model_class, session_id, tmp_path):
    model, history = model_class(), []
    app = Middleware.from_settings(hooks=[counting_hook()], transcripts=tmp_path)
    session = app.open(session_id) if session_id else None
    with app, sync_client(model) as plain, app.wrap(plain, session=session) as client:
        for number in range(10):
            history.append({"role": "user", "content": f"question {number}"})
            sent = copy.deepcopy(history)
            while model.turn(history, model.call(client, history)):
                assert history[: len(sent)] == sent
                sent = copy.deepcopy(history)
    assert_prefixes(model)
    injected = [part for message in model.requests[-1] for part in tagged(message)]
    tag = "qwen:user-prompt-submit-context"
    assert injected == [f"<{tag}>\ncontext &lt;{number}&gt;\n</{tag}>" for number in range(1, 21)]
    assert tag not in repr(history)


@pytest.mark.parametrize("model_class", MODELS)
def test_each_request_of_the_async_client_is_a_prefix_of_the_next(model_class):
    model, history = model_class(), []

    async def talk():
        app = Middleware.from_settings(hooks=[counting_hook()])
        async with async_client(model) as plain, app.wrap(plain) as client:
            for number in range(10):
                history.append({"role": "user", "content": f"question {number}"})
                while model.turn(history, await model.call(client, history)):
                    pass

    asyncio.run(talk())
    assert_prefixes(model)


def tagged(message):
    content = message.get("content")
    texts = [part.get("text") for part in content] if isinstance(content, list) else []
    return [text for text in texts if text and text.startswith("<qwen:")]
