"""What `firsthand chat` talks to: a real server, or the demo's local model, streamed, when there is none."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from .demo_model import MODEL, answer

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from ..chat.terminal.wire import Wire

__all__ = ["client_of"]

_SECONDS = 600


def client_of(wire: Wire, *, base_url: str | None, model: str | None) -> tuple[Callable[[], AsyncOpenAI], str]:
    """What makes a client whose requests are noted on `wire`, and the model's name. Raises `click.UsageError`."""
    base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
    key = os.environ.get("OPENAI_API_KEY")
    if not (base_url or key):
        if model:
            raise click.UsageError("--model needs a server: set OPENAI_API_KEY, or give --base-url URL")
        return lambda: _client(wire, base_url="http://local.invalid/v1", key=None, local=True), MODEL
    if not model:
        raise click.UsageError("a server needs --model NAME; without OPENAI_API_KEY and --base-url a local one answers")
    return lambda: _client(wire, base_url=base_url, key=key, local=False), model


def _client(wire: Wire, *, base_url: str | None, key: str | None, local: bool) -> AsyncOpenAI:
    import httpx2
    from openai import AsyncOpenAI

    transport: Any = httpx2.MockTransport(_local) if local else None
    http = httpx2.AsyncClient(transport=transport, event_hooks={"request": [wire.noted]}, timeout=_SECONDS)
    return AsyncOpenAI(base_url=base_url, api_key=key or "none-needed", http_client=http, max_retries=1)


def _local(request: Any) -> Any:
    """The local model's answer, in chunks of a word."""
    import httpx2

    body = json.loads(request.content)
    events = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in _chunks(answer(body)))
    return httpx2.Response(
        200, headers={"content-type": "text/event-stream"}, content=f"{events}data: [DONE]\n\n".encode()
    )


def _chunks(reply: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    shared = {"id": reply["id"], "object": "chat.completion.chunk", "created": 0, "model": reply["model"]}
    choice = reply["choices"][0]
    deltas = [{"content": word} for word in re.findall(r"\s*\S+\s*", choice["message"]["content"] or "")]
    deltas += [{"tool_calls": [{"index": 0, **call}]} for call in choice["message"].get("tool_calls", ())]
    for delta in deltas:
        part = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}
        yield {**shared, "choices": [part], "usage": None}
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    yield {**shared, "choices": [end], "usage": None}
    yield {**shared, "choices": [], "usage": reply["usage"]}
