"""What a call gives back, watched: streams and raw responses that settle the account however they end.

The proxies pass `isinstance`, hand out the SDK's own chunks, and change nothing that the caller sees. A stream
settles at its end, at an error, at `close`, when its `with` is left and when it is dropped; `break` alone does
not end it, for the SDK lets one go on.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import wrapt

from .parts import Reply
from .sdks import Collector, Endpoint
from .settle import Account

__all__ = ["watch"]

_KEPT_BYTES = 8 << 20


def watch(answer: Any, account: Account, endpoint: Endpoint) -> Any:
    """Settle the account for `answer`, now if it is a value, else when it ends; return what the caller gets."""
    if hasattr(answer, "http_response") and hasattr(answer, "parse"):
        return _watched_response(answer, account, endpoint)
    if hasattr(answer, "__anext__"):
        return WatchedAsyncStream(answer, account, endpoint.collector())
    if hasattr(answer, "__next__") and hasattr(answer, "response"):
        return WatchedStream(answer, account, endpoint.collector())
    account.settle(_reply_of(endpoint, answer))
    return answer


def _reply_of(endpoint: Endpoint, value: object) -> Reply | None:
    # The call was made and paid for: an answer that cannot be read must still reach the caller.
    try:
        return endpoint.reply(value)
    except (AttributeError, LookupError, TypeError, ValueError):
        return None


def _is_whole(reply: Reply | None) -> bool:
    """True when every choice said why it ended: who leaves then has missed no words, only the end mark."""
    return reply is not None and bool(reply.finish_reasons) and all(reply.finish_reasons)


class _Watched(wrapt.ObjectProxy[Any]):
    """What sync and async streams share: gathering chunks, and settling once."""

    def __init__(self, stream: Any, account: Account, collector: Collector) -> None:
        super().__init__(stream)
        self._self_account = account
        self._self_collector = collector
        self._self_add = collector.add
        self._self_waiting = True

    def _self_see(self, chunk: object) -> None:
        try:
            said = self._self_add(chunk)
        except (AttributeError, LookupError, TypeError, ValueError):
            return
        if said and self._self_waiting:
            self._self_waiting = False
            self._self_account.trace.first_chunk()

    def _self_settle(self, error: BaseException | None = None, *, ended_early: bool = False) -> None:
        account: Account = self._self_account
        if not account.is_settled:
            reply = self._self_collector.reply()
            account.settle(reply, error, ended_early=ended_early and not _is_whole(reply))

    @property
    def response(self) -> Any:
        """The HTTP response; closing it ends the stream, and what openai's `.stream()` gives closes no more."""
        return _WatchedHttp(self.__wrapped__.response, self)

    def __del__(self) -> None:
        try:
            self._self_settle(ended_early=True)
        except AttributeError:
            # The interpreter is going down, or __init__ never finished.
            return


class _WatchedHttp(wrapt.ObjectProxy[Any]):
    """The HTTP response of a watched stream: `close` and `aclose` settle."""

    def __init__(self, response: Any, stream: _Watched) -> None:
        super().__init__(response)
        self._self_stream = stream

    def close(self) -> None:
        try:
            self.__wrapped__.close()
        finally:
            self._self_stream._self_settle(ended_early=True)

    async def aclose(self) -> None:
        try:
            await self.__wrapped__.aclose()
        finally:
            self._self_stream._self_settle(ended_early=True)


