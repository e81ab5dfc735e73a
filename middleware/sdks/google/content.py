"""generate_content and its stream, as one endpoint; a call with automatic function calling is one call of it.

Wire shapes: the reference of `models.generateContent` (contents, candidates, usageMetadata). The model may be asked
several times in one call: what it said before its last answer is `Reply.before`, and tokens are added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ...injection import Block
from ...parts import Message, Part, Reply, Request, Usage
from ...turn import SYSTEM
from ..base import Placement
from ..reading import TOOLS, current_of
from .contents import field, instructed, instruction_text, messages_of, part_of, written

__all__ = ["GenerateContent"]

_OPTIONS: Final = {
    "max_output_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "seed": "seed",
    "candidate_count": "choice.count",
}


class GenerateContent:
    """The endpoint of one call: a body is what the SDK's method was given, and `stream`.

    `answers` are the answers so far of a call with a value, `between` the contents that automatic function calling
    put behind the caller's; whoever makes the call fills them in.
    """

    operation = "generate_content"
    is_turn = True
    fields = ()

    def __init__(self) -> None:
        self.answers: list[object] = []
        self.between: Sequence[object] = ()

    def read(self, body: Mapping[str, Any]) -> Request:
        messages = messages_of(body.get("contents"))
        current, tool_result = current_of(messages)
        config = body.get("config")
        return Request(
            messages=messages,
            current=current,
            tool_result=tool_result,
            model=str(body.get("model") or ""),
            stream=body.get("stream") is True,
            system=instruction_text(config),
            options=_options(config),
            shape="google",
        )

    def write(
        self, body: Mapping[str, Any], request: Request, blocks: Mapping[int, Block], how: Placement
    ) -> dict[str, Any]:
        changed: dict[str, Any] = {}
        inline = how.placement == "inline"
        if SYSTEM in blocks:
            changed["config"] = instructed(body.get("config"), blocks[SYSTEM], inline=inline)
        if any(index != SYSTEM for index in blocks):
            changed["contents"] = written(request.messages, blocks, inline=inline)
        return {**body, **changed}

    def reply(self, value: object) -> Reply:
        hop = _Hop()
        hop.add(value)
        answers = self.answers if len(self.answers) > 1 else (value,)
        return hop.reply(self.before(), map(_usage_of, answers))

    def before(self) -> tuple[Message, ...]:
        """What was said between the caller's contents and the last answer."""
        return messages_of(list(self.between)) if self.between else ()

    def collector(self) -> _Chunks:
        return _Chunks(self)

    def question(self, model: str, text: str, max_tokens: int) -> dict[str, Any]:
        return {"model": model, "contents": text, "config": {"max_output_tokens": max_tokens, "temperature": 0}}


class _Chunks:
    """Puts the chunks of a stream together, one hop for every time that the model was asked."""

    __slots__ = ("_endpoint", "_hops")

    def __init__(self, endpoint: GenerateContent) -> None:
        self._endpoint = endpoint
        self._hops = [_Hop()]

    def add(self, chunk: object) -> bool:
        if self._hops[-1].is_over(chunk):
            self._hops.append(_Hop())
        return self._hops[-1].add(chunk)

    def reply(self) -> Reply:
        return self._hops[-1].reply(self._endpoint.before(), [hop.usage for hop in self._hops])


