"""What every adapter offers, and what it is given.

An adapter copies, never mutates, and never tests an argument by truthiness. `read` takes what the SDK is about
to send, `write` gives a new body with the blocks in their places, `reply` and the collector read what came back
(SDK objects or decoded JSON alike).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from ..parts import Reply, Request

__all__ = [
    "Adapter",
    "AsksUsage",
    "Collector",
    "Endpoint",
    "Placement",
    "Seam",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """How injected text is put on the wire; see the settings of the same names."""

    placement: Literal["part", "inline"] = "part"
    tool_placement: Literal["user", "tool_part"] = "user"


class Collector(Protocol):
    """Gathers a streamed reply, chunk by chunk; chunks are not changed."""

    def add(self, chunk: object) -> bool:
        """Take one chunk; True when it carried output (for the time to the first one)."""

    def reply(self) -> Reply:
        """What has come so far."""


class Endpoint(Protocol):
    """One endpoint of an SDK, as pure functions.

    `operation` is the semantic convention's; `is_turn` is False for what is no turn of a conversation
    (embeddings): it is traced, and that is all. `fields` of the body may hold one-shot iterables.
    """

    @property
    def operation(self) -> str: ...
    @property
    def is_turn(self) -> bool: ...
    @property
    def fields(self) -> tuple[str, ...]: ...

    def read(self, body: Mapping[str, Any]) -> Request: ...
    def write(self, body: Mapping[str, Any], request: Request, blocks: Mapping[int, Any], how: Placement) -> Any: ...
    def reply(self, value: object) -> Reply: ...
    def collector(self) -> Collector: ...
    def question(self, model: str, text: str, max_tokens: int) -> dict[str, Any]: ...


@runtime_checkable
class AsksUsage(Protocol):
    """An endpoint whose streams give token counts only when asked to (`request_usage`)."""

    def asking_usage(self, body: Mapping[str, Any]) -> Mapping[str, Any]: ...
    def is_usage_alone(self, chunk: object) -> bool: ...


class Adapter(Protocol):
    """One SDK."""

    name: str
    quieted: tuple[str, ...]

    def accepts(self, client: object) -> bool: ...
    def is_async(self, client: object) -> bool: ...
    def endpoint(self, path: str) -> Endpoint | None: ...
    def destination(self, client: object) -> tuple[str, str | None, int | None]: ...
    def sibling_options(self, client: object) -> dict[str, Any]: ...
    def headers(self, client: object) -> dict[str, str]: ...
    def sibling(self, client: Any, seam: Seam) -> Any: ...


class Seam(Protocol):
    """What a sibling's `post` calls: the way through the middleware, in both colours."""

    def send(
        self,
        client: Any,
        post: Callable[..., Any],
        path: str,
        arguments: dict[str, Any],
        endpoint: Endpoint | None = None,
    ) -> Any: ...
    def send_async(
        self,
        client: Any,
        post: Callable[..., Awaitable[Any]],
        path: str,
        arguments: dict[str, Any],
        endpoint: Endpoint | None = None,
    ) -> Awaitable[Any]: ...
    def quiet(self) -> AbstractContextManager[None]: ...
    def carried(self) -> Callable[[], AbstractContextManager[None]]: ...
