"""Attribute values, names and ids as OTLP has them, made safe to store: no text is endless, no name holds a NUL."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable
from typing import Any, Final

from .signals import Attributes

__all__ = ["FIRST_TIME", "LAST_TIME", "LONGEST_TEXT", "attributes_of", "cut", "name_of", "resource_of", "value_of"]

LONGEST_TEXT: Final = 65_536
"""Characters of one text; more is cut, and says so. As many as the middleware's own `max_attribute_chars`."""

FIRST_TIME: Final = 946_684_800 * 10**9
LAST_TIME: Final = 2**62
"""ns since 1970, in the years 2000 and 2116: another time is a mistake of its sender."""

_LONGEST_NAME: Final = 256
_MOST_ATTRIBUTES: Final = 512
_MOST_VALUES: Final = 1_000
_LONGEST_SHARED: Final = 48
_MOST_SHARED: Final = 4_096
_shared: dict[str, str] = {}
_DEEPEST: Final = 16


def attributes_of(pairs: Iterable[Any]) -> Attributes:
    """The attributes of a span, a record or a resource; of a name that is there twice the last counts."""
    found: Attributes = {}
    for pair in pairs:
        value = pair.value
        name, kind = _once(cut(pair.key)), value.WhichOneof("value")
        if kind == "string_value":
            text = value.string_value
            found[name] = _once(text) if len(text) <= LONGEST_TEXT else cut(text)
        elif kind == "int_value":
            found[name] = value.int_value
        else:
            found[name] = value_of(value)
        if len(found) >= _MOST_ATTRIBUTES:
            break
    return found


def _once(text: str) -> str:
    """The same text, held once: most of what spans say, their names above all, they say again and again."""
    if len(text) > _LONGEST_SHARED:
        return text
    if len(_shared) > _MOST_SHARED:
        _shared.clear()
    return _shared.setdefault(text, text)


def value_of(value: Any, depth: int = 0) -> Any:
    """One value; a number that JSON has no word for is its name, bytes are base64."""
    kind = value.WhichOneof("value")
    match kind:
        case "string_value":
            return cut(value.string_value)
        case "bool_value":
            return value.bool_value
        case "int_value":
            return value.int_value
        case "double_value":
            number = value.double_value
            return number if math.isfinite(number) else str(number)
        case "bytes_value":
            return cut(base64.b64encode(value.bytes_value).decode())
        case "array_value" if depth < _DEEPEST:
            items = value.array_value.values
            listed = [value_of(item, depth + 1) for item in items[:_MOST_VALUES]]
            return [*listed, _left_out(len(items))] if len(items) > _MOST_VALUES else listed
        case "kvlist_value" if depth < _DEEPEST:
            pairs = value.kvlist_value.values
            named = {cut(pair.key): value_of(pair.value, depth + 1) for pair in pairs[:_MOST_VALUES]}
            return named | {"[cut]": _left_out(len(pairs))} if len(pairs) > _MOST_VALUES else named
        case None:
            return None
    return "[too deep]"


def _left_out(count: int) -> str:
    return f"[cut: {_MOST_VALUES} of {count} values]"


def cut(text: str) -> str:
    """A text of bearable length."""
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]} [cut: {LONGEST_TEXT} of {len(text)} characters]"


def name_of(text: str) -> str:
    """A name that fits a column: cut, and without NUL, where SQLite's functions take a text to end."""
    return text[:_LONGEST_NAME].replace("\0", "\ufffd")


def resource_of(resource: Any) -> tuple[str, str]:
    """The service's name, and what tells this process of it from another."""
    said = attributes_of(resource.attributes)
    service = said.get("service.name")
    source = "|".join(str(said.get(name, "")) for name in ("service.instance.id", "host.name", "process.pid"))
    return name_of(service) if isinstance(service, str) else "", source
