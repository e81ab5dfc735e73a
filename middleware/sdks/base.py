"""What every adapter offers, and the seam: the `post` of a subclass of the client's own class.

An adapter copies, never mutates, and never tests an argument by truthiness. `read` takes what the SDK is about
to send, `write` gives a new body with the blocks in their places, `reply` and the collector read what came back
(SDK objects or decoded JSON alike).
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, Protocol, cast, runtime_checkable

from ..injection import kept_parts, tag_of
from ..parts import Message, Part, Reply, Request

__all__ = [
    "Adapter",
    "AsksUsage",
    "Collector",
    "Endpoint",
    "Placement",
    "Seam",
    "current_of",
    "destination",
    "get",
    "is_content",
    "listed",
    "mapping_of",
    "materialised",
    "message_of",
    "observed",
    "posting_sibling",
    "role_of",
    "taker",
    "unechoed",
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


def posting_sibling(adapter: Adapter, client: Any, seam: Seam) -> Any:
    """A client of the same type whose `post` goes through `seam`; one that is wrapped already is bound anew."""
    own = type(client)
    base: Any = own.__mro__[1] if "_firsthand_observed" in own.__dict__ else own
    made: Any = observed(base, adapter.is_async(client), adapter.quieted)
    sibling = made.__new__(made)
    sibling.__dict__.update(_copied(base, client, adapter.sibling_options(client)))
    sibling.__dict__["_firsthand_seam"] = seam
    return sibling


def _copied(base: Any, client: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a copy of the client, its own resources left out."""
    try:
        copy: dict[str, Any] = base.copy(client, **options).__dict__
    except TypeError:
        # A subclass whose __init__ takes other arguments cannot be copied the SDK's way.
        copy = {name: value for name, value in client.__dict__.items() if getattr(value, "_client", None) is not client}
        own = options.get("open_telemetry")
        if own is not None and hasattr(client, "_set_open_telemetry"):
            twin = base.__new__(base)
            twin.__dict__.update(copy)
            twin._set_open_telemetry(own)
            copy = twin.__dict__
    return copy


@functools.cache
def observed(client_class: type, is_async: bool, quieted: tuple[str, ...] = ()) -> type:
    """The subclass of a client's class whose `post` goes through a seam; made once a class.

    Instances pass `isinstance`, and stay wrapped through `copy` and `with_options`. The instance attribute
    `_firsthand_seam` holds the `Seam`. Other instrumentors patch the methods that `quieted` names (as
    "chat.completions.create"): on our instances these enter the seam's `quiet` first, so that a call has one span.
    """

    def copy(self: Any, **options: Any) -> Any:
        made = client_class.copy(self, **options)  # type: ignore[attr-defined]
        made.__dict__["_firsthand_seam"] = self._firsthand_seam
        if options.get("open_telemetry") is not None:
            # The option replaces the client's whole one, and would have the SDK trace what we trace.
            made._set_open_telemetry({**made.open_telemetry, "traces": False})
        return made

    def post(self: Any, path: str, **arguments: Any) -> Any:
        send = functools.partial(client_class.post, self)  # type: ignore[attr-defined]
        seam = self.__dict__.get("_firsthand_seam")
        return send(path, **arguments) if seam is None else seam.send(self, send, path, arguments)

    async def post_async(self: Any, path: str, **arguments: Any) -> Any:
        send = functools.partial(client_class.post, self)  # type: ignore[attr-defined]
        seam = self.__dict__.get("_firsthand_seam")
        if seam is None:
            return await send(path, **arguments)
        return await seam.send_async(self, send, path, arguments)

    members: dict[str, Any] = {
        "__module__": client_class.__module__,
        "__qualname__": client_class.__qualname__,
        "__doc__": client_class.__doc__,
        "_firsthand_observed": True,
        "post": post_async if is_async else post,
        "copy": copy,
        "with_options": copy,
        **{name: _resource(client_class, name, paths, is_async) for name, paths in _by_root(quieted).items()},
    }
    return type(client_class.__name__, (client_class,), members)


def _by_root(quieted: tuple[str, ...]) -> dict[str, list[list[str]]]:
    roots: dict[str, list[list[str]]] = {}
    for path in quieted:
        root, *rest = path.split(".")
        roots.setdefault(root, []).append(rest)
    return roots


def _resource(client_class: type, name: str, paths: list[list[str]], is_async: bool) -> property:
    """A resource of the client, its methods quieted; made on first use, as the SDK does."""

    def resource(self: Any) -> Any:
        made = self.__dict__.get(name)
        if made is None:
            made = getattr(super(type(self), self), name)
            self.__dict__[name] = made
            for *inner, method in paths:
                owner = functools.reduce(lambda found, step: getattr(found, step, None), inner, made)
                if owner is not None and hasattr(type(owner), method):
                    setattr(owner, method, _quieted(self, owner, method, is_async))
        return made

    return property(resource)


def _quieted(client: Any, owner: Any, name: str, is_async: bool) -> Callable[..., Any]:
    # The class is asked at each call: whoever patches it later is quieted too.
    def call(*args: Any, **kwargs: Any) -> Any:
        with client.__dict__["_firsthand_seam"].quiet():
            return getattr(type(owner), name)(owner, *args, **kwargs)

    async def call_async(*args: Any, **kwargs: Any) -> Any:
        with client.__dict__["_firsthand_seam"].quiet():
            return await getattr(type(owner), name)(owner, *args, **kwargs)

    return functools.wraps(getattr(type(owner), name).__get__(owner))(call_async if is_async else call)


