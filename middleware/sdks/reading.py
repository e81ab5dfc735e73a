"""Fields and messages of SDK objects and decoded JSON alike, read without changing anything of the caller's."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Mapping
from types import NoneType
from typing import Any, Final, cast

import msgspec

from ..injection import kept_parts, tag_of
from ..parts import Message, Part, clean
from ..plain import clean_tree, cut, exact

__all__ = [
    "TOOLS",
    "current_of",
    "get",
    "is_content",
    "is_one_shot",
    "json_text",
    "listed",
    "mapping_of",
    "materialised",
    "message_of",
    "numbers_in",
    "place_in",
    "role_of",
    "string_of",
    "taker",
    "text_in",
    "unechoed",
]

_ROLES: Final = {role: role for role in ("user", "assistant", "system", "tool", "developer", "function")}
_encode: Final = msgspec.json.Encoder(enc_hook=exact).encode


def taker(value: object) -> Callable[..., Any]:
    """What takes a field of `value`, called with it, the field's name and None; see `get`."""
    kind: Any = type(value)
    return _taker_of(kind)


@functools.lru_cache(256)
def _taker_of(kind: type[Any]) -> Callable[..., Any]:
    if kind is dict:
        return dict.get
    return getattr if hasattr(kind, "__pydantic_fields__") else _get


def _get(value: object, name: str, otherwise: None) -> Any:
    return get(value, name)


def get(value: object, name: str) -> Any:
    """A field of an SDK object or of decoded JSON; None when it is not there."""
    # `isinstance` against an ABC costs more than the rest of this together, and chunks are many.
    if type(value) is dict:
        return value.get(name)
    if value is None:
        return None
    try:
        return getattr(value, name)
    except AttributeError:
        return value.get(name) if isinstance(value, Mapping) else None
    except Exception:  # noqa: BLE001  (what a field of the caller's object runs is the caller's, and may raise anything)
        return None


TOOLS: Final = "tool.definitions"
"""The option under which a request's tools are, as the caller gave them."""


def text_in(value: object) -> str:
    """A piece of text; of parts of a message their texts, of any other value its JSON, of nothing ""."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return "".join(said for item in value if isinstance(said := get(item, "text"), str))
    return json_text(value)


def place_in(value: object, name: str = "index") -> int:
    """The index that a piece of a streamed reply names, 0 for none; some servers write it as text."""
    place = get(value, name)
    if isinstance(place, str) and place.isdecimal():
        return int(place)
    return place if isinstance(place, int) else 0


def numbers_in(body: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, object]:
    """The numbers that a body holds under `names`, by what `names` calls them; no truth value is one."""
    found: dict[str, object] = {}
    for name, called in names.items():
        value = body.get(name)
        if value is not None and isinstance(value, (int, float)) and value is not True and value is not False:
            found[called] = value
    return found


def is_content(value: object) -> bool:
    """True for what a message's content may be; anything else is for the server to refuse."""
    return value is None or isinstance(value, (str, list, tuple))


def mapping_of(raw: Any) -> Mapping[str, Any]:
    """A wire message as a mapping; of an SDK's or the caller's model object what was set on it."""
    if isinstance(raw, Mapping):
        return raw
    dump = getattr(raw, "model_dump", None)
    found: Mapping[str, Any] = dump(exclude_unset=True, mode="json") if dump is not None else dict(raw)
    return found


def role_of(raw: object) -> str:
    """The role of a wire message. Raises TypeError for what is no message."""
    role = get(raw, "role")
    if not isinstance(role, str):
        raise TypeError("a message without a role")
    return _ROLES.get(role) or clean(str.__str__(role))


def json_text(value: object) -> str:
    """What a tool is called with, or what it answered, as JSON; "{}" for what cannot be written."""
    given = value if value is not None else {}
    try:
        return _encode(given).decode()
    except (UnicodeEncodeError, RecursionError):
        # Lone surrogates, or nested too deeply: the rest of it counts.
        given = clean_tree(cut({"": given})[""])
    except (TypeError, ValueError):
        return "{}"
    try:
        return _encode(given).decode()
    except (TypeError, ValueError, RecursionError):
        return "{}"


