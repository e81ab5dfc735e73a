"""The sibling of a Google client: `models`, `aio.models` and chats of its own, everything else shared.

A call may ask the model more than once (automatic function calling, in `models` and in chats). The SDK runs that loop
over the caller's own contents, so that the histories it hands out hold nothing of ours; our parts are put in one
level below, where each request is made.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

from ..base import Seam
from ..lazy import LazyAsyncStream, LazyStream, primed, primed_async
from .content import GenerateContent
from .contents import kept

__all__ = ["sibling"]

_VALUE, _STREAM = "generate_content", "generate_content_stream"
_SEND, _SEND_STREAM = "send_message", "send_message_stream"


def sibling(client: Any, seam: Seam) -> Any:
    """A client of the same type that goes through `seam`; a wrapped one is bound anew.

    It keeps the caller's client alive, for that closes the connections that both share when it is collected.
    """
    given = client.__dict__.get("_firsthand_given", client)
    made = _copied(given, seam)
    if "_aio" in given.__dict__:
        made.__dict__["_aio"] = _copied(given._aio, seam)
    return made


def _copied(given: Any, seam: Seam) -> Any:
    made = _as(_client_class, given)
    made.__dict__.update(_firsthand_given=given, _firsthand_seam=seam)
    models = given._models
    watched = made.__dict__["_models"] = _as(_models_class, models, hasattr(given, "aio"))
    watched.__dict__.update(_firsthand_plain=models, _firsthand_client=made, _firsthand_seam=seam)
    return made


def _as(make: Callable[..., type], given: Any, *how: bool) -> Any:
    """An object with the state of `given`, of the subclass that `make` gives of its class."""
    kind: Any = make(type(given), *how)
    made = kind.__new__(kind)
    made.__dict__.update(given.__dict__)
    return made


@functools.cache
def _client_class(given: Any) -> type:
    def chats(self: Any) -> Any:
        return _as(_chats_class, given.chats.fget(self), hasattr(given, "aio"))

    members: dict[str, Any] = {"chats": property(chats)}
    if hasattr(given, "__del__"):
        # The caller's client closes the connections, which are its own.
        members["__del__"] = lambda self: None
    return _subclass(given, members)


@functools.cache
def _models_class(given: Any, is_sync: bool) -> type:
    def value(self: Any, *args: Any, **given_arguments: Any) -> Any:
        given_arguments = _readable(given_arguments)
        call = _Call.of(self, args, given_arguments)
        if call is None:
            return getattr(self._firsthand_plain, _VALUE)(*args, **given_arguments)
        return call.sent(lambda models, config: models.generate_content(**{**given_arguments, **config}))

    async def value_async(self: Any, *args: Any, **given_arguments: Any) -> Any:
        given_arguments = _readable(given_arguments)
        call = _Call.of(self, args, given_arguments)
        if call is None:
            return await getattr(self._firsthand_plain, _VALUE)(*args, **given_arguments)
        return await call.sent_async(lambda models, config: models.generate_content(**{**given_arguments, **config}))

    def stream(self: Any, *args: Any, **given_arguments: Any) -> Any:
        given_arguments = _readable(given_arguments)
        call = _Call.of(self, args, given_arguments, stream=True)
        if call is None:
            return getattr(self._firsthand_plain, _STREAM)(*args, **given_arguments)

        def ask(models: Any, config: dict[str, Any]) -> Any:
            return models.generate_content_stream(**{**given_arguments, **config})

        return LazyStream(lambda: call.sent(ask), self._firsthand_seam.carried())

    async def stream_async(self: Any, *args: Any, **given_arguments: Any) -> Any:
        given_arguments = _readable(given_arguments)
        # Made and dropped: what the SDK refuses before it makes a request, it refuses here.
        plain = await getattr(self._firsthand_plain, _STREAM)(*args, **given_arguments)
        call = _Call.of(self, args, given_arguments, stream=True)
        if call is None:
            return plain

        def ask(models: Any, config: dict[str, Any]) -> Any:
            return models.generate_content_stream(**{**given_arguments, **config})

        return LazyAsyncStream(lambda: call.sent_async(ask), self._firsthand_seam.carried())

    made = {_VALUE: value, _STREAM: stream} if is_sync else {_VALUE: value_async, _STREAM: stream_async}
    return _subclass(given, {name: functools.wraps(getattr(given, name))(method) for name, method in made.items()})


@functools.cache
def _chats_class(given: Any, is_sync: bool) -> type:
    def create(self: Any, *args: Any, **given_arguments: Any) -> Any:
        return _as(_chat_class, given.create(self, *args, **given_arguments), is_sync)

    return _subclass(given, {"create": functools.wraps(given.create)(create)})


@functools.cache
def _chat_class(given: Any, is_sync: bool) -> type:
    def asking(name: str, chat: Any, message: Any, config: Any) -> Callable[[Any, dict[str, Any]], Any]:
        method = getattr(given, name)
        return lambda models, new: method(_over(chat, models), message, **{"config": config, **new})

    def value(self: Any, message: Any, config: Any = None) -> Any:
        call, ask = _Call.of_chat(self, message, config), asking(_SEND, self, message, config)
        return ask(self._modules._firsthand_plain, {}) if call is None else call.sent(ask)

    async def value_async(self: Any, message: Any, config: Any = None) -> Any:
        call, ask = _Call.of_chat(self, message, config), asking(_SEND, self, message, config)
        return await (ask(self._modules._firsthand_plain, {}) if call is None else call.sent_async(ask))

    def stream(self: Any, message: Any, config: Any = None) -> Any:
        ask = asking(_SEND_STREAM, self, message, config)

        def start() -> Any:
            call = _Call.of_chat(self, message, config, stream=True)
            return ask(self._modules._firsthand_plain, {}) if call is None else call.sent(ask)

        return LazyStream(start, self._modules._firsthand_seam.carried())

    async def stream_async(self: Any, message: Any, config: Any = None) -> Any:
        ask = asking(_SEND_STREAM, self, message, config)
        # Made and dropped, as in `models`.
        plain = await ask(self._modules._firsthand_plain, {})

        async def start() -> Any:
            call = _Call.of_chat(self, message, config, stream=True)
            return plain if call is None else await call.sent_async(ask)

        return LazyAsyncStream(start, self._modules._firsthand_seam.carried())

    made = {_SEND: value, _SEND_STREAM: stream} if is_sync else {_SEND: value_async, _SEND_STREAM: stream_async}
    return _subclass(given, {name: functools.wraps(getattr(given, name))(method) for name, method in made.items()})


def _over(chat: Any, models: Any) -> Any:
    """The same chat, its lists of history too, over other models."""
    twin = copy.copy(chat)
    twin._modules = models
    return twin


def _subclass(given: type, members: dict[str, Any]) -> type:
    head = {"__module__": given.__module__, "__qualname__": given.__qualname__, "__doc__": given.__doc__}
    return type(given.__name__, (given,), {**head, **members})


def _readable(given: dict[str, Any]) -> dict[str, Any]:
    contents = given.get("contents")
    made = kept(contents)
    return given if made is contents else {**given, "contents": made}


class _Call:
    """One call of the SDK: what it was given, and the way through the seam."""

    def __init__(self, models: Any, body: dict[str, Any]) -> None:
        self._models, self._body = models, body
        self._endpoint = GenerateContent()

    @classmethod
    def of(cls, models: Any, args: tuple[Any, ...], given: dict[str, Any], *, stream: bool = False) -> _Call | None:
        """The call of a method of `models`; None for arguments that the SDK refuses itself."""
        if args or not {"model", "contents"} <= given.keys() <= {"model", "contents", "config"}:
            return None
        return cls(models, {"config": None, **given, "stream": stream})

    @classmethod
    def of_chat(cls, chat: Any, message: Any, config: Any, *, stream: bool = False) -> _Call | None:
        """The call of a chat's method: its history and the new message; None as above."""
        from google.genai import _transformers

        try:
            contents = [*chat._curated_history, _transformers.t_content(message)]
        except Exception:  # noqa: BLE001  (whatever the SDK raises, it raises once it is called)
            return None
        # As the SDK does it: an empty config is none.
        used = config or chat._config
        return cls(chat._modules, {"model": chat._model, "contents": contents, "config": used, "stream": stream})

    def sent(self, ask: Callable[[Any, dict[str, Any]], Any]) -> Any:
        """Go through the seam; `ask` makes the SDK's call over the given models, with a new config if there is one."""

        def post(path: str, *, body: dict[str, Any], options: Any = None) -> Any:
            if "stream" not in body:
                return self._models._firsthand_plain.generate_content(**_within(body, options))
            made = ask(self._below(body), self._changed(body))
            return primed(made) if body["stream"] else made

        seam, client = self._models._firsthand_seam, self._models._firsthand_client
        return seam.send(client, post, _VALUE, {"body": self._body}, self._endpoint)

    async def sent_async(self, ask: Callable[[Any, dict[str, Any]], Any]) -> Any:
        """The same for the async client."""

        async def post(path: str, *, body: dict[str, Any], options: Any = None) -> Any:
            if "stream" not in body:
                return await self._models._firsthand_plain.generate_content(**_within(body, options))
            made = await ask(self._below(body), self._changed(body))
            return await primed_async(made) if body["stream"] else made

        seam, client = self._models._firsthand_seam, self._models._firsthand_client
        return await seam.send_async(client, post, _VALUE, {"body": self._body}, self._endpoint)

    def _changed(self, body: dict[str, Any]) -> dict[str, Any]:
        return {} if body["config"] is self._body["config"] else {"config": body["config"]}

    def _below(self, body: dict[str, Any]) -> Any:
        """The SDK's models, whose requests hold the written contents in place of the caller's."""
        models, endpoint = self._models._firsthand_plain, self._endpoint
        swapped = _swapping(self._body["contents"], body["contents"], endpoint)
        twin = copy.copy(models)
        value, stream = models._generate_content_with_continuation, models._generate_content_stream_with_continuation

        def one(*, model: Any, contents: Any, config: Any = None) -> Any:
            answer = value(model=model, contents=swapped(contents), config=config)
            endpoint.answers.append(answer)
            return answer

        async def one_async(*, model: Any, contents: Any, config: Any = None) -> Any:
            answer = await value(model=model, contents=swapped(contents), config=config)
            endpoint.answers.append(answer)
            return answer

        def chunks(*, model: Any, contents: Any, config: Any = None) -> Any:
            return stream(model=model, contents=swapped(contents), config=config)

        is_sync = hasattr(type(self._models._firsthand_client), "aio")
        twin._generate_content_with_continuation = one if is_sync else one_async
        twin._generate_content_stream_with_continuation = chunks
        return twin


def _swapping(given: Any, written: Any, endpoint: GenerateContent) -> Callable[[Any], Any]:
    """What exchanges the caller's contents for the written ones; what the SDK put behind them stays."""
    from google.genai import _transformers

    counts: list[int] = []

    def swapped(contents: Any) -> Any:
        if contents is given:
            return written
        if not counts:
            counts.append(len(_transformers.t_contents(given)))
        endpoint.between = tuple(contents[counts[0] :])
        if written is given:
            return contents
        return [*_transformers.t_contents(written), *endpoint.between]

    return swapped


def _within(body: dict[str, Any], options: Any) -> dict[str, Any]:
    """The arguments of a prompt hook's question, its timeout in the SDK's milliseconds."""
    seconds = (options or {}).get("timeout")
    if seconds is None:
        return body
    return {**body, "config": {**body["config"], "http_options": {"timeout": max(1, int(seconds * 1000))}}}
