"""One streamed reply of chat.completions: its text as it comes, and the tool calls that are whole at its end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Called", "Reply", "answer_of", "with_answers"]

_NO_ANSWER = "[no answer: it was cancelled]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A tool that the model asks for; `arguments` are JSON as it wrote them."""

    id: str
    name: str
    arguments: str


class Reply:
    """What has come of one reply. `calls` are known when `pieces` has ended; `tokens` when the server counts them."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.calls: tuple[Called, ...] = ()
        self.tokens: tuple[int, int] | None = None

    @property
    def message(self) -> dict[str, Any] | None:
        """The reply as a message to send again; None when it said nothing."""
        text = "".join(self.said)
        if self.calls:
            calls = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in self.calls
            ]
            return {"role": "assistant", "content": text or None, "tool_calls": calls}
        return {"role": "assistant", "content": text} if text else None

    async def pieces(self, stream: Any) -> AsyncGenerator[str, None]:
        """The text, as it comes."""
        calls: dict[int, dict[str, str]] = {}
        async with stream:
            async for chunk in stream:
                if chunk.usage is not None:
                    self.tokens = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
                for choice in chunk.choices:
                    for delta in choice.delta.tool_calls or ():
                        _add(calls, delta)
                    if choice.delta.content:
                        self.said.append(choice.delta.content)
                        yield choice.delta.content
        # A broken stream never gets here: half a call is no call.
        self.calls = tuple(
            Called(id=call["id"] or f"call_{place}", name=call["name"], arguments=call["arguments"] or "{}")
            for place, call in sorted(calls.items())
        )


def answer_of(id: str, text: str = _NO_ANSWER) -> dict[str, Any]:
    """The message that answers a call; without a text it says that nothing came."""
    return {"role": "tool", "tool_call_id": id, "content": text}


def with_answers(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with an answer to every tool call: a provider refuses a history with one that has none."""
    whole: list[dict[str, Any]] = []
    waiting: list[str] = []
    for message in messages:
        if message.get("role") == "tool":
            if message.get("tool_call_id") in waiting:
                waiting.remove(message["tool_call_id"])
        else:
            whole += [answer_of(id) for id in waiting]
            waiting = [str(call.get("id")) for call in message.get("tool_calls") or ()]
        whole.append(message)
    return whole + [answer_of(id) for id in waiting]


def _add(calls: dict[int, dict[str, str]], delta: Any) -> None:
    call = calls.setdefault(delta.index, {"id": "", "name": "", "arguments": ""})
    call["id"] = delta.id or call["id"]
    if delta.function is not None:
        # A name comes whole, and some servers repeat it in every piece.
        call["name"] = delta.function.name or call["name"]
        call["arguments"] += delta.function.arguments or ""
