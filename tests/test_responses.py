"""OpenAI's Responses API: strings and items, the provider's own thread, streams, tools."""

import asyncio
import itertools
import json

import httpx2
import openai
import pydantic
import pytest

from middleware import Middleware, Origin, wrap
from middleware.testing import capture
from tests.test_prefix import BASE, bytes_of, counting_hook

HOOK = "<qwen:user-prompt-submit-context>\n{}\n</qwen:user-prompt-submit-context>"


class Model:
    """Answers with text, or with a function call first; keeps the bodies that it was sent."""

    def __init__(self, *, tools=False, text="fine"):
        self.bodies = []
        self.tools = tools
        self.text = text
        self._numbers = itertools.count(1)

    def __call__(self, request):
        body = json.loads(request.content)
        self.bodies.append(body)
        number = next(self._numbers)
        response = self.response(number, wants_tool=self.tools and number % 2 == 1)
        if not body.get("stream"):
            return httpx2.Response(200, json=response)
        events = self.events(response)
        lines = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=lines)

    async def answer(self, request):
        return self(request)

    def response(self, number, *, wants_tool):
        words = f"{self.text} {number}" if self.text == "fine" else self.text
        thought = {"type": "reasoning", "id": f"rs{number}", "summary": []}
        call = {"type": "function_call", "id": f"fc{number}", "call_id": f"call{number}", "name": "clock"}
        text = {"type": "output_text", "text": words, "annotations": []}
        message = {"type": "message", "id": f"m{number}", "role": "assistant", "status": "completed", "content": [text]}
        return {
            "id": f"resp{number}",
            "object": "response",
            "created_at": 1,
            "model": "m",
            "status": "completed",
            "output": [thought, {**call, "arguments": "{}"} if wants_tool else message],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 10,
                "output_tokens": 5,
                "total_tokens": 15,
                "input_tokens_details": {"cached_tokens": 4},
                "output_tokens_details": {"reasoning_tokens": 2},
            },
        }

    def events(self, response):
        numbers = itertools.count()
        started = {**response, "status": "in_progress", "output": []}
        yield {"type": "response.created", "sequence_number": next(numbers), "response": started}
        item = {**response["output"][1], "content": []}
        yield {"type": "response.output_item.added", "sequence_number": next(numbers), "output_index": 1, "item": item}
        place = {"item_id": item["id"], "output_index": 1, "content_index": 0}
        part = {"type": "output_text", "text": "", "annotations": []}
        yield {"type": "response.content_part.added", "sequence_number": next(numbers), **place, "part": part}
        for word in ("fi", "ne"):
            kind = "response.output_text.delta"
            yield {"type": kind, "sequence_number": next(numbers), **place, "delta": word, "logprobs": []}
        yield {"type": "response.completed", "sequence_number": next(numbers), "response": response}


def sync_client(model):
    http = httpx2.Client(transport=httpx2.MockTransport(model))
    return openai.OpenAI(api_key="k", base_url=BASE, http_client=http, max_retries=0)


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def client(model):
    with sync_client(model) as plain:
        yield wrap(plain, hooks=[counting_hook()])


def context(number):
    return HOOK.format(f"context &lt;{number}&gt;")


def test_a_string_input_becomes_one_user_message_of_two_parts(model, client):
    assert client.responses.create(model="m", input="hi").output_text == "fine 1"
    assert model.bodies[0]["input"] == [
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "hi"}, {"type": "input_text", "text": context(1)}],
        }
    ]


def test_a_string_input_stays_as_it_is_when_nothing_is_added(model):
    with sync_client(model) as plain:
        wrap(plain, hooks=[lambda payload: None]).responses.create(model="m", input="hi")
    assert model.bodies == [{"model": "m", "input": "hi"}]


def test_the_callers_items_are_not_changed(model, client):
    items = [{"role": "user", "content": "hi"}]
    client.responses.create(model="m", input=items)
    assert items == [{"role": "user", "content": "hi"}]


def test_ten_turns_with_tools_are_prefixes_of_one_another():
    model, history = Model(tools=True), []
    with sync_client(model) as plain:
        client = wrap(plain, hooks=[counting_hook()])
        for number in range(10):
            history.append({"role": "user", "content": f"question {number}"})
            while True:
                reply = client.responses.create(model="m", input=history)
                history += [item.model_dump(exclude_none=True) for item in reply.output]
                calls = [item for item in reply.output if item.type == "function_call"]
                history += [{"type": "function_call_output", "call_id": c.call_id, "output": "noon"} for c in calls]
                if not calls:
                    break
    assert len(model.bodies) == 20
    for before, after in itertools.pairwise(body["input"] for body in model.bodies):
        assert bytes_of(after)[: len(before)] == bytes_of(before)
    assert sum("qwen:user-prompt-submit-context" in repr(item) for item in model.bodies[-1]["input"]) == 20


def test_tool_results_get_a_user_message_of_their_own_or_a_part(model):
    items = [
        {"role": "user", "content": "hi"},
        {"type": "function_call", "call_id": "c", "name": "clock", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "noon"},
    ]
    with sync_client(model) as plain:
        for how in ("user", "tool_part"):
            wrap(plain, hooks=[counting_hook()], tool_placement=how).responses.create(model="m", input=items)
    own, part = (body["input"] for body in model.bodies)
    assert own[3:] == [{"role": "user", "content": [{"type": "input_text", "text": context(1)}]}]
    assert part[2]["output"] == [{"type": "input_text", "text": "noon"}, {"type": "input_text", "text": context(1)}]


