"""What a call gives back: a value, a stream, or a raw response whose body is still to come; each settles once."""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import wrapt

from .parts import Reply
from .replies import reply_from
from .sdks import Endpoint
from .settle import Account, settle_dropped, watch_for_dropped
from .streams import is_whole, settle_early, watch_stream

__all__ = ["watch"]

_KEPT_BYTES = 8 << 20


def watch(answer: Any, account: Account, endpoint: Endpoint) -> Any:
    """Settle the account for `answer`, now if it is a value, else when it ends; return what the caller gets."""
    kind: Any = type(answer)
    if _is_value(kind):
        account.settle(reply_from(lambda: endpoint.reply(answer)))
        return answer
    try:
        is_response = hasattr(answer, "http_response") and hasattr(answer, "parse")
    except Exception:  # noqa: BLE001  (a function's answer may raise anything when it is asked)
        account.settle(None)
        return answer
    if is_response:
        return _watched_response(answer, account, endpoint)
    stream = watch_stream(answer, account, endpoint)
    if stream is not None:
        return stream
    account.settle(reply_from(lambda: endpoint.reply(answer)))
    return answer


@functools.lru_cache(256)
def _is_value(kind: Any) -> bool:
    # A model object of an SDK is slow to say that it lacks an attribute; of anything else the object is asked.
    return hasattr(kind, "__pydantic_fields__") and not any(
        hasattr(kind, name) for name in ("__next__", "__anext__", "parse")
    )


def _watched_response(response: Any, account: Account, endpoint: Endpoint) -> Any:
    body = _body(response)
    if body is not None:
        account.settle(_read(endpoint, body))
        return response
    return WatchedResponse(response, account, endpoint)


def _body(response: Any) -> bytes | None:
    """The body of a response that was read already, or None while it is still on the wire."""
    http = response.http_response
    if not getattr(http, "is_stream_consumed", False):
        return None
    try:
        content = http.content
    except Exception:  # noqa: BLE001  (httpx raises ResponseNotRead, whose package differs between SDKs)
        return None
    return content if isinstance(content, bytes) else None


def _read(endpoint: Endpoint, body: bytes) -> Reply | None:
    def build() -> Reply:
        if body.lstrip()[:1] == b"{":
            return endpoint.reply(json.loads(body))
        collector = endpoint.collector()
        for line in body.split(b"\n"):
            data = line[5:].strip() if line.startswith(b"data:") else b""
            if data.startswith(b"{"):
                collector.add(json.loads(data))
        return collector.reply()

    return reply_from(build)


class _WatchedBody(wrapt.ObjectProxy[Any]):
    """The HTTP response behind a raw response."""

    def __init__(self, http: Any, response: WatchedResponse) -> None:
        super().__init__(http)
        self._self_response = response

    def read(self) -> Any:
        return self._self_response._self_done(self.__wrapped__.read, lambda body: body)

    async def aread(self) -> Any:
        return await self._self_response._self_awaited(self.__wrapped__.aread(), lambda body: body)


