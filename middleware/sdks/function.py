"""Any function that takes OpenAI-shaped messages: litellm's, ollama's, a gateway of one's own.

Its replies are OpenAI-shaped objects or mappings, or ollama's `{"message": ...}`, as a value or as chunks; from
anything else no reply is read.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import logging
from collections.abc import Callable, Mapping, MutableSequence
from typing import Any, Final, cast

import msgspec

from ..injection import Block
from ..parts import Message, Reply, Request
from .base import Collector, Endpoint, Placement, Seam
from .lazy import GeneratorFunction, LazyAsyncStream, LazyStream, primed, primed_async
from .openai.chat import Chat
from .reading import get, json_text

__all__ = ["CalledFunction", "wrapped"]

_log = logging.getLogger("firsthand")
_PATH: Final = "call"
_GIVEN: Final = "firsthand_given"
_OWN: Final = "firsthand_own_call"
_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_TURN_ONLY: Final = ("tools", "tool_choice", "functions", "response_format", "format", "stream", "stream_options", "n")
"""What shapes the turn's own reply: a prompt hook's question is asked without."""


class CalledFunction:
    """The adapter of one function; `provider` is what its spans say of where it asks."""

    name = "function"
    quieted: tuple[str, ...] = ()

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._endpoint: Endpoint = _Messages()

    def accepts(self, client: object) -> bool:
        return callable(client)

    def is_async(self, client: object) -> bool:
        return inspect.iscoroutinefunction(client) or inspect.iscoroutinefunction(getattr(client, "__call__", None))  # noqa: B004

    def endpoint(self, path: str) -> Endpoint | None:
        return self._endpoint if path == _PATH else None

    def destination(self, client: object) -> tuple[str, str | None, int | None]:
        return self._provider, None, None

    def sibling_options(self, client: object) -> dict[str, Any]:
        return {}

    def headers(self, client: object) -> dict[str, str]:
        return {}

    def sibling(self, client: Any, seam: Seam) -> Any:
        return wrapped(client, seam, is_async=self.is_async(client))


def wrapped(fn: Callable[..., Any], seam: Seam, *, is_async: bool, messages: str = "messages") -> Any:
    """A function of the same signature that goes through `seam`; `messages` names its parameter.

    Raises ValueError for a function that has no such parameter.
    """
    call = _Signature(fn, messages)
    makes_generator, makes_async = inspect.isgeneratorfunction(fn), inspect.isasyncgenfunction(fn)

    def value(*args: Any, **kwargs: Any) -> Any:
        body = call.body(args, kwargs)

        def post(path: str, *, body: dict[str, Any], options: object = None) -> Any:
            made = call.made(args, kwargs, body)
            return primed(made) if makes_generator and _OWN in body else made

        return fn(*args, **kwargs) if body is None else seam.send(fn, post, _PATH, {"body": body})

    async def value_async(*args: Any, **kwargs: Any) -> Any:
        body = call.body(args, kwargs)

        async def post(path: str, *, body: dict[str, Any], options: object = None) -> Any:
            made = call.made(args, kwargs, body)
            if not makes_async:
                return await made
            return await primed_async(made) if _OWN in body else made

        if body is None:
            made = fn(*args, **kwargs)
            return made if makes_async else await made
        return await seam.send_async(fn, post, _PATH, {"body": body})

    def stream(*args: Any, **kwargs: Any) -> LazyStream:
        return LazyStream(lambda: value(*args, **kwargs), seam.carried())

    def stream_async(*args: Any, **kwargs: Any) -> LazyAsyncStream:
        return LazyAsyncStream(lambda: value_async(*args, **kwargs), seam.carried())

    if makes_generator or makes_async:
        return GeneratorFunction(stream_async if makes_async else stream, fn)
    return functools.update_wrapper(value_async if is_async else value, fn)


class _Signature:
    """Where a function's messages and model are among its arguments; nothing is bound anew, for the function looks."""

    def __init__(self, fn: Callable[..., Any], messages: str) -> None:
        self._fn, self._messages = fn, messages
        parameters = list(inspect.signature(fn).parameters.values())
        self._positional = [each.name for each in parameters if each.kind in _POSITIONAL]
        self._defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
        self._names = {each.name for each in parameters}
        self._takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
        if not self._takes(messages):
            name, has = getattr(fn, "__qualname__", type(fn).__qualname__), ", ".join(sorted(self._names))
            raise ValueError(
                f"wrap_call() got {name}, which has no parameter {messages!r} (it has {has or 'none'}); "
                f"name the one that takes the messages: wrap_call({name}, messages=...)"
            )

    def _takes(self, name: str) -> bool:
        return self._takes_any or name in self._names

    def body(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
        """The call as a request body; None when it names no messages, which the function refuses itself."""
        given = {**dict(zip(self._positional, args, strict=False)), **kwargs}
        if self._messages not in given:
            return None
        defaults: dict[str, Any] = {
            name: self._defaults[name] for name in ("model", "stream") if name in self._defaults
        }
        return {**defaults, **given, "messages": given[self._messages], _OWN: True}

    def made(self, args: tuple[Any, ...], kwargs: dict[str, Any], body: dict[str, Any]) -> Any:
        """Call the function: with the messages of the body, or, for a question of ours, with all that it says."""
        new = {self._messages: body["messages"]}
        if _OWN not in body:
            kwargs = {name: value for name, value in kwargs.items() if name not in _TURN_ONLY}
            new |= {name: body[name] for name in body if name != "messages" and self._takes(name)}
        args_now, kwargs_now = list(args), dict(kwargs)
        for name, value in new.items():
            place = self._positional.index(name) if name in self._positional else len(args)
            if name not in kwargs_now and place < len(args):
                args_now[place] = value
            else:
                kwargs_now[name] = value
        return self._fn(*args_now, **kwargs_now)


class _Messages(Chat):
    """The chat endpoint, which reads ollama's replies too, and gives messages of any class back as of that class."""

    def write(
        self, body: Mapping[str, Any], request: Request, blocks: Mapping[int, Block], how: Placement
    ) -> dict[str, Any]:
        seen = tuple(_as_mapping(message) for message in request.messages)
        made = super().write(body, msgspec.structs.replace(request, messages=seen), blocks, how)
        messages = [_as_given(message) for message in made["messages"]]
        return {**made, "messages": _like(body.get("messages"), messages)}

    def reply(self, value: object) -> Reply:
        return super().reply(_as_openai(value, "message", 0))

    def collector(self) -> Any:
        return _Chunks(super().collector())


def _as_mapping(message: Message) -> Message:
    """A message whose `raw` is no mapping, with one in its place that remembers it."""
    raw = message.raw
    if isinstance(raw, Mapping):
        return message
    return msgspec.structs.replace(message, raw={"content": get(raw, "content"), _GIVEN: raw})


def _as_given(message: Any) -> Any:
    if type(message) is not dict or _GIVEN not in message:
        return message
    given, content = message[_GIVEN], message["content"]
    return given if content is get(given, "content") else _with_content(given, content)


def _with_content(given: Any, content: object) -> Any:
    """A copy of a message of any class, with other content; itself where that class makes no such copy."""
    try:
        if hasattr(given, "model_copy"):
            return given.model_copy(update={"content": content})
        if dataclasses.is_dataclass(given):
            return dataclasses.replace(cast(Any, given), content=content)
        twin = copy.copy(given)
        twin.content = content
    except Exception as error:  # noqa: BLE001  (what a class of the caller's does when it is copied is its own)
        _log.warning(
            "firsthand: a message of type %s cannot be copied (%s); it is sent as it is, without what was to be added",
            type(given).__name__,
            type(error).__name__,
        )
        return given
    return twin


def _like(given: object, messages: list[Any]) -> Any:
    """The messages in a container of the kind that was given, where it is one that can be filled."""
    if type(given) is tuple:
        return tuple(messages)
    if type(given) is list or not isinstance(given, MutableSequence):
        return messages
    try:
        twin = copy.copy(given)
        twin.clear()
        twin.extend(messages)
    except Exception:  # noqa: BLE001  (as above)
        return messages
    return twin if len(twin) == len(messages) else messages


class _Chunks:
    """The chunks of either shape."""

    __slots__ = ("_calls", "_chunks")

    def __init__(self, chunks: Collector) -> None:
        self._chunks = chunks
        self._calls = 0

    def add(self, chunk: object) -> bool:
        read = _as_openai(chunk, "delta", self._calls)
        if read is not chunk:
            self._calls += len(get(get(chunk, "message"), "tool_calls") or ())
        return self._chunks.add(read)

    def reply(self) -> Reply:
        return self._chunks.reply()


def _as_openai(value: object, key: str, calls_before: int) -> object:
    """Ollama's reply or chunk in OpenAI's shape, its message under `key`; anything else as it is."""
    message = get(value, "message")
    if get(value, "choices") is not None or get(message, "role") is None:
        return value
    calls = [
        {"index": calls_before + place, "id": get(call, "id") or "", "function": _called(get(call, "function"))}
        for place, call in enumerate(get(message, "tool_calls") or ())
    ]
    said = {
        "role": "assistant",
        "content": get(message, "content"),
        "reasoning_content": get(message, "thinking"),
        "tool_calls": calls,
    }
    counts = {"prompt_tokens": get(value, "prompt_eval_count"), "completion_tokens": get(value, "eval_count")}
    return {
        "model": get(value, "model"),
        "choices": [{"index": 0, key: said, "finish_reason": get(value, "done_reason")}],
        "usage": counts if any(count is not None for count in counts.values()) else None,
    }


def _called(function: object) -> dict[str, object]:
    arguments = get(function, "arguments")
    if not isinstance(arguments, str):
        arguments = json_text(arguments or {})
    return {"name": get(function, "name"), "arguments": arguments}