class _Hop:
    """One answer of the model: a value, or the chunks of one."""

    __slots__ = ("_candidates", "_id", "_model", "usage")

    def __init__(self) -> None:
        self._id: str | None = None
        self._model: str | None = None
        self._candidates: dict[int, _Candidate] = {}
        self.usage = Usage()

    def is_over(self, chunk: object) -> bool:
        """True when the chunk belongs to another answer: it has another id, or says more after the end."""
        given = field(chunk, "candidates")
        if not given or not any(state.finish_reason for state in self._candidates.values()):
            return False
        response_id = field(chunk, "response_id")
        if response_id is not None or self._id is not None:
            return bool(response_id != self._id)
        return any(self._candidates[index].finish_reason for index in map(_index, given) if index in self._candidates)

    def add(self, value: object) -> bool:
        said = False
        for candidate in field(value, "candidates") or ():
            index = _index(candidate)
            state = self._candidates.get(index)
            if state is None:
                state = self._candidates[index] = _Candidate()
            said = state.add(candidate) or said
        if self._id is None:
            self._id = field(value, "response_id")
        self._model = field(value, "model_version") or self._model
        if field(value, "usage_metadata") is not None:
            self.usage = _usage_of(value)
        return said

    def reply(self, before: tuple[Message, ...], usages: Iterable[Usage]) -> Reply:
        states = [self._candidates[index] for index in sorted(self._candidates)]
        return Reply(
            messages=tuple(Message(role="assistant", parts=state.merged()) for state in states),
            id=self._id,
            model=self._model,
            finish_reasons=tuple(state.finish_reason for state in states),
            usage=_sum(usages),
            before=before,
        )


class _Candidate:
    __slots__ = ("finish_reason", "parts")

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.finish_reason = ""

    def add(self, candidate: object) -> bool:
        reason = field(candidate, "finish_reason")
        if reason is not None:
            self.finish_reason = str(getattr(reason, "name", reason)).lower()
        read = [part_of(raw) for raw in field(field(candidate, "content"), "parts") or ()]
        self.parts += read
        return any(part.text or part.kind not in ("text", "reasoning") for part in read)

    def merged(self) -> tuple[Part, ...]:
        """The parts, with pieces of text that follow one another joined."""
        found: list[Part] = []
        pieces: list[str] = []
        for place, part in enumerate(self.parts):
            if part.kind not in ("text", "reasoning"):
                found.append(part)
                continue
            pieces.append(part.text)
            if place + 1 == len(self.parts) or self.parts[place + 1].kind != part.kind:
                text = "".join(pieces)
                pieces.clear()
                if text:
                    found.append(Part(kind=part.kind, text=text))
        return tuple(found)


def _index(candidate: object) -> int:
    index = field(candidate, "index")
    return index if isinstance(index, int) else 0


def _usage_of(value: object) -> Usage:
    """Tokens of an answer; thoughts are output too, as the conventions count them, though Google counts them apart."""
    given = field(value, "usage_metadata")
    said, thought = field(given, "candidates_token_count"), field(given, "thoughts_token_count")
    return Usage(
        input_tokens=field(given, "prompt_token_count"),
        output_tokens=_added([said, thought]),
        cache_read_tokens=field(given, "cached_content_token_count"),
        reasoning_tokens=thought,
    )


def _sum(usages: Iterable[Usage]) -> Usage:
    given = list(usages)
    if len(given) == 1:
        return given[0]
    return Usage(
        input_tokens=_added([usage.input_tokens for usage in given]),
        output_tokens=_added([usage.output_tokens for usage in given]),
        cache_read_tokens=_added([usage.cache_read_tokens for usage in given]),
        reasoning_tokens=_added([usage.reasoning_tokens for usage in given]),
    )


def _added(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if isinstance(count, int)]
    return sum(known) if known else None


def _options(config: object) -> dict[str, object]:
    found: dict[str, object] = {}
    if config is None:
        return found
    for name, suffix in _OPTIONS.items():
        value = field(config, name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found[suffix] = value
    tools = field(config, "tools")
    if tools:
        found[TOOLS] = tools
    stop, level = field(config, "stop_sequences"), field(field(config, "thinking_config"), "thinking_level")
    if isinstance(stop, (list, tuple)):
        found["stop_sequences"] = tuple(stop)
    if level is not None:
        found["reasoning.level"] = str(getattr(level, "name", level)).lower()
    if field(config, "response_mime_type") == "application/json":
        found["output.type"] = "json"
    return found
