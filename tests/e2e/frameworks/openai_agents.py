"""openai-agents: an agent with a tool, on the default client, Responses and chat completions, values and streams."""

from __future__ import annotations

import json
from typing import Any, Literal

from agents import Agent, Runner, function_tool, set_default_openai_api, set_default_openai_client, set_trace_processors
from agents.tracing import TracingProcessor

from .stage import CANARY, Clients, play, without

OWN = ("id", "response_id", "provider_data")


@function_tool
def look(at: int) -> str:
    """Look somewhere."""
    return f"seen {at}"


class Kept(TracingProcessor):
    """The SDK's own trace, in place of its export to OpenAI."""

    def __init__(self) -> None:
        self.spans: list[Any] = []

    def on_trace_start(self, trace: Any) -> None: ...
    def on_trace_end(self, trace: Any) -> None: ...
    def on_span_start(self, span: Any) -> None: ...
    def shutdown(self) -> None: ...
    def force_flush(self) -> None: ...

    def on_span_end(self, span: Any) -> None:
        self.spans.append(span)


kept = Kept()


def agent(clients: Clients, api: Literal["responses", "chat_completions"]) -> Agent[Any]:
    kept.spans.clear()
    set_trace_processors([kept])
    set_default_openai_client(clients.later)
    set_default_openai_api(api)
    return Agent(name="finder", instructions="Be brief.", model="searcher", tools=[look])


def next_input(result: Any) -> Any:
    return [*result.to_input_list(), {"role": "user", "content": "thanks"}]


def told(*results: Any) -> Any:
    history = without(results[-1].to_input_list(), *OWN)
    traced = [span.export() for span in kept.spans]
    assert CANARY not in json.dumps([traced, [repr(vars(span.span_data)) for span in kept.spans]], default=str)
    kinds = [span["span_data"]["type"] for span in traced]
    return {"said": [result.final_output for result in results], "history": history, "traced": kinds}


async def run(clients: Clients, api: Literal["responses", "chat_completions"]) -> Any:
    asked = agent(clients, api)
    one = await Runner.run(asked, "please find it")
    return told(one, await Runner.run(asked, next_input(one)))


async def streamed(clients: Clients, api: Literal["responses", "chat_completions"]) -> Any:
    asked, kinds = agent(clients, api), []
    one = Runner.run_streamed(asked, "please find it")
    kinds.append([event.type async for event in one.stream_events()])
    two = Runner.run_streamed(asked, next_input(one))
    kinds.append([event.type async for event in two.stream_events()])
    return {**told(one, two), "events": kinds}


async def responses(clients: Clients) -> Any:
    return await run(clients, "responses")


async def responses_stream(clients: Clients) -> Any:
    return await streamed(clients, "responses")


async def chat(clients: Clients) -> Any:
    return await run(clients, "chat_completions")


async def chat_stream(clients: Clients) -> Any:
    return await streamed(clients, "chat_completions")


def chat_sync(clients: Clients) -> Any:
    asked = agent(clients, "chat_completions")
    one = Runner.run_sync(asked, "please find it")
    return told(one, Runner.run_sync(asked, next_input(one)))


if __name__ == "__main__":
    play(
        {
            "responses": responses,
            "responses_stream": responses_stream,
            "chat": chat,
            "chat_stream": chat_stream,
            "chat_sync": chat_sync,
        }
    )