def is_one_shot(value: object) -> bool:
    """True for what can be iterated once only: who reads it before it is sent has taken it."""
    try:
        return iter(value) is value  # type: ignore[call-overload]
    except Exception:  # noqa: BLE001  (as in `get`)
        return False


def listed(value: object) -> Any:
    """A one-shot iterable as a list, made once; everything else as it is."""
    return list(cast(Iterable[Any], value)) if is_one_shot(value) else value


def materialised(body: Mapping[str, Any], *fields: str) -> Mapping[str, Any]:
    """The body with one-shot iterables in `fields` and in their items' `content` made lists, once.

    The same body when there are none; nothing of the caller's is changed. Raises what such an iterable raises.
    """
    changed: dict[str, Any] = {}
    for name in fields:
        given = body.get(name)
        if type(given) is str or (type(given) is list and _is_plain(given)):
            continue
        items = listed(given)
        if isinstance(items, (list, tuple)):
            made = [_readable(item) for item in items]
            if any(new is not old for new, old in zip(made, items, strict=True)):
                items = made
        if items is not given:
            changed[name] = items
    return {**body, **changed} if changed else body


def _readable(item: Any) -> Any:
    """An item whose content can be read more than once: itself, or, of a mapping, a copy of its own kind."""
    content = item.get("content") if isinstance(item, Mapping) else None
    if content is None or not is_one_shot(content):
        return item
    made = list(content)
    if type(item) is dict:
        return {**item, "content": made}
    try:
        twin = copy.copy(item)
        twin["content"] = made
    except Exception:  # noqa: BLE001  (as in `get`)
        return {**item, "content": made}
    return twin


def _is_plain(items: list[Any]) -> bool:
    for item in items:
        if type(item) is not dict:
            return False
        kind = type(item.get("content"))
        if kind is not str and kind is not list and kind is not NoneType:
            return False
    return True


def message_of(role: str, parts: Iterable[Part], *, raw: object, after_tool: bool = False) -> Message:
    """Build a message, taking our own trailing tagged parts off it (rule 1).

    `after_tool` says that it follows tool results: a user message there that is one tagged part is an
    injection of ours that the application echoes (D21).
    """
    read = tuple(parts)
    if role not in ("user", "tool"):
        return Message(role=cast(Any, role), parts=read, raw=raw)
    texts = [part.text if part.kind == "text" else None for part in read]
    injection = (
        after_tool and role == "user" and bool(texts) and all(text is not None and tag_of(text) for text in texts)
    )
    kept = kept_parts(texts) if not injection else len(read)
    return Message(role=cast(Any, role), parts=read[:kept], echoed=read[kept:], injection=injection, raw=raw)


def unechoed(message: Message, content: Any) -> list[object]:
    """The wire parts of a message without our own that an application sent back."""
    parts = list(content or ())
    return parts[: len(parts) - len(message.echoed)] if message.echoed else parts


def string_of(message: Message, content: Any) -> str | None:
    """The content that `inline` adds to: a string, or one bare text without our parts behind it; None for any other."""
    if isinstance(content, str):
        return content
    kept = unechoed(message, content)
    if len(kept) != 1 or not isinstance(kept[0], Mapping) or not kept[0].keys() <= {"type", "text"}:
        return None
    return str(kept[0]["text"]) if isinstance(kept[0].get("text"), str) else None


def current_of(messages: tuple[Message, ...]) -> tuple[int | None, bool]:
    """Find what a call is about: its index, and whether it is tool results (rule 3).

    The last user message, skipping trailing system messages and an assistant prefill; tool results in it or
    after it make it a tool-result send, and the index is then the last message that holds one.
    """
    end = len(messages)
    while end and (messages[end - 1].role in ("system", "assistant") or messages[end - 1].injection):
        end -= 1
    if not end:
        return None, False
    last = messages[end - 1]
    return end - 1, last.is_tool_result
