"""JSON values of the caller's, as Python's own plain ones: what encoders take, and a transcript or a span can hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from .parts import clean

__all__ = ["clean_tree", "cut", "exact", "finite"]

_DEEPEST = 100
_TOO_DEEP = "<nested too deeply>"


def exact(value: object) -> object:
    """A string, a number or a mapping of a class of somebody's own as Python's: msgspec's encoders take no others.

    Raises TypeError for anything else.

    >>> exact(type("Said", (str,), {})("hi"))
    'hi'
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"JSON cannot hold {type(value).__name__}")


def clean_tree(value: Any) -> Any:
    """Copy a JSON value with every string cleaned (D5), at any depth without recursion."""
    root: list[Any] = [value]
    pending: list[Any] = [root]
    while pending:
        container = pending.pop()
        for key, item in container.items() if type(container) is dict else enumerate(container):
            if isinstance(item, str):
                container[key] = clean(item)
            elif isinstance(item, Mapping):
                container[key] = {clean(name) if isinstance(name, str) else name: held for name, held in item.items()}
                pending.append(container[key])
            elif isinstance(item, (list, tuple)):
                container[key] = list(item)
                pending.append(container[key])
    return root[0]


def finite(value: Any) -> Any:
    """A JSON value as JSON can write it: None in place of NaN and the infinities, of which JSON has none.

    >>> finite({"x": [1.5, float("nan")]})
    {'x': [1.5, None]}
    """
    return cut({"": value}, lambda item: None if isinstance(item, float) and not math.isfinite(item) else item)[""]


def cut(value: Mapping[Any, Any], leaf: Callable[[Any], Any] = lambda item: item) -> dict[str, Any]:
    """Copy a JSON object, `leaf` of every value that is no container, without recursion.

    What is nested deeper than 100 levels, or contains itself, is a note that says so.
    """
    made: dict[str, Any] = {}
    pending: list[tuple[Any, Any, Any, int]] = [(value, made, None, 1)]
    while pending:
        given, copy, above, depth = pending.pop()
        above = (given, above)
        for key, item in _keyed(given) if isinstance(given, Mapping) else enumerate(given):
            if isinstance(item, Mapping):
                inner: Any = {}
            elif isinstance(item, (list, tuple)):
                inner = [None] * len(item)
            else:
                copy[key] = leaf(item)
                continue
            if depth == _DEEPEST or _is_within(item, above):
                copy[key] = _TOO_DEEP
            else:
                copy[key] = inner
                pending.append((item, inner, above, depth + 1))
    return made


def _keyed(given: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    return [(str.__str__(key) if isinstance(key, str) else str(key), item) for key, item in given.items()]


def _is_within(item: object, above: Any) -> bool:
    while above is not None:
        container, above = above
        if container is item:
            return True
    return False
