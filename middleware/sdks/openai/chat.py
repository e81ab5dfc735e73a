"""chat.completions, in every spelling, by the path that the SDK's `post` is called with.

Wire shapes: the API reference of chat completions (role, content as string or parts, tool_calls, chunks).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ...injection import Block
from ...parts import Message, Part, Reply, Request, Role
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
    role_of,
    taker,
    unechoed,
)
from .chunks import ChatChunks, unlisted, usage_of

__all__ = ["Chat"]

_REASONING: Final = re.compile(r"o\d|gpt-5")
_ROLES: Final = {"developer": "system", "function": "tool"}
_PLAIN: Final[Mapping[str, Role]] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}
_OPTIONS: Final = {
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "seed": "seed",
    "n": "choice.count",
}


class Chat:
    """`/chat/completions`."""

    operation = "chat"
    is_turn = True
    fields = ("messages",)

    def read(self, body: Mapping[str, Any]) -> Request:
        messages: list[Message] = []
        names: dict[str, str] = {}
        for raw in body.get("messages") or ():
            after_tool = bool(messages) and messages[-1].role == "tool"
            messages.append(_message(raw, names, after_tool=after_tool))
        read = tuple(messages)
        current, tool_result = current_of(read)
        return Request(
            messages=read,
            current=current,
            tool_result=tool_result,
            model=str(body.get("model") or ""),
            stream=body.get("stream") is True,
            options=_options(body),
            shape="openai",
        )

    def write(
        self, body: Mapping[str, Any], request: Request, blocks: Mapping[int, Block], how: Placement
    ) -> dict[str, Any]:
        messages: list[object] = []
        replaced = False
        instruction = blocks.get(SYSTEM)
        instructed = next((n for n, message in enumerate(request.messages) if message.role == "system"), None)
        if instruction is not None and instructed is None:
            messages.append({"role": "system", "content": _content(instruction, how)})
        for index, message in enumerate(request.messages):
            block = blocks.get(index) if index != instructed else instruction
            if message.injection and replaced:
                continue
            replaced = False
            if block is None:
                messages.append(message.raw)
            elif message.role != "tool":
                messages.append(_with_parts(message, block, how))
            elif how.tool_placement == "tool_part":
                messages.append(_with_parts(message, block, how))
                replaced = True
            else:
                messages += [message.raw, {"role": "user", "content": _content(block, how)}]
                replaced = True
        return {**body, "messages": messages}

    def asking_usage(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The body of a stream with its token counts asked for, unless the caller decided on that."""
        said = body.get("stream_options")
        if body.get("stream") is not True or get(said, "include_usage") is not None:
            return body
        options = mapping_of(said) if isinstance(said, Mapping) else {}
        return {**body, "stream_options": {**options, "include_usage": True}}

    def is_usage_alone(self, chunk: object) -> bool:
        """True for the chunk that `asking_usage` adds to a stream."""
        return not get(chunk, "choices") and get(chunk, "usage") is not None

    def reply(self, value: object) -> Reply:
        take = taker(value)
        messages: list[Message] = []
        reasons: list[str] = []
        for choice in take(value, "choices", None) or ():
            of_choice = taker(choice)
            message = of_choice(choice, "message", None)
            if message:
                messages.append(_message(message, {}))
            reasons.append(str(of_choice(choice, "finish_reason", None) or ""))
        return Reply(
            messages=tuple(messages),
            id=take(value, "id", None),
            model=take(value, "model", None),
            finish_reasons=tuple(reasons),
            usage=usage_of(take(value, "usage", None)),
        )

    def collector(self) -> ChatChunks:
        return ChatChunks()

    def question(self, model: str, text: str, max_tokens: int) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": text}]}
        if _REASONING.match(model.rpartition("/")[2]):
            return {**body, "max_completion_tokens": max_tokens}
        return {**body, "max_tokens": max_tokens, "temperature": 0}


