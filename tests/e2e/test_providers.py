"""Who is said to have answered a call, by the client's class and by where it sends."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from middleware import Middleware
from middleware.testing import Captured

from .spellings import OPENAI


@pytest.mark.parametrize(
    ("url", "provider", "address", "port"),
    [
        ("https://api.openai.com/v1", "openai", "api.openai.com", 443),
        ("https://Ann.openai.azure.com/openai/v1/", "azure.ai.openai", "ann.openai.azure.com", 443),
        ("https://ann.openai.azure.us/openai/v1/", "azure.ai.openai", "ann.openai.azure.us", 443),
        ("https://ann.services.ai.azure.com/openai/v1/", "azure.ai.openai", "ann.services.ai.azure.com", 443),
        ("https://openai.azure.com.example/v1", "openai", "openai.azure.com.example", 443),
        ("http://localhost:8080/v1", "openai", "localhost", 8080),
    ],
)
def test_the_provider_of_openais_own_client_is_told_from_the_host(
    captured: Captured, app: Middleware, url: str, provider: str, address: str, port: int
) -> None:
    with captured.model.openai(base_url=url) as client:
        app.wrap(client).chat.completions.create(**OPENAI)
    (chat,) = captured.spans_named("chat")
    told: dict[str, Any] = dict(chat.attributes or {})
    assert (told["gen_ai.provider.name"], told["server.address"], told["server.port"]) == (provider, address, port)


def test_a_copy_with_another_base_url_is_told_from_its_own_host(captured: Captured, app: Middleware) -> None:
    with captured.model.openai() as client:
        moved = app.wrap(client).with_options(base_url="https://ann.openai.azure.com/openai/v1/")
        moved.chat.completions.create(**OPENAI)
    (chat,) = captured.spans_named("chat")
    assert (chat.attributes or {})["gen_ai.provider.name"] == "azure.ai.openai"


def test_openais_client_of_bedrock_is_bedrock(captured: Captured, app: Middleware) -> None:
    http = captured.model._sync_options()["http_client"]
    with openai.BedrockOpenAI(api_key="k", aws_region="us-east-1", http_client=http) as client:
        wrapped = app.wrap(client)
        assert isinstance(wrapped, openai.BedrockOpenAI)
        wrapped.chat.completions.create(**OPENAI)
        wrapped.with_options(timeout=3).chat.completions.create(**OPENAI)
    told = [dict(span.attributes or {})["gen_ai.provider.name"] for span in captured.spans_named("chat")]
    assert told == ["aws.bedrock", "aws.bedrock"]
