"""What came back, made sound: whatever a server answers, the caller gets it and the books are closed."""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Final

import msgspec

from .parts import Reply, Usage

__all__ = ["reply_from"]

_COUNTS: Final = frozenset({int, NoneType})


def reply_from(build: Callable[[], Reply]) -> Reply | None:
    """The reply that `build` reads, with ids, names and counts of the right types; None for what cannot be read.

    The call was made and paid for: an answer that nobody foresaw must still reach the caller.
    """
    try:
        return _sound(build())
    except Exception:  # noqa: BLE001  (as above: a `__getattr__` may raise anything, nesting a RecursionError)
        return None


def _sound(reply: Reply) -> Reply:
    usage = reply.usage
    counts = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    )
    id_is_sound = reply.id is None or type(reply.id) is str
    model_is_sound = reply.model is None or type(reply.model) is str
    if id_is_sound and model_is_sound and _COUNTS.issuperset(map(type, counts)):
        return reply
    return msgspec.structs.replace(
        reply,
        id=_name(reply.id),
        model=_name(reply.model),
        usage=Usage(
            input_tokens=_count(usage.input_tokens),
            output_tokens=_count(usage.output_tokens),
            cache_read_tokens=_count(usage.cache_read_tokens),
            cache_write_tokens=_count(usage.cache_write_tokens),
            reasoning_tokens=_count(usage.reasoning_tokens),
        ),
    )


def _name(value: object) -> str | None:
    # Some servers number what they make.
    return str(value) if isinstance(value, (str, int)) else None


def _count(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None