def test_the_providers_thread_says_which_session_it_is(model, tmp_path):
    with sync_client(model) as plain, Middleware.from_settings(transcripts=tmp_path) as app:
        client = app.wrap(plain)
        first = client.responses.create(model="m", input="hi")
        client.responses.create(model="m", input="hi")
        second = client.responses.create(model="m", input="more", previous_response_id=first.id)
        client.responses.create(model="m", input="and more", previous_response_id=second.id)
    typed = sorted(
        [json.loads(line)["message"]["parts"][0]["text"] for line in path.read_text().splitlines()]
        for path in tmp_path.iterdir()
    )
    assert typed == [["hi", "fine 1", "more", "fine 3", "and more", "fine 4"], ["hi", "fine 2"]]


def test_a_conversation_is_a_thread_as_well(model, tmp_path):
    with sync_client(model) as plain, Middleware.from_settings(transcripts=tmp_path) as app:
        client = app.wrap(plain)
        client.responses.create(model="m", input="hi", conversation="conv1")
        client.responses.create(model="m", input="more", conversation={"id": "conv1"})
    assert len(list(tmp_path.iterdir())) == 1


def test_only_new_input_is_injected_into(model, client):
    first = client.responses.create(model="m", input="hi")
    client.responses.create(model="m", input="more", previous_response_id=first.id)
    assert [part["text"] for part in model.bodies[1]["input"][0]["content"]] == ["more", context(2)]
    assert len(model.bodies[1]["input"]) == 1


def test_session_start_context_goes_into_the_instructions(model):
    app = Middleware.from_settings()
    app.hook("SessionStart", lambda payload: "ctx")
    with sync_client(model) as plain:
        app.wrap(plain).responses.create(model="m", input="hi", instructions="be brief")
    block = "<qwen:session-start-context>\nctx\n</qwen:session-start-context>"
    assert (model.bodies[0]["instructions"], model.bodies[0]["input"]) == (f"be brief\n\n{block}", "hi")


@pytest.mark.parametrize("kind", ["value", "stream", "manager", "raw", "parse", "streaming"])
def test_every_spelling_is_injected_and_settled_once(kind, tmp_path):
    class Shape(pydantic.BaseModel):
        a: int

    model = Model(text='{"a": 1}') if kind == "parse" else Model()
    with capture() as seen, sync_client(model) as plain:
        app = Middleware.from_settings(hooks=[counting_hook()], transcripts=tmp_path, **seen.providers)
        responses = app.wrap(plain, session=app.open("s")).responses
        request = {"model": "m", "input": "hi"}
        if kind == "value":
            responses.create(**request)
        elif kind == "stream":
            assert [e.delta for e in responses.create(**request, stream=True) if "delta" in e.type] == ["fi", "ne"]
        elif kind == "manager":
            with responses.stream(**request) as stream:
                assert stream.get_final_response().output_text == "fine 1"
        elif kind == "raw":
            assert responses.with_raw_response.create(**request).parse().output_text == "fine 1"
        elif kind == "parse":
            assert responses.parse(**request, text_format=Shape).output_parsed == Shape(a=1)
        else:
            with responses.with_streaming_response.create(**request) as raw:
                assert raw.parse().output_text == "fine 1"
        app.close()
        (span,) = seen.spans_named("chat")
    assert model.bodies[0]["input"][0]["content"][1]["text"] == context(1)
    found = dict(span.attributes)
    assert span.name == "chat m"
    assert found["gen_ai.response.finish_reasons"] == ("stop",)
    assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.output_tokens"]) == (10, 5)
    assert found["gen_ai.usage.cache_read.input_tokens"] == 4
    kinds = [json.loads(line)["type"] for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert kinds == ["user", "assistant"]


def test_the_async_client_streams(model):
    async def main():
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(model.answer))
        async with openai.AsyncOpenAI(api_key="k", base_url=BASE, http_client=http) as plain:
            stream = await wrap(plain, hooks=[counting_hook()]).responses.create(model="m", input="hi", stream=True)
            return [event.type async for event in stream]

    assert asyncio.run(main())[-1] == "response.completed"
    assert model.bodies[0]["input"][0]["content"][1]["text"] == context(1)


def test_a_stream_left_early_keeps_what_had_come(model, tmp_path):
    with sync_client(model) as plain, Middleware.from_settings(transcripts=tmp_path) as app:
        client = app.wrap(plain, session=app.open("s"))
        with client.responses.create(model="m", input="hi", stream=True) as stream:
            next(event for event in stream if event.type == "response.output_text.delta")
    record = json.loads((tmp_path / "s.jsonl").read_text().splitlines()[-1])
    assert record["message"]["parts"] == [{"text": "fi"}]


def test_a_function_call_output_last_is_a_tool_result_send(model, tmp_path):
    seen = []
    app = Middleware.from_settings(hooks=[seen.append])
    items = [
        {"role": "user", "content": "hi"},
        {"type": "function_call", "call_id": "c", "name": "clock", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "noon"},
    ]
    with sync_client(model) as plain, app.origin(Origin.USER_QUERY):
        app.wrap(plain).responses.create(model="m", input=items)
    assert seen[0]["prompt"] == ""


def test_embeddings_have_a_span_of_their_own_and_are_no_turn(model):
    def answer(request):
        row = {"object": "embedding", "index": 0, "embedding": [0.5]}
        usage = {"prompt_tokens": 7, "total_tokens": 7}
        return httpx2.Response(200, json={"object": "list", "model": "e", "data": [row], "usage": usage})

    with capture() as seen, sync_client(answer) as plain:
        app = Middleware.from_settings(hooks=[counting_hook()], capture_content=True, **seen.providers)
        app.wrap(plain).embeddings.create(model="e", input="CANARY", dimensions=1, encoding_format="float")
        (span,) = seen.spans
    assert span.name == "embeddings e"
    assert span.attributes["gen_ai.usage.input_tokens"] == 7
    assert "CANARY" not in repr(dict(span.attributes))
