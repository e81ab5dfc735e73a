"""The content blocks of Claude Code's messages, read into the parts of our records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..parts import Message, Part, Usage, is_blank
from ..records import record_parts

__all__ = ["Typed", "blocks_of", "contexts_of", "parts_from", "prompts_of", "result_parts", "typed_from", "usage_from"]

_OPENING = re.compile(r"\s*<([a-z_-]+)>")
_COMMAND = frozenset({"command-name", "command-message", "command-args"})
_SHELL = frozenset({"bash-input"})
_OUTPUT = frozenset({"local-command-stdout", "local-command-stderr", "bash-stdout", "bash-stderr"})
_TOLD = frozenset({"system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics"})
_TOLD_FIRST = re.compile(rf"\s*<({'|'.join(sorted(_TOLD))})>(?:(?!<\1>).)*?</\1>", re.DOTALL)
_TOLD_LAST = re.compile(rf"<({'|'.join(sorted(_TOLD))})>(?:(?!<\1>).)*</\1>\s*\Z", re.DOTALL)
_NOBODYS = re.compile(r"\s*(?:<(?:task-notification|local-command-caveat)>|\[Request interrupted by user)")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Typed:
    """What a person sees of a user message: `text`, whether the person wrote it, whether a command printed it."""

    text: str
    by_hand: bool
    printed: bool = False


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """The blocks of a message; a string is one block of text."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    return [
        {"type": "text", "text": block} if isinstance(block, str) else block for block in content if _is_block(block)
    ]


def parts_from(blocks: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The parts of an assistant's or a user's blocks; tool results and unknown blocks have none."""
    for block in blocks:
        kind = block.get("type")
        if kind == "text" and isinstance(block.get("text"), str):
            yield {"text": block["text"]}
        elif kind in ("thinking", "redacted_thinking"):
            thought = {"text": str(block.get("thinking") or ""), "thought": True}
            signature = block.get("signature") or block.get("data")
            yield {**thought, "thoughtSignature": signature} if isinstance(signature, str) else thought
        elif kind in ("tool_use", "server_tool_use"):
            arguments = block.get("input")
            yield {
                "functionCall": {
                    "id": str(block.get("id") or ""),
                    "name": str(block.get("name") or ""),
                    "args": arguments if isinstance(arguments, dict) else {"arguments": arguments},
                }
            }
        elif kind in ("image", "document"):
            yield from record_parts(Message(role="user", parts=(Part(kind="media", raw=block),)))


def result_parts(block: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The parts of one tool result; `names` says which tool has an id."""
    inner = blocks_of(block.get("content"))
    words = "\n".join(held["text"] for held in inner if isinstance(held.get("text"), str))
    identity = str(block.get("tool_use_id") or "")
    response = {"error" if block.get("is_error") is True else "output": words}
    yield {"functionResponse": {"id": identity, "name": names.get(identity, ""), "response": response}}
    yield from parts_from([held for held in inner if held.get("type") in ("image", "document")])


def typed_from(holder: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]) -> Typed:
    """Tell what of a user message a person typed, from its flags, and where there are none from its form."""
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    told = [text for text in texts if _is_told(text)]
    own = [text for text in texts if not _is_told(text)]
    whole = "\n".join(map(_without_told, own))
    origin = holder.get("origin")
    who = origin.get("kind") if isinstance(origin, Mapping) else None
    flagged = any(holder.get(key) is True for key in ("isMeta", "isVisibleInTranscriptOnly", "isCompactSummary"))
    elements = _elements(whole)
    tags = {tag for tag, _ in elements}
    if tags and tags <= _OUTPUT:
        shown = "\n".join(inner for _, inner in elements if not is_blank(inner))
        return Typed(_ANSI.sub("", shown) or "[no output]", False, printed=True)
    if flagged or who not in (None, "human") or holder.get("promptSource") == "system" or (told and not own):
        return Typed(_label("\n".join(texts)), False)
    if "command-name" in tags and tags <= _COMMAND:
        said = dict(reversed(elements))
        return Typed(f"{said['command-name'].strip()} {said.get('command-args', '').strip()}".strip(), True)
    if tags and tags <= _SHELL:
        return Typed("\n".join(f"! {inner.strip()}" for _, inner in elements), True)
    if who is None and _NOBODYS.match(whole):
        return Typed(whole if whole.startswith("[") else _label(whole), False)
    return Typed(whole, True)


def prompts_of(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What a person typed in the lines of a session, one text a prompt."""
    for record in records:
        message = record.get("message")
        if record.get("type") != "user" or record.get("isSidechain") or not isinstance(message, Mapping):
            continue
        blocks = blocks_of(message.get("content"))
        typed = typed_from(record, blocks)
        if typed.by_hand and not is_blank(typed.text) and all(block.get("type") != "tool_result" for block in blocks):
            yield typed.text


def contexts_of(attachment: Mapping[str, Any]) -> list[str]:
    """The texts that a hook attachment put before the model; a hook's output that was only logged is none."""
    kind, content = attachment.get("type"), attachment.get("content")
    event = attachment.get("hookEvent")
    if kind == "hook_success" and event not in ("UserPromptSubmit", "SessionStart"):
        return []
    if kind == "hook_blocking_error":
        error = attachment.get("blockingError")
        content = error.get("blockingError") if isinstance(error, Mapping) else error
    elif kind not in ("hook_additional_context", "hook_success"):
        return []
    texts = content if isinstance(content, list) else [content]
    return [text for text in texts if isinstance(text, str) and not is_blank(text)]


def usage_from(value: Any) -> Usage | None:
    """Token counts of one reply; what was read from and written to the cache is input too."""
    if not isinstance(value, Mapping):
        return None
    counts = {
        key: value[key] if isinstance(value.get(key), int) else None
        for key in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    }
    fresh, read, written = (
        counts["input_tokens"],
        counts["cache_read_input_tokens"],
        counts["cache_creation_input_tokens"],
    )
    return Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        output_tokens=counts["output_tokens"],
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def _elements(text: str) -> list[tuple[str, str]]:
    """The elements, by tag and content, that a text consists of; none when anything stands between or after them."""
    found: list[tuple[str, str]] = []
    at = 0
    while (opening := _OPENING.match(text, at)) is not None:
        tag = opening[1]
        end = text.find(f"</{tag}>", opening.end())
        if end < 0:
            return []
        found.append((tag, text[opening.end() : end]))
        at = end + len(tag) + 3
    return found if is_blank(text[at:]) else []


def _is_told(text: str) -> bool:
    elements = _elements(text)
    return bool(elements) and all(tag in _TOLD for tag, _ in elements)


def _without_told(text: str) -> str:
    """A text without the reminders that the program put before or behind it in the same string."""
    while (found := _TOLD_FIRST.match(text) or _TOLD_LAST.search(text)) is not None:
        text = text[found.end() :].lstrip() if not found.start() else text[: found.start()].rstrip()
    return text


def _is_block(block: Any) -> bool:
    return isinstance(block, (dict, str))


def _label(text: str) -> str:
    return f"[added by Claude Code: {len(text):,} characters]"
