"""What Anthropic's logger says at DEBUG of the requests of a wrapped client."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Settings
from middleware.testing import LocalModel

BODY: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "system": "secret",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "secret"}, {"type": "text", "text": "secret: s"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"secret": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "secret"}]},
        {"role": "user", "content": "secret"},
    ],
}


def said(caplog: pytest.LogCaptureFixture) -> list[Any]:
    """The arguments of the lines about requests."""
    return [record.args for record in caplog.records if record.getMessage().startswith("Request options: ")]


def ask(settings: Settings, plain: Any, body: dict[str, Any] = BODY) -> None:
    with Middleware(settings, hooks=[lambda given: "secret context"]) as app:
        app.wrap(plain).messages.create(**body)


def test_a_request_is_logged_with_sizes_in_place_of_texts(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), LocalModel().anthropic() as plain:
        ask(
            Settings(continuations=False), plain, {**BODY, "messages": BODY["messages"][:3], "stop_sequences": ["stop"]}
        )
    assert [line["json_data"] for line in said(caplog)] == [
        {
            "model": "m",
            "max_tokens": 9,
            "stop_sequences": ["<4 characters>"],
            "system": "<6 characters>",
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "<6 characters>"}, {"type": "text", "text": "<9 characters>"}],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "tool_use", "id": "<2 characters>", "name": "<4 characters>", "input": "<1 keys>"}
                    ],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "<2 characters>", "content": "<6 characters>"}],
                },
            ],
        }
    ]


def test_an_async_request_is_too(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with LocalModel().async_anthropic() as plain:
            with Middleware(Settings(), hooks=[lambda given: "secret context"]) as app:
                await app.wrap(plain).messages.create(**BODY)

    with caplog.at_level(logging.DEBUG):
        asyncio.run(run())
    assert len(said(caplog)) == 1
    assert "secret" not in caplog.text


def test_a_stream_and_a_count_of_tokens_are_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), LocalModel().anthropic() as plain, Middleware(Settings()) as app:
        client = app.wrap(plain)
        with client.messages.stream(**BODY) as stream:
            stream.until_done()
        with pytest.raises(Exception):
            client.messages.count_tokens(model="m", messages=BODY["messages"])
    assert len(said(caplog)) >= 2
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("content", "injected", "whole"),
    [("NO_CONTENT", False, False), ("SPAN_ONLY", False, False), ("NO_CONTENT", True, False), ("SPAN_ONLY", True, True)],
)
def test_texts_are_logged_only_where_all_content_is_captured(
    caplog: pytest.LogCaptureFixture, content: Any, injected: bool, whole: bool
) -> None:
    with caplog.at_level(logging.DEBUG), LocalModel().anthropic() as plain:
        ask(Settings(capture_content=content, capture_injected=injected), plain)
    assert ("secret context" in caplog.text) == whole


def test_the_log_of_a_client_that_is_not_wrapped_is_as_it_was(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    with caplog.at_level(logging.DEBUG), LocalModel().anthropic() as plain:
        ask(Settings(), plain)
        caplog.clear()
        plain.messages.create(**BODY)
    assert [line["json_data"]["system"] for line in said(caplog)] == ["secret"]


def test_a_body_too_deep_to_walk_is_logged_without_any_of_it(caplog: pytest.LogCaptureFixture) -> None:
    import middleware.sdks.logs as logs

    nested: Any = "secret"
    for _ in range(100_000):
        nested = [nested]
    logs.elide_texts_of("tests.sdk")
    with caplog.at_level(logging.DEBUG), logs.eliding(True):
        logging.getLogger("tests.sdk").debug("Request options: %s", {"json_data": {"x": nested}, "url": "/v1"})
    assert caplog.messages == ["Request options: {'json_data': '<nested too deeply>', 'url': '/v1'}"]
