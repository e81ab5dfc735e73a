"""One model server in the process for four endpoints, whose answers can break, hang or be refused; and its clients."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import anthropic
import httpx2
import openai
from google import genai
from google.genai import types

from middleware.testing import Answer, chat, messages
from tests.gemini import Gemini
from tests.test_responses import Model

ENDPOINTS = ("chat", "responses", "messages", "generate")
PROMPT = "count to three"
TAG = "<qwen:user-prompt-submit-context>"
FIRST_WORD = {"chat": 2, "responses": 4, "messages": 3, "generate": 1}
"""How many chunks it takes to the first word."""
WHOLE = {"chat": ("stop",), "responses": ("stop",), "messages": ("end_turn",), "generate": ("stop",)}
SPAN = {"chat": "chat m", "responses": "chat m", "messages": "chat m", "generate": "generate_content m"}


@contextlib.contextmanager
def cheap_collections() -> Iterator[None]:
    """In the block, `gc.collect()` looks at new objects only, also where SDKs were loaded since the tests began."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.collect()
        gc.freeze()


@dataclass
class Wire:
    """`error` comes in place of event number `after` of a stream and before a value; `refuse` is an HTTP status.

    `hang` stops there for a minute instead (async only) and sets `hangs`; `requests` are the bodies as they were sent.
    """

    endpoint: str
    error: BaseException | None = None
    after: int = 0
    refuse: int | None = None
    hang: bool = False
    text: str = "one two three"
    message: str = "scripted"
    requests: list[bytes] = field(default_factory=list)
    hangs: asyncio.Event = field(default_factory=asyncio.Event)

    def client(self, *, is_async: bool) -> Any:
        """The SDK's client of this endpoint; no retries."""
        sync = httpx2.Client(transport=httpx2.MockTransport(self.answer))
        colour = httpx2.AsyncClient(transport=httpx2.MockTransport(self.answer_async))
        if self.endpoint == "generate":
            options = types.HttpOptions(
                base_url="http://gemini.invalid", httpx_client=sync, httpx_async_client=colour, retry_options=None
            )
            return genai.Client(api_key="k", http_options=options)
        own: Any = {
            ("messages", False): anthropic.Anthropic,
            ("messages", True): anthropic.AsyncAnthropic,
        }.get((self.endpoint, is_async), openai.AsyncOpenAI if is_async else openai.OpenAI)
        return own(api_key="k", base_url="http://llm.invalid", max_retries=0, http_client=colour if is_async else sync)

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        status, kind, events = self._take(request)
        return httpx2.Response(status, headers={"content-type": kind}, content=self._sent(events))

    async def answer_async(self, request: httpx2.Request) -> httpx2.Response:
        if self.hang and not self._streams(request):
            self.requests.append(request.content)
            await self._hang()
        status, kind, events = self._take(request)
        return httpx2.Response(status, headers={"content-type": kind}, content=self._sent_async(events))

    async def _hang(self) -> None:
        self.hangs.set()
        await asyncio.sleep(60)

    def _streams(self, request: httpx2.Request) -> bool:
        return request.url.path.endswith(":streamGenerateContent") or b'"stream":true' in request.content

    def _take(self, request: httpx2.Request) -> tuple[int, str, list[bytes]]:
        self.requests.append(request.content)
        body = json.loads(request.content)
        if self.refuse is not None:
            error = {"type": "error", "error": {"type": "scripted", "message": self.message, "code": self.refuse}}
            return self.refuse, "application/json", [json.dumps(error).encode()]
        if self._streams(request):
            return 200, "text/event-stream", list(self._events(body))
        if self.error is not None:
            raise self.error
        return 200, "application/json", [json.dumps(self._value(body)).encode()]

    def _value(self, body: dict[str, Any]) -> Any:
        said = Answer(text=self.text)
        if self.endpoint == "chat":
            return chat.value(said, body, 1)
        if self.endpoint == "messages":
            return messages.value(said, body, 1)
        if self.endpoint == "responses":
            return Model(text=self.text).response(1, wants_tool=False)  # type: ignore[no-untyped-call]
        return Gemini()._response([{"text": self.text}], 1, end=True)

    def _events(self, body: dict[str, Any]) -> Iterator[bytes]:
        said = Answer(text=self.text)
        if self.endpoint == "chat":
            yield from chat.events(said, body, 1)
        elif self.endpoint == "messages":
            yield from messages.events(said, body, 1)
        elif self.endpoint == "generate":
            yield from Gemini()._chunks(said, 1)
        else:
            model = Model(text=self.text)  # type: ignore[no-untyped-call]
            for event in model.events(model.response(1, wants_tool=False)):  # type: ignore[no-untyped-call]
                yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

    def _sent(self, events: list[bytes]) -> Iterator[bytes]:
        for place, event in enumerate(events):
            if self.error is not None and place == self.after:
                raise self.error
            yield event

    async def _sent_async(self, events: list[bytes]) -> AsyncIterator[bytes]:
        for place, event in enumerate(events):
            if self.hang and place == self.after:
                await self._hang()
            await asyncio.sleep(0)
            if self.error is not None and place == self.after:
                raise self.error
            yield event


def call(endpoint: str, client: Any, *, stream: bool, is_async: bool, prompt: str = PROMPT) -> Any:
    """Make the call: a value, a stream, or an awaitable of one."""
    said: Any = {"model": "m"}
    if endpoint == "generate":
        models = client.aio.models if is_async else client.models
        made = models.generate_content_stream if stream else models.generate_content
        return made(**said, contents=prompt)
    said |= {"stream": True} if stream else {}
    if endpoint == "responses":
        return client.responses.create(**said, input=prompt)
    messages = [{"role": "user", "content": prompt}]
    if endpoint == "chat":
        return client.chat.completions.create(**said, messages=messages)
    return client.messages.create(**said, max_tokens=9, messages=messages)


def manager(endpoint: str, client: Any) -> Any:
    """What `.stream()` gives."""
    if endpoint == "responses":
        return client.responses.stream(model="m", input=PROMPT)
    messages = [{"role": "user", "content": PROMPT}]
    if endpoint == "chat":
        return client.chat.completions.stream(model="m", messages=messages)
    return client.messages.stream(model="m", max_tokens=9, messages=messages)


def without_injection(value: Any) -> Any:
    """A request body without our tagged parts; text alone is the same as a list of one text part."""
    if isinstance(value, dict):
        return {name: without_injection(item) for name, item in value.items()}
    if isinstance(value, list):
        kept = [
            without_injection(item)
            for item in value
            if not (isinstance(item, dict) and str(item.get("text", "")).startswith(TAG))
        ]
        one = kept[0] if len(kept) == 1 and isinstance(kept[0], dict) else {}
        if set(one) <= {"type", "text"} and one.get("type") in ("text", "input_text"):
            return one["text"]
        if len(kept) == 1 and set(one) == {"role", "content"} and one["role"] == "user":
            return one["content"]
        return kept
    return value
