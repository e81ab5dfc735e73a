"""`contents` and `config` of Google's SDK: read into messages, and written with our parts in their places.

The SDK takes a string, a part, a content, a file, a picture, a mapping of any of these, or a list of them; loose
parts that follow one another are one content. Nothing is converted: our part is put behind the caller's own objects.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from ...injection import Block
from ...parts import Message, Part
from ..reading import get, is_one_shot, json_text, message_of, unechoed

__all__ = ["field", "instructed", "instruction_text", "kept", "messages_of", "part_of", "written"]

_Kind: TypeAlias = Literal["part", "parts", "content"]
_LISTS: Final = (list, tuple, set, frozenset, deque)
"""What the SDK takes for a list: what pydantic makes one of."""
_NOTHING_SAID: Final = (int, float)
_ROLES: Final = {"model": "assistant"}
_SAID: Final = ("output", "result")


def field(value: object, name: str) -> Any:
    """A field of an SDK object, or of a mapping with its snake or camel name; None when it is not there."""
    found = get(value, name)
    if found is None and isinstance(value, Mapping):
        head, *rest = name.split("_")
        return value.get(head + "".join(map(str.title, rest)))
    return found


def kept(contents: Any) -> Any:
    """The contents with one-shot iterables, and such parts of a mapping, made tuples, which the SDK takes alike."""
    items = tuple(contents) if is_one_shot(contents) else contents
    if not isinstance(items, (list, tuple)):
        return _kept_parts(items)
    made = [_kept_parts(item) for item in items]
    if all(new is old for new, old in zip(made, items, strict=True)):
        return items
    return type(items)(made) if type(items) in (list, tuple) else made


def _kept_parts(item: Any) -> Any:
    parts = item.get("parts") if isinstance(item, Mapping) else None
    if parts is not None and is_one_shot(parts):
        return {**item, "parts": tuple(parts)}
    return tuple(item) if is_one_shot(item) else item


def messages_of(contents: object) -> tuple[Message, ...]:
    """One message a content; consecutive ones of the model are one reply in pieces (a streamed chat's history).

    `raw` holds the items of `contents` that a message was read from.
    """
    found: list[Message] = []
    said: list[tuple[list[Part], Sequence[object]]] = []
    for role, parts, items in _groups(contents):
        if role == "assistant":
            said.append((parts, items))
            continue
        found += _reply(said)
        found.append(message_of("user", parts, raw=tuple(items)))
    return (*found, *_reply(said))


def _reply(said: list[tuple[list[Part], Sequence[object]]]) -> list[Message]:
    """The pieces of one reply as one message; empties the list."""
    if not said:
        return []
    parts = tuple(part for piece, _ in said for part in piece)
    raw = tuple(item for _, items in said for item in items)
    said.clear()
    return [Message(role="assistant", parts=parts, raw=raw)]


def _groups(contents: object) -> Iterator[tuple[str, list[Part], Sequence[object]]]:
    """Role, parts and items of each content, loose parts grouped as the SDK groups them."""
    loose: list[object] = []
    read: list[Part] = []
    for item in contents if isinstance(contents, _LISTS) else () if contents is None else (contents,):
        kind = _kind(item)
        part = part_of(item) if kind == "part" else None
        if loose and (part is None or (part.kind == "tool_call") != (read[0].kind == "tool_call")):
            yield _role_of_loose(read), read, loose
            loose, read = [], []
        if part is not None:
            loose.append(item)
            read.append(part)
        else:
            inner: Any = item if kind == "parts" else field(item, "parts")
            role = "user" if kind == "parts" else _ROLES.get(str(field(item, "role")), "user")
            yield role, [part_of(one) for one in inner or ()], (item,)
    if loose:
        yield _role_of_loose(read), read, loose


def _role_of_loose(parts: list[Part]) -> str:
    return "assistant" if parts[0].kind == "tool_call" else "user"


def _kind(item: object) -> _Kind:
    if isinstance(item, str):
        return "part"
    if isinstance(item, _LISTS):
        return "parts"
    if isinstance(item, _NOTHING_SAID):
        raise TypeError("no content")
    if isinstance(item, Mapping):
        return "content" if not item or "parts" in item or "role" in item else "part"
    return "content" if hasattr(item, "parts") and hasattr(item, "role") else "part"


def part_of(raw: object) -> Part:
    """Read a part: a string, a part of the SDK or its mapping, an uploaded file, a picture."""
    if isinstance(raw, str):
        return Part(kind="text", text=raw, raw=raw)
    if isinstance(raw, bytes):
        # The SDK sends it as text.
        return Part(kind="text", text=raw.decode("utf-8", "replace"), raw=raw)
    text = field(raw, "text")
    if isinstance(text, str):
        return Part(kind="reasoning" if field(raw, "thought") is True else "text", text=text, raw=raw)
    call = field(raw, "function_call")
    if call is not None:
        arguments = json_text(field(call, "args"))
        return Part(kind="tool_call", id=_text(call, "id"), name=_text(call, "name"), text=arguments, raw=raw)
    answer = field(raw, "function_response")
    if answer is not None:
        said = _said(field(answer, "response"))
        return Part(kind="tool_response", id=_text(answer, "id"), name=_text(answer, "name"), text=said, raw=raw)
    inline, linked = field(raw, "inline_data"), field(raw, "file_data")
    if inline is not None:
        held = {"mime_type": field(inline, "mime_type"), "data": field(inline, "data")}
        return Part(kind="media", raw={"inline_data": held})
    uri = field(linked if linked is not None else raw, "file_uri" if linked is not None else "uri")
    if isinstance(uri, str):
        kind = field(linked if linked is not None else raw, "mime_type")
        return Part(kind="media", raw={"file_data": {"mime_type": kind, "file_uri": uri}})
    return Part(kind="media" if "image" in type(raw).__name__.lower() else "other", raw=raw)


def _text(value: object, name: str) -> str:
    found = field(value, name)
    return found if isinstance(found, str) else ""


def _said(response: object) -> str:
    """The words of a function's response: of a sole `output` or `result` that is text itself, else JSON."""
    if isinstance(response, Mapping) and len(response) == 1:
        said = next((response[name] for name in _SAID if name in response), None)
        if isinstance(said, str):
            return said
    return json_text(response)


def written(messages: Sequence[Message], blocks: Mapping[int, Block], *, inline: bool) -> list[object]:
    """The items of the messages, with each block behind its message's own parts."""
    items: list[object] = []
    for index, message in enumerate(messages):
        block = blocks.get(index)
        raw: Any = message.raw
        items += raw if block is None else _with_parts(message, raw, block, inline)
    return items


def _with_parts(message: Message, items: Sequence[Any], block: Block, inline: bool) -> list[object]:
    kind = _kind(items[0])
    if kind == "content":
        return [_longer(items[0], unechoed(message, field(items[0], "parts")), block)]
    if kind == "parts":
        return [[*unechoed(message, items[0]), *block.texts]]
    if inline and len(items) == 1 and isinstance(items[0], str):
        return ["\n\n".join([items[0], *block.texts] if items[0] else block.texts)]
    return [*(item for item in unechoed(message, items) if item != ""), *block.texts]


def _longer(content: Any, parts: list[Any], block: Block) -> Any:
    """A content with the block behind `parts`, of the kind that it was."""
    if isinstance(content, Mapping):
        return {**content, "parts": [*parts, *({"text": text} for text in block.texts)]}
    from google.genai import types

    return content.model_copy(update={"parts": [*parts, *(types.Part(text=text) for text in block.texts)]})


def instruction_text(config: object) -> str:
    """The words of the system instruction."""
    given = field(config, "system_instruction")
    return "".join(part.text for _, parts, _ in _groups(given) for part in parts if part.kind == "text")


def instructed(config: Any, block: Block, *, inline: bool) -> Any:
    """A config of the same kind (a mapping for none) with the block at the end of its system instruction."""
    given = field(config, "system_instruction")
    made: object
    if given is None or given == "":
        made = "\n\n".join(block.texts)
    elif isinstance(given, str) and inline:
        made = "\n\n".join([given, *block.texts])
    elif isinstance(given, _LISTS):
        made = [*given, *block.texts]
    else:
        made = _longer(given, list(field(given, "parts") or ()), block) if _kind(given) == "content" else None
        made = [given, *block.texts] if made is None else made
    if config is None:
        return {"system_instruction": made}
    if isinstance(config, Mapping):
        name = "systemInstruction" if "systemInstruction" in config else "system_instruction"
        return {**config, name: made}
    return config.model_copy(update={"system_instruction": made})
