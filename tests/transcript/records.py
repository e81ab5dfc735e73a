"""Records for tests, in a chain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HOOK = "<qwen:user-prompt-submit-context>\nbranch: main\n</qwen:user-prompt-submit-context>"
MEMORY = "<firsthand:recalled-memory>\n- uploads go to staging\n</firsthand:recalled-memory>"

Record = dict[str, Any]


def record(uuid: str, parent: str | None, kind: str, parts: Sequence[Any] = (), **more: Any) -> Record:
    """One record; a system record has no message."""
    made: Record = {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "timestamp": "2026-11-30T10:00:00.000Z"}
    made |= {"type": kind, "cwd": "/w", "version": "1"}
    if kind != "system":
        made["message"] = {"role": "model" if kind == "assistant" else "user", "parts": list(parts)}
    return made | more


def text(words: str) -> Record:
    return {"text": words}


def called(identity: str, name: str, **args: Any) -> Record:
    return {"functionCall": {"id": identity, "name": name, "args": args}}


def answered(identity: str, name: str, output: str) -> Record:
    return {"functionResponse": {"id": identity, "name": name, "response": {"output": output}}}


TALK = [
    record(
        "a",
        None,
        "user",
        [text("why is CI red?"), text(MEMORY), text(HOOK)],
        systemPayload={"displayText": "why is CI red?", "hookContext": "branch: main", "recall": [{"id": "m"}]},
    ),
    record(
        "b",
        "a",
        "assistant",
        [text("I look."), called("1", "run", test="t")],
        model="m",
        usageMetadata={"promptTokenCount": 12, "candidatesTokenCount": 3, "cachedContentTokenCount": 2},
    ),
    record("c", "b", "tool_result", [answered("1", "run", "failed"), text(HOOK)]),
    record("d", "c", "assistant", [text("It failed.")], model="m", usageMetadata={"promptTokenCount": 20}),
]
"""A prompt with a memory and hook context, a tool call, its result with hook context, an answer."""


def write(path: Path, records: Sequence[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(item) + "\n" for item in records))
    return path
