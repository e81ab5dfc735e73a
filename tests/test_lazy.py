"""Streams that ask when they are read do to their reader what Python's own generators do."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from middleware.sdks.lazy import LazyAsyncStream, LazyStream


def words(asked: list[str]) -> Iterator[str]:
    asked.append("asked")
    yield "a"
    yield "b"


async def words_later(asked: list[str]) -> AsyncIterator[str]:
    asked.append("asked")
    yield "a"
    yield "b"


def lazy(asked: list[str]) -> Any:
    return LazyStream(lambda: words(asked), contextlib.nullcontext)


def lazy_later(asked: list[str]) -> Any:
    async def start() -> Any:
        return words_later(asked)

    return LazyAsyncStream(start, contextlib.nullcontext)


def outcome(use: Callable[[Any], object], stream: Any) -> object:
    try:
        return use(stream)
    except BaseException as error:
        return repr(error)


USES: list[tuple[Callable[[Any], object], object, bool]] = [
    (list, ["a", "b"], True),
    (inspect.isgenerator, True, False),
    (inspect.getgeneratorstate, inspect.GEN_CREATED, False),
    (lambda stream: (next(stream), inspect.getgeneratorstate(stream))[1], inspect.GEN_SUSPENDED, True),
    (lambda stream: stream.send(None), "a", True),
    (lambda stream: stream.send(5), 'TypeError("can\'t send non-None value to a just-started generator")', False),
    (lambda stream: (outcome(lambda s: s.send(5), stream), list(stream))[1], ["a", "b"], True),
    (lambda stream: stream.throw(ValueError("t")), "ValueError('t')", False),
    (lambda stream: stream.throw(ValueError), "ValueError()", False),
    (lambda stream: stream.throw(GeneratorExit()), "GeneratorExit()", False),
    (lambda stream: (outcome(lambda s: s.throw(KeyError("k")), stream), list(stream))[1], [], False),
    (lambda stream: (next(stream), stream.send(5))[1], "b", True),
    (lambda stream: (stream.close(), stream.send(5)), "StopIteration()", False),
    (lambda stream: (next(stream), stream.throw(ValueError("t")))[1], "ValueError('t')", True),
]


@pytest.mark.parametrize(("use", "expected", "asks"), USES)
def test_a_lazy_stream_does_what_a_generator_does(use: Callable[[Any], object], expected: object, asks: bool) -> None:
    asked: list[str] = []
    assert outcome(use, words([])) == expected == outcome(use, lazy(asked))
    assert asked == (["asked"] if asks else [])


@pytest.mark.filterwarnings("ignore:the \\(type, exc, tb\\) signature of a?throw:DeprecationWarning")
def test_an_error_that_is_thrown_in_three_parts_is_whole() -> None:
    assert outcome(lambda stream: stream.throw(ValueError, "t"), lazy([])) == "ValueError('t')"
    assert outcome(lambda stream: asyncio.run(stream.athrow(ValueError, "t")), lazy_later([])) == "ValueError('t')"


def of(name: str, *arguments: Any) -> Callable[[Any], object]:
    async def use(stream: Any) -> object:
        return await getattr(stream, name)(*arguments)

    return lambda stream: asyncio.run(use(stream))


@pytest.mark.parametrize(
    ("use", "expected", "asks"),
    [
        (of("asend", None), "a", True),
        (of("asend", 5), 'TypeError("can\'t send non-None value to a just-started async generator")', False),
        (of("athrow", ValueError("t")), "ValueError('t')", False),
        (of("athrow", ValueError), "ValueError()", False),
        (of("aclose"), None, False),
    ],
)
def test_a_lazy_async_stream_does_what_an_async_generator_does(
    use: Callable[[Any], object], expected: object, asks: bool
) -> None:
    asked: list[str] = []
    assert outcome(use, words_later([])) == expected == outcome(use, lazy_later(asked))
    assert asked == (["asked"] if asks else [])


def test_what_is_read_later_is_an_asynchronous_generator_to_whoever_asks() -> None:
    assert inspect.isasyncgen(lazy_later([])) and not inspect.isgenerator(lazy_later([]))
