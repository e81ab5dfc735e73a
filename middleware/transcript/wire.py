"""A session's history as the messages of a request, in OpenAI's and in Anthropic's shape.

What is replayed is decided by `resume`: tagged parts are in it, exactly as they were sent. A message of which the
caller's own form is kept (`given`) has that form for the SDK that it went to. What a provider
cannot take (sound for Anthropic, reasoning without its signature) is left out or named in words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..injection import SESSION_TAG, kept_parts, wrap_text
from ..parts import clean
from ..plain import finite
from ..records import SESSION_START, SYSTEM, WIRE_KEY, Record, part_text, parts_of
from ..resume import replay_wired
from .given import arguments_in, message_in

__all__ = ["anthropic_request", "openai_request", "unanswered"]

_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def openai_request(branch: Iterable[Record]) -> dict[str, Any]:
    """`{"messages": [...]}` for `chat.completions.create`."""
    messages: list[dict[str, Any]] = []
    system = _system(branch)
    if system:
        messages.append({"role": "system", "content": system})
    for entry in _turns(branch):
        parts = entry["parts"]
        if entry["role"] == "assistant":
            messages += _openai_assistant(parts, arguments_in(entry))
            continue
        given = message_in(entry, parts, "openai")
        if given is not None and given.get("role") == "user":
            messages.append({**given, "content": _with_ours(given["content"], parts)})
            continue
        answers = _answers(parts)
        if given is not None:
            messages.append(given)
        else:
            for answer in answers:
                content = _answer_text(answer)
                messages.append({"role": "tool", "tool_call_id": str(answer.get("id") or ""), "content": content})
        content_parts = [found for part in parts if (found := _openai_part(part)) is not None]
        if len(content_parts) == 1 and content_parts[0]["type"] == "text" and not answers:
            messages.append({"role": "user", "content": content_parts[0]["text"]})
        elif content_parts:
            messages.append({"role": "user", "content": content_parts})
    return {"messages": messages}


def anthropic_request(branch: Iterable[Record]) -> dict[str, Any]:
    """`{"messages": [...]}` for `messages.create`, with `system` where a hook added to it.

    Messages of one role that follow one another are one, as the API takes them; tool results come first in it.
    """
    messages: list[dict[str, Any]] = []
    for entry in _turns(branch):
        role, content = entry["role"], _anthropic_content(entry)
        if not content:
            continue
        if not messages or messages[-1]["role"] != role:
            messages.append({"role": role, "content": content})
        else:
            messages[-1]["content"] = [*_blocks(messages[-1]["content"]), *_blocks(content)]
    for message in messages:
        if isinstance(message["content"], list):
            message["content"].sort(key=lambda block: block.get("type") != "tool_result")
    system = _system(branch)
    return {"system": system, "messages": messages} if system else {"messages": messages}


def unanswered(branch: Iterable[Record]) -> int:
    """How many tool calls have no recorded result; a provider refuses a request that holds one."""
    called: set[str] = set()
    for entry in _turns(branch):
        called |= {str(call.get("id")) for call in _held(entry["parts"], "functionCall")}
        called -= {str(answer.get("id")) for answer in _answers(entry["parts"])}
    return len(called)


def _turns(branch: Iterable[Record]) -> Iterator[Record]:
    """The history, `role` user or assistant, each tool call and result with an id, also where none was recorded."""
    open_calls: list[tuple[str, str]] = []
    made = 0
    for entry in replay_wired(branch):
        parts: list[Any] = []
        for part in parts_of(entry):
            for key in ("functionCall", "functionResponse"):
                held = part.get(key) if isinstance(part, Mapping) else None
                if not isinstance(held, Mapping):
                    continue
                name = clean(str(held.get("name") or ""))
                identity = str(held.get("id") or "")
                if key == "functionCall":
                    made += 1
                    identity = identity or f"call_{made}"
                    open_calls.append((name, identity))
                elif not identity:
                    identity = next((known for call, known in open_calls if call == name), f"call_{made}")
                if key == "functionResponse" and (name, identity) in open_calls:
                    open_calls.remove((name, identity))
                part = {**part, key: {**held, "name": name, "id": identity}}
            parts.append(part)
        role = "assistant" if entry.get("role") == "model" else "user"
        yield {"role": role, "parts": parts, WIRE_KEY: entry.get(WIRE_KEY)}


def _system(branch: Iterable[Record]) -> str:
    """What hooks of the session's start added to the system instruction; the instruction itself no record holds."""
    texts = []
    for record in branch:
        payload = record.get("systemPayload")
        if record.get("type") == SYSTEM and record.get("subtype") == SESSION_START and isinstance(payload, Mapping):
            context = payload.get("hookContext")
            if isinstance(context, str) and context:
                texts.append(wrap_text(clean(context), SESSION_TAG))
    return "\n\n".join(texts)


