"""The only ContextVars: what is ambient, by whom it was set, and the mark of being inside a hook.

Values are set in a `with`, in the frame of whoever declares them; a generator or a stream never sets one.
Each belongs to the `Middleware` that set it (`owner`, by identity: it stays alive while a context names it), so
that two of them in one process do not mix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Literal, TypeAlias

__all__ = ["Name", "ambient", "ambient_of", "carried", "inside", "is_inside", "setting"]

Name: TypeAlias = Literal["session", "submission", "origin", "bypass"]

_ambient: ContextVar[Mapping[tuple[object, Name], object]] = ContextVar("firsthand_ambient", default={})  # noqa: B039
_NOTHING: Mapping[Name, object] = {}
_inside: ContextVar[bool] = ContextVar("firsthand_inside", default=False)


def ambient(owner: object, name: Name) -> object | None:
    """What `owner` declared under `name` in this context, or None."""
    return _ambient.get().get((owner, name))


def ambient_of(owner: object) -> Mapping[Name, object]:
    """All that `owner` declared in this context."""
    found = _ambient.get()
    return {name: found[whose, name] for whose, name in found if whose is owner} if found else _NOTHING


@contextmanager
def setting(owner: object, name: Name, value: object) -> Iterator[None]:
    """Declare `value` for the duration of the block, in this context and those copied from it."""
    token = _ambient.set({**_ambient.get(), (owner, name): value})
    try:
        yield
    finally:
        _ambient.reset(token)


def carried() -> Callable[[], AbstractContextManager[None]]:
    """What makes all that is ambient at this moment ambient in a `with` elsewhere."""
    ambient_now, inside_now = _ambient.get(), _inside.get()

    @contextmanager
    def there() -> Iterator[None]:
        tokens = _ambient.set(ambient_now), _inside.set(inside_now)
        try:
            yield
        finally:
            _ambient.reset(tokens[0])
            _inside.reset(tokens[1])

    return there


def is_inside() -> bool:
    """True inside a hook, an embedder or a store: a model call made there passes straight through."""
    return _inside.get()


@contextmanager
def inside() -> Iterator[None]:
    """Mark the block as being inside our own work."""
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)
