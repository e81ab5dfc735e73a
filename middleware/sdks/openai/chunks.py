"""What the chunks of a streamed chat completion say, put together, and what a whole one says likewise."""

from __future__ import annotations

from typing import Any

from ...parts import Message, Part, Reply, Usage
from ..reading import get, place_in, taker, text_in

__all__ = ["ChatChunks", "unlisted", "usage_of"]


class ChatChunks:
    """Puts the chunks of a streamed chat completion together, one message a choice."""

    __slots__ = ("_choices", "_first", "_id", "_model", "_usage")

    def __init__(self) -> None:
        self._id: str | None = None
        self._model: str | None = None
        self._usage: object = None
        self._choices: dict[int, _Choice] = {}
        self._first: _Choice | None = None

    def add(self, chunk: object) -> bool:
        if self._is_words(chunk):
            return True
        said = False
        take = taker(chunk)
        for choice in take(chunk, "choices", None) or ():
            index = taker(choice)(choice, "index", None)
            if type(index) is not int:
                index = place_in(choice)
            state = self._choices.get(index)
            if state is None:
                state = self._choices[index] = _Choice()
            said = state.add(choice) or said
        self._first = self._choices.get(0)
        if self._id is None:
            self._id, self._model = take(chunk, "id", None), take(chunk, "model", None)
        usage = take(chunk, "usage", None)
        if usage is not None:
            self._usage = usage
        return said

    def _is_words(self, chunk: Any) -> bool:
        """Take a chunk of the SDK's that is more words of the only choice, as nearly all are; False for any other."""
        state = self._first
        if state is None:
            return False
        try:
            held = chunk.__dict__
            (choice,) = held["choices"]
            told = choice.__dict__
            delta = told["delta"]
            said = delta.__dict__
            text = said["content"]
            more = held["usage"] is told["finish_reason"] is said["tool_calls"] is said["refusal"] is None
            if not more or type(text) is not str or told["index"] != 0 or delta.__pydantic_extra__:
                return False
        except (AttributeError, LookupError, TypeError, ValueError):
            return False
        if text:
            state.texts.append(text)
        return bool(text)

    def reply(self) -> Reply:
        states = [self._choices[index] for index in sorted(self._choices)]
        return Reply(
            messages=tuple(state.message() for state in states),
            id=self._id,
            model=self._model,
            finish_reasons=tuple(state.finish_reason or "" for state in states),
            usage=usage_of(self._usage),
        )


class _Choice:
    __slots__ = ("finish_reason", "texts", "thoughts", "tools")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.thoughts: list[str] = []
        self.tools: dict[int, list[str]] = {}
        self.finish_reason: str | None = None

    def add(self, choice: object) -> bool:
        of_choice = taker(choice)
        delta = of_choice(choice, "delta", None)
        self.finish_reason = of_choice(choice, "finish_reason", None) or self.finish_reason
        take = taker(delta)
        text = take(delta, "content", None) or take(delta, "refusal", None)
        thought = unlisted(delta, "reasoning_content")
        calls = take(delta, "tool_calls", None)
        if text:
            self.texts.append(text if type(text) is str else text_in(text))
        if thought:
            self.thoughts.append(text_in(thought))
        for call in calls or ():
            fragments = self.tools.setdefault(place_in(call), ["", "", ""])
            function = get(call, "function")
            fragments[0] = fragments[0] or str(get(call, "id") or "")
            fragments[1] = fragments[1] or str(get(function, "name") or "")
            fragments[2] += text_in(get(function, "arguments"))
        return bool(text or thought or calls)

    def message(self) -> Message:
        parts = [Part(kind="reasoning", text="".join(self.thoughts))] if self.thoughts else []
        if self.texts:
            parts.append(Part(kind="text", text="".join(self.texts)))
        for index in sorted(self.tools):
            call_id, name, arguments = self.tools[index]
            parts.append(Part(kind="tool_call", id=call_id, name=name, text=arguments))
        return Message(role="assistant", parts=tuple(parts))


def unlisted(value: object, name: str) -> Any:
    """A field that the SDK's model does not list: asking the model for it would raise, slowly, for every chunk."""
    extra = getattr(value, "model_extra", None) if type(value) is not dict else None
    if extra is None:
        return get(value, name)
    return extra.get(name, vars(value).get(name))


def usage_of(usage: object) -> Usage:
    if usage is None:
        return Usage()
    take = taker(usage)
    prompt, completion = take(usage, "prompt_tokens_details", None), take(usage, "completion_tokens_details", None)
    return Usage(
        input_tokens=take(usage, "prompt_tokens", None),
        output_tokens=take(usage, "completion_tokens", None),
        cache_read_tokens=get(prompt, "cached_tokens"),
        reasoning_tokens=get(completion, "reasoning_tokens"),
    )
