"""The tool loop of OpenAI's SDK over the Responses API: the prompt once, the results as results, a span a request."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from openai.lib.responses_tool_runner import (
    AsyncRegisteredFunction,
    AsyncResponsesToolRunner,
    RegisteredFunction,
    ResponsesToolRunner,
)

from middleware import Middleware
from middleware.testing import Captured
from tests.test_responses import Model

from .spellings import JSON
from .test_response_surfaces import ASKED, RESULT, TAGGED, Server

CLOCK: Any = {
    "type": "function",
    "name": "clock",
    "parameters": {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    "strict": True,
}
GIVEN: Any = {"model": "m", "input": "count", "tools": [], "store": False}


class Whole(Model):
    """Streams every item of a reply as it will be in the end: the loop compares the two."""

    def events(self, response: Any) -> Iterator[dict[str, Any]]:
        numbers = itertools.count()
        started = {**response, "status": "in_progress", "output": []}
        yield {"type": "response.created", "sequence_number": next(numbers), "response": started}
        for place, item in enumerate(response["output"]):
            for kind in ("response.output_item.added", "response.output_item.done"):
                yield {"type": kind, "sequence_number": next(numbers), "output_index": place, "item": item}
        yield {"type": "response.completed", "sequence_number": next(numbers), "response": response}


def looped(client: Any, streamed: bool) -> str:
    """Run the loop of a client of either colour to its end, and close the client; what was said last."""
    if not hasattr(client, "__aexit__"):
        with client:
            runner = ResponsesToolRunner(functions=[RegisteredFunction(CLOCK, lambda arguments: "noon")])
            return str(runner.run(client, GIVEN, stream=streamed).output_text)

    async def noon(arguments: Any) -> str:
        return "noon"

    async def main() -> str:
        async with client:
            runner = AsyncResponsesToolRunner(functions=[AsyncRegisteredFunction(CLOCK, noon)])
            return str((await runner.run(client, GIVEN, stream=streamed)).output_text)

    return asyncio.run(main())


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
def test_the_sdks_tool_loop_has_the_prompt_once_and_one_span_a_request(
    app: Middleware, captured: Captured, streamed: bool, is_async: bool
) -> None:
    plain, server = Server(Whole, tools=True), Server(Whole, tools=True)
    assert looped(plain.client(is_async=is_async), streamed) == JSON
    assert looped(app.wrap(server.client(is_async=is_async)), streamed) == JSON
    first, second = (body["input"] for body in server.bodies())
    without = [body["input"] for body in plain.bodies()]
    assert first == [ASKED]
    assert second == [ASKED, *without[1][1:], {"role": "user", "content": [TAGGED]}]
    assert without[1][-1] == RESULT
    others = [[{**body, "input": None} for body in one.bodies()] for one in (plain, server)]
    assert others[0] == others[1]
    chats = [dict(span.attributes or {}) for span in captured.spans_named("chat")]
    assert [chat["firsthand.turn.origin"] for chat in chats] == ["user_query", "tool_result"]
    assert [chat["gen_ai.response.finish_reasons"] for chat in chats] == [("tool_calls",), ("stop",)]
    assert "branch=main" not in captured.exported()
