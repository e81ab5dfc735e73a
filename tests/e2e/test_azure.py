"""Azure's OpenAI clients: the deployment's URL, the credentials, and every spelling that OpenAI's own clients have."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest

from middleware import Middleware
from middleware.testing import Captured, LocalModel
from tests.test_responses import Model

from .conftest import HOOK, TAGGED, closed
from .spellings import ASYNC, JSON, MESSAGES, SYNC, Count
from .test_spellings import spelled

ROOT = "https://ann.openai.azure.com/openai"
QUERY = "?api-version=2026-06-01"
VECTORS = {
    "object": "list",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}],
    "model": "e",
    "usage": {"prompt_tokens": 1, "total_tokens": 1},
}
RESPONSE_TAGGED = {"type": "input_text", "text": HOOK}


class Azure:
    """Azure's server in the process; `requests` are as they were on the wire. The first `failures` are refused."""

    def __init__(self, *, failures: int = 0) -> None:
        self.requests: list[httpx2.Request] = []
        self._failures = failures
        self._model = LocalModel(
            default=JSON, paths={"/embeddings": VECTORS, "/models": {"object": "list", "data": []}}
        )
        self._responses: Callable[[httpx2.Request], httpx2.Response] = Model(text=JSON)  # type: ignore[no-untyped-call]

    def client(self, *, is_async: bool = False, **options: Any) -> Any:
        given: dict[str, Any] = {
            "azure_endpoint": "https://ann.openai.azure.com",
            "api_version": "2026-06-01",
            "max_retries": 0,
            **options,
        }
        if not {"azure_ad_token", "azure_ad_token_provider"} & set(options):
            given.setdefault("api_key", "k")
        if is_async:
            later = httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer_later))
            return openai.AsyncAzureOpenAI(http_client=later, **given)
        return openai.AzureOpenAI(http_client=httpx2.Client(transport=httpx2.MockTransport(self._answer)), **given)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        return self._refused(request) or self._model._answer(request)

    async def _answer_later(self, request: httpx2.Request) -> httpx2.Response:
        return self._refused(request) or await self._model._answer_async(request)

    def _refused(self, request: httpx2.Request) -> httpx2.Response | None:
        self.requests.append(request)
        if len(self.requests) <= self._failures:
            return httpx2.Response(503, json={"error": {"message": "busy"}})
        return self._responses(request) if request.url.path.endswith("/responses") else None

    def urls(self) -> list[str]:
        return [str(request.url) for request in self.requests]

    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.requests]


def headers(request: httpx2.Request) -> dict[str, str]:
    return {name: value for name, value in request.headers.items() if name != "content-length"}


def attributes(captured: Captured, name: str = "chat") -> dict[str, Any]:
    (span,) = captured.spans_named(name)
    return dict(span.attributes or {})


@pytest.fixture
def azure() -> Azure:
    return Azure()


COLOURED = [(False, name) for name in SYNC] + [(True, name) for name in ASYNC]


@pytest.mark.parametrize(("is_async", "name"), COLOURED)
def test_a_spelling_goes_to_the_deployment_with_the_tagged_part_alone_more(
    azure: Azure, app: Middleware, captured: Captured, is_async: bool, name: str
) -> None:
    plain, wrapped = azure.client(is_async=is_async), app.wrap(azure.client(is_async=is_async))
    assert isinstance(wrapped, openai.AsyncAzureOpenAI if is_async else openai.AzureOpenAI)
    assert spelled("openai", is_async, name, plain) == spelled("openai", is_async, name, wrapped) == JSON
    assert azure.urls() == [f"{ROOT}/deployments/local/chat/completions{QUERY}"] * 2
    without, sent = azure.bodies()
    parts = without["messages"][0]["content"]
    listed = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
    assert sent == {**without, "messages": [{"role": "user", "content": [*listed, TAGGED]}]}
    assert headers(azure.requests[0]) == headers(azure.requests[1])
    assert azure.requests[1].headers["api-key"] == "k"
    told = attributes(captured)
    assert told["gen_ai.provider.name"] == "azure.ai.openai"
    assert (told["server.address"], told["server.port"]) == ("ann.openai.azure.com", 443)
    assert told["gen_ai.response.finish_reasons"] == ("stop",)
    assert "branch=main" not in captured.exported()
    if not is_async:
        closed(plain), closed(wrapped)


@pytest.mark.parametrize(("is_async", "name"), COLOURED)
def test_without_a_hook_the_same_bytes_are_sent(azure: Azure, captured: Captured, is_async: bool, name: str) -> None:
    bare = Middleware(**captured.providers)
    plain, wrapped = azure.client(is_async=is_async), bare.wrap(azure.client(is_async=is_async))
    assert spelled("openai", is_async, name, plain) == spelled("openai", is_async, name, wrapped) == JSON
    without, sent = [(request.method, request.url, request.headers, request.content) for request in azure.requests]
    assert sent == without
    if not is_async:
        closed(plain), closed(wrapped)


