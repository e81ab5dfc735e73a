"""Settled exactly once on every way out: one chat span with the right status, one turn in the transcript."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Settings
from middleware.ledger import Ledger
from middleware.settle import drain_dropped
from middleware.testing import Answer, Captured, Failure, capture

MESSAGES: Any = [{"role": "user", "content": "count to three"}]
KINDS = ("openai", "async_openai", "anthropic", "async_anthropic")
OUTCOME, ERROR, FINISH = "firsthand.turn.outcome", "error.type", "gen_ai.response.finish_reasons"


@dataclass
class Room:
    """A wrapped client of one SDK and colour, with what it exports and writes down."""

    kind: str
    captured: Captured
    app: Middleware
    folder: Path
    client: Any

    @property
    def is_async(self) -> bool:
        return self.kind.startswith("async")

    def opened(self) -> Any:
        """A stream, or an awaitable of one."""
        if self.kind.endswith("openai"):
            return self.client.chat.completions.create(model="local", messages=MESSAGES, stream=True)
        return self.client.messages.create(model="local", max_tokens=9, messages=MESSAGES, stream=True)

    def managed(self) -> Any:
        """The manager that `.stream()` gives."""
        if self.kind.endswith("openai"):
            return self.client.chat.completions.stream(model="local", messages=MESSAGES)
        return self.client.messages.stream(model="local", max_tokens=9, messages=MESSAGES)

    def run(self, sync: Callable[[], Any], colour: Callable[[], Any]) -> Any:
        if not self.is_async:
            return sync()
        return asyncio.run(colour())

    def settled(self) -> tuple[list[Any], list[str]]:
        """(outcome, error type, finish reasons) of the chat spans, and the types of the transcript's records."""
        gc.collect()
        drain_dropped(30)
        spans = [
            (found.get(OUTCOME), found.get(ERROR), found.get(FINISH))
            for found in (span.attributes or {} for span in self.captured.spans_named("chat"))
        ]
        assert len(self.captured.spans_named("firsthand.turn")) == len(spans)
        lines = [line for path in self.folder.glob("*.jsonl") for line in path.read_text().splitlines()]
        return spans, [json.loads(line)["type"] for line in lines]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def room(kind: str, tmp_path: Path) -> Iterator[Callable[..., Room]]:
    with contextlib.ExitStack() as stack:

        def make(script: Any = "one two three") -> Room:
            captured = stack.enter_context(capture(script))
            app = stack.enter_context(Middleware(Settings(transcripts=str(tmp_path)), **captured.providers))
            here = Room(kind, captured, app, tmp_path, app.wrap(getattr(captured.model, kind)()))
            stack.callback(here.run, here.client.close, here.client.close)
            return here

        yield make


def whole(kind: str) -> tuple[str, ...]:
    return ("stop",) if kind.endswith("openai") else ("end_turn",)


def test_a_stream_read_to_its_end_is_sent(room: Callable[..., Room], kind: str) -> None:
    here = room()

    async def colour() -> None:
        async for _ in await here.opened():
            pass

    here.run(lambda: list(here.opened()), colour)
    assert here.settled() == ([("sent", None, whole(kind))], ["user", "assistant"])


def test_closing_a_stream_after_its_end_changes_nothing(room: Callable[..., Room], kind: str) -> None:
    here = room()

    def sync() -> None:
        with here.opened() as stream:
            list(stream)
        stream.close()

    async def colour() -> None:
        async with await here.opened() as stream:
            async for _ in stream:
                pass
        await stream.close()

    here.run(sync, colour)
    assert here.settled() == ([("sent", None, whole(kind))], ["user", "assistant"])


def test_a_stream_that_is_left_and_closed_is_cancelled_with_what_came(room: Callable[..., Room]) -> None:
    here = room()

    def sync() -> None:
        stream = here.opened()
        for _, _ in zip(range(4), stream, strict=False):
            pass
        stream.close()

    async def colour() -> None:
        stream = await here.opened()
        for _ in range(4):
            await anext(stream)
        await stream.close()

    here.run(sync, colour)
    assert here.settled() == ([("cancelled", None, ("error",))], ["user", "assistant"])


def test_leaving_a_stream_after_its_finish_reason_is_no_cancel(room: Callable[..., Room], kind: str) -> None:
    here = room()

    def ends(chunk: Any) -> bool:
        return bool(chunk.choices[0].finish_reason if kind.endswith("openai") else chunk.type == "message_delta")

    def sync() -> None:
        with here.opened() as stream:
            next(chunk for chunk in stream if ends(chunk))

    async def colour() -> None:
        async with await here.opened() as stream:
            async for chunk in stream:
                if ends(chunk):
                    break

    here.run(sync, colour)
    assert here.settled() == ([("sent", None, whole(kind))], ["user", "assistant"])


