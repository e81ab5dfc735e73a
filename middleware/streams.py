"""Streams, watched: they settle the account however they end.

The proxies pass `isinstance`, hand out the SDK's own chunks, and change nothing that the caller sees. A stream
settles at its end, at an error, at `close`, when its `with` is left and when it is dropped; `break` alone does
not end it, for the SDK lets one go on.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import wrapt

from .parts import Reply
from .replies import reply_from
from .sdks import Collector, Endpoint
from .settle import Account, settle_dropped, watch_for_dropped

__all__ = ["is_whole", "settle_early", "watch_stream"]


def watch_stream(answer: Any, account: Account, endpoint: Endpoint) -> Any:
    """A watched stream for a stream of the SDK, None for anything else."""
    kind: type[_Watched] | None = None
    if hasattr(answer, "__anext__"):
        kind = WatchedEither if hasattr(answer, "__next__") else WatchedAsyncStream
        kind = WatchedAsyncGenerator if hasattr(answer, "athrow") else kind
    elif hasattr(answer, "__next__"):
        kind = WatchedGenerator if hasattr(answer, "throw") else WatchedStream
    return None if kind is None else kind(answer, account, endpoint.collector())


def is_whole(reply: Reply | None) -> bool:
    """True when every choice said why it ended: who leaves then has missed no words, only the end mark."""
    return reply is not None and bool(reply.finish_reasons) and all(reply.finish_reasons)


def settle_early(account: Account, reply: Reply | None) -> None:
    """Settle what was left before its end, or just before its end mark."""
    account.settle(reply, ended_early=not is_whole(reply))


class _Watched(wrapt.ObjectProxy[Any]):
    """What sync and async streams share: gathering chunks, and settling once."""

    def __init__(self, stream: Any, account: Account, collector: Collector) -> None:
        super().__init__(stream)
        watch_for_dropped()
        self._self_account = account
        self._self_collector = collector
        self._self_add = collector.add
        self._self_waiting = True
        self._self_unasked = account.unasked

    def _self_see(self, chunk: object) -> bool:
        """Gather a chunk; False for one that the caller did not ask for."""
        try:
            said = self._self_add(chunk)
        except Exception:  # noqa: BLE001  (a chunk that nobody foresaw is the caller's all the same)
            return True
        if said and self._self_waiting:
            self._self_heard()
        return self._self_unasked is None or not self._self_unasked(chunk)

    def _self_heard(self) -> None:
        """The model has begun to answer."""
        if self._self_waiting:
            self._self_waiting = False
            self._self_account.trace.first_chunk()

    def _self_settle(self, error: BaseException | None = None, *, ended_early: bool = False) -> None:
        account: Account = self._self_account
        if not account.is_settled:
            reply = reply_from(self._self_collector.reply)
            account.settle(reply, error, ended_early=ended_early and not is_whole(reply))

    @property
    def response(self) -> Any:
        """The HTTP response; closing it ends the stream, and what openai's `.stream()` gives closes no more."""
        return _WatchedHttp(self.__wrapped__.response, self)

    def __copy__(self) -> Any:
        return copy.copy(self.__wrapped__)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self.__wrapped__, memo)

    def __del__(self) -> None:
        try:
            account, collector = self._self_account, self._self_collector
        except AttributeError:
            # The interpreter is going down, or __init__ never finished.
            return
        if not account.is_settled:
            settle_dropped(lambda: settle_early(account, reply_from(collector.reply)))


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
        chunks = iter(self.__wrapped__)
        return self if chunks is self.__wrapped__ else self._self_steps(chunks)

    def _self_steps(self, chunks: Iterator[Any]) -> Iterator[Any]:
        """The chunks of an SDK's stream, whose own iterator is a generator too: leaving it does not end the stream."""
        # What `_self_see` does, on locals: chunks are many.
        add, unasked, waiting = self._self_add, self._self_unasked, self._self_waiting
        try:
            for chunk in chunks:
                try:
                    said = add(chunk)
                except Exception:  # noqa: BLE001  (a chunk that nobody foresaw is the caller's all the same)
                    said = False
                if waiting and said:
                    waiting = False
                    self._self_heard()
                if unasked is None or not unasked(chunk):
                    yield chunk
        except GeneratorExit:
            raise
        except BaseException as error:
            self._self_settle(error)
            raise
        self._self_settle()

    def __next__(self) -> Any:
        while True:
            try:
                chunk = self.__wrapped__.__next__()
            except StopIteration:
                self._self_settle()
                raise
            except BaseException as error:
                self._self_settle(error)
                raise
            if self._self_see(chunk):
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
        chunks = self.__wrapped__.__aiter__()
        return self if chunks is self.__wrapped__ else _Steps(chunks, self)

    async def __anext__(self) -> Any:
        while True:
            try:
                chunk = await self.__wrapped__.__anext__()
            except StopAsyncIteration:
                self._self_settle()
                raise
            except BaseException as error:
                self._self_settle(error)
                raise
            if self._self_see(chunk):
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