def value(client: Any) -> str:
    return str(client.responses.create(model="local", input="count").output_text)


def stream(client: Any) -> str:
    *_, last = client.responses.create(model="local", input="count", stream=True)
    return str(last.response.output_text)


def manager(client: Any) -> str:
    with client.responses.stream(model="local", input="count") as events:
        return str(events.get_final_response().output_text)


def parse(client: Any) -> str:
    said = client.responses.parse(model="local", input="count", text_format=Count)
    assert said.output_parsed == Count(n=3)
    return str(said.output_text)


def raw(client: Any) -> str:
    return str(client.responses.with_raw_response.create(model="local", input="count").parse().output_text)


def streaming(client: Any) -> str:
    with client.responses.with_streaming_response.create(model="local", input="count") as response:
        return str(response.parse().output_text)


@pytest.mark.parametrize("spelling", [value, stream, manager, parse, raw, streaming])
@pytest.mark.parametrize("deployment", [None, "dep"])
def test_a_response_goes_to_the_resource_and_not_to_a_deployment(
    azure: Azure, app: Middleware, captured: Captured, spelling: Callable[[Any], str], deployment: str | None
) -> None:
    with azure.client(azure_deployment=deployment) as plain:
        assert spelling(plain) == spelling(app.wrap(plain)) == JSON
    assert azure.urls() == [f"{ROOT}/responses{QUERY}"] * 2
    without, sent = azure.bodies()
    assert without["input"] == "count"
    content = [{"type": "input_text", "text": "count"}, RESPONSE_TAGGED]
    assert sent == {**without, "input": [{"role": "user", "content": content}]}
    told = attributes(captured)
    assert (told["gen_ai.provider.name"], told["server.address"]) == ("azure.ai.openai", "ann.openai.azure.com")


def test_an_async_response_goes_to_the_resource(azure: Azure, app: Middleware, captured: Captured) -> None:
    async def main() -> tuple[str, str]:
        async with app.wrap(azure.client(is_async=True)) as client:
            said = await client.responses.create(model="local", input="count")
            events = await client.responses.create(model="local", input="count", stream=True)
            last = [event async for event in events][-1]
            return said.output_text, last.response.output_text

    assert asyncio.run(main()) == (JSON, JSON)
    assert azure.urls() == [f"{ROOT}/responses{QUERY}"] * 2
    assert [body["input"][0]["content"][-1] for body in azure.bodies()] == [RESPONSE_TAGGED] * 2
    assert len(captured.spans_named("chat")) == 2


@pytest.mark.parametrize("is_async", [False, True])
def test_embeddings_go_to_the_deployment_as_they_are(
    azure: Azure, app: Middleware, captured: Captured, is_async: bool
) -> None:
    given = {"model": "e", "input": "count", "encoding_format": "float"}

    async def main() -> Any:
        async with app.wrap(azure.client(is_async=True)) as client:
            return await client.embeddings.create(**given)

    with azure.client() as client:
        client.embeddings.create(**given)
        said = asyncio.run(main()) if is_async else app.wrap(client).embeddings.create(**given)
    assert said.data[0].embedding == [0.5]
    assert azure.urls() == [f"{ROOT}/deployments/e/embeddings{QUERY}"] * 2
    assert azure.requests[0].content == azure.requests[1].content
    told = attributes(captured, "embeddings")
    assert (told["gen_ai.provider.name"], told["server.address"]) == ("azure.ai.openai", "ann.openai.azure.com")


@pytest.mark.parametrize("wrapping", [False, True])
def test_copies_keep_the_deployment_and_the_endpoint_and_stay_wrapped(
    azure: Azure, app: Middleware, captured: Captured, wrapping: bool
) -> None:
    with azure.client(azure_deployment="dep") as plain:
        client = app.wrap(plain) if wrapping else plain
        for made in (client, client.copy(), client.with_options(timeout=3), client.copy().copy(api_version="v2")):
            assert (type(made).__name__, isinstance(made, openai.AzureOpenAI)) == ("AzureOpenAI", True)
            made.chat.completions.create(model="local", messages=MESSAGES)
            assert list(made.models.list()) == []
    chat, models = f"{ROOT}/deployments/dep/chat/completions", f"{ROOT}/models"
    assert azure.urls() == [f"{chat}{QUERY}", f"{models}{QUERY}"] * 3 + [
        f"{chat}?api-version=v2",
        f"{models}?api-version=v2",
    ]
    contents = [json.loads(r.content)["messages"][0]["content"] for r in azure.requests if r.method == "POST"]
    assert contents == [[{"type": "text", "text": "count"}, TAGGED] if wrapping else "count"] * 4
    assert len(captured.spans_named("chat")) == (4 if wrapping else 0)