class WatchedResponse(wrapt.ObjectProxy[Any]):
    """A raw response whose body is still to come: its parsed stream and its body settle the account."""

    def __init__(self, response: Any, account: Account, endpoint: Endpoint) -> None:
        super().__init__(response)
        watch_for_dropped()
        self._self_account = account
        self._self_endpoint = endpoint
        self._self_seen = bytearray()
        self._self_streams: dict[int, Any] = {}

    @property
    def http_response(self) -> Any:
        """As the SDK's; an error while its body is read settles."""
        return _WatchedBody(self.__wrapped__.http_response, self)

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        """As the SDK's; a stream comes back watched, the same one each time."""
        return self._self_done(lambda: self.__wrapped__.parse(*args, **kwargs), self._self_parsed)

    def read(self, *args: Any, **kwargs: Any) -> Any:
        """As the SDK's; settles."""
        return self._self_done(lambda: self.__wrapped__.read(*args, **kwargs), self._self_finished)

    @property
    def text(self) -> Any:
        """As the SDK's, a method or (openai's older class) a property; settles."""
        text = self.__wrapped__.text
        if not callable(text):
            return self._self_finished(text)
        return lambda *args, **kwargs: self._self_done(lambda: text(*args, **kwargs), self._self_finished)

    def json(self, *args: Any, **kwargs: Any) -> Any:
        """As the SDK's; settles."""
        return self._self_done(lambda: self.__wrapped__.json(*args, **kwargs), self._self_finished)

    def iter_bytes(self, *args: Any, **kwargs: Any) -> Any:
        """As the SDK's; settles at its end."""
        return self._self_tee(self.__wrapped__.iter_bytes(*args, **kwargs), b"")

    def iter_text(self, *args: Any, **kwargs: Any) -> Any:
        """As the SDK's; settles at its end."""
        return self._self_tee(self.__wrapped__.iter_text(*args, **kwargs), b"")

    def iter_lines(self, *args: Any, **kwargs: Any) -> Any:
        """As the SDK's; settles at its end."""
        return self._self_tee(self.__wrapped__.iter_lines(*args, **kwargs), b"\n")

    def close(self) -> Any:
        """As the SDK's; settles as ended early unless the body was read."""
        # A body that was read to its end past us, through `http_response`, has closed the response itself.
        untouched = not self._self_seen and not self._self_streams
        ended = untouched and bool(getattr(self.__wrapped__.http_response, "is_closed", False))
        return self._self_then(self.__wrapped__.close(), lambda result: self._self_left(result, ended=ended))

    def __del__(self) -> None:
        try:
            account, endpoint, streams = self._self_account, self._self_endpoint, self._self_streams
        except AttributeError:
            # The interpreter is going down, or __init__ never finished.
            return
        if not streams and not account.is_settled:
            body = bytes(self._self_seen) or _body(self.__wrapped__)
            settle_dropped(lambda: settle_early(account, _read(endpoint, body) if body else None))

    def _self_then(self, result: Any, do: Callable[[Any], Any]) -> Any:
        if hasattr(result, "__await__"):
            return self._self_awaited(result, do)
        return do(result)

    async def _self_awaited(self, result: Any, do: Callable[[Any], Any]) -> Any:
        try:
            found = await result
        except BaseException as error:
            self._self_broken(error)
            raise
        return do(found)

    def _self_done(self, call: Callable[[], Any], do: Callable[[Any], Any]) -> Any:
        try:
            result = call()
        except BaseException as error:
            self._self_broken(error)
            raise
        return self._self_then(result, do)

    def _self_broken(self, error: BaseException) -> None:
        body = _body(self.__wrapped__)
        if body is not None:
            # It came whole: what the SDK cannot make of it is no failure of the call.
            self._self_account.settle(_read(self._self_endpoint, body))
            return
        seen = bytes(self._self_seen)
        self._self_account.settle(_read(self._self_endpoint, seen) if seen else None, error)

    def _self_parsed(self, parsed: Any) -> Any:
        if id(parsed) not in self._self_streams:
            stream = watch_stream(parsed, self._self_account, self._self_endpoint)
            if stream is None:
                return self._self_finished(parsed)
            self._self_streams[id(parsed)] = stream
        return self._self_streams[id(parsed)]

    def _self_finished(self, result: Any) -> Any:
        body = _body(self.__wrapped__)
        self._self_account.settle(None if body is None else _read(self._self_endpoint, body))
        return result

    def _self_left(self, result: Any, *, ended: bool) -> Any:
        if not self._self_account.is_settled:
            body = bytes(self._self_seen) or _body(self.__wrapped__)
            reply = _read(self._self_endpoint, body) if body else None
            self._self_account.settle(reply, ended_early=not ended and not is_whole(reply))
        return result

    def _self_tee(self, chunks: Any, ending: bytes) -> Any:
        return (
            self._self_tee_async(chunks, ending)
            if hasattr(chunks, "__anext__")
            else self._self_tee_sync(chunks, ending)
        )

    def _self_keep(self, chunk: Any, ending: bytes) -> None:
        data = chunk.encode() if isinstance(chunk, str) else chunk
        if len(self._self_seen) + len(data) <= _KEPT_BYTES:
            self._self_seen += data + ending
        if not self._self_account.is_settled:
            self._self_account.trace.first_chunk()

    def _self_tee_sync(self, chunks: Any, ending: bytes) -> Iterator[Any]:
        try:
            for chunk in chunks:
                self._self_keep(chunk, ending)
                yield chunk
        except GeneratorExit:
            raise
        except BaseException as error:
            self._self_account.settle(_read(self._self_endpoint, bytes(self._self_seen)), error)
            raise
        self._self_account.settle(_read(self._self_endpoint, bytes(self._self_seen)))

    async def _self_tee_async(self, chunks: Any, ending: bytes) -> AsyncIterator[Any]:
        try:
            async for chunk in chunks:
                self._self_keep(chunk, ending)
                yield chunk
        except GeneratorExit:
            raise
        except BaseException as error:
            self._self_account.settle(_read(self._self_endpoint, bytes(self._self_seen)), error)
            raise
        self._self_account.settle(_read(self._self_endpoint, bytes(self._self_seen)))
