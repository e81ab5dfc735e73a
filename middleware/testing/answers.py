"""What a scripted model says, as values, and what the wire files make of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

__all__ = ["Answer", "Failure", "Json", "Scripted", "ToolCall", "Wire", "answered", "dump", "scripted", "words"]

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool that the model asks for; `arguments` is a JSON object."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the model says: streamed a word a chunk when the request asks for a stream.

    `error` is raised instead of the stream's event number `error_after` (0: before anything came), as a
    connection that breaks does; a value is not affected. Tokens are what the answer's usage says.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    error: BaseException | None = None
    error_after: int = 0
    input_tokens: int = 12
    output_tokens: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The server refuses: an HTTP status and the message in the error's JSON."""

    status: int
    message: str = "scripted failure"


Scripted: TypeAlias = str | Answer | Failure | Callable[[Json], "str | Answer | Failure"]
"""One answer of the model; a function makes it from the decoded request body."""


class Wire(Protocol):
    """How one API says an answer; a file of this folder is one."""

    def value(self, answer: Answer, body: Json, number: int) -> Json:
        """The body of a response that is no stream; `number` counts the requests."""
        ...

    def events(self, answer: Answer, body: Json, number: int) -> Iterator[bytes]:
        """The server-sent events of a stream."""
        ...


def scripted(script: Iterable[Scripted | Sequence[Scripted]]) -> list[Scripted]:
    """The answers in order, those of a list in its place. Raises TypeError for anything that is none."""
    found: list[Scripted] = []
    for item in script:
        for each in item if isinstance(item, (list, tuple)) else (item,):
            if not isinstance(each, (str, Answer, Failure)) and not callable(each):
                raise TypeError(f"{each!r} is no answer; give a string, an Answer, a Failure or a function of the body")
            found.append(each)
    return found


def answered(said: Scripted, body: Json) -> Answer | Failure:
    """What is said to one request. Raises TypeError when a function made something else."""
    made = said(body) if callable(said) else said
    if isinstance(made, str):
        return Answer(text=made)
    if not isinstance(made, (Answer, Failure)):
        raise TypeError(f"the function of the script returned {made!r}; return a string, an Answer or a Failure")
    return made


def dump(value: object) -> bytes:
    """One JSON document."""
    return json.dumps(value).encode()


def words(text: str) -> list[str]:
    """The text in pieces, a word and what follows it each."""
    return re.findall(r"\S*\s*", text)[:-1] if text else []
