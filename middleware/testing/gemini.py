"""Google's generateContent, as a value and as the chunks of streamGenerateContent."""

from __future__ import annotations

from collections.abc import Iterator

from .answers import Answer, Json, dump, words

__all__ = ["events", "value"]


def value(answer: Answer, body: Json, number: int) -> Json:
    """A response with one candidate."""
    return _response(answer, ([{"text": answer.text}] if answer.text else []) + _calls(answer), number, ends=True)


def events(answer: Answer, body: Json, number: int) -> Iterator[bytes]:
    """Chunks, the last of them with the finish reason and all token counts."""
    pieces: list[Json] = [*({"text": word} for word in words(answer.text)), *_calls(answer)]
    for place, piece in enumerate(pieces or [{"text": ""}]):
        chunk = _response(answer, [piece], number, ends=place + 1 >= len(pieces))
        yield b"data: %s\r\n\r\n" % dump(chunk)


def _calls(answer: Answer) -> list[Json]:
    return [{"functionCall": {"id": c.id, "name": c.name, "args": dict(c.arguments)}} for c in answer.calls]


def _response(answer: Answer, parts: list[Json], number: int, *, ends: bool) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
    usage = {"promptTokenCount": answer.input_tokens}
    if ends:
        candidate["finishReason"] = "STOP"
        usage |= {
            "candidatesTokenCount": answer.output_tokens,
            "totalTokenCount": answer.input_tokens + answer.output_tokens,
        }
    return {"candidates": [candidate], "usageMetadata": usage, "responseId": f"r{number}", "modelVersion": "local"}
