"""Every spelling of a call through real SDK clients: what is sent, what the caller gets, what is recorded."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware
from middleware.testing import Captured, LocalModel

from .conftest import TAGGED, closed
from .spellings import ASYNC, JSON, SYNC, body, resource

KINDS = ("openai", "anthropic")
NOT_THERE = {("anthropic", "raw_parse")}
CASES = [
    (kind, is_async, name)
    for kind in KINDS
    for is_async, table in ((False, SYNC), (True, ASYNC))
    for name in table
    if (kind, name) not in NOT_THERE
]


def spelled(kind: str, is_async: bool, name: str, client: Any) -> str:
    if not is_async:
        return SYNC[name](kind, client)

    async def run() -> str:
        try:
            return str(await ASYNC[name](kind, client))
        finally:
            await client.close()

    return asyncio.run(run())


def client_of(kind: str, is_async: bool, model: LocalModel) -> Any:
    return getattr(model, f"async_{kind}" if is_async else kind)()


@pytest.mark.parametrize(("kind", "is_async", "name"), CASES)
def test_a_spelling_sends_the_tagged_part_alone_more_and_gives_and_records_the_same(
    captured: Captured, app: Middleware, tmp_path: Path, kind: str, is_async: bool, name: str
) -> None:
    plain = LocalModel(default=JSON)
    original = client_of(kind, is_async, plain)
    wrapped = app.wrap(client_of(kind, is_async, captured.model))
    assert isinstance(wrapped, type(original))
    assert spelled(kind, is_async, name, wrapped) == spelled(kind, is_async, name, original) == JSON

    (without,), (sent,) = plain.requests, captured.requests
    parts = without["messages"][0]["content"]
    listed = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
    assert sent == {**without, "messages": [{"role": "user", "content": [*listed, TAGGED]}]}

    (chat,) = captured.spans_named("chat")
    assert chat.attributes is not None
    assert chat.attributes["firsthand.turn.outcome"] == "sent"
    assert chat.attributes["gen_ai.response.finish_reasons"] == ("stop" if kind == "openai" else "end_turn",)
    assert chat.attributes["gen_ai.provider.name"] == kind
    assert "branch=main" not in captured.exported()

    (transcript,) = (tmp_path / "transcripts").glob("*.jsonl")
    user, assistant = [json.loads(line) for line in transcript.read_text().splitlines()]
    assert user["systemPayload"] == {"displayText": "count", "hookContext": "branch=main"}
    assert assistant["message"] == {"role": "model", "parts": [{"text": JSON}]}
    if not is_async:
        closed(wrapped), closed(original)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["raw", "streaming", "iter_lines"])
def test_a_raw_response_that_is_left_early_is_settled_once_as_cancelled(
    captured: Captured, app: Middleware, kind: str, how: str
) -> None:
    client = app.wrap(client_of(kind, False, captured.model))
    calls = resource(kind, client)
    if how == "raw":
        with calls.with_raw_response.create(**body(kind), stream=True).parse() as chunks:
            next(chunks)
    else:
        with calls.with_streaming_response.create(**body(kind), stream=True) as response:
            next(response.parse() if how == "streaming" else response.iter_lines())
    chats = captured.spans_named("chat")
    del calls
    closed(client)
    assert [(chat.attributes or {}).get("firsthand.turn.outcome") for chat in chats] == ["cancelled"]
    assert len(captured.spans_named("chat")) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["parse", "iter_lines", "nothing"])
def test_an_async_response_that_is_left_early_is_settled_once_as_cancelled(
    captured: Captured, app: Middleware, kind: str, how: str
) -> None:
    async def main() -> list[Any]:
        async with app.wrap(client_of(kind, True, captured.model)) as client:
            calls = resource(kind, client)
            async with calls.with_streaming_response.create(**body(kind), stream=True) as response:
                if how == "iter_lines":
                    await anext(response.iter_lines())
                elif how == "parse":
                    await anext(await response.parse())
            return captured.spans_named("chat")

    chats = asyncio.run(main())
    assert [(chat.attributes or {}).get("firsthand.turn.outcome") for chat in chats] == ["cancelled"]
    assert len(captured.spans_named("chat")) == 1