def test_leaving_the_with_of_a_stream_early_is_a_cancel(room: Callable[..., Room]) -> None:
    here = room()

    def sync() -> Any:
        with here.opened() as stream:
            next(stream)
        return stream, here.settled()

    async def colour() -> Any:
        async with await here.opened() as stream:
            await anext(stream)
        return stream, here.settled()

    _, settled = here.run(sync, colour)
    assert settled == ([("cancelled", None, ("error",))], ["user"])


def test_leaving_the_stream_manager_early_is_a_cancel_at_once(room: Callable[..., Room]) -> None:
    here = room()

    def sync() -> Any:
        with here.managed() as stream:
            next(iter(stream))
        return stream, here.settled()

    async def colour() -> Any:
        async with here.managed() as stream:
            await anext(aiter(stream))
        return stream, here.settled()

    _, settled = here.run(sync, colour)
    assert settled[0] == [("cancelled", None, ("error",))]


def test_a_dropped_stream_is_settled_when_it_is_collected(room: Callable[..., Room]) -> None:
    here = room()

    def sync() -> None:
        next(here.opened())

    async def colour() -> None:
        await anext(await here.opened())

    here.run(sync, colour)
    assert here.settled() == ([("cancelled", None, ("error",))], ["user"])


def test_a_stream_that_nobody_reads_is_settled_when_it_is_collected(room: Callable[..., Room]) -> None:
    here = room()

    async def colour() -> None:
        await here.opened()

    here.run(lambda: here.opened() and None, colour)
    assert here.settled() == ([("cancelled", None, ("error",))], ["user"])


def test_an_interrupt_in_a_stream_is_a_cancel_and_reaches_the_caller(room: Callable[..., Room]) -> None:
    here = room(Answer(text="one two three", error=KeyboardInterrupt(), error_after=1))

    async def colour() -> None:
        async for _ in await here.opened():
            pass

    with pytest.raises(KeyboardInterrupt):
        here.run(lambda: list(here.opened()), colour)
    spans, _ = here.settled()
    assert spans == [("cancelled", "KeyboardInterrupt", ("error",))]


@pytest.mark.parametrize("kind", ["async_openai", "async_anthropic"], indirect=True)
def test_a_cancelled_task_settles_its_stream_as_cancelled(room: Callable[..., Room]) -> None:
    here = room()

    async def reading() -> None:
        async for _ in await here.opened():
            task = asyncio.current_task()
            assert task is not None
            task.cancel()

    async def main() -> None:
        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(reading())

    asyncio.run(main())
    spans, _ = here.settled()
    assert spans == [("cancelled", "asyncio.exceptions.CancelledError", ("error",))]


@pytest.mark.parametrize("kind", ["async_openai", "async_anthropic"], indirect=True)
def test_a_task_that_is_cancelled_before_the_answer_is_cancelled(room: Callable[..., Room]) -> None:
    tasks: list[asyncio.Task[Any]] = []
    here = room(lambda body: "never" if tasks[0].cancel() else "too late")

    async def main() -> None:
        tasks.append(asyncio.create_task(here.opened()))
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]

    asyncio.run(main())
    spans, _ = here.settled()
    assert spans[0][0] == "cancelled" and len(spans) == 1


def test_a_refusal_before_the_stream_is_an_error_with_its_status(room: Callable[..., Room], kind: str) -> None:
    here = room(Failure(status=503, message="overloaded"))

    async def colour() -> None:
        await here.opened()

    with pytest.raises(Exception) as caught:
        here.run(here.opened, colour)
    assert getattr(caught.value, "status_code", None) == 503
    assert here.settled() == ([("error", "503", ("error",))], ["user"])


@pytest.mark.parametrize("after", [0, 3])
def test_a_connection_that_breaks_is_an_error_of_the_sdk(room: Callable[..., Room], after: int, kind: str) -> None:
    import httpx2

    here = room(Answer(text="one two three", error=httpx2.ReadError("broke"), error_after=after))

    async def colour() -> None:
        async for _ in await here.opened():
            pass

    with pytest.raises(Exception) as caught:
        here.run(lambda: list(here.opened()), colour)
    spans, records = here.settled()
    name = f"{type(caught.value).__module__}.{type(caught.value).__qualname__}"
    assert spans == [("error", name, ("error",))]
    assert records == (["user", "assistant"] if after else ["user"])


def test_the_collector_may_settle_a_stream_in_a_thread_that_holds_the_ledgers_lock(room: Callable[..., Room]) -> None:
    here = room()
    if here.is_async:
        return

    class Cycle:
        stream: Any
        own: Any

    cycle = Cycle()
    cycle.own, cycle.stream = cycle, here.opened()
    next(cycle.stream)
    ledgers = [found for found in gc.get_objects() if type(found) is Ledger]
    gc.disable()
    try:
        del cycle
        for ledger in ledgers:
            ledger._lock.acquire()
        gc.collect()
        for ledger in ledgers:
            ledger._lock.release()
    finally:
        gc.enable()
    assert here.settled()[0] == [("cancelled", None, ("error",))]
