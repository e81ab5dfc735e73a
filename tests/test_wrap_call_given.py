"""What a function behind `wrap_call` is given and what it answers is of the classes that it would be without it."""

from __future__ import annotations

import dataclasses
import inspect
from collections import UserDict, UserList, deque
from collections.abc import AsyncIterator, Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pydantic
import pytest

from middleware import Middleware
from middleware.settle import drain_dropped
from middleware.testing import Captured, capture

CONTEXT = "<qwen:user-prompt-submit-context>\nx\n</qwen:user-prompt-submit-context>"
HI = {"role": "user", "content": "hi"}
BOTH = [{"type": "text", "text": "hi"}, {"type": "text", "text": CONTEXT}]


@dataclasses.dataclass(frozen=True)
class Data:
    role: str
    content: Any


class Model(pydantic.BaseModel):
    role: str
    content: Any


class Pair(pydantic.BaseModel):
    type: str = "text"
    text: str = "hi"


class History:
    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


class Odd:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class Locked:
    __slots__ = ("content", "role")

    def __init__(self) -> None:
        object.__setattr__(self, "role", "user")
        object.__setattr__(self, "content", "hi")

    def __setattr__(self, name: str, value: object) -> None:
        raise RuntimeError("locked")


class Kept(dict[str, Any]): ...


def given(messages: Any, *hooks: Callable[..., Any]) -> Any:
    """What the function is called with in the place of `messages`."""
    seen: list[Any] = []
    with capture() as captured, Middleware.from_settings(hooks=hooks, **captured.providers) as app:
        app.wrap_call(lambda messages: seen.append(messages))(messages)
    return seen[0]


def hook(payload: object) -> str:
    return "x"


@pytest.mark.parametrize("messages", [[HI], (HI,), UserList([HI]), deque([HI]), History([HI])])
def test_without_a_hook_the_messages_are_the_callers_own_object(messages: Any) -> None:
    assert given(messages) is messages


@pytest.mark.parametrize(
    "content",
    [Pair(), {"a"}, deque([{"type": "text", "text": "hi"}]), range(3)],
)
@pytest.mark.parametrize("hooks", [(), (hook,)])
def test_a_content_that_is_no_list_or_string_is_the_callers_own_object(
    content: Any, hooks: tuple[Callable[..., Any], ...]
) -> None:
    dictionary, data = {"role": "user", "content": content}, Data("user", content)
    assert given([dictionary], *hooks)[0]["content"] is content
    assert given([data], *hooks)[0] is data


def test_what_can_be_read_once_is_a_list_in_a_mapping_of_the_same_kind() -> None:
    assert given([Kept(role="user", content=iter([{"type": "text", "text": "hi"}]))]) == [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    ]
    assert type(given([Kept(role="user", content=iter(()))])[0]) is Kept
    assert type(given([UserDict(role="user", content=iter(()))])[0]) is UserDict
    assert given(iter([HI])) == [HI]


def test_what_can_be_read_once_is_left_alone_where_no_copy_can_hold_it() -> None:
    parts = iter([{"type": "text", "text": "hi"}])
    assert given([Data("user", parts)], hook)[0].content is parts
    assert list(parts) == [{"type": "text", "text": "hi"}]


@pytest.mark.parametrize("kind", [Data, Model, SimpleNamespace])
def test_a_message_of_any_class_gets_the_context_in_a_copy_of_its_class(kind: Callable[..., Any]) -> None:
    message, answer = kind(role="user", content="hi"), kind(role="assistant", content="yes")
    found = given([message, answer, message], hook)
    assert found[0] is message and found[1] is answer
    assert type(found[2]) is type(message) and (found[2].role, found[2].content) == ("user", BOTH)
    assert message.content == "hi"


@pytest.mark.parametrize("kind", [list, tuple, UserList, deque])
def test_a_container_of_messages_that_can_be_filled_keeps_its_class(kind: Callable[..., Any]) -> None:
    messages = kind([HI])
    found = given(messages, hook)
    assert type(found) is type(messages) and list(found) == [{"role": "user", "content": BOTH}]
    assert list(messages) == [HI]


def test_a_container_that_cannot_is_a_list() -> None:
    assert given(deque([{"role": "system", "content": "s"}, HI], maxlen=2), hook)[1]["content"] == BOTH
    assert given(History([HI]), hook) == [{"role": "user", "content": BOTH}]


def test_a_message_that_cannot_be_copied_is_sent_as_it_is_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    message = Locked()
    assert given([message], hook) == [message]
    (record,) = caplog.records
    assert record.getMessage() == (
        "firsthand: a message of type Locked cannot be copied (RuntimeError); "
        "it is sent as it is, without what was to be added"
    )


def test_a_message_that_raises_whatever_is_asked_of_it_is_sent_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    message = Odd()
    assert given([message], hook)[0] is message
    assert [record.getMessage() for record in caplog.records] == [
        "firsthand: a request to call cannot be read (TypeError); it is sent as it is"
    ]


def spans(captured: Captured) -> list[tuple[str, object]]:
    drain_dropped(30)
    return [
        (span.status.status_code.name, (span.attributes or {}).get("firsthand.turn.outcome"))
        for span in captured.spans_named("chat")
    ]


def test_an_answer_or_a_chunk_that_raises_whatever_is_asked_of_it_is_the_callers_and_settles() -> None:
    answer, chunk = Odd(), Odd()
    with capture() as captured, Middleware.from_settings(**captured.providers) as app:
        assert app.wrap_call(lambda messages: answer)([HI]) is answer
        assert list(app.wrap_call(lambda messages, stream=True: iter([chunk, chunk]))([HI])) == [chunk, chunk]
        assert spans(captured) == [("UNSET", "sent"), ("UNSET", "sent")]


def words(messages: Any) -> Iterator[Any]:
    yield from ("a", "b")


async def words_later(messages: Any) -> AsyncIterator[Any]:
    yield "a"


class Owner:
    def words(self, messages: Any) -> Iterator[Any]:
        yield self

    def __call__(self, messages: Any) -> None: ...


def test_a_wrapped_generator_function_is_one_for_inspect() -> None:
    app = Middleware()
    wrapped, later = app.wrap_call(words), app.wrap_call(words_later)
    assert inspect.isgeneratorfunction(wrapped) and inspect.isasyncgenfunction(later)
    assert not inspect.isasyncgenfunction(wrapped) and not inspect.isgeneratorfunction(later)
    assert inspect.signature(wrapped) == inspect.signature(words)
    assert (wrapped.__name__, wrapped.__wrapped__) == ("words", words)
    assert list(wrapped([HI])) == ["a", "b"]


def test_as_a_method_it_is_bound() -> None:
    app, owner = Middleware(), Owner()

    class Wrapped(Owner):
        words = app.wrap_call(Owner.words)

    made = Wrapped()
    assert list(made.words([HI])) == [made] and inspect.isgeneratorfunction(made.words)
    bound = app.wrap_call(owner.words)
    assert list(bound([HI])) == [owner] and inspect.isgeneratorfunction(bound)
