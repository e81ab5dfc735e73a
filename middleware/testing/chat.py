"""OpenAI's chat.completions, as a value and as chunks."""

from __future__ import annotations

import json
from collections.abc import Iterator

from .answers import Answer, Json, dump, words

__all__ = ["events", "value"]


def value(answer: Answer, body: Json, number: int) -> Json:
    """A chat.completion."""
    message: Json = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = _calls(answer)
    choice = {"index": 0, "message": message, "finish_reason": _finish(answer), "logprobs": None}
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "model": body.get("model")}
    return {**head, "choices": [choice], "usage": _usage(answer)}


def events(answer: Answer, body: Json, number: int) -> Iterator[bytes]:
    """Chunks; the one with the usage only when it is asked for."""
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": body.get("model")}
    deltas: list[Json] = [{"role": "assistant", "content": ""}, *({"content": word} for word in words(answer.text))]
    deltas += [{"tool_calls": [{"index": place, **call}]} for place, call in enumerate(_calls(answer))]
    for delta, reason in [*((delta, None) for delta in deltas), ({}, _finish(answer))]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        yield b"data: %s\n\n" % dump({**head, "choices": [choice]})
    if (body.get("stream_options") or {}).get("include_usage"):
        yield b"data: %s\n\n" % dump({**head, "choices": [], "usage": _usage(answer)})
    yield b"data: [DONE]\n\n"


def _finish(answer: Answer) -> str:
    return "tool_calls" if answer.calls else "stop"


def _calls(answer: Answer) -> list[Json]:
    return [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": json.dumps(dict(c.arguments))}}
        for c in answer.calls
    ]


def _usage(answer: Answer) -> Json:
    total = answer.input_tokens + answer.output_tokens
    return {"prompt_tokens": answer.input_tokens, "completion_tokens": answer.output_tokens, "total_tokens": total}
