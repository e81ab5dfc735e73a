"""What an SDK's own logger says of a wrapped client's requests: their shape, and no text of them.

Anthropic's SDK, and OpenAI's up to 3.3, write whole requests to their loggers at DEBUG, with the text that we have
added to them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, Token
from typing import Any, Final

__all__ = ["elide_texts_of", "eliding"]

_BODIES: Final = ("json_data", "extra_json")
_NAMES: Final = frozenset({"model", "role", "type"})
_FREE: Final = frozenset({"input", "metadata"})
_AS_IT_IS: Final[AbstractContextManager[None]] = nullcontext()
_watched: set[str] = set()
_eliding: ContextVar[bool] = ContextVar("firsthand_eliding", default=False)


def eliding(on: bool) -> AbstractContextManager[None]:
    """In the block, requests are logged without their texts, if `on`; nothing where no SDK logs any."""
    return _Eliding(on) if _watched else _AS_IT_IS


class _Eliding:
    __slots__ = ("_on", "_token")

    def __init__(self, on: bool) -> None:
        self._on = on
        self._token: Token[bool] | None = None

    def __enter__(self) -> None:
        self._token = _eliding.set(self._on)

    def __exit__(self, *raised: object) -> None:
        if self._token is not None:
            _eliding.reset(self._token)


def elide_texts_of(logger: str) -> None:
    """Have the logger of that name heed `eliding`; its level and its handlers stay the application's."""
    _watched.add(logger)
    logging.getLogger(logger).addFilter(_filter)


class _Filter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        given = record.args
        if _eliding.get() and isinstance(given, Mapping):
            said = {key: _elided(value) if key in _BODIES else value for key, value in given.items()}
            # The one argument of the message, which logging unpacks when it is a mapping.
            record.args = said
        return True


_filter: Final = _Filter()


def _elided(value: Any) -> Any:
    try:
        return _shape(value)
    except RecursionError:
        return "<nested too deeply>"
    except Exception:  # noqa: BLE001  (a filter's error is raised where the line is logged, into the call)
        return f"<{type(value).__name__}>"


def _shape(value: Any, key: object = None) -> Any:
    if key in _FREE or isinstance(value, (str, bytes)):
        return value if key in _NAMES and isinstance(value, str) else _size(value)
    if isinstance(value, Mapping):
        return {name: _shape(item, name) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shape(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float)) else _size(value)


def _size(value: Any) -> str:
    # The keys of what tools are called with are the model's and the user's, too.
    for kind, unit in ((str, "characters"), (bytes, "bytes"), (Mapping, "keys"), (list, "items")):
        if isinstance(value, kind):
            return f"<{len(value)} {unit}>"
    return f"<{type(value).__name__}>"
