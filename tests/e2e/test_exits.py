"""Twelve ways out of a call, for each endpoint and colour: one span, one turn, and nothing new for the caller."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from opentelemetry.trace import StatusCode

from middleware import Middleware, Settings
from middleware.settle import drain_dropped
from middleware.testing import Captured, capture

from .wire import ENDPOINTS, FIRST_WORD, SPAN, WHOLE, Wire, call, cheap_collections, manager, without_injection

CANARY = "CANARY-7f3a"
OURS = ("firsthand", "middleware", "opentelemetry", "asyncio", "recall_store")
COLOURS = ("sync", "async")
BROKEN = {
    "cancel": {"error": KeyboardInterrupt()},
    "error before the first chunk": {"error": httpx2.ReadError("broke"), "after": 0},
    "error midway": {"error": httpx2.ReadError("broke")},
    "timeout": {"error": httpx2.ReadTimeout("slow")},
    "refused": {"refuse": 503},
}
"""What the server does; everything else is the caller's doing."""
LEFT = ("break", "close", "close twice", "with exit", "drop", "another task closes", "another thread closes")
EXITS = ("end", *LEFT, "never iterated", *BROKEN)


@pytest.fixture(autouse=True, scope="module")
def _cheap_collections() -> Iterator[None]:
    with cheap_collections():
        yield


@pytest.fixture(autouse=True)
def _new_objects_only() -> None:
    gc.freeze()


@dataclass
class Place:
    """Where one way out is taken: on a wrapped client or a bare one."""

    endpoint: str
    is_async: bool
    wire: Wire
    client: Any

    def opened(self) -> Any:
        return call(self.endpoint, self.client, stream=True, is_async=self.is_async)

    def value(self) -> Any:
        return call(self.endpoint, self.client, stream=False, is_async=self.is_async)


def closing(stream: Any) -> Any:
    """What `with` makes of it; Google's streams are generators."""
    return stream if hasattr(type(stream), "__enter__") else contextlib.closing(stream)


def closing_async(stream: Any) -> Any:
    return stream if hasattr(type(stream), "__aenter__") else contextlib.aclosing(stream)


def aclose(stream: Any) -> Any:
    return stream.close() if hasattr(stream, "close") else stream.aclose()


def leave(how: str, here: Place) -> list[str]:
    """Open a stream and leave it; returns what was read."""
    seen: list[str] = []
    stream = here.opened()
    if how == "never iterated":
        return seen
    if how == "end" or how in BROKEN:
        seen += (chunk.model_dump_json() for chunk in stream)
        seen += (chunk.model_dump_json() for chunk in stream)
        return seen
    with closing(stream) if how == "with exit" else contextlib.nullcontext():
        for chunk in stream:
            seen.append(chunk.model_dump_json())
            if len(seen) == FIRST_WORD[here.endpoint]:
                break
    if how == "drop":
        del stream
        gc.collect()
    if how in ("close", "close twice", "another task closes"):
        stream.close()
    if how == "close twice":
        stream.close()
    if how == "another thread closes":
        thread = threading.Thread(target=stream.close)
        thread.start()
        thread.join()
    return seen


async def leave_async(how: str, here: Place) -> list[str]:
    seen: list[str] = []
    stream = await here.opened()
    if how == "never iterated":
        return seen
    if how == "end" or how in BROKEN:
        seen += [chunk.model_dump_json() async for chunk in stream]
        seen += [chunk.model_dump_json() async for chunk in stream]
        return seen
    async with closing_async(stream) if how == "with exit" else contextlib.nullcontext():
        async for chunk in stream:
            seen.append(chunk.model_dump_json())
            if len(seen) == FIRST_WORD[here.endpoint]:
                break
    if how == "drop":
        del stream
        gc.collect()
        await asyncio.sleep(0)
    if how in ("close", "close twice"):
        await aclose(stream)
    if how == "close twice":
        await aclose(stream)
    if how == "another task closes":
        await asyncio.create_task(aclose(stream))
    if how == "another thread closes":
        await asyncio.to_thread(lambda: asyncio.run(aclose(stream)))
    return seen


async def cancelled(wire: Wire, work: Callable[[], Any]) -> Any:
    """Run it in a task of its own and cancel that once the wire hangs."""
    task = asyncio.ensure_future(work())
    hangs = asyncio.ensure_future(wire.hangs.wait())
    await asyncio.wait([task, hangs], return_when=asyncio.FIRST_COMPLETED)
    hangs.cancel()
    task.cancel()
    return await task


