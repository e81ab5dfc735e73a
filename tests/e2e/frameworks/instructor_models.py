"""instructor: a model that is asked again when its answer is not valid, as a tool and as JSON; a partial stream."""

from __future__ import annotations

from typing import Any

import instructor
from pydantic import BaseModel

from .stage import Clients, play

QUESTION: Any = [{"role": "user", "content": "how many?"}]


class Number(BaseModel):
    """A number."""

    value: int


def made(clients: Clients, mode: instructor.Mode, model: str) -> Any:
    asked = instructor.from_openai(clients.sync, mode=mode)
    with clients.person("how many?"):
        found = asked.chat.completions.create(model=model, response_model=Number, messages=QUESTION, max_retries=2)
    return found.model_dump()


async def made_later(clients: Clients, mode: instructor.Mode, model: str) -> Any:
    asked = instructor.from_openai(clients.later, mode=mode)
    with clients.person("how many?"):
        found = await asked.chat.completions.create(
            model=model, response_model=Number, messages=QUESTION, max_retries=2
        )
    return found.model_dump()


def tools(clients: Clients) -> Any:
    return made(clients, instructor.Mode.TOOLS, "caller")


async def tools_later(clients: Clients) -> Any:
    return await made_later(clients, instructor.Mode.TOOLS, "caller")


def words(clients: Clients) -> Any:
    return made(clients, instructor.Mode.JSON, "speller")


async def words_later(clients: Clients) -> Any:
    return await made_later(clients, instructor.Mode.JSON, "speller")


def partial(clients: Clients) -> Any:
    asked = instructor.from_openai(clients.sync, mode=instructor.Mode.JSON)
    parts = asked.chat.completions.create_partial(model="seven", response_model=Number, messages=QUESTION)
    return [part.model_dump() for part in parts]


async def partial_later(clients: Clients) -> Any:
    asked = instructor.from_openai(clients.later, mode=instructor.Mode.JSON)
    parts = asked.chat.completions.create_partial(model="seven", response_model=Number, messages=QUESTION)
    return [part.model_dump() async for part in parts]


if __name__ == "__main__":
    play(
        {
            "tools": tools,
            "tools_later": tools_later,
            "words": words,
            "words_later": words_later,
            "partial": partial,
            "partial_later": partial_later,
        }
    )