def _message(raw: object, names: dict[str, str], *, after_tool: bool = False) -> Message:
    role, content = role_of(raw), get(raw, "content")
    if type(content) is str and type(raw) is dict and len(raw) == 2 and role in _PLAIN and not after_tool:
        # Most messages are a role and a text; the only part of a message is the user's, whatever it says (D21).
        said = (Part(kind="text", text=content),) if content else ()
        return Message(role=_PLAIN[role], parts=said, raw=raw)
    if role == "tool":
        call_id = str(get(raw, "tool_call_id") or "")
        return _tool(call_id, names.get(call_id, ""), raw)
    if role == "function":
        name = str(get(raw, "name") or "")
        return _tool(name, name, raw)
    parts: list[Part] = []
    thought = unlisted(raw, "reasoning_content")
    if isinstance(thought, str) and thought:
        parts.append(Part(kind="reasoning", text=thought))
    parts += _parts(content)
    take = taker(raw)
    refusal, audio, legacy = take(raw, "refusal", None), take(raw, "audio", None), take(raw, "function_call", None)
    if isinstance(refusal, str) and refusal:
        parts.append(Part(kind="text", text=refusal))
    if audio is not None and get(audio, "id") is not None:
        # The application sends the id back, without the sound.
        parts.append(Part(kind="other", raw={"audio": str(get(audio, "id"))}))
    if legacy is not None and get(legacy, "name") is not None:
        name = str(get(legacy, "name"))
        parts.append(Part(kind="tool_call", id=name, name=name, text=str(get(legacy, "arguments") or ""), raw=legacy))
    for call in take(raw, "tool_calls", None) or ():
        function = get(call, "function") or get(call, "custom")
        call_id, name = str(get(call, "id") or ""), str(get(function, "name") or "")
        names[call_id] = name
        arguments = get(function, "arguments") or get(function, "input") or ""
        parts.append(Part(kind="tool_call", id=call_id, name=name, text=str(arguments), raw=call))
    return message_of(_ROLES.get(role, role), parts, raw=raw, after_tool=after_tool)


def _parts(content: object) -> list[Part]:
    if content is None:
        return []
    if isinstance(content, str):
        return [Part(kind="text", text=content)] if content else []
    return [_part(item) for item in content] if isinstance(content, (list, tuple)) else []


def _part(raw: object) -> Part:
    kind = get(raw, "type")
    text = get(raw, "text")
    if kind == "text" and isinstance(text, str):
        return Part(kind="text", text=text, raw=raw)
    refusal = get(raw, "refusal")
    if kind == "refusal" and isinstance(refusal, str):
        return Part(kind="text", text=refusal, raw=raw)
    return Part(kind="media" if kind in ("image_url", "input_audio", "file") else "other", raw=raw)


def _tool(call_id: str, name: str, raw: object) -> Message:
    """A tool message: one result, without our parts, which an echo may hold (`tool_part`)."""
    read = message_of("tool", _parts(get(raw, "content")), raw=raw)
    said = Part(kind="tool_response", id=call_id, name=name, text=read.text, raw=raw)
    return Message(role="tool", parts=(said,), echoed=read.echoed, raw=raw)


def _options(body: Mapping[str, Any]) -> dict[str, object]:
    found = numbers_in(body, _OPTIONS)
    stop, effort = body.get("stop"), body.get("reasoning_effort")
    if isinstance(effort, str):
        found["reasoning.level"] = effort
    if isinstance(stop, (str, list, tuple)):
        found["stop_sequences"] = (stop,) if isinstance(stop, str) else tuple(stop)
    if body.get("tools"):
        found[TOOLS] = body["tools"]
    kind = get(body.get("response_format"), "type")
    if isinstance(kind, str):
        found["output.type"] = "json" if kind in ("json_object", "json_schema") else kind
    return found


def _with_parts(message: Message, block: Block, how: Placement) -> dict[str, Any]:
    raw: Any = message.raw
    content = get(raw, "content")
    if not is_content(content):
        return raw  # type: ignore[no-any-return]
    if how.placement == "inline":
        kept = [] if isinstance(content, str) else unechoed(message, content)
        text = content if isinstance(content, str) else "".join(part.text for part in _parts(kept))
        merged: object = "\n\n".join([text, *block.texts] if text else block.texts)
        if any(part.kind != "text" for part in _parts(kept)):
            merged = [*kept, *_text_parts(block)]
    elif isinstance(content, str):
        merged = [*([{"type": "text", "text": content}] if content else []), *_text_parts(block)]
    else:
        merged = [*unechoed(message, content), *_text_parts(block)]
    return {**mapping_of(raw), "content": merged}


def _text_parts(block: Block) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in block.texts]


def _content(block: Block, how: Placement) -> object:
    return "\n\n".join(block.texts) if how.placement == "inline" else _text_parts(block)
