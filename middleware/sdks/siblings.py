"""The seam's side of a client: a sibling of its class whose `post` goes through the middleware."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from .base import Adapter, Seam

__all__ = [
    "destination",
    "observed",
    "posting_sibling",
]

_MANAGERS: Final = ("stream",)
"""Methods that return a manager at once, of the async client too; its request is made when it is entered."""


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
                    setattr(owner, method, _quieted(self, owner, method, is_async and method not in _MANAGERS))
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
