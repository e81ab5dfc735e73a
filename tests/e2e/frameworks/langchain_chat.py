"""LangChain's ChatOpenAI: a tool loop with chat completions and Responses, values and streams; structured output."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage, message_to_dict
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from .stage import Clients, play, without

OWN = ("id", "response_metadata", "usage_metadata")


@tool
def look(at: int) -> str:
    """Look somewhere."""
    return f"seen {at}"


class Number(BaseModel):
    """A number."""

    value: int


def model(clients: Clients, name: str = "searcher", **options: Any) -> ChatOpenAI:
    w, later = clients.sync, clients.later
    return ChatOpenAI(
        model=name,
        client=w.chat.completions,
        root_client=w,
        async_client=later.chat.completions,
        root_async_client=later,
        **options,
    )


def opening() -> list[Any]:
    return [SystemMessage("Be brief."), HumanMessage("please find it")]


def looked(said: Any) -> list[Any]:
    return [said, *(ToolMessage(look.invoke(call["args"]), tool_call_id=call["id"]) for call in said.tool_calls)]


def told(messages: list[Any]) -> Any:
    return without([message_to_dict(message) for message in messages], *OWN)


def loop(ask: Any) -> Any:
    messages = opening()
    messages += looked(ask(messages))
    messages += [ask(messages), HumanMessage("thanks")]
    return told([*messages, ask(messages)])


async def loop_later(ask: Any) -> Any:
    messages = opening()
    messages += looked(await ask(messages))
    messages += [await ask(messages), HumanMessage("thanks")]
    return told([*messages, await ask(messages)])


def invoke(clients: Clients, **options: Any) -> Any:
    return loop(model(clients, **options).bind_tools([look]).invoke)


async def ainvoke(clients: Clients, **options: Any) -> Any:
    return await loop_later(model(clients, **options).bind_tools([look]).ainvoke)


def stream(clients: Clients, **options: Any) -> Any:
    asked = model(clients, **options).bind_tools([look])
    return loop(lambda messages: reduce(add, asked.stream(messages)))


async def astream(clients: Clients, **options: Any) -> Any:
    asked = model(clients, **options).bind_tools([look])

    async def whole(messages: Any) -> Any:
        return reduce(add, [chunk async for chunk in asked.astream(messages)])

    return await loop_later(whole)


def responses(clients: Clients) -> Any:
    return invoke(clients, use_responses_api=True)


async def responses_later(clients: Clients) -> Any:
    return await ainvoke(clients, use_responses_api=True)


def responses_stream(clients: Clients) -> Any:
    return stream(clients, use_responses_api=True)


async def responses_astream(clients: Clients) -> Any:
    return await astream(clients, use_responses_api=True)


def parse(clients: Clients) -> Any:
    return model(clients, "seven").with_structured_output(Number).invoke("how many?").model_dump()


async def parse_later(clients: Clients) -> Any:
    return (await model(clients, "seven").with_structured_output(Number).ainvoke("how many?")).model_dump()


if __name__ == "__main__":
    play(
        {
            "chat": invoke,
            "chat_later": ainvoke,
            "chat_stream": stream,
            "chat_astream": astream,
            "responses": responses,
            "responses_later": responses_later,
            "responses_stream": responses_stream,
            "responses_astream": responses_astream,
            "parse": parse,
            "parse_later": parse_later,
        }
    )
