"""Anthropic SDK 2: messages, beta ones too, in every spelling, by the path that its `post` is called with.

The body arrives as the caller gave it, "not given" sentinels and one-shot iterables included. The SDK traces
itself; its sibling of ours does not, and sends our trace context where its own `propagation` is on.

With a message thread (the tool runner's default) the provider keeps the history: the reply that a request continues
from says which session it is, and only the new messages are there to be read (ledger rule 10).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..injection import Block
from ..parts import Message, Part, Reply, Request, Usage
from ..turn import SYSTEM
from .base import Adapter, Endpoint, Placement, Seam
from .logs import elide_texts_of
from .reading import (
    TOOLS,
    current_of,
    get,
    is_content,
    json_text,
    mapping_of,
    message_of,
    numbers_in,
    place_in,
    role_of,
    string_of,
    text_in,
    unechoed,
)
from .siblings import destination, posting_sibling

__all__ = ["ADAPTER"]

_OPTIONS: Final = {name: name for name in ("max_tokens", "temperature", "top_p", "top_k")}
_MEDIA: Final = ("image", "document", "container_upload")
_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")


class _Messages:
    """`/v1/messages`."""

    operation = "chat"
    is_turn = True
    fields = ("messages", "system")

    def read(self, body: Mapping[str, Any]) -> Request:
        messages: list[Message] = []
        names: dict[str, str] = {}
        for raw in body.get("messages") or ():
            parts = _parts(get(raw, "content"), names)
            messages.append(message_of(role_of(raw), parts, raw=raw))
        read = tuple(messages)
        current, tool_result = current_of(read)
        previous = get(body.get("thread"), "previous_message_id")
        return Request(
            messages=read,
            current=current,
            tool_result=tool_result,
            model=str(body.get("model") or ""),
            stream=body.get("stream") is True,
            thread=previous if isinstance(previous, str) else None,
            system="".join(part.text for part in _parts(body.get("system"), {}) if part.kind == "text"),
            options=_options(body),
            shape="anthropic",
        )

    def write(
        self, body: Mapping[str, Any], request: Request, blocks: Mapping[int, Block], how: Placement
    ) -> dict[str, Any]:
        messages = [
            _with_parts(message, blocks[index], how) if index in blocks else message.raw
            for index, message in enumerate(request.messages)
        ]
        if SYSTEM in blocks:
            return {**body, "messages": messages, "system": _instructed(body.get("system"), blocks[SYSTEM], how)}
        return {**body, "messages": messages}

    def reply(self, value: object) -> Reply:
        content = get(value, "content")
        reason = get(value, "stop_reason")
        message = Message(role="assistant", parts=tuple(_parts(content, {})), raw=value)
        return Reply(
            messages=(message,) if isinstance(content, (list, tuple)) else (),
            id=get(value, "id"),
            model=get(value, "model"),
            finish_reasons=(str(reason),) if reason is not None else (),
            usage=_usage(get(value, "usage"), None),
        )

    def collector(self) -> _MessageEvents:
        return _MessageEvents()

    def question(self, model: str, text: str, max_tokens: int) -> dict[str, Any]:
        messages = [{"role": "user", "content": text}]
        return {"model": model, "messages": messages, "max_tokens": max_tokens, "temperature": 0}


class _MessageEvents:
    """Puts the events of a streamed message together."""

    __slots__ = ("_blocks", "_delta_usage", "_id", "_model", "_stop_reason", "_usage")

    def __init__(self) -> None:
        self._id: str | None = None
        self._model: str | None = None
        self._stop_reason: str | None = None
        self._usage: object = None
        self._delta_usage: object = None
        self._blocks: dict[int, tuple[object, list[str]]] = {}

    def add(self, chunk: object) -> bool:
        kind = get(chunk, "type")
        if kind == "content_block_delta":
            block = self._blocks.get(place_in(chunk))
            delta = get(chunk, "delta")
            said = get(delta, "text") or get(delta, "partial_json") or get(delta, "thinking")
            if block is not None and isinstance(said, str):
                block[1].append(said)
            return bool(said)
        if kind == "content_block_start":
            start = get(chunk, "content_block")
            text = text_in(get(start, "text") or get(start, "thinking"))
            self._blocks[place_in(chunk)] = (start, [text] if text else [])
            return get(start, "type") in _CALLS
        if kind == "message_start":
            message = get(chunk, "message")
            self._id, self._model, self._usage = get(message, "id"), get(message, "model"), get(message, "usage")
        elif kind == "message_delta":
            self._stop_reason = get(get(chunk, "delta"), "stop_reason") or self._stop_reason
            self._delta_usage = get(chunk, "usage")
        return False

    def reply(self) -> Reply:
        if self._id is None and not self._blocks:
            return Reply()
        parts = []
        for index in sorted(self._blocks):
            start, said = self._blocks[index]
            kind = get(start, "type")
            text = "".join(said)
            if kind in _CALLS:
                name, call_id = str(get(start, "name") or ""), str(get(start, "id") or "")
                parts.append(Part(kind="tool_call", id=call_id, name=name, text=text or "{}"))
            elif kind in ("thinking", "redacted_thinking"):
                parts.append(Part(kind="reasoning", text=text))
            elif kind == "text":
                parts.append(Part(kind="text", text=text))
            else:
                parts.append(Part(kind="other", raw=start))
        return Reply(
            messages=(Message(role="assistant", parts=tuple(parts)),),
            id=self._id,
            model=self._model,
            finish_reasons=(self._stop_reason,) if self._stop_reason else (),
            usage=_usage(self._usage, self._delta_usage),
        )


class _Anthropic:
    name = "anthropic"
    quieted: tuple[str, ...] = (
        "messages.create",
        "messages.parse",
        "messages.stream",
        "beta.messages.create",
        "beta.messages.parse",
        "beta.messages.stream",
    )
    _endpoints: Final[Mapping[str, Endpoint]] = {"/v1/messages": _Messages()}

    def accepts(self, client: object) -> bool:
        # The class is asked, not the client: a look at its resource would leave it in the caller's object.
        return callable(getattr(client, "post", None)) and hasattr(type(client), "messages")

    def is_async(self, client: object) -> bool:
        return any(base.__name__ == "AsyncAPIClient" for base in type(client).__mro__)

    def endpoint(self, path: str) -> Endpoint | None:
        return self._endpoints.get(path.partition("?")[0])

    def destination(self, client: object) -> tuple[str, str | None, int | None]:
        return destination(client, _provider)

    def sibling_options(self, client: object) -> dict[str, Any]:
        own = getattr(client, "open_telemetry", None)
        return {} if own is None else {"open_telemetry": {**own, "traces": False}}

    def headers(self, client: object) -> dict[str, str]:
        own = getattr(client, "open_telemetry", None)
        if own is None or not own.get("propagation"):
            return {}
        from opentelemetry import propagate

        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        return carrier

    def sibling(self, client: Any, seam: Seam) -> Any:
        elide_texts_of("anthropic._base_client")
        return posting_sibling(self, client, seam)


ADAPTER: Final[Adapter] = _Anthropic()


def _provider(classes: list[str], host: str) -> str:
    if any("Bedrock" in name for name in classes):
        return "aws.bedrock"
    return "gcp.vertex_ai" if any("Vertex" in name for name in classes) else "anthropic"


def _parts(content: object, names: dict[str, str]) -> list[Part]:
    if isinstance(content, str):
        return [Part(kind="text", text=content)] if content else []
    return [_part(item, names) for item in content] if isinstance(content, (list, tuple)) else []


def _part(raw: object, names: dict[str, str]) -> Part:
    kind = get(raw, "type")
    text = get(raw, "text")
    if kind == "text" and isinstance(text, str):
        return Part(kind="text", text=text, raw=raw)
    if kind in _CALLS:
        call_id, name = str(get(raw, "id") or ""), str(get(raw, "name") or "")
        names[call_id] = name
        return Part(kind="tool_call", id=call_id, name=name, text=_json(get(raw, "input")), raw=raw)
    if kind == "tool_result":
        call_id = str(get(raw, "tool_use_id") or "")
        said = "".join(part.text for part in _parts(get(raw, "content"), {}) if part.kind == "text")
        return Part(kind="tool_response", id=call_id, name=names.get(call_id, ""), text=said, raw=raw)
    if kind in ("thinking", "redacted_thinking"):
        return Part(kind="reasoning", text=str(get(raw, "thinking") or ""), raw=raw)
    return Part(kind="media" if kind in _MEDIA else "other", raw=raw)


def _json(value: object) -> str:
    return value if isinstance(value, str) else json_text(value)


def _usage(usage: object, delta: object) -> Usage:
    def field(name: str) -> int | None:
        later = get(delta, name)
        value = later if later is not None else get(usage, name)
        return value if isinstance(value, int) else None

    read, created = field("cache_read_input_tokens"), field("cache_creation_input_tokens")
    fresh = field("input_tokens")
    return Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (created or 0),
        output_tokens=field("output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=created,
    )


def _options(body: Mapping[str, Any]) -> dict[str, object]:
    found = numbers_in(body, _OPTIONS)
    if body.get("tools"):
        found[TOOLS] = body["tools"]
    stop, config = body.get("stop_sequences"), body.get("output_config")
    if isinstance(stop, (list, tuple)):
        found["stop_sequences"] = tuple(stop)
    previous, effort = get(body.get("thread"), "previous_message_id"), get(config, "effort")
    if isinstance(previous, str):
        found["previous_response.id"] = previous
    if isinstance(effort, str):
        found["reasoning.level"] = effort
    if get(get(config, "format"), "type") == "json_schema":
        found["output.type"] = "json"
    return found


def _with_parts(message: Message, block: Block, how: Placement) -> dict[str, Any]:
    raw: Any = message.raw
    content = get(raw, "content")
    if not is_content(content):
        return raw  # type: ignore[no-any-return]
    string = string_of(message, content) if how.placement == "inline" else None
    if string is not None:
        merged: object = "\n\n".join([string, *block.texts] if string else block.texts)
    elif isinstance(content, str):
        merged = [*([{"type": "text", "text": content}] if content else []), *_text_blocks(block)]
    else:
        merged = [*unechoed(message, content), *_text_blocks(block)]
    return {**mapping_of(raw), "content": merged}


def _instructed(system: object, block: Block, how: Placement) -> object:
    if isinstance(system, str) and how.placement == "inline":
        return "\n\n".join([system, *block.texts] if system else block.texts)
    given: list[object] = []
    if isinstance(system, str):
        given = [{"type": "text", "text": system}] if system else []
    elif isinstance(system, (list, tuple)):
        given = list(system)
    return [*given, *_text_blocks(block)]


def _text_blocks(block: Block) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in block.texts]