def outcome(work: Callable[[], Any]) -> tuple[Any, Any]:
    """(what came back, what was raised) of `work`."""
    try:
        found = work()
    except BaseException as error:
        return None, (f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins."), str(error))
    return found, None


def run_async(work: Callable[[], Any]) -> Any:
    """Run it on a loop of its own, which must hold no task of ours at the end."""

    async def main() -> Any:
        try:
            return await work()
        finally:
            gc.collect()
            for _ in range(50):  # The SDKs' own generators, dropped, are closed in tasks of the loop's.
                await asyncio.sleep(0)
            assert asyncio.all_tasks() == {asyncio.current_task()}

    return asyncio.run(main())


@pytest.fixture
def seen_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Callable[..., Any]]:
    """Does `work` on a bare client and on a wrapped one; returns the one outcome, spans and record types."""
    with capture() as captured:

        def run(wire: Wire, is_async: bool, work: Callable[[Place], Any]) -> Any:
            with Middleware(
                Settings(transcripts=str(tmp_path)), hooks=[lambda payload: CANARY], **captured.providers
            ) as app:
                outcomes, wires = [], []
                for wraps in (False, True):
                    mine = replace(wire, requests=[], hangs=asyncio.Event())
                    client = mine.client(is_async=is_async)
                    here = Place(wire.endpoint, is_async, mine, app.wrap(client) if wraps else client)
                    outcomes.append(outcome(lambda here=here: work(here)))
                    wires.append([without_injection(json.loads(body)) for body in mine.requests])
                    gc.collect()
                    drain_dropped(30)
                assert outcomes[0] == outcomes[1]
                assert wires[0] == wires[1]
                assert all(CANARY.encode() in body for body in mine.requests)
            assert [record.getMessage() for record in caplog.records if record.name.split(".")[0] in OURS] == []
            assert CANARY not in captured.exported()
            return outcomes[1], told(captured, wire.endpoint), written(tmp_path)

        yield run


def told(captured: Captured, endpoint: str) -> list[Any]:
    """(outcome, error.type, finish reasons, status) of each model span; each has its turn around it."""
    spans = captured.spans_named(SPAN[endpoint])
    assert len(captured.spans_named("firsthand.turn")) == len(spans)
    names = ("firsthand.turn.outcome", "error.type", "gen_ai.response.finish_reasons")
    return [(*(dict(span.attributes or {}).get(name) for name in names), span.status.status_code) for span in spans]