def _with_ours(content: Any, parts: Sequence[Any]) -> Any:
    """The caller's content with our tagged parts of the record behind it, as they were sent."""
    texts = [part_text(part) for part in parts]
    ours = [{"type": "text", "text": text} for text in texts[kept_parts(texts) :]]
    return [*_blocks(content), *ours] if ours else content


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content or ())


def _openai_assistant(parts: Sequence[Any], arguments: Sequence[str]) -> Iterator[dict[str, Any]]:
    words = "".join(text for text in map(part_text, parts) if text)
    held = _held(parts, "functionCall")
    written = arguments if len(arguments) == len(held) else [_json(_arguments(call)) for call in held]
    calls = [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": text}}
        for call, text in zip(held, written, strict=True)
    ]
    if calls:
        yield {"role": "assistant", "content": words or None, "tool_calls": calls}
    elif words:
        yield {"role": "assistant", "content": words}


def _openai_part(part: Any) -> dict[str, Any] | None:
    text = part_text(part)
    if text is not None:
        return {"type": "text", "text": text}
    kind, data, uri = _media(part)
    if data and kind in _SOUNDS:
        return {"type": "input_audio", "input_audio": {"data": data, "format": _SOUNDS[kind]}}
    if data and kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
    if data:
        return {"type": "file", "file": {"filename": "attachment", "file_data": f"data:{kind};base64,{data}"}}
    return {"type": "image_url", "image_url": {"url": uri}} if uri else None


def _anthropic_content(entry: Record) -> Any:
    parts = entry["parts"]
    given = message_in(entry, parts, "anthropic") if entry["role"] == "user" else None
    if given is not None:
        return _with_ours(given["content"], parts)
    blocks = list(_anthropic_blocks(parts))
    if len(blocks) == len(parts) == 1 and entry["role"] == "user" and blocks[0]["type"] == "text":
        return blocks[0]["text"]
    return blocks


def _anthropic_blocks(parts: Sequence[Any]) -> Iterator[dict[str, Any]]:
    for part in parts:
        text = part_text(part)
        if text is not None:
            if text.strip():
                yield {"type": "text", "text": text}
            continue
        if not isinstance(part, Mapping):
            continue
        if part.get("thought"):
            signature = part.get("thoughtSignature")
            if isinstance(signature, str) and isinstance(part.get("text"), str):
                yield {"type": "thinking", "thinking": part["text"], "signature": signature}
            continue
        for call in _held([part], "functionCall"):
            yield {"type": "tool_use", "id": _plain_id(call), "name": call["name"], "input": _arguments(call)}
        for answer in _answers([part]):
            result: dict[str, Any] = {
                "type": "tool_result",
                "tool_use_id": _plain_id(answer),
                "content": _answer_text(answer),
            }
            response = answer.get("response")
            if isinstance(response, Mapping) and "error" in response and "output" not in response:
                result["is_error"] = True
            yield result
        yield from _anthropic_media(*_media(part))


def _anthropic_media(kind: str, data: str, uri: str) -> Iterator[dict[str, Any]]:
    if data and kind in _IMAGES:
        yield {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
    elif data and kind == "application/pdf":
        yield {"type": "document", "source": {"type": "base64", "media_type": kind, "data": data}}
    elif data:
        yield {"type": "text", "text": f"[{kind or 'media'}: {len(data):,} characters of base64, left out]"}
    elif uri:
        yield {"type": "image", "source": {"type": "url", "url": uri}}


def _media(part: Any) -> tuple[str, str, str]:
    """The type, the base64 data and the address of a media part, "" for what it has not."""
    held = part.get("inlineData") if isinstance(part, Mapping) else None
    if isinstance(held, Mapping) and isinstance(held.get("data"), str):
        return str(held.get("mimeType") or "application/octet-stream"), held["data"], ""
    held = part.get("fileData") if isinstance(part, Mapping) else None
    if isinstance(held, Mapping) and isinstance(held.get("fileUri"), str):
        return str(held.get("mimeType") or ""), "", held["fileUri"]
    return "", "", ""


def _held(parts: Sequence[Any], key: str) -> list[Mapping[str, Any]]:
    found = (part.get(key) for part in parts if isinstance(part, Mapping))
    return [held for held in found if isinstance(held, Mapping)]


def _answers(parts: Sequence[Any]) -> list[Mapping[str, Any]]:
    return _held(parts, "functionResponse")


def _answer_text(answer: Mapping[str, Any]) -> str:
    response = answer.get("response")
    said = response
    if isinstance(response, Mapping):
        said = response.get("output", response.get("error", response))
    return said if isinstance(said, str) else _json(said)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(finite(value), ensure_ascii=False)
    except RecursionError:
        return '"nested too deep"'


def _arguments(call: Mapping[str, Any]) -> dict[str, Any]:
    arguments = call.get("args")
    if isinstance(arguments, Mapping):
        return finite(arguments)  # type: ignore[no-any-return]
    return {} if arguments is None else {"arguments": finite(arguments)}


def _plain_id(held: Mapping[str, Any]) -> str:
    return _NOT_IN_IDS.sub("_", str(held["id"])) or "_"
