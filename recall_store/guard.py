"""What may not become a memory: injected text, and secrets. Asked before anything is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .base import MAX_TEXT, Record
from .errors import RecordError, ReservedTagError, SecretError
from .reserved import reserved_tag
from .secrets import find_secret, find_secrets
from .text import as_seen

_AT_MOST_ALL = 2 * MAX_TEXT
"""Characters of a text with ligatures and the like written out."""
_OBJECTS = ("source", "metadata")


def check_record(record: object) -> None:
    """Raise RecordError, ReservedTagError or SecretError if `record` may not be stored.

    Every field that holds words is looked at, also `id`, `source` and `metadata`. The message names the field and the
    tag or rule; it holds none of the words.
    """
    if not isinstance(record, Record):
        raise RecordError(f"records holds a {type(record).__name__}; give Record values")
    for name, text in _texts(record):
        # One character may stand for eighteen, and all that follows takes as long as they do.
        if len(text) > MAX_TEXT or (len(text) > _AT_MOST_ALL // 18 and len(as_seen(text)) > _AT_MOST_ALL):
            raise RecordError(f"record field {name!r} is too long; the limit is {MAX_TEXT} characters")
        # A quote or a line end inside of a value is escaped in JSON, where a tag or a rule looks for it.
        for held in (text, *(_strings(getattr(record, name)) if name in _OBJECTS else ())):
            tag = reserved_tag(held)
            if tag is not None:
                raise ReservedTagError(
                    f"record field {name!r} holds the reserved tag <{tag}>, which marks injected text; "
                    "store only what its author wrote"
                )
            if find_secret(held) is not None:
                found = find_secrets(held)
                rules = f"rule{'s' if len(found) > 1 else ''} {', '.join(found)}"
                raise SecretError(f"record field {name!r} holds a secret ({rules}); remove it and store the rest")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _texts(record: Record) -> list[tuple[str, str]]:
    found = [(name, getattr(record, name)) for name in ("text", "title", "description", "id")]
    found += [(name, json.dumps(value, ensure_ascii=False)) for name in _OBJECTS if (value := getattr(record, name))]
    return [(name, text) for name, text in found if text]
