"""Google's streams are generators: settled once on every way out, no request before the first chunk is asked for."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from typing import Any

import pytest
from google import genai

from middleware import Middleware, Settings
from middleware.settle import drain_dropped
from middleware.testing import Answer, Failure, capture
from tests.gemini import Gemini, texts

SENT = ([("sent", None, ("stop",))], ["user", "assistant"])
LEFT = ([("cancelled", None, ("error",))], ["user", "assistant"])
NOTHING: Any = ([], [])


class Room:
    """A wrapped client, in one colour and one spelling, with what it exports and writes down."""

    def __init__(self, app, captured, folder, model, kind):
        self.app, self.captured, self.folder, self.model = app, captured, folder, model
        self.is_async, self.is_chat = "async" in kind, "chat" in kind
        client = app.wrap(model.client())
        self.client = client.aio if self.is_async else client

    def opened(self):
        if self.is_chat:
            return self.client.chats.create(model="g").send_message_stream("hi")
        return self.client.models.generate_content_stream(model="g", contents="hi")

    def run(self, sync, colour):
        return asyncio.run(colour()) if self.is_async else sync()

    def settled(self):
        gc.collect()
        drain_dropped(30)
        names = ("firsthand.turn.outcome", "error.type", "gen_ai.response.finish_reasons")
        spans = [tuple(dict(s.attributes).get(n) for n in names) for s in self.captured.spans_named("generate_content")]
        assert len(self.captured.spans_named("firsthand.turn")) == len(spans)
        lines = [line for path in self.folder.glob("*.jsonl") for line in path.read_text().splitlines()]
        return spans, [json.loads(line)["type"] for line in lines]


@pytest.fixture(params=["models", "chat", "async models", "async chat"])
def room(request, tmp_path):
    def make(script="one two three"):
        captured = stack[0]
        app = Middleware(Settings(transcripts=str(tmp_path)), **captured.providers)
        stack.append(app)
        return Room(app, captured, tmp_path, Gemini(script), request.param)

    with capture() as captured:
        stack: list[Any] = [captured]
        yield make
        for app in stack[1:]:
            app.close()


def test_a_stream_read_to_its_end_is_sent(room):
    here = room()

    async def colour():
        return [chunk.text async for chunk in await here.opened()]

    assert here.run(lambda: [chunk.text for chunk in here.opened()], colour) == ["one ", "two ", "three"]
    assert here.settled() == SENT


def test_a_stream_never_iterated_makes_no_request_and_no_span(room):
    here = room()

    async def colour():
        await (await here.opened()).aclose()
        await here.opened()

    here.run(lambda: (here.opened().close(), here.opened()), colour)
    assert here.settled() == NOTHING and here.model.requests == []


def test_closing_after_the_first_chunk_is_an_early_end_and_the_stream_is_over(room):
    here = room()

    def sync():
        stream = here.opened()
        next(stream)
        stream.close()
        return list(stream)

    async def colour():
        stream = await here.opened()
        await anext(stream)
        await stream.aclose()
        return [chunk async for chunk in stream]

    assert here.run(sync, colour) == []
    assert here.settled() == LEFT


def test_dropping_it_is_an_early_end(room):
    here = room()

    async def colour():
        async for _ in await here.opened():
            break
        gc.collect()

    here.run(lambda: next(here.opened()), colour)
    assert here.settled() == LEFT


def test_an_error_before_the_first_chunk_is_the_sdks_and_the_stream_is_over(room):
    here = room(Failure(status=503))

    def sync():
        stream = here.opened()
        with pytest.raises(genai.errors.ServerError):
            next(stream)
        return list(stream)

    async def colour():
        stream = await here.opened()
        with pytest.raises(genai.errors.ServerError):
            await anext(stream)
        return [chunk async for chunk in stream]

    assert here.run(sync, colour) == []
    assert here.settled() == ([("error", "503", ("error",))], ["user"])


def test_an_error_midway_is_the_callers_and_what_had_come_is_kept(room):
    here = room(Answer(text="one two three", error=ConnectionResetError("gone"), error_after=1))

    async def colour():
        with pytest.raises(ConnectionResetError, match="gone"):
            [chunk async for chunk in await here.opened()]

    def sync():
        with pytest.raises(ConnectionResetError, match="gone"):
            list(here.opened())

    here.run(sync, colour)
    assert here.settled() == ([("error", "ConnectionResetError", ("error",))], ["user", "assistant"])


@pytest.mark.parametrize("started", [True, False])
def test_an_error_thrown_into_it_comes_out_and_settles(room, started):
    here = room()

    def sync():
        stream = here.opened()
        assert not started or next(stream).text == "one "
        with pytest.raises(KeyError):
            stream.throw(KeyError("mine"))
        return list(stream)

    async def colour():
        stream = await here.opened()
        assert not started or (await anext(stream)).text == "one "
        with pytest.raises(KeyError):
            await stream.athrow(KeyError("mine"))
        return [chunk async for chunk in stream]

    assert here.run(sync, colour) == []
    assert here.settled() == (([("error", "KeyError", ("error",))], ["user", "assistant"]) if started else NOTHING)


def test_values_can_be_sent_into_it_as_into_a_generator(room):
    here = room()

    async def colour():
        stream = await here.opened()
        return [(await stream.asend(None)).text for _ in range(3)]

    def sync():
        stream = here.opened()
        return [stream.send(None).text for _ in range(3)]

    assert here.run(sync, colour) == ["one ", "two ", "three"]


def test_a_cancelled_task_is_a_cancelled_turn(tmp_path):
    with capture() as captured, Middleware(Settings(transcripts=str(tmp_path)), **captured.providers) as app:
        here = Room(app, captured, tmp_path, Gemini("one two three"), "async models")

        async def colour():
            stream = await here.opened()
            await anext(stream)
            task = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(colour())
        assert here.settled()[0][0][0] == "cancelled"


def test_another_thread_may_close_it(tmp_path):
    with capture() as captured, Middleware(Settings(transcripts=str(tmp_path)), **captured.providers) as app:
        here = Room(app, captured, tmp_path, Gemini("one two three"), "models")
        stream = here.opened()
        next(stream)
        thread = threading.Thread(target=stream.close)
        thread.start()
        thread.join()
        assert here.settled() == LEFT


def test_the_session_is_the_one_that_the_stream_was_made_in(tmp_path):
    model = Gemini("one")
    app = Middleware.from_settings(hooks=[lambda payload: payload["session_id"]], transcripts=tmp_path)

    async def colour(client):
        with app.session("b"):
            stream = await client.aio.models.generate_content_stream(model="g", contents="hi")
        return [chunk async for chunk in stream]

    with app:
        client = app.wrap(model.client())
        with app.session("a"):
            stream = client.models.generate_content_stream(model="g", contents="hi")
        list(stream)
        asyncio.run(colour(client))
    assert [texts(contents[0])[1].splitlines()[1] for contents in model.contents()] == ["a", "b"]


def test_the_time_to_the_first_chunk_is_measured(room):
    here = room()

    async def colour():
        return [chunk async for chunk in await here.opened()]

    here.run(lambda: list(here.opened()), colour)
    (span,) = here.captured.spans_named("generate_content")
    assert 0 < dict(span.attributes)["gen_ai.response.time_to_first_chunk"] < 30
    assert dict(span.attributes)["gen_ai.request.stream"] is True
    assert dict(span.attributes)["gen_ai.usage.output_tokens"] == 6
