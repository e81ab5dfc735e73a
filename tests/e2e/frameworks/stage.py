"""What the programs share: every scene is played with the plain client, the wrapped one, and in a named session.

`python -m tests.e2e.frameworks.NAME URL` prints, as the last line, JSON of scene -> variant -> what was found; URL is
aimock's. A scene takes its clients and a switch for what only our side knows, and returns what the application got.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openai

from middleware import Middleware, Submission
from middleware.testing import Captured, capture

CANARY = "CANARY-7f3a"
VARIANTS = ("plain", "wrapped", "named")


@dataclass
class Clients:
    """The clients of one variant; `person(text)` is a block in which a person's submission is sent."""

    sync: openai.OpenAI
    later: openai.AsyncOpenAI
    app: Middleware | None = None
    payloads: list[dict[str, Any]] = field(default_factory=list)

    def person(self, text: str) -> contextlib.AbstractContextManager[None]:
        if self.app is None:
            return contextlib.nullcontext()
        return self.app.submitting(Submission(model_parts=text, submitted_prompt=text, producer="test"))


def play(scenes: dict[str, Callable[[Clients], Any]]) -> None:
    """Play every scene in every variant and print what was found."""
    heard: list[str] = []
    ours = logging.getLogger("firsthand")
    ours.addHandler(_Listening(heard))
    found: dict[str, dict[str, Any]] = {}
    for name, scene in scenes.items():
        found[name] = {}
        for variant in VARIANTS:
            heard.clear()
            try:
                found[name][variant] = {**_played(name, scene, variant), "warnings": list(heard)}
            except Exception as error:
                error.add_note(f"in scene {name}, {variant}")
                raise
    print(json.dumps(found))


class _Listening(logging.Handler):
    def __init__(self, heard: list[str]) -> None:
        super().__init__()
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        self._heard.append(record.getMessage())


def _played(name: str, scene: Callable[[Clients], Any], variant: str) -> dict[str, Any]:
    sent: list[Any] = []
    program = Path(sys.argv[0]).stem

    def see(request: Any) -> None:
        sent.append(json.loads(request.content))

    async def see_later(request: Any) -> None:
        see(request)

    options: dict[str, Any] = {
        "api_key": "k",
        "base_url": f"{sys.argv[1]}/v1",
        "max_retries": 0,
        "default_headers": {"X-Test-Id": f"{program}:{name}/{variant}"},
    }
    http = openai.DefaultHttpxClient(event_hooks={"request": [see]}, trust_env=False)
    http_later = openai.DefaultAsyncHttpxClient(event_hooks={"request": [see_later]}, trust_env=False)
    clients = Clients(openai.OpenAI(http_client=http, **options), openai.AsyncOpenAI(http_client=http_later, **options))
    if variant == "plain":
        return {"result": _run(scene, clients), "sent": sent}
    with tempfile.TemporaryDirectory() as folder, capture() as captured:
        clients.app = app = Middleware.from_settings(
            hooks=[lambda payload: _context(clients, payload)],
            transcripts=folder,
            capture_content=True,
            **captured.providers,
        )
        clients.sync, clients.later = app.wrap(clients.sync), app.wrap(clients.later)
        accepted = isinstance(clients.sync, openai.OpenAI) and isinstance(clients.later, openai.AsyncOpenAI)
        in_session = app.session("conversation-1", user="alice") if variant == "named" else contextlib.nullcontext()
        with app, in_session:
            result = _run(scene, clients)
        return {
            "result": result,
            "sent": sent,
            "accepted": accepted,
            "prompts": [payload["prompt"] for payload in clients.payloads],
            "vouched": [payload.get("submitted_prompt") for payload in clients.payloads],
            "spans": [_told(span) for span in captured.spans_named("chat")],
            "others": sorted({span.name for span in captured.spans if not span.name.startswith("chat ")}),
            "leaked": CANARY in captured.exported(),
            "transcripts": list(_transcripts(Path(folder))),
        }


def _context(clients: Clients, payload: dict[str, Any]) -> str:
    clients.payloads.append(dict(payload))
    return f"{CANARY}-{len(clients.payloads)}"


def _run(scene: Callable[[Clients], Any], clients: Clients) -> Any:
    if not inspect.iscoroutinefunction(scene):
        return scene(clients)

    async def whole() -> Any:
        try:
            return await scene(clients)
        finally:
            await clients.later.close()

    return asyncio.run(whole())


def _told(span: Any) -> dict[str, Any]:
    attributes = dict(span.attributes)
    return {
        "name": span.name,
        "status": span.status.status_code.name,
        "conversation": attributes.get("gen_ai.conversation.id"),
        "stream": attributes.get("gen_ai.request.stream", False),
        "submitted": attributes.get("firsthand.submitted_prompt"),
        "input": json.loads(attributes["gen_ai.input.messages"]),
        "output": json.loads(attributes["gen_ai.output.messages"]),
    }


def _transcripts(folder: Path) -> Iterator[list[dict[str, Any]]]:
    for path in sorted(folder.glob("*.jsonl")):
        yield [json.loads(line) for line in path.read_text().splitlines()]


def without(value: Any, *names: str) -> Any:
    """The JSON value without what differs between two runs: the fields of these names, wherever they are."""
    if isinstance(value, dict):
        return {key: without(item, *names) for key, item in value.items() if key not in names}
    return [without(item, *names) for item in value] if isinstance(value, list) else value


__all__ = ["CANARY", "Captured", "Clients", "play", "without"]
