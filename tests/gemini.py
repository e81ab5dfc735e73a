"""A Gemini server in the process (`generateContent`, `streamGenerateContent?alt=sse`), clients of it, what they say."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
from google import genai
from google.genai import types

from middleware.testing import Answer, Failure, ToolCall

BASE = "http://gemini.invalid"
TAG = "qwen:user-prompt-submit-context"
IMAGE = types.Part.from_bytes(data=b"\x89PNG", mime_type="image/png")


class Gemini:
    """Answers from `script` in order, then "ok" for ever; `requests` holds the decoded bodies.

    A function of the script makes the answer from the body. Every answer counts 10 prompt tokens, 3 of them cached,
    4 candidate tokens and 2 of thoughts. `ids` False leaves out the ids of function calls, as older models do.
    """

    def __init__(self, *script: Any, ids: bool = True) -> None:
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[Any] = []
        self.ids = ids
        self._numbers = itertools.count(1)

    def client(self, **options: Any) -> genai.Client:
        """A `genai.Client` of both colours."""
        http = types.HttpOptions(
            base_url=BASE,
            httpx_client=httpx2.Client(transport=httpx2.MockTransport(self.answer)),
            httpx_async_client=httpx2.AsyncClient(transport=httpx2.MockTransport(self.answer_async)),
        )
        return genai.Client(api_key="k", http_options=http, **options)

    def contents(self) -> list[Any]:
        """The contents of each request."""
        return [body["contents"] for body in self.requests]

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        status, kind, events, answer = self._take(request)
        return httpx2.Response(status, headers={"content-type": kind}, content=_sent(events, answer))

    async def answer_async(self, request: httpx2.Request) -> httpx2.Response:
        status, kind, events, answer = self._take(request)
        return httpx2.Response(status, headers={"content-type": kind}, content=_sent_async(events, answer))

    def _take(self, request: httpx2.Request) -> tuple[int, str, list[bytes], Answer]:
        body = json.loads(request.content)
        self.requests.append(body)
        self.paths.append(request.url.path)
        self.headers.append(request.headers)
        said = self.script.pop(0) if self.script else "ok"
        said = said(body) if callable(said) else said
        if isinstance(said, Failure):
            error = {"error": {"code": said.status, "message": said.message, "status": "SCRIPTED"}}
            return said.status, "application/json", [json.dumps(error).encode()], Answer()
        answer = Answer(text=said) if isinstance(said, str) else said
        number = next(self._numbers)
        if request.url.path.endswith(":streamGenerateContent"):
            return 200, "text/event-stream", list(self._chunks(answer, number)), answer
        whole = self._response(self._parts(answer), number, end=True)
        return 200, "application/json", [json.dumps(whole).encode()], Answer()

    def _parts(self, answer: Answer) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = [{"text": answer.text}] if answer.text else []
        for call in answer.calls:
            made = {"name": call.name, "args": dict(call.arguments)}
            parts.append({"functionCall": {"id": call.id, **made} if self.ids else made})
        return parts

    def _response(self, parts: list[dict[str, Any]], number: int, *, end: bool) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        usage = {"promptTokenCount": 10, "cachedContentTokenCount": 3}
        if end:
            candidate["finishReason"] = "STOP"
            usage |= {"candidatesTokenCount": 4, "thoughtsTokenCount": 2, "totalTokenCount": 16}
        head = {"responseId": f"r{number}", "modelVersion": "gemini-0-001"}
        return {"candidates": [candidate], "usageMetadata": usage, **head}

    def _chunks(self, answer: Answer, number: int) -> Iterator[bytes]:
        pieces = [{"text": word} for word in re.findall(r"\S+\s*", answer.text)]
        pieces += self._parts(Answer(calls=answer.calls))
        for place, piece in enumerate(pieces):
            chunk = self._response([piece], number, end=place + 1 == len(pieces))
            yield b"data: %s\r\n\r\n" % json.dumps(chunk).encode()


def calling(name: str = "clock", number: int = 1, **arguments: Any) -> Answer:
    """The model asks for a function."""
    return Answer(calls=(ToolCall(id=f"call-{number}", name=name, arguments=arguments),))


def texts(content: Any) -> list[Any]:
    """The texts of a content on the wire, None for other parts."""
    return [part.get("text") for part in content["parts"]]


def context(number: int) -> str:
    """The block of the `number`th call of `counting_hook`."""
    return f"<{TAG}>\ncontext &lt;{number}&gt;\n</{TAG}>"


def clock() -> str:
    """The time."""
    return "noon"


def user(*parts: str | types.Part) -> types.Content:
    return types.Content(
        role="user", parts=[types.Part(text=part) if isinstance(part, str) else part for part in parts]
    )


def answer(number: int, name: str = "clock") -> types.Content:
    """What the function of `calling(number=number)` returned."""
    response = types.FunctionResponse(id=f"call-{number}", name=name, response={"result": "noon"})
    return types.Content(role="user", parts=[types.Part(function_response=response)])


async def gathered(stream: Any) -> list[Any]:
    return [chunk.text async for chunk in await stream]


def _sent(events: list[bytes], answer: Answer) -> Iterator[bytes]:
    for place, event in enumerate(events):
        if answer.error is not None and place == answer.error_after:
            raise answer.error
        yield event


async def _sent_async(events: list[bytes], answer: Answer) -> AsyncIterator[bytes]:
    from anyio.lowlevel import checkpoint

    for event in _sent(events, answer):
        await checkpoint()
        yield event
