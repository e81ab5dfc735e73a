"""Arguments of every engine's methods, looked at before anything else is done with them."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .errors import ArgumentError

if TYPE_CHECKING:
    from .base import Record
    from .embedders.base import Embedder

_MOST = 2**63 - 1
"""What a database can count to; more is as good as all."""


def check_query(query: object) -> str:
    """`query` itself. Raises ArgumentError for what is no str."""
    if isinstance(query, str):
        return query
    raise ArgumentError(f"query is {type(query).__name__}; give a str")


def check_count(name: str, value: object) -> int:
    """`value`, but 0 for less, and at most 2**63 - 1. Raises ArgumentError for what is no whole number."""
    try:
        return min(max(operator.index(value), 0), _MOST)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(f"{name} is {type(value).__name__}; give an int") from None


def check_records(records: Iterable[Record]) -> list[Record]:
    """The records. Raises ArgumentError for what is none or only one of them."""
    try:
        return [*records]
    except TypeError:
        if isinstance(records, Iterable):
            raise
        raise ArgumentError(f"records is {type(records).__name__}; give a list of Record values") from None


def check_embedder(embedder: str | Embedder | None) -> str | Embedder | None:
    """`embedder` itself. Raises ArgumentError for what is neither a name nor an Embedder."""
    if embedder is None or isinstance(embedder, str) or callable(getattr(embedder, "embed", None)):
        return embedder
    raise ArgumentError(f"embedder is {type(embedder).__name__}; give a name or an Embedder")
