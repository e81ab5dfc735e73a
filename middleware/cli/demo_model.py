"""The demo's local model: an in-process transport for the `openai` client, so that the demo needs no network.

It knows nothing but the messages of the request, and answers with lines out of them: what it says shows what it saw.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..injection import HOOK_TAG, MEMORY_TAG, tag_of

__all__ = ["MODEL", "TOOLS", "answer", "call_tool"]

MODEL = "local-model"

TOOLS: Sequence[Mapping[str, Any]] = (
    {
        "type": "function",
        "function": {
            "name": "rerun_test",
            "description": "Run one test again on the CI runner and return what it printed.",
            "parameters": {
                "type": "object",
                "properties": {"test": {"type": "string"}},
                "required": ["test"],
            },
        },
    },
)
"""The one tool that the demo's application offers to its model."""

_WORD = re.compile(r"[a-z0-9_]{3,}")
_ASKED = (
    ("search", "text", re.compile(r"\b(?:search|look|grep)\s+for\s+[\"']?(\S+)", re.IGNORECASE)),
    ("list_files", "", re.compile(r"\b(?:list|which|what)\b.*\bfiles\b", re.IGNORECASE)),
    ("read_file", "path", re.compile(r"\b(?:read|open|show)\b.*?([\w./\\-]+\.\w+)", re.IGNORECASE)),
)
"""Tools that the chat offers, their one argument, and the words that ask for them."""
_AGE = re.compile(r" \([^()]* ago\)$| \(just now\)$")
_NOT_CONTENT = frozenset({"the", "and", "for", "with", "what", "which", "why", "who", "does", "should"})
_numbers = itertools.count(1)


def call_tool(name: str, arguments: str) -> str:
    """Do what the model asked for: there is no CI here, so the run's output is made up."""
    try:
        test = json.loads(arguments).get("test") if name == "rerun_test" else None
    except (ValueError, AttributeError):
        test = None
    return f"{test}: FAILED again, MemoryError at 3.9 GB" if test else f"no tool {name} with these arguments"


def answer(body: Mapping[str, Any]) -> dict[str, Any]:
    """The reply to a chat completion request: a call of a tool that is offered and asked for, else text."""
    messages: list[Mapping[str, Any]] = body["messages"]
    asked = _last(messages, lambda message: message["role"] == "user" and bool(_words(message)))
    question = " ".join(_words(asked))
    result = _result(messages)
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    call = _call(question, body.get("tools") or (), messages) if result is None else None
    if call is not None:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        message["tool_calls"] = [{"id": f"call_{next(_numbers)}", "type": "function", "function": function}]
    else:
        message["content"] = _said(question, result, asked)
    reason = "tool_calls" if "tool_calls" in message else "stop"
    sent, back = len(json.dumps(messages)) // 4, len(json.dumps(message)) // 4
    return {
        "id": f"chatcmpl-{next(_numbers)}",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {"prompt_tokens": sent, "completion_tokens": back, "total_tokens": sent + back},
    }


def _call(
    question: str, tools: Sequence[Mapping[str, Any]], messages: Sequence[Mapping[str, Any]]
) -> tuple[str, dict[str, str]] | None:
    offered = {tool.get("function", {}).get("name") for tool in tools}
    if "rerun_test" in offered and "rerun" in question.lower():
        return "rerun_test", {"test": _named_test(messages)}
    for name, argument, asked in _ASKED:
        found = asked.search(question) if name in offered else None
        if found is not None:
            return name, {argument: found[1].rstrip(".,;:!?\"'")} if argument else {}
    return None


def _said(question: str, result: str | None, asked: Mapping[str, Any]) -> str:
    if result is not None:
        return f"The tool says: {result}."
    said, given = [], []
    for tag, source in ((HOOK_TAG, "your hook says"), (MEMORY_TAG, "from memory")):
        lines = _tagged(asked, tag)
        given += lines
        line = _closest(lines, question)
        if line:
            said.append(f"{source}: {line}")
    none = "Nothing that was added to your words answers them" if given else "I was given your words and nothing else"
    return ("; ".join(said) or none) + "."


def _closest(lines: Sequence[str], question: str) -> str:
    """The line that shares the most words with the question, the first of equals; "" when none shares any."""
    wanted = set(_WORD.findall(question.lower())) - _NOT_CONTENT
    scored = [(len(wanted & set(_WORD.findall(line.lower()))), line) for line in lines]
    best = max(scored, key=lambda item: item[0], default=(0, ""))
    return best[1].rstrip(".") if best[0] else ""


def _tagged(message: Mapping[str, Any], tag: str) -> list[str]:
    lines: list[str] = []
    for text in _texts(message):
        if tag_of(text) == tag:
            lines += [_AGE.sub("", line.removeprefix("- ")) for line in text.splitlines()[1:-1] if line.strip()]
    # The first line of a memory part is its heading.
    return lines[1:] if tag == MEMORY_TAG else lines


def _words(message: Mapping[str, Any]) -> list[str]:
    return [text for text in _texts(message) if tag_of(text) is None]


def _texts(message: Mapping[str, Any]) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or () if part.get("type") == "text"]


def _result(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """What the tool returned, when that is the news of this request."""
    for message in reversed(messages):
        if message["role"] == "tool":
            return " ".join(_texts(message)).strip()
        if message["role"] != "user" or _words(message):
            return None
    return None


def _named_test(messages: Sequence[Mapping[str, Any]]) -> str:
    for message in reversed(messages):
        for text in _texts(message):
            found = re.search(r"test_\w+", text)
            if found:
                return found.group()
    return "all"


def _last(messages: Sequence[Mapping[str, Any]], wanted: Callable[[Mapping[str, Any]], bool]) -> Mapping[str, Any]:
    return next((message for message in reversed(messages) if wanted(message)), messages[-1])