class _Steps:
    """The chunks of an SDK's asynchronous stream: leaving them does not end the stream."""

    __slots__ = ("_add", "_next", "_stream", "_unasked", "_waiting")

    def __init__(self, chunks: AsyncIterator[Any], stream: WatchedAsyncStream) -> None:
        self._next = chunks.__anext__
        self._stream = stream
        self._add, self._unasked, self._waiting = stream._self_add, stream._self_unasked, stream._self_waiting

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        # What `_self_see` does, on slots: chunks are many.
        while True:
            try:
                chunk = await self._next()
            except StopAsyncIteration:
                self._stream._self_settle()
                raise
            except BaseException as error:
                self._stream._self_settle(error)
                raise
            try:
                said = self._add(chunk)
            except Exception:  # noqa: BLE001  (a chunk that nobody foresaw is the caller's all the same)
                said = False
            if self._waiting and said:
                self._waiting = False
                self._stream._self_heard()
            if self._unasked is None or not self._unasked(chunk):
                return chunk


class WatchedGenerator(WatchedStream):
    """A stream that is a generator, or behaves as one (Google's SDK, functions of the application)."""

    def send(self, value: Any) -> Any:
        """As the generator's."""
        return self._self_stepped(lambda: self.__wrapped__.send(value))

    def throw(self, *error: Any) -> Any:
        """As the generator's; what it does not catch settles the account."""
        return self._self_stepped(lambda: self.__wrapped__.throw(*error))

    def _self_stepped(self, step: Callable[[], Any]) -> Any:
        try:
            chunk = step()
        except StopIteration:
            self._self_settle()
            raise
        except BaseException as error:
            self._self_settle(error)
            raise
        self._self_see(chunk)
        return chunk


class WatchedAsyncGenerator(WatchedAsyncStream):
    """A stream that is an asynchronous generator, or behaves as one."""

    async def asend(self, value: Any) -> Any:
        """As the generator's."""
        return await self._self_stepped(lambda: self.__wrapped__.asend(value))

    async def athrow(self, *error: Any) -> Any:
        """As the generator's; what it does not catch settles the account."""
        return await self._self_stepped(lambda: self.__wrapped__.athrow(*error))

    async def aclose(self) -> None:
        """Close it; the account is settled as ended early unless the stream had ended."""
        try:
            await self.__wrapped__.aclose()
        finally:
            self._self_settle(ended_early=True)

    async def _self_stepped(self, step: Callable[[], Awaitable[Any]]) -> Any:
        try:
            chunk = await step()
        except StopAsyncIteration:
            self._self_settle()
            raise
        except BaseException as error:
            self._self_settle(error)
            raise
        self._self_see(chunk)
        return chunk


class WatchedEither(WatchedStream):
    """A stream that may be read in either colour (litellm's)."""

    __aiter__ = WatchedAsyncStream.__aiter__
    __anext__ = WatchedAsyncStream.__anext__
    __aenter__ = WatchedAsyncStream.__aenter__
    __aexit__ = WatchedAsyncStream.__aexit__  # type: ignore[assignment]

    async def aclose(self) -> None:
        """As the stream's; the account is settled as ended early unless the stream had ended."""
        try:
            await self.__wrapped__.aclose()
        finally:
            self._self_settle(ended_early=True)