def written(folder: Path) -> list[str]:
    lines = [line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    return [json.loads(line)["type"] for line in lines]


def stream_work(how: str, is_async: bool) -> Callable[[Place], Any]:
    def work(here: Place) -> Any:
        if not is_async:
            return leave(how, here)
        if how == "cancel":
            return run_async(lambda: cancelled(here.wire, lambda: leave_async(how, here)))
        return run_async(lambda: leave_async(how, here))

    return work


def scripted(endpoint: str, how: str, *, is_async: bool) -> Wire:
    """The server of a way out; a break comes after the first word unless it comes before everything."""
    if how == "cancel" and is_async:
        return Wire(endpoint, hang=True, after=FIRST_WORD[endpoint])
    return Wire(endpoint, **{"after": FIRST_WORD[endpoint], **BROKEN.get(how, {})})  # type: ignore[arg-type]


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("how", EXITS)
def test_a_stream_is_settled_once_and_right(how: str, endpoint: str, colour: str, seen_of: Callable[..., Any]) -> None:
    is_async = colour == "async"
    wire = scripted(endpoint, how, is_async=is_async)
    (found, raised), spans, records = seen_of(wire, is_async, stream_work(how, is_async))
    both = ["user", "assistant"]
    if how == "end":
        assert found and (spans, records) == ([("sent", None, WHOLE[endpoint], StatusCode.UNSET)], both)
    elif how == "never iterated" and endpoint == "generate":
        assert (spans, records) == ([], [])
    elif how in LEFT or how == "never iterated":
        left = ("cancelled", None, ("error",), StatusCode.UNSET)
        assert (spans, records) == ([left], both if how in LEFT else ["user"])
    else:
        kind = "503" if how == "refused" else raised[0]
        ended = "cancelled" if how == "cancel" else "error"
        assert spans == [(ended, kind, ("error",), StatusCode.ERROR)]
        assert records == (["user"] if how in ("refused", "error before the first chunk") else both)


VALUES = ("end", "refused", "error", "timeout", "cancel")


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("how", VALUES)
def test_a_value_is_settled_once_and_right(how: str, endpoint: str, colour: str, seen_of: Callable[..., Any]) -> None:
    is_async = colour == "async"
    wire = {
        "end": Wire(endpoint),
        "refused": Wire(endpoint, refuse=429),
        "error": Wire(endpoint, error=httpx2.ConnectError("nobody there")),
        "timeout": Wire(endpoint, error=httpx2.ReadTimeout("slow")),
        "cancel": Wire(endpoint, hang=True) if is_async else Wire(endpoint, error=KeyboardInterrupt()),
    }[how]

    async def colourful(here: Place) -> Any:
        return await here.value()

    def work(here: Place) -> Any:
        if not is_async:
            return here.value().model_dump_json()
        if how == "cancel":
            return run_async(lambda: cancelled(here.wire, lambda: colourful(here)))
        return run_async(lambda: colourful(here)).model_dump_json()

    (found, raised), spans, records = seen_of(wire, is_async, work)
    if how == "end":
        assert found and spans == [("sent", None, WHOLE[endpoint], StatusCode.UNSET)]
        assert records == ["user", "assistant"]
        return
    ended = "cancelled" if how == "cancel" else "error"
    assert spans == [(ended, "429" if how == "refused" else raised[0], ("error",), StatusCode.ERROR)]
    assert records == ["user"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_timeout_that_runs_out_is_a_cancel(endpoint: str, stream: bool, seen_of: Callable[..., Any]) -> None:
    async def waiting(here: Place) -> None:
        async def whole() -> None:
            async for _ in await here.opened():
                pass

        async def once_it_hangs() -> None:
            await here.wire.hangs.wait()
            patience.reschedule(0)

        watch = asyncio.ensure_future(once_it_hangs())
        async with asyncio.timeout(60) as patience:
            await (whole() if stream else here.value())
        await watch

    wire = Wire(endpoint, hang=True)
    (_, raised), spans, records = seen_of(wire, True, lambda here: run_async(lambda: waiting(here)))
    assert raised[0] == "TimeoutError"
    assert spans == [("cancelled", "asyncio.exceptions.CancelledError", ("error",), StatusCode.ERROR)]
    assert records == ["user"]


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_call_that_is_never_awaited_is_no_call(endpoint: str, seen_of: Callable[..., Any]) -> None:
    async def closed(here: Place) -> None:
        for made in (here.value(), here.opened()):
            made.close()

    _, spans, records = seen_of(Wire(endpoint), True, lambda here: run_async(lambda: closed(here)))
    assert (spans, records) == ([], [])


MANAGED = ("never entered", "end", "with exit", "body raises", "refused")


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("endpoint", ["chat", "responses", "messages"])
@pytest.mark.parametrize("how", MANAGED)
def test_a_stream_manager_is_settled_once_and_right(
    how: str, endpoint: str, colour: str, seen_of: Callable[..., Any]
) -> None:
    is_async = colour == "async"

    def sync(here: Place) -> list[str]:
        made = manager(endpoint, here.client)
        seen: list[str] = []
        if how == "never entered":
            return seen
        with made as stream:
            for event in stream:
                seen.append(event.type)
                if how == "with exit" and len(seen) == FIRST_WORD[endpoint]:
                    break
                if how == "body raises" and len(seen) == FIRST_WORD[endpoint]:
                    raise KeyError("mine")
        return seen

    async def colourful(here: Place) -> list[str]:
        made = manager(endpoint, here.client)
        seen: list[str] = []
        if how == "never entered":
            # What the SDK made ready is a coroutine, which warns unless it is closed.
            for value in vars(made).values():
                getattr(value, "close", lambda: None)()
            return seen
        async with made as stream:
            async for event in stream:
                seen.append(event.type)
                if how == "with exit" and len(seen) == FIRST_WORD[endpoint]:
                    break
                if how == "body raises" and len(seen) == FIRST_WORD[endpoint]:
                    raise KeyError("mine")
        return seen

    wire = Wire(endpoint, refuse=503 if how == "refused" else None)
    work = (lambda here: run_async(lambda: colourful(here))) if is_async else sync
    (_, raised), spans, records = seen_of(wire, is_async, work)
    if how == "never entered":
        assert (spans, records) == ([], [])
    elif how == "end":
        assert spans == [("sent", None, WHOLE[endpoint], StatusCode.UNSET)] and records == ["user", "assistant"]
    elif how == "refused":
        assert spans == [("error", "503", ("error",), StatusCode.ERROR)] and records == ["user"]
    else:
        assert (raised is not None) == (how == "body raises")
        assert spans == [("cancelled", None, ("error",), StatusCode.UNSET)] and records[0] == "user"


@pytest.mark.parametrize("raw", ["read", "left", "never parsed"])
@pytest.mark.parametrize("endpoint", ["chat", "responses", "messages"])
def test_a_raw_stream_is_settled_once_and_right(endpoint: str, raw: str, seen_of: Callable[..., Any]) -> None:
    def work(here: Place) -> Any:
        methods = {"chat": lambda c: c.chat.completions, "responses": lambda c: c.responses}
        resource = methods.get(endpoint, lambda c: c.messages)(here.client).with_raw_response
        said: Any = {"input": "hi"} if endpoint == "responses" else {"messages": [{"role": "user", "content": "hi"}]}
        said |= {"max_tokens": 9} if endpoint == "messages" else {}
        response = resource.create(model="m", stream=True, **said)
        if raw == "never parsed":
            return response.status_code
        stream = response.parse()
        return [chunk.model_dump_json() for chunk in stream] if raw == "read" else next(iter(stream)).model_dump_json()

    _, spans, records = seen_of(Wire(endpoint), False, work)
    ended = ("sent", None, WHOLE[endpoint]) if raw == "read" else ("cancelled", None, ("error",))
    assert spans == [(*ended, StatusCode.UNSET)]
    assert records == (["user", "assistant"] if raw == "read" else ["user"])
