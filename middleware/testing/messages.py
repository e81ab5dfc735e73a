"""Anthropic's messages, as a value and as events."""

from __future__ import annotations

import json
from collections.abc import Iterator

from .answers import Answer, Json, dump, words

__all__ = ["events", "value"]


def value(answer: Answer, body: Json, number: int) -> Json:
    """A message."""
    content: list[Json] = [{"type": "text", "text": answer.text}] if answer.text else []
    content += [{"type": "tool_use", "id": c.id, "name": c.name, "input": dict(c.arguments)} for c in answer.calls]
    head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model")}
    reason = "tool_use" if answer.calls else "end_turn"
    usage = {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}
    return {**head, "content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage}


def events(answer: Answer, body: Json, number: int) -> Iterator[bytes]:
    """From `message_start` to `message_stop`."""
    whole = value(answer, body, number)
    made: list[Json] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for index, block in enumerate(whole["content"]):
        is_text = block["type"] == "text"
        start = {**block, "text": ""} if is_text else {**block, "input": {}}
        said = words(block["text"]) if is_text else [json.dumps(block["input"])]
        kind, key = ("text_delta", "text") if is_text else ("input_json_delta", "partial_json")
        deltas: list[Json] = [{"type": kind, key: piece} for piece in said]
        made.append({"type": "content_block_start", "index": index, "content_block": start})
        made += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        made.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    made.append({"type": "message_delta", "delta": ending, "usage": {"output_tokens": answer.output_tokens}})
    for event in [*made, {"type": "message_stop"}]:
        yield b"event: %s\ndata: %s\n\n" % (event["type"].encode(), dump(event))
