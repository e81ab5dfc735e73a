"""Azure's token providers: asked as often as for a client that is not wrapped, and never for a blocked prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from middleware import HookBlocked, Middleware, Settings

from .spellings import MESSAGES
from .test_azure import Azure


class Tokens:
    """A token provider in both colours; every token is new."""

    def __init__(self) -> None:
        self.given = 0

    def plain(self) -> str:
        self.given += 1
        return f"token-{self.given}"

    async def later(self) -> str:
        await asyncio.sleep(0)
        return self.plain()


@pytest.fixture
def tokens() -> Tokens:
    return Tokens()


def sent(azure: Azure) -> list[str]:
    return [request.headers["authorization"] for request in azure.requests]


def asked(client: Any, **options: Any) -> Any:
    return client.chat.completions.create(model="local", messages=MESSAGES, **options)


@pytest.mark.parametrize("wrapping", [False, True])
def test_a_token_is_fetched_once_for_each_request(app: Middleware, tokens: Tokens, wrapping: bool) -> None:
    azure = Azure()
    with azure.client(azure_ad_token_provider=tokens.plain) as plain:
        client = app.wrap(plain) if wrapping else plain
        asked(client)
        list(asked(client, stream=True))
        asked(client.with_options(timeout=3))
        client.responses.create(model="local", input="count")
        client.embeddings.create(model="e", input="count")
    assert sent(azure) == ["Bearer token-1", "Bearer token-2", "Bearer token-3", "Bearer token-4", "Bearer token-5"]
    assert tokens.given == 5


@pytest.mark.parametrize("wrapping", [False, True])
@pytest.mark.parametrize("colour", ["plain", "later"])
def test_an_async_client_fetches_a_token_once_for_each_request(
    app: Middleware, tokens: Tokens, colour: str, wrapping: bool
) -> None:
    azure = Azure()
    provider: Callable[[], Any] = getattr(tokens, colour)

    async def main() -> None:
        async with azure.client(is_async=True, azure_ad_token_provider=provider) as plain:
            client = app.wrap(plain) if wrapping else plain
            await asked(client)
            async for _ in await asked(client, stream=True):
                pass
            await asked(client.copy())

    asyncio.run(main())
    assert sent(azure) == ["Bearer token-1", "Bearer token-2", "Bearer token-3"]
    assert tokens.given == 3


@pytest.mark.parametrize("wrapping", [False, True])
def test_a_retry_of_the_sdk_fetches_a_new_token_and_sends_the_same_body(
    app: Middleware, tokens: Tokens, wrapping: bool
) -> None:
    azure = Azure(failures=1)
    with azure.client(azure_ad_token_provider=tokens.plain, max_retries=1) as plain:
        asked(app.wrap(plain) if wrapping else plain)
    assert sent(azure) == ["Bearer token-1", "Bearer token-2"]
    assert azure.requests[0].content == azure.requests[1].content
    assert azure.requests[0].url == azure.requests[1].url


@pytest.mark.parametrize("wrapping", [False, True])
def test_a_provider_that_fails_is_the_callers_own_exception(app: Middleware, wrapping: bool) -> None:
    azure = Azure()

    def refuse() -> str:
        raise PermissionError("no login")

    with azure.client(azure_ad_token_provider=refuse) as plain, pytest.raises(PermissionError, match=r"^no login$"):
        asked(app.wrap(plain) if wrapping else plain)
    assert azure.requests == []


def test_a_fixed_token_is_sent_as_it_is(app: Middleware) -> None:
    azure = Azure()
    with azure.client(azure_ad_token="fixed") as plain:
        asked(app.wrap(plain).copy())
    assert sent(azure) == ["Bearer fixed"]
    assert "api-key" not in azure.requests[0].headers


def test_a_blocked_prompt_fetches_no_token(tokens: Tokens) -> None:
    azure = Azure()
    blocking = [lambda given: {"decision": "block", "reason": "no secrets"}]
    app = Middleware(Settings(), hooks=blocking)
    with azure.client(azure_ad_token_provider=tokens.plain) as plain, pytest.raises(HookBlocked):
        asked(app.wrap(plain))
    assert (tokens.given, azure.requests) == (0, [])
