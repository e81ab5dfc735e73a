"""OpenAI's responses, as a value and as events."""

from __future__ import annotations

import json
from collections.abc import Iterator

from .answers import Answer, Json, dump, words

__all__ = ["events", "value"]


def value(answer: Answer, body: Json, number: int) -> Json:
    """A response, with a message if there is a text and an item for each call of a tool."""
    output: list[Json] = [_message(answer.text, number)] if answer.text or not answer.calls else []
    output += [_call(answer, place, number) for place in range(len(answer.calls))]
    return {
        **_head(body, number),
        "status": "completed",
        "output": output,
        "usage": {
            "input_tokens": answer.input_tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": answer.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": answer.input_tokens + answer.output_tokens,
        },
    }


def events(answer: Answer, body: Json, number: int) -> Iterator[bytes]:
    """From `response.created` to `response.completed`."""
    for place, event in enumerate(_events(value(answer, body, number), body, number)):
        yield b"event: %s\ndata: %s\n\n" % (event["type"].encode(), dump({**event, "sequence_number": place}))


def _events(whole: Json, body: Json, number: int) -> Iterator[Json]:
    begun = {**_head(body, number), "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": begun}
    for index, item in enumerate(whole["output"]):
        at = {"item_id": item["id"], "output_index": index}
        is_message = item["type"] == "message"
        empty: Json = {"content": []} if is_message else {"arguments": ""}
        added = {**item, "status": "in_progress", **empty}
        yield {"type": "response.output_item.added", "output_index": index, "item": added}
        yield from _text(item, at) if is_message else _arguments(item, at)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": whole}


def _text(item: Json, at: Json) -> Iterator[Json]:
    part = item["content"][0]
    inside = {**at, "content_index": 0}
    yield {"type": "response.content_part.added", **inside, "part": {**part, "text": ""}}
    for word in words(part["text"]):
        yield {"type": "response.output_text.delta", **inside, "delta": word, "logprobs": []}
    yield {"type": "response.output_text.done", **inside, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **inside, "part": part}


def _arguments(item: Json, at: Json) -> Iterator[Json]:
    said = item["arguments"]
    yield {"type": "response.function_call_arguments.delta", **at, "delta": said}
    yield {"type": "response.function_call_arguments.done", **at, "arguments": said, "name": item["name"]}


def _head(body: Json, number: int) -> Json:
    head = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": body.get("model")}
    asked = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": body.get("tools") or []}
    return {**head, **asked, "error": None, "incomplete_details": None, "instructions": None, "metadata": {}}


def _message(text: str, number: int) -> Json:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [part]}


def _call(answer: Answer, place: int, number: int) -> Json:
    call = answer.calls[place]
    head = {"type": "function_call", "id": f"fc_{number}_{place}", "call_id": call.id, "status": "completed"}
    return {**head, "name": call.name, "arguments": json.dumps(dict(call.arguments))}
