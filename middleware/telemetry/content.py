"""Message content as the JSON of the GenAI conventions: cut before it is serialised, redacted, valid.

What is written is what the request said before we added to it: `Message.parts` never holds our parts, and a message
that is nothing but our text is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import msgspec

from ..injection import Block, Memory
from ..parts import Message, Part, Reply, Request, clean
from ..plain import exact
from . import names
from .labels import short
from .media import media_part
from .redaction import alike_at_the_end, past_cut

__all__ = ["Attributes", "Writer"]

Attributes: TypeAlias = dict[str, str | bool | int | float | tuple[str, ...]]
T = TypeVar("T")
_Json: TypeAlias = dict[str, object]

_PART_COST = 64
_OVERLAP = 256
_MOST_TOOLS = 256
_encode = msgspec.json.Encoder(enc_hook=exact).encode


class _Budget:
    """What is left of one attribute, in code points; a part's frame costs something too."""

    __slots__ = ("left",)

    def __init__(self, chars: int) -> None:
        self.left = chars


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Writes content attributes.

    `limit` is the most code points of a part and of all parts of an attribute; `hard_limit` is the SDK's own limit,
    which would cut the JSON in two; `redact` may raise, and then so does every method here.
    """

    limit: int
    redact: Callable[[str], str]
    hard_limit: int | None = None

    def within(self, hard_limit: int | None) -> Writer:
        """This writer, or one that keeps to `hard_limit`."""
        return self if hard_limit is None else replace(self, hard_limit=hard_limit)

    def of_call(self, request: Request | None, reply: Reply | None, submitted_prompt: str | None) -> Attributes:
        """The content attributes of a chat span or its event; a key is absent where there is nothing."""
        found: Attributes = {}
        if request is not None:
            said: list[Message] = []
            instructions: list[Message] = []
            for message in request.messages:
                if not message.injection:
                    (instructions if message.role == "system" else said).append(message)
            found[names.INPUT_MESSAGES] = self._bounded(self._input, said)
            if request.system or instructions:
                found[names.SYSTEM_INSTRUCTIONS] = self._bounded(self._system, (request.system, instructions))
            tools = request.options.get(names.TOOL_DEFINITIONS_OPTION)
            if tools:
                found[names.TOOL_DEFINITIONS] = self._bounded(_tools, tools)
        if reply is not None and reply.messages:
            found[names.OUTPUT_MESSAGES] = self._bounded(self._output, reply)
        if submitted_prompt is not None:
            found[names.SUBMITTED_PROMPT] = self.text(submitted_prompt)
        return found

    def of_injection(self, blocks: Mapping[int, Block]) -> str:
        """The injected texts, by the index of the message that each was added to."""

        def entries(blocks: Mapping[int, Block], limit: int) -> list[_Json]:
            budget = _Budget(limit)
            found: list[_Json] = []
            for index in sorted(blocks, reverse=True):
                block = blocks[index]
                if not block:
                    continue
                if budget.left <= 0:
                    break
                parts = [{"type": "text", "content": self._fit(text, budget)} for text in block.texts]
                found.append({"message": index, "sources": block.sources, "parts": parts})
            return found[::-1]

        return self._bounded(entries, blocks)

    def of_matches(self, matches: Iterable[Memory]) -> str:
        """Ids and scores of recalled memories, never their text."""
        return self._bounded(_matches, tuple(matches))

    def text(self, text: str) -> str:
        """One text on its own: redacted, cut, valid UTF-8."""
        limit = self.limit if self.hard_limit is None else max(1, min(self.limit, self.hard_limit - _PART_COST))
        return self._fit(text, _Budget(limit))

    def _bounded(self, build: Callable[[T, int], list[_Json]], value: T) -> str:
        limit = self.limit
        for _ in range(4):
            text = _encode(build(value, limit)).decode()
            if self.hard_limit is None or len(text) <= self.hard_limit:
                return text
            limit = max(1, limit * self.hard_limit // (2 * len(text)))
        return "[]"

    def _input(self, said: list[Message], limit: int) -> list[_Json]:
        budget = _Budget(limit)
        found: list[_Json] = []
        for place in range(len(said) - 1, -1, -1):
            if budget.left <= 0:
                note = f"[cut: {place + 1} earlier messages left out]"
                found.append({"role": said[0].role, "parts": [{"type": "text", "content": note}]})
                break
            found.append({"role": said[place].role, "parts": self._parts(said[place], budget)})
        return found[::-1]

    def _output(self, reply: Reply, limit: int) -> list[_Json]:
        budget = _Budget(limit)
        found: list[_Json] = []
        for place, message in enumerate(reply.messages):
            entry: _Json = {"role": message.role, "parts": self._parts(message, budget)}
            if place < len(reply.finish_reasons) and reply.finish_reasons[place]:
                entry["finish_reason"] = short(reply.finish_reasons[place])
            found.append(entry)
        return found

    def _system(self, given: tuple[str, list[Message]], limit: int) -> list[_Json]:
        budget = _Budget(limit)
        found: list[_Json] = []
        system, messages = given
        if system:
            found.append({"type": "text", "content": self._fit(system, budget)})
        for message in messages:
            found += self._parts(message, budget)
        return found

    def _parts(self, message: Message, budget: _Budget) -> list[_Json]:
        if len(message.parts) == 1 and message.parts[0].kind == "text":
            return [{"type": "text", "content": self._fit(message.parts[0].text, budget)}]
        found: list[_Json] = []
        for place, part in enumerate(message.parts):
            if budget.left <= 0 and place:
                note = f"[cut: {len(message.parts) - place} parts left out]"
                found.append({"type": "text", "content": note})
                break
            found.append(self._part(part, budget))
        return found

    def _part(self, part: Part, budget: _Budget) -> _Json:
        if part.kind == "text" or part.kind == "reasoning":
            return {"type": part.kind, "content": self._fit(part.text, budget)}
        if part.kind == "tool_call":
            arguments = self._fit(part.text, budget)
            return {"type": "tool_call", "id": short(part.id), "name": short(part.name), "arguments": arguments}
        if part.kind == "tool_response":
            return {"type": "tool_call_response", "id": short(part.id), "response": self._fit(part.text, budget)}
        budget.left -= _PART_COST
        return media_part(part.raw, self.redact)

    def _fit(self, text: str, budget: _Budget) -> str:
        keep = max(0, min(self.limit, budget.left))
        if len(text) <= keep:
            kept = self.redact(clean(text))
        else:
            kept, whole = "", keep
            if keep:
                stop = past_cut(text, keep)
                said = clean(text[:stop])
                kept = self.redact(said)
                if kept is not said:
                    # What was taken away draws nothing in from beyond the cut, where a secret may be half there.
                    whole = max(0, min(keep, len(kept) - alike_at_the_end(said, kept, stop - keep)))
            # A mark beyond ASCII would double what the text takes in memory.
            kept = f"{kept:.{whole}} [cut: {whole} of {len(text)} characters kept]"
        budget.left -= len(kept) + _PART_COST
        return kept


def _tools(tools: object, limit: int) -> list[_Json]:
    items = tools if isinstance(tools, (list, tuple)) else [tools]
    found: list[_Json] = []
    for item in items[:_MOST_TOOLS]:
        declared = _field(item, "function_declarations")
        for one in declared[:_MOST_TOOLS] if isinstance(declared, (list, tuple)) else [item]:
            name = one if isinstance(one, str) else _field(_field(one, "function") or one, "name")
            name = name or getattr(one, "__name__", None)
            if isinstance(name, str) and name:
                found.append({"type": "function", "name": short(name)})
    return found[: min(_MOST_TOOLS, limit // _PART_COST + 1)]


def _field(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _matches(matches: tuple[Memory, ...], limit: int) -> list[_Json]:
    found: list[_Json] = []
    for match in matches[: limit // _PART_COST + 1]:
        parts = {"lexical": match.lexical, "cosine": match.cosine}
        known = {name: value for name, value in parts.items() if value is not None}
        found.append({"id": short(match.id), "score": match.score, **known})
    return found
