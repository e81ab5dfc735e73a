"""Against aimock, a server that nobody here wrote: its journal shows what reached it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from middleware import Middleware
from middleware.testing import Captured

from .aimock import Aimock, Caller, Garbling, GarblingLater
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


def responded(client: Any, given: Any, stream: bool = False, **fields: Any) -> str:
    """Ask the Responses API; return the text of the answer."""
    answer = client.responses.create(model="mock-1", input=given, stream=stream, **fields)
    if not stream:
        return str(answer.output_text)
    return "".join(event.delta for event in answer if event.type == "response.output_text.delta")


@pytest.mark.parametrize("sdk", ["openai"], indirect=True)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("given", ["hello", [user("hello")]])
def test_a_response_differs_by_the_tagged_part_alone(
    client: Any, given: Any, stream: bool, app: Middleware, received: Callable[[], Any], captured: Captured
) -> None:
    assert responded(client, given, stream) == "Hello from aimock."
    assert responded(app.wrap(client), given, stream) == "Hello from aimock."
    plain, wrapped = received()
    # The journal turns what the Responses API takes into chat messages of one string each.
    assert plain["body"]["messages"] == [user("hello")]
    assert wrapped["body"] == {**plain["body"], "messages": [user(f"hello{HOOK}")]}
    assert told(wrapped) == told(plain)
    (chat,) = captured.spans_named("chat")
    assert chat.attributes is not None
    assert chat.attributes["gen_ai.response.finish_reasons"] == ("stop",)


@pytest.mark.parametrize("sdk", ["openai"], indirect=True)
@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_loop_with_responses_keeps_its_prefix(
    client: Any, stream: bool, app: Middleware, received: Callable[[], Any], captured: Captured
) -> None:
    asked: Any = app.wrap(client).responses
    tools: Any = [{"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": False}]
    fields = {"model": "searcher", "tools": tools, "stream": stream}
    history: list[Any] = [user("find it")]
    answer = asked.create(input=history, **fields)
    said = list(answer)[-1].response if stream else answer
    history += [*said.output, {"type": "function_call_output", "call_id": "call_1", "output": "seen"}]
    answer = asked.create(input=history, **fields)
    said = list(answer)[-1].response if stream else answer
    assert said.output_text == "I looked."
    one, two = [entry["body"]["messages"] for entry in received()]
    assert one == [user(f"find it{HOOK}")]
    assert two[0] == one[0]
    assert two[2:] == [{"role": "tool", "tool_call_id": "call_1", "content": "seen"}, user(HOOK)]
    reasons = [dict(span.attributes or {})["gen_ai.response.finish_reasons"] for span in captured.spans_named("chat")]
    assert reasons == [("tool_calls",), ("stop",)]


@pytest.mark.parametrize("sdk", ["openai"], indirect=True)
@pytest.mark.parametrize("colour", ["sync", "async"])
def test_embeddings_are_traced_and_nothing_is_added_to_them(
    colour: str, sdk: str, caller: Caller, app: Middleware, received: Callable[[], Any], captured: Captured
) -> None:
    plain = caller.client(sdk, colour)
    found = [caller.sees(client.embeddings.create, model="m", input="embed me") for client in (plain, app.wrap(plain))]
    assert found[0] == found[1]
    assert found[1].value["data"][0]["embedding"] == [0.5, 0.25, 0.125]
    sent = received()
    assert sent[0]["body"] == sent[1]["body"]
    assert [span.name for span in captured.spans] == ["embeddings m"]


COLOURS = ("sync", "async")
SURFACES = ("chat", "responses", "messages")


@pytest.fixture
def caller(aimock: Aimock) -> Iterator[Caller]:
    made = Caller(aimock)
    yield made
    made.close()


def asking(surface: str, client: Any, model: str, stream: bool) -> dict[str, Any]:
    """The method of a surface and its arguments."""
    fields: dict[str, Any] = {"model": model, "stream": stream}
    if surface == "responses":
        return {"call": client.responses.create, "input": "hello", **fields}
    method = client.chat.completions.create if surface == "chat" else client.messages.create
    extra = {} if surface == "chat" else {"max_tokens": 9}
    return {"call": method, "messages": [user("hello")], **extra, **fields}


def records(folder: Path) -> list[str]:
    """The types of the records of the one transcript."""
    (path,) = (folder / "transcripts").glob("*.jsonl")
    return [json.loads(line)["type"] for line in path.read_text().splitlines()]


# The model that fails so, whether streamed; what is raised, `error.type` without the SDK's name, what is written down.
FAULTS = {
    ("failing", False): ("InternalServerError", "503", ["user"]),
    ("failing", True): ("InternalServerError", "503", ["user"]),
    ("refusing", False): ("RateLimitError", "429", ["user"]),
    ("refusing", True): ("RateLimitError", "429", ["user"]),
    ("dropping", False): ("APIConnectionError", "APIConnectionError", ["user"]),
    ("dropping", True): ("APIConnectionError", "APIConnectionError", ["user"]),
    ("babbling", False): ("JSONDecodeError", "JSONDecodeError", ["user"]),
    ("late", False): ("APITimeoutError", "APITimeoutError", ["user"]),
    ("late", True): ("APITimeoutError", "APITimeoutError", ["user"]),
    ("breaking", True): ("APIConnectionError", "APIConnectionError", ["user", "assistant"]),
    ("chunks", True): ("JSONDecodeError", "JSONDecodeError", ["user", "assistant"]),
}


def with_fault(caller: Caller, surface: str, colour: str, model: str) -> Any:
    options: dict[str, Any] = {"timeout": 0.2} if model == "late" else {}
    if model == "chunks" and colour == "sync":
        options["http_client"] = httpx2.Client(transport=Garbling())
    elif model == "chunks":
        options["http_client"] = httpx2.AsyncClient(transport=GarblingLater())
    return caller.client("anthropic" if surface == "messages" else "openai", colour, **options)


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(("model", "stream"), list(FAULTS))
def test_a_fault_reaches_the_caller_as_it_does_unwrapped(
    caller: Caller,
    surface: str,
    colour: str,
    model: str,
    stream: bool,
    app: Middleware,
    captured: Captured,
    tmp_path: Path,
) -> None:
    raised, kind, written = FAULTS[model, stream]
    if (surface, model) == ("messages", "breaking"):
        raised = kind = "RemoteProtocolError"  # Anthropic's SDK hands on what its HTTP client says of a broken stream.
    client = with_fault(caller, surface, colour, model)
    plain = caller.sees(**asking(surface, client, model, stream))
    assert plain.error is not None and raised in [base.__name__ for base in plain.error[0].__mro__]
    assert caller.sees(**asking(surface, app.wrap(client), model, stream)) == plain
    (chat,) = captured.spans_named("chat")
    assert chat.status.status_code.name == "ERROR"
    assert chat.attributes is not None
    assert str(chat.attributes["error.type"]).rpartition(".")[2] == kind
    assert chat.attributes["firsthand.turn.outcome"] == "error"
    assert "branch=main" not in captured.exported()
    assert len(captured.spans_named("firsthand.turn")) == 1
    assert records(tmp_path) == written


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("model", ["slow", "babbling"])
def test_a_slow_stream_and_one_without_events_are_read_as_unwrapped(
    caller: Caller, surface: str, colour: str, model: str, app: Middleware, captured: Captured, tmp_path: Path
) -> None:
    client = with_fault(caller, surface, colour, model)
    plain = caller.sees(**asking(surface, client, model, True))
    assert plain.error is None and bool(plain.chunks) is (model == "slow")
    assert caller.sees(**asking(surface, app.wrap(client), model, True)) == plain
    (chat,) = captured.spans_named("chat")
    assert chat.status.status_code.name == "UNSET"
    first = dict(chat.attributes or {}).get("gen_ai.response.time_to_first_chunk")
    assert first is None if model == "babbling" else 0.02 < first < (chat.end_time - chat.start_time) / 1e9 - 0.02
    assert records(tmp_path) == (["user", "assistant"] if model == "slow" else ["user"])
