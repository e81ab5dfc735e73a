"""What may not become a memory: injected text, and secrets. Asked before anything is written."""

from __future__ import annotations

import json

from .base import Record
from .errors import RecordError, ReservedTagError, SecretError
from .reserved import reserved_tag
from .secrets import find_secret


def check_record(record: object) -> None:
    """Raise RecordError, ReservedTagError or SecretError if `record` may not be stored.

    Every field that holds words is looked at, also `id`, `source` and `metadata`. The message names the field and the
    tag or rule; it holds none of the words.
    """
    if not isinstance(record, Record):
        raise RecordError(f"records holds a {type(record).__name__}; give Record values")
    for name, text in _texts(record):
        tag = reserved_tag(text)
        if tag is not None:
            raise ReservedTagError(
                f"record field {name!r} holds the reserved tag <{tag}>, which marks injected text; "
                "store only what its author wrote"
            )
        rule = find_secret(text)
        if rule is not None:
            raise SecretError(f"record field {name!r} holds a secret (rule {rule}); remove it and store the rest")


def _texts(record: Record) -> list[tuple[str, str]]:
    found = [(name, getattr(record, name)) for name in ("text", "title", "description", "id")]
    found += [
        (name, json.dumps(value, ensure_ascii=False))
        for name in ("source", "metadata")
        if (value := getattr(record, name))
    ]
    return [(name, text) for name, text in found if text]