class WatchedStream(_Watched):
    """A stream of the sync client."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            chunk = self.__wrapped__.__next__()
        except StopIteration:
            self._self_settle()
            raise
        except BaseException as error:
            self._self_settle(error)
            raise
        self._self_see(chunk)
        return chunk

    def __enter__(self) -> Any:
        self.__wrapped__.__enter__()
        return self

    def __exit__(self, *exc_info: Any) -> Any:
        try:
            return self.__wrapped__.__exit__(*exc_info)
        finally:
            self._self_settle(ended_early=True)

    def close(self) -> None:
        """Close the response; the account is settled as ended early unless the stream had ended."""
        try:
            self.__wrapped__.close()
        finally:
            self._self_settle(ended_early=True)


class WatchedAsyncStream(_Watched):
    """A stream of the async client."""

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            chunk = await self.__wrapped__.__anext__()
        except StopAsyncIteration:
            self._self_settle()
            raise
        except BaseException as error:
            self._self_settle(error)
            raise
        self._self_see(chunk)
        return chunk

    async def __aenter__(self) -> Any:
        await self.__wrapped__.__aenter__()
        return self

    async def __aexit__(self, *exc_info: Any) -> Any:
        try:
            return await self.__wrapped__.__aexit__(*exc_info)
        finally:
            self._self_settle(ended_early=True)

    async def close(self) -> None:
        """Close the response; the account is settled as ended early unless the stream had ended."""
        try:
            await self.__wrapped__.close()
        finally:
            self._self_settle(ended_early=True)


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
    try:
        if body.lstrip()[:1] == b"{":
            return endpoint.reply(json.loads(body))
        collector = endpoint.collector()
        for line in body.split(b"\n"):
            data = line[5:].strip() if line.startswith(b"data:") else b""
            if data.startswith(b"{"):
                collector.add(json.loads(data))
        return collector.reply()
    except (AttributeError, LookupError, TypeError, ValueError):
        return None


class WatchedResponse(wrapt.ObjectProxy[Any]):
    """A raw response whose body is still to come: its parsed stream and its body settle the account."""

    def __init__(self, response: Any, account: Account, endpoint: Endpoint) -> None:
        super().__init__(response)
        self._self_account = account
        self._self_endpoint = endpoint
        self._self_seen = bytearray()
        self._self_streams: dict[int, Any] = {}

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        """As the SDK's; a stream comes back watched, the same one each time."""
        return self._self_then(self.__wrapped__.parse(*args, **kwargs), self._self_parsed)

    def read(self, *args: Any, **kwargs: Any) -> Any:
        """As the SDK's; settles."""
        return self._self_then(self.__wrapped__.read(*args, **kwargs), self._self_finished)

    @property
    def text(self) -> Any:
        """As the SDK's, a method or (openai's older class) a property; settles."""
        text = self.__wrapped__.text
        if not callable(text):
            return self._self_finished(text)
        return lambda *args, **kwargs: self._self_then(text(*args, **kwargs), self._self_finished)

    def json(self, *args: Any, **kwargs: Any) -> Any:
        """As the SDK's; settles."""
        return self._self_then(self.__wrapped__.json(*args, **kwargs), self._self_finished)

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
        return self._self_then(self.__wrapped__.close(), lambda nothing: self._self_left(nothing))

    def __del__(self) -> None:
        try:
            if not self._self_streams:
                self._self_left(None)
        except AttributeError:
            return

    def _self_then(self, result: Any, do: Callable[[Any], Any]) -> Any:
        if hasattr(result, "__await__"):
            return self._self_awaited(result, do)
        return do(result)

    async def _self_awaited(self, result: Any, do: Callable[[Any], Any]) -> Any:
        return do(await result)

    def _self_parsed(self, parsed: Any) -> Any:
        if not (hasattr(parsed, "__anext__") or (hasattr(parsed, "__next__") and hasattr(parsed, "response"))):
            return self._self_finished(parsed)
        if id(parsed) not in self._self_streams:
            self._self_streams[id(parsed)] = watch(parsed, self._self_account, self._self_endpoint)
        return self._self_streams[id(parsed)]

    def _self_finished(self, result: Any) -> Any:
        body = _body(self.__wrapped__)
        self._self_account.settle(None if body is None else _read(self._self_endpoint, body))
        return result

    def _self_left(self, result: Any) -> Any:
        if not self._self_account.is_settled:
            body = bytes(self._self_seen) or _body(self.__wrapped__)
            reply = _read(self._self_endpoint, body) if body else None
            self._self_account.settle(reply, ended_early=not _is_whole(reply))
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
