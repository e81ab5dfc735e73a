"""pydantic-ai: an agent with a tool, chat completions and Responses, values and streams; a validation retry."""

from __future__ import annotations

import json
from typing import Any

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from .stage import Clients, play, without

OWN = ("timestamp", "usage", "provider_response_id", "provider_url", "run_id", "conversation_id", "id")


def agent(clients: Clients, kind: Any = OpenAIChatModel, model: str = "searcher") -> Agent[None, str]:
    made = Agent(kind(model, provider=OpenAIProvider(openai_client=clients.later)), instructions="Be brief.")

    @made.tool_plain
    def look(at: int) -> str:
        return f"seen {at}"

    return made


def told(*results: Any) -> Any:
    history = json.loads(ModelMessagesTypeAdapter.dump_json(results[-1].all_messages()))
    return {"said": [result.output for result in results], "history": without(history, *OWN)}


def chat_sync(clients: Clients) -> Any:
    asked = agent(clients)
    one = asked.run_sync("please find it")
    return told(one, asked.run_sync("thanks", message_history=one.all_messages()))


async def chat(clients: Clients, kind: Any = OpenAIChatModel) -> Any:
    asked = agent(clients, kind)
    one = await asked.run("please find it")
    return told(one, await asked.run("thanks", message_history=one.all_messages()))


async def chat_stream(clients: Clients, kind: Any = OpenAIChatModel) -> Any:
    asked, said = agent(clients, kind), []
    async with asked.run_stream("please find it") as one:
        said.append([text async for text in one.stream_text()])
    async with asked.run_stream("thanks", message_history=one.all_messages()) as two:
        said.append([text async for text in two.stream_text(delta=True)])
    history = json.loads(ModelMessagesTypeAdapter.dump_json(two.all_messages()))
    return {"said": said, "history": without(history, *OWN)}


async def responses(clients: Clients) -> Any:
    return await chat(clients, OpenAIResponsesModel)


async def responses_stream(clients: Clients) -> Any:
    return await chat_stream(clients, OpenAIResponsesModel)


async def retry(clients: Clients) -> Any:
    asked = Agent(OpenAIChatModel("guesser", provider=OpenAIProvider(openai_client=clients.later)))

    @asked.output_validator
    def is_number(said: str) -> str:
        if not said.isdigit():
            raise ModelRetry("digits only")
        return said

    with clients.person("how many?"):
        return told(await asked.run("how many?"))


if __name__ == "__main__":
    play(
        {
            "chat_sync": chat_sync,
            "chat": chat,
            "chat_stream": chat_stream,
            "responses": responses,
            "responses_stream": responses_stream,
            "retry": retry,
        }
    )