def destination(client: Any, provider: Callable[[list[str], str], str]) -> tuple[str, str | None, int | None]:
    """The provider's name, the server's address and its port; read once for each base URL of a client.

    `provider` names the provider by the names of the client's class and its bases, and by the server's.
    """
    url = getattr(client, "base_url", None)
    known = client.__dict__.get("_firsthand_destination")
    if known is None or known[0] is not url:
        host, port = getattr(url, "host", None) or None, getattr(url, "port", None)
        if port is None:
            port = {"https": 443, "http": 80}.get(getattr(url, "scheme", ""))
        known = (url, (provider([base.__name__ for base in type(client).__mro__], host or ""), host, port))
        client.__dict__["_firsthand_destination"] = known
    found: tuple[str, str | None, int | None] = known[1]
    return found


def taker(value: object) -> Callable[..., Any]:
    """What takes a field of `value`, called with it, the field's name and None; see `get`."""
    kind: Any = type(value)
    return _taker_of(kind)


@functools.lru_cache(256)
def _taker_of(kind: type[Any]) -> Callable[..., Any]:
    if issubclass(kind, dict):
        return dict.get
    return _get if issubclass(kind, Mapping) else getattr


def _get(value: object, name: str, otherwise: None) -> Any:
    return get(value, name)


def get(value: object, name: str) -> Any:
    """A field of an SDK object or of decoded JSON; None when it is not there."""
    # `isinstance` against an ABC costs more than the rest of this together, and chunks are many.
    if type(value) is dict:
        return value.get(name)
    if value is None:
        return None
    try:
        return getattr(value, name)
    except AttributeError:
        return value.get(name) if isinstance(value, Mapping) else None


def is_content(value: object) -> bool:
    """True for what a message's content may be; anything else is for the server to refuse."""
    return value is None or isinstance(value, (str, list, tuple))


def mapping_of(raw: Any) -> Mapping[str, Any]:
    """A wire message as a mapping; of an SDK's or the caller's model object what was set on it."""
    if isinstance(raw, Mapping):
        return raw
    dump = getattr(raw, "model_dump", None)
    found: Mapping[str, Any] = dump(exclude_unset=True, mode="json") if dump is not None else dict(raw)
    return found


def role_of(raw: object) -> str:
    """The role of a wire message. Raises TypeError for what is no message."""
    role = get(raw, "role")
    if not isinstance(role, str):
        raise TypeError("a message without a role")
    return role


def listed(value: object) -> Any:
    """A one-shot iterable as a list, made once; strings, lists and everything else as they are."""
    if isinstance(value, (str, list, tuple, Mapping)) or not isinstance(value, Iterable):
        return value
    return list(value)


def materialised(body: Mapping[str, Any], *fields: str) -> Mapping[str, Any]:
    """The body with one-shot iterables in `fields` and in their items' `content` made lists, once.

    The same body when there are none; nothing of the caller's is changed.
    """
    changed: dict[str, Any] = {}
    for name in fields:
        given = body.get(name)
        if type(given) is str or (type(given) is list and _is_plain(given)):
            continue
        items = listed(given)
        if isinstance(items, (list, tuple)):
            contents = [get(item, "content") for item in items]
            made = [listed(content) for content in contents]
            if any(new is not old for new, old in zip(made, contents, strict=True)):
                items = [
                    item if new is old else {**dict(item), "content": new}
                    for item, new, old in zip(items, made, contents, strict=True)
                ]
        if items is not given:
            changed[name] = items
    return {**body, **changed} if changed else body


def _is_plain(items: list[Any]) -> bool:
    for item in items:
        if type(item) is not dict:
            return False
        kind = type(item.get("content"))
        if kind is not str and kind is not list and kind is not NoneType:
            return False
    return True


def message_of(role: str, parts: Iterable[Part], *, raw: object, after_tool: bool = False) -> Message:
    """Build a message, taking our own trailing tagged parts off it (rule 1).

    `after_tool` says that it follows tool results: a user message there that is one tagged part is an
    injection of ours that the application echoes (D21).
    """
    read = tuple(parts)
    if role not in ("user", "tool"):
        return Message(role=cast(Any, role), parts=read, raw=raw)
    texts = [part.text if part.kind == "text" else None for part in read]
    injection = (
        after_tool and role == "user" and bool(texts) and all(text is not None and tag_of(text) for text in texts)
    )
    kept = kept_parts(texts) if not injection else len(read)
    return Message(role=cast(Any, role), parts=read[:kept], echoed=read[kept:], injection=injection, raw=raw)


def unechoed(message: Message, content: Any) -> list[object]:
    """The wire parts of a message without our own that an application sent back."""
    parts = list(content or ())
    return parts[: len(parts) - len(message.echoed)] if message.echoed else parts


def current_of(messages: tuple[Message, ...]) -> tuple[int | None, bool]:
    """Find what a call is about: its index, and whether it is tool results (rule 3).

    The last user message, skipping trailing system messages and an assistant prefill; tool results in it or
    after it make it a tool-result send, and the index is then the last message that holds one.
    """
    end = len(messages)
    while end and (messages[end - 1].role in ("system", "assistant") or messages[end - 1].injection):
        end -= 1
    if not end:
        return None, False
    last = messages[end - 1]
    return end - 1, last.is_tool_result
