"""Streams whose request is made when the first chunk is asked for, as a generator's is.

Whoever makes one says what surrounds the call; whoever reads it may be elsewhere. `there` therefore makes what was
ambient where the stream was made (session, origin, submission, the trace) ambient again for the request.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from types import AsyncGeneratorType, CodeType, GeneratorType, MethodType
from typing import Any, TypeAlias, cast

__all__ = ["GeneratorFunction", "LazyAsyncStream", "LazyStream", "There", "primed", "primed_async"]

There: TypeAlias = Callable[[], AbstractContextManager[None]]


class LazyStream:
    """An iterator with a generator's `send`, `throw` and `close`; `start` makes the stream that it hands on.

    A `start` that raises is not tried again: the stream has ended then, as a generator would have.
    """

    def __init__(self, start: Callable[[], Any], there: There) -> None:
        self._start: Callable[[], Any] | None = start
        self._there = there
        self._stream: Any = None

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # Frameworks ask `inspect.isgenerator` or `isinstance` what it is.
        return GeneratorType

    def __getattr__(self, name: str) -> Any:
        # What no generator has, what watches one may have.
        own = getattr(_unstarted(), name)
        return own if self._stream is None else getattr(self._stream, name)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        start, self._start = self._start, None
        if start is not None:
            with self._there():
                self._stream = start()
        if self._stream is None:
            raise StopIteration
        return next(self._stream)

    def send(self, value: Any) -> Any:
        """As a generator's: what was never started takes None only."""
        if value is not None and self._start is not None:
            raise TypeError("can't send non-None value to a just-started generator")
        return next(self) if value is None or self._stream is None else self._stream.send(value)

    def throw(self, *error: Any) -> Any:
        """As a generator's: what was never started ends with the error."""
        self._start = None
        return (self._stream if self._stream is not None else cast(Any, _unstarted())).throw(*error)

    def close(self) -> None:
        """As a generator's: what was never started makes no request any more."""
        self._start = None
        if self._stream is not None:
            self._stream.close()


class LazyAsyncStream:
    """An asynchronous iterator with an asynchronous generator's `asend`, `athrow` and `aclose`."""

    def __init__(self, start: Callable[[], Awaitable[Any]], there: There) -> None:
        self._start: Callable[[], Awaitable[Any]] | None = start
        self._there = there
        self._stream: Any = None

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # As above.
        return AsyncGeneratorType

    def __getattr__(self, name: str) -> Any:
        # What no generator has, what watches one may have.
        own = getattr(_unstarted_async(), name)
        return own if self._stream is None else getattr(self._stream, name)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        start, self._start = self._start, None
        if start is not None:
            with self._there():
                self._stream = await start()
        if self._stream is None:
            raise StopAsyncIteration
        return await self._stream.__anext__()

    async def asend(self, value: Any) -> Any:
        """As a generator's: what was never started takes None only."""
        if value is not None and self._start is not None:
            raise TypeError("can't send non-None value to a just-started async generator")
        return await (self.__anext__() if value is None or self._stream is None else self._stream.asend(value))

    async def athrow(self, *error: Any) -> Any:
        """As a generator's: what was never started ends with the error."""
        self._start = None
        return await (self._stream if self._stream is not None else cast(Any, _unstarted_async())).athrow(*error)

    async def aclose(self) -> None:
        """As a generator's: what was never started makes no request any more."""
        self._start = None
        if self._stream is not None:
            await self._stream.aclose()


def _unstarted() -> Iterator[None]:
    yield


async def _unstarted_async() -> AsyncIterator[None]:
    yield


class GeneratorFunction:
    """A function in the place of the generator function `given`, which `inspect` takes for one as it does that.

    Frameworks ask `inspect` whether to iterate what a function returns; it looks at the flags of the code.
    """

    __code__: CodeType
    __name__: str
    __defaults__: tuple[Any, ...] | None = None
    __kwdefaults__: dict[str, Any] | None = None

    def __init__(self, made: Callable[..., Any], given: Callable[..., Any]) -> None:
        self._made = made
        functools.update_wrapper(self, given)
        inner: Any = given
        while not hasattr(inner, "__code__"):
            inner = inner.func if isinstance(inner, functools.partial) else inner.__func__
        self.__code__ = inner.__code__
        self.__name__ = getattr(given, "__name__", inner.__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._made(*args, **kwargs)

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        return self if owner is None else MethodType(self, owner)


_NOTHING: Any = object()


def primed(chunks: Any) -> Any:
    """The same chunks; the first is here already, so that the request was made inside of this call."""
    return _Primed(chunks, next(chunks, _NOTHING))


async def primed_async(chunks: Any) -> Any:
    """The same chunks; the first is here already, so that the request was made inside of this call."""
    return _PrimedAsync(chunks, await anext(chunks, _NOTHING))


class _Primed:
    def __init__(self, chunks: Any, first: Any) -> None:
        self._chunks, self._first = chunks, first

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        first, self._first = self._first, _NOTHING
        return next(self._chunks) if first is _NOTHING else first

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chunks, name)

    def close(self) -> None:
        self._first = _NOTHING
        self._chunks.close()

    def throw(self, *error: Any) -> Any:
        self._first = _NOTHING
        return self._chunks.throw(*error)


class _PrimedAsync:
    def __init__(self, chunks: Any, first: Any) -> None:
        self._chunks, self._first = chunks, first

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        first, self._first = self._first, _NOTHING
        return await anext(self._chunks) if first is _NOTHING else first

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chunks, name)

    async def aclose(self) -> None:
        self._first = _NOTHING
        await self._chunks.aclose()

    async def athrow(self, *error: Any) -> Any:
        self._first = _NOTHING
        return await self._chunks.athrow(*error)
