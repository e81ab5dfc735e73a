"""Servers that refuse the shape of an injected request: the settings for them, and what happens without."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from middleware import Middleware, Settings

from .conftest import HOOK, TAGGED
from .strict_server import StrictServer

HELLO: Any = [{"role": "user", "content": "hello"}]
REFUSED = "firsthand: the server answered {} to a request with injected text; if it takes none such, set {}"
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
LOOP: Any = [
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "seen"},
]


@pytest.fixture
def server(clean_environment: None) -> Iterator[StrictServer]:
    with StrictServer() as running:
        yield running


def wrapped(server: StrictServer, sdk: str = "openai", **settings: Any) -> Any:
    app = Middleware(Settings(**settings), hooks=[lambda given: "branch=main"])
    if sdk == "openai":
        return app.wrap(openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0))
    return app.wrap(anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0))


def test_inline_is_taken_by_a_server_that_wants_strings(server: StrictServer) -> None:
    with wrapped(server, placement="inline") as client:
        client.chat.completions.create(model="strict", messages=HELLO)
    assert server.requests[0]["messages"] == [{"role": "user", "content": f"hello\n\n{HOOK}"}]


def test_inline_is_taken_from_an_anthropic_client_too(server: StrictServer) -> None:
    with wrapped(server, "anthropic", placement="inline") as client:
        client.messages.create(model="strict", max_tokens=9, messages=HELLO)
    assert server.requests[0]["messages"] == [{"role": "user", "content": f"hello\n\n{HOOK}"}]


def test_tool_part_is_taken_by_a_server_that_refuses_user_after_tool(server: StrictServer) -> None:
    with wrapped(server, tool_placement="tool_part") as client:
        client.chat.completions.create(model="strict", messages=LOOP)
    assert server.requests[0]["messages"] == [
        *LOOP[:2],
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "seen"}, TAGGED]},
    ]


def test_both_settings_together_keep_everything_a_string(server: StrictServer) -> None:
    with wrapped(server, placement="inline", tool_placement="tool_part") as client:
        client.chat.completions.create(model="strict", messages=LOOP)
    assert server.requests[0]["messages"][2] == {
        "role": "tool",
        "tool_call_id": "c1",
        "content": f"seen\n\n{HOOK}",
    }


@pytest.mark.parametrize(
    ("messages", "error", "told", "line"),
    [
        (
            HELLO,
            openai.UnprocessableEntityError,
            "content must be a string",
            REFUSED.format(422, "placement = 'inline'"),
        ),
        (
            LOOP,
            openai.BadRequestError,
            "user after tool",
            REFUSED.format(400, "tool_placement = 'tool_part'"),
        ),
    ],
)
def test_with_the_defaults_the_refusal_reaches_the_caller_and_one_line_names_the_setting(
    server: StrictServer,
    caplog: pytest.LogCaptureFixture,
    messages: Any,
    error: type[Exception],
    told: str,
    line: str,
) -> None:
    with caplog.at_level(logging.WARNING, "firsthand"), wrapped(server) as client, pytest.raises(error) as caught:
        client.chat.completions.create(model="strict", messages=messages)
    assert told in str(caught.value)
    assert [record.getMessage() for record in caplog.records if record.name == "firsthand"] == [line]


def test_a_refusal_of_a_request_without_injected_text_has_no_hint(
    server: StrictServer, caplog: pytest.LogCaptureFixture
) -> None:
    client = Middleware(Settings()).wrap(openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0))
    bad: Any = [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]
    with client, pytest.raises(openai.UnprocessableEntityError):
        client.chat.completions.create(model="strict", messages=bad)
    assert caplog.records == []
