"""The `where` of a search or list: checked once, then a plain value that an engine turns into its own query."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .base import AUTHORS, TYPES, json_object
from .errors import FilterError

_KEYS = ("type", "author", "after", "before", "metadata")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories count. An empty tuple, None and an empty mapping each mean: any.

    `after` is the first moment that counts, `before` the first that no longer does.
    """

    types: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    after: datetime | None = None
    before: datetime | None = None
    metadata: tuple[tuple[str, Any], ...] = ()

    @property
    def any(self) -> bool:
        """True if every memory counts."""
        return self == Filter()


def parse(where: Mapping[str, Any] | None) -> Filter:
    """The filter that `where` means. Raises FilterError, which names the key and never the value."""
    if where is None:
        return Filter()
    if not isinstance(where, Mapping):
        raise FilterError(f"where is {type(where).__name__}; give a mapping with keys of {', '.join(_KEYS)}")
    unknown = [key for key in where if key not in _KEYS]
    if unknown:
        raise FilterError(f"where has an unknown key; use {', '.join(_KEYS)}")
    try:
        metadata = json_object(where.get("metadata", {}))
    except ValueError as error:
        raise FilterError(f"where 'metadata' {error}") from None
    return Filter(
        types=_names(where, "type", TYPES),
        authors=_names(where, "author", AUTHORS),
        after=_moment(where, "after"),
        before=_moment(where, "before"),
        metadata=tuple(metadata.items()),
    )


def _names(where: Mapping[str, Any], key: str, known: frozenset[str]) -> tuple[str, ...]:
    if key not in where:
        return ()
    value = where[key]
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple | Set) else ()
    if not names or not all(isinstance(name, str) and name in known for name in names):
        raise FilterError(f"where {key!r} is not one or several of {', '.join(sorted(known))}")
    return names


def _moment(where: Mapping[str, Any], key: str) -> datetime | None:
    value = where.get(key)
    if value is None:
        return None
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise FilterError(f"where {key!r} is not an aware datetime; give one with a time zone")
    return value
