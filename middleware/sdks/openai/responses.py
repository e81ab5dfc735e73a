"""responses: create, stream and parse; items of one reply are one message here.

Wire shapes: the API reference of the Responses API (input as string or items, output items, streamed events).
With `previous_response_id` or `conversation` the provider keeps the history: that id is the thread, and only the
new input can be injected into (ledger rule 10).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...injection import Block
from ...parts import Message, Part, Reply, Request, Usage
from ...turn import SYSTEM
from ..base import Placement
from ..reading import (
    TOOLS,
    current_of,
    get,
    is_content,
    mapping_of,
    message_of,
    numbers_in,
    place_in,
    string_of,
    unechoed,
)

__all__ = ["Responses"]

_ROLES: Final = {"developer": "system"}
_CALLS: Final = ("function_call", "custom_tool_call")
_MEDIA: Final = ("input_image", "input_audio", "input_file", "image_url")
_ENDS: Final = ("response.completed", "response.incomplete", "response.failed")
_OPTIONS: Final = {"max_output_tokens": "max_tokens", "temperature": "temperature", "top_p": "top_p"}


class Responses:
    """`/responses`."""

    operation = "chat"
    is_turn = True
    fields = ("input",)

    def read(self, body: Mapping[str, Any]) -> Request:
        read = _messages(body.get("input"))
        current, tool_result = current_of(read)
        instructions, conversation = body.get("instructions"), body.get("conversation")
        previous = body.get("previous_response_id")
        named = conversation if isinstance(conversation, str) else get(conversation, "id")
        thread = previous if isinstance(previous, str) else named
        return Request(
            messages=read,
            current=current,
            tool_result=tool_result,
            model=str(body.get("model") or ""),
            stream=body.get("stream") is True,
            system=instructions if isinstance(instructions, str) else "",
            thread=thread if isinstance(thread, str) else None,
            options=_options(body),
            shape="responses",
        )

    def write(
        self, body: Mapping[str, Any], request: Request, blocks: Mapping[int, Block], how: Placement
    ) -> dict[str, Any]:
        changed: dict[str, Any] = {}
        if SYSTEM in blocks:
            given = body.get("instructions")
            texts = blocks[SYSTEM].texts
            changed["instructions"] = "\n\n".join([given, *texts] if isinstance(given, str) and given else texts)
        if any(index != SYSTEM for index in blocks):
            changed["input"] = _written(request, blocks, how)
        return {**body, **changed}

    def reply(self, value: object) -> Reply:
        output = get(value, "output")
        parts = [part for item in output for part in _item_parts(item)] if isinstance(output, (list, tuple)) else []
        return Reply(
            messages=(Message(role="assistant", parts=tuple(parts), raw=value),) if parts else (),
            id=get(value, "id"),
            model=get(value, "model"),
            finish_reasons=_finish(value, parts),
            usage=_usage(get(value, "usage")),
            error=str(get(get(value, "error"), "code") or "failed") if get(value, "status") == "failed" else "",
        )

    def collector(self) -> _Events:
        return _Events(self)

    def question(self, model: str, text: str, max_tokens: int) -> dict[str, Any]:
        return {"model": model, "input": text, "max_output_tokens": max_tokens, "store": False}


class _Events:
    """Puts the events of a streamed response together."""

    __slots__ = ("_endpoint", "_error", "_final", "_id", "_items", "_model", "_said")

    def __init__(self, endpoint: Responses) -> None:
        self._endpoint = endpoint
        self._final: object = None
        self._error = ""
        self._id: str | None = None
        self._model: str | None = None
        self._items: dict[int, object] = {}
        self._said: dict[int, list[str]] = {}

    def add(self, chunk: object) -> bool:
        kind = get(chunk, "type")
        if not isinstance(kind, str):
            return False
        if kind.endswith(".delta"):
            delta = get(chunk, "delta")
            if isinstance(delta, str) and kind in (
                "response.output_text.delta",
                "response.function_call_arguments.delta",
            ):
                self._said.setdefault(place_in(chunk, "output_index"), []).append(delta)
            return bool(delta)
        if kind in _ENDS:
            self._final = get(chunk, "response")
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._items[place_in(chunk, "output_index")] = get(chunk, "item")
        elif kind == "error":
            self._error = str(get(chunk, "code") or "error")
        elif kind == "response.created":
            response = get(chunk, "response")
            self._id, self._model = get(response, "id"), get(response, "model")
        return False

    def reply(self) -> Reply:
        if self._final is not None:
            return self._endpoint.reply(self._final)
        parts: list[Part] = []
        for index in sorted({*self._items, *self._said}):
            item, said = self._items.get(index), "".join(self._said.get(index, ()))
            if get(item, "type") in _CALLS:
                call_id, name = str(get(item, "call_id") or ""), str(get(item, "name") or "")
                parts.append(Part(kind="tool_call", id=call_id, name=name, text=said))
            elif said:
                parts.append(Part(kind="text", text=said))
        messages = (Message(role="assistant", parts=tuple(parts)),) if parts else ()
        reasons = ("error",) if self._error else ()
        return Reply(messages=messages, id=self._id, model=self._model, finish_reasons=reasons, error=self._error)


def _messages(given: object) -> tuple[Message, ...]:
    if isinstance(given, str):
        return (Message(role="user", parts=(Part(kind="text", text=given),) if given else (), raw=given),)
    messages: list[Message] = []
    names: dict[str, str] = {}
    said: list[object] = []
    for item in given if isinstance(given, (list, tuple)) else ():
        role, kind = get(item, "role"), get(item, "type")
        if role in (None, "assistant") and not (isinstance(kind, str) and kind.endswith("_output")):
            if kind in _CALLS:
                names[str(get(item, "call_id") or "")] = str(get(item, "name") or "")
            said.append(item)
            continue
        messages += _assistant(said)
        if role is None:
            messages.append(_output(item, names))
        else:
            after_tool = bool(messages) and messages[-1].role == "tool"
            parts = _content_parts(get(item, "content"))
            messages.append(message_of(_ROLES.get(role, role), parts, raw=(item,), after_tool=after_tool))
    return (*messages, *_assistant(said))


def _assistant(items: list[object]) -> list[Message]:
    """The items of one reply as one message; empties the list."""
    if not items:
        return []
    parts = tuple(part for item in items for part in _item_parts(item))
    message = Message(role="assistant", parts=parts, raw=tuple(items))
    items.clear()
    return [message]


def _item_parts(item: object) -> list[Part]:
    kind = get(item, "type")
    if kind in _CALLS:
        call_id, name = str(get(item, "call_id") or ""), str(get(item, "name") or "")
        text = get(item, "arguments") or get(item, "input") or ""
        return [Part(kind="tool_call", id=call_id, name=name, text=str(text), raw=item)]
    if get(item, "role") == "assistant":
        return _content_parts(get(item, "content"))
    # Reasoning, searches, references: a client may leave them out when it sends the reply again.
    return [Part(kind="reasoning", raw=item)]


def _content_parts(content: object) -> list[Part]:
    if isinstance(content, str):
        return [Part(kind="text", text=content)] if content else []
    return [_part(item) for item in content] if isinstance(content, (list, tuple)) else []


def _part(raw: object) -> Part:
    kind = get(raw, "type")
    text = get(raw, "refusal") if kind == "refusal" else get(raw, "text")
    if kind in ("input_text", "output_text", "text", "refusal") and isinstance(text, str):
        return Part(kind="text", text=text, raw=raw)
    return Part(kind="media" if kind in _MEDIA else "other", raw=raw)


def _output(item: object, names: Mapping[str, str]) -> Message:
    call_id, output = str(get(item, "call_id") or ""), get(item, "output")
    read = message_of("tool", _content_parts(output), raw=(item,))
    result = Part(kind="tool_response", id=call_id, name=names.get(call_id, ""), text=read.text, raw=item)
    return Message(role="tool", parts=(result,), echoed=read.echoed, raw=(item,))


def _written(request: Request, blocks: Mapping[int, Block], how: Placement) -> object:
    if len(request.messages) == 1 and isinstance(request.messages[0].raw, str):
        given = request.messages[0].raw
        if how.placement == "inline":
            return "\n\n".join([given, *blocks[0].texts] if given else blocks[0].texts)
        parts = [{"type": "input_text", "text": given}] if given else []
        return [{"role": "user", "content": [*parts, *_text_parts(blocks[0])]}]
    items: list[object] = []
    replaced = False
    for index, message in enumerate(request.messages):
        block, raw = blocks.get(index), message.raw
        if message.injection and replaced:
            continue
        replaced = block is not None and message.role == "tool"
        wire = list(raw) if isinstance(raw, tuple) else [raw]
        if block is None:
            items += wire
        elif message.role != "tool":
            items.append(_with_parts(wire[0], "content", message, block, how))
        elif how.tool_placement == "tool_part":
            items.append(_with_parts(wire[0], "output", message, block, how))
        else:
            items += [*wire, {"role": "user", "content": _content(block, how)}]
    return items


def _with_parts(item: Any, field: str, message: Message, block: Block, how: Placement) -> dict[str, Any]:
    content = get(item, field)
    merged: object
    if not is_content(content):
        return item  # type: ignore[no-any-return]
    string = string_of(message, content) if how.placement == "inline" else None
    if string is not None:
        merged = "\n\n".join([string, *block.texts] if string else block.texts)
    elif isinstance(content, str):
        merged = [*([{"type": "input_text", "text": content}] if content else []), *_text_parts(block)]
    else:
        merged = [*unechoed(message, content), *_text_parts(block)]
    return {**mapping_of(item), field: merged}


def _text_parts(block: Block) -> list[dict[str, Any]]:
    return [{"type": "input_text", "text": text} for text in block.texts]


def _content(block: Block, how: Placement) -> object:
    return "\n\n".join(block.texts) if how.placement == "inline" else _text_parts(block)


def _finish(value: object, parts: list[Part]) -> tuple[str, ...]:
    status = get(value, "status")
    if status == "incomplete":
        return (str(get(get(value, "incomplete_details"), "reason") or "length"),)
    if status == "completed":
        return ("tool_calls" if any(part.kind == "tool_call" for part in parts) else "stop",)
    return ("error",) if status in ("failed", "cancelled") else ()


def _usage(usage: object) -> Usage:
    read, written = get(usage, "input_tokens_details"), get(usage, "output_tokens_details")
    return Usage(
        input_tokens=get(usage, "input_tokens"),
        output_tokens=get(usage, "output_tokens"),
        cache_read_tokens=get(read, "cached_tokens"),
        reasoning_tokens=get(written, "reasoning_tokens"),
    )


def _options(body: Mapping[str, Any]) -> dict[str, object]:
    found = numbers_in(body, _OPTIONS)
    if body.get("tools"):
        found[TOOLS] = body["tools"]
    previous, effort = body.get("previous_response_id"), get(body.get("reasoning"), "effort")
    if isinstance(previous, str):
        found["previous_response.id"] = previous
    if isinstance(effort, str):
        found["reasoning.level"] = effort
    kind = get(get(body.get("text"), "format"), "type")
    if isinstance(kind, str):
        found["output.type"] = "json" if kind.startswith("json") else kind
    return found
