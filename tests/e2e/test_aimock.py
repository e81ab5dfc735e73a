"""Against aimock, a server that nobody here wrote: its journal shows what reached it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest

from middleware import Middleware
from middleware.testing import Captured

from .aimock import Aimock
from .conftest import HOOK, TAGGED

pytestmark = pytest.mark.usefixtures("clean_environment")
SDKS = ("openai", "anthropic")


@pytest.fixture(params=SDKS)
def sdk(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(sdk: str, aimock: Aimock) -> Iterator[Any]:
    if sdk == "openai":
        made: Any = openai.OpenAI(api_key="k", base_url=f"{aimock.url}/v1", max_retries=0)
    else:
        made = anthropic.Anthropic(api_key="k", base_url=aimock.url, max_retries=0)
    with made:
        yield made


@pytest.fixture
def received(aimock: Aimock) -> Callable[[], list[dict[str, Any]]]:
    """The journal's entries of this test."""
    before = len(aimock.journal())
    return lambda: aimock.journal()[before:]


def call(sdk: str, client: Any, *messages: Any, stream: bool = False) -> str:
    """Send; return the text of the answer."""
    fields: dict[str, Any] = {"model": "mock-1", "messages": list(messages), "stream": stream}
    if sdk == "openai":
        answer = client.chat.completions.create(**fields)
        if not stream:
            return str(answer.choices[0].message.content)
        return "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)
    answer = client.messages.create(max_tokens=9, **fields)
    if not stream:
        return "".join(block.text for block in answer.content)
    return "".join(getattr(getattr(event, "delta", None), "text", None) or "" for event in answer)


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


@pytest.mark.parametrize("stream", [False, True])
def test_the_wrapped_request_differs_by_the_tagged_part_alone(
    sdk: str, client: Any, stream: bool, app: Middleware, received: Callable[[], Any], captured: Captured
) -> None:
    assert call(sdk, client, user("hello"), stream=stream) == "Hello from aimock."
    assert call(sdk, app.wrap(client), user("hello"), stream=stream) == "Hello from aimock."
    plain, wrapped = received()
    # The journal flattens Anthropic's content into one string.
    injected = [{"type": "text", "text": "hello"}, TAGGED] if sdk == "openai" else f"hello{HOOK}"
    assert plain["body"]["messages"] == [user("hello")]
    assert wrapped["body"] == {**plain["body"], "messages": [user(injected)]}
    assert told(wrapped) == told(plain)
    assert [span.name for span in captured.spans_named("chat")] == ["chat mock-1"]


def told(entry: dict[str, Any]) -> dict[str, str]:
    """The headers of a request without its length, its id and the span that it belongs to (Anthropic sends one)."""
    own = ("content-length", "x-request-id", "traceparent")
    return {name: value for name, value in entry["headers"].items() if name not in own}


@pytest.mark.parametrize("stream", [False, True])
def test_without_a_hook_the_request_is_the_same(
    sdk: str, client: Any, stream: bool, captured: Captured, received: Callable[[], Any]
) -> None:
    assert call(sdk, client, user("hello"), stream=stream) == "Hello from aimock."
    bare = Middleware(**captured.providers)
    assert call(sdk, bare.wrap(client), user("hello"), stream=stream) == "Hello from aimock."
    plain, wrapped = received()
    assert wrapped["body"] == plain["body"]
    assert wrapped["headers"]["content-length"] == plain["headers"]["content-length"]
    (chat,) = captured.spans_named("chat")
    assert [name for name in chat.attributes or {} if name.startswith("firsthand.injection")] == []


@pytest.mark.parametrize("stream", [False, True])
def test_a_scripted_503_reaches_the_caller_as_it_does_unwrapped(
    sdk: str, client: Any, stream: bool, app: Middleware, captured: Captured, received: Callable[[], Any]
) -> None:
    errors = []
    for called in (client, app.wrap(client)):
        with pytest.raises(openai.InternalServerError if sdk == "openai" else anthropic.InternalServerError) as error:
            call(sdk, called, user("fail please"), stream=stream)
        errors.append((type(error.value), error.value.status_code, str(error.value).count("scripted outage")))
    assert errors[0] == errors[1]
    assert errors[0][1] == 503
    assert [entry["response"]["status"] for entry in received()] == [503, 503]
    (chat,) = captured.spans_named("chat")
    assert chat.attributes is not None
    assert chat.attributes["error.type"] == "503"
    assert chat.attributes["firsthand.turn.outcome"] == "error"


@pytest.mark.parametrize("sdk", ["openai"], indirect=True)
def test_a_tool_loop_with_openai_keeps_its_prefix(client: Any, app: Middleware, received: Callable[[], Any]) -> None:
    calls = app.wrap(client).chat.completions
    said = calls.create(model="mock-1", messages=[user("look it up")]).choices[0].message
    result: Any = {"role": "tool", "tool_call_id": "call_1", "content": "seen"}
    calls.create(model="mock-1", messages=[user("look it up"), said, result])
    one, two = [entry["body"]["messages"] for entry in received()]
    assert one == [user([{"type": "text", "text": "look it up"}, TAGGED])]
    assert two[0] == one[0]
    assert two[2:] == [result, user([TAGGED])]


@pytest.mark.parametrize("sdk", ["anthropic"], indirect=True)
def test_a_tool_loop_with_anthropic_keeps_its_prefix(client: Any, app: Middleware, received: Callable[[], Any]) -> None:
    calls = app.wrap(client).messages
    fields = {"model": "mock-1", "max_tokens": 9}
    said = calls.create(messages=[user("look it up")], **fields)
    assert said.content[0].id == "call_1"
    result: Any = user([{"type": "tool_result", "tool_use_id": "call_1", "content": "seen"}])
    calls.create(messages=[user("look it up"), {"role": "assistant", "content": said.content}, result], **fields)
    one, two = [entry["body"]["messages"] for entry in received()]
    assert one == [user(f"look it up{HOOK}")]
    assert two[0] == one[0]
    assert {"role": "tool", "tool_call_id": "call_1", "content": "seen"} in two
    assert [HOOK in str(message["content"]) for message in two].count(True) == 2
