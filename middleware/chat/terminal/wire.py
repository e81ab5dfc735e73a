"""What really went out with the last turn, and the trace it is in: read where it was sent, never worked out."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...injection import HOOK_TAG, MEMORY_TAG

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

__all__ = ["Added", "Ran", "Wire"]

_TAGGED = re.compile(
    rf"^<({re.escape(HOOK_TAG)}|{re.escape(MEMORY_TAG)})>\n(.*?)\n?</\1>[ \t]*$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """One tagged text that the model was sent beside the person's words; `source` is `hook` or `memory`."""

    source: str
    text: str

    @property
    def memories(self) -> int:
        """How many memories it holds."""
        return sum(line.startswith("- ") for line in self.text.splitlines()) if self.source == "memory" else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One hook that ran for a turn; `gave` says whether it succeeded and answered anything."""

    name: str
    milliseconds: float
    gave: bool


class Wire:
    """Notes the body of every request of a client, and the trace of every span of a provider."""

    def __init__(self) -> None:
        self._body = b""
        self.trace_id = ""
        self.ran: list[Ran] = []
        self._aside: set[asyncio.Task[object] | None] = set()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What the task sends in the block is beside the conversation, and is not noted."""
        task = asyncio.current_task()
        self._aside.add(task)
        try:
            yield
        finally:
            self._aside.discard(task)

    async def noted(self, request: Any) -> None:
        """An event hook of the HTTP client: keep what is sent."""
        if asyncio.current_task() not in self._aside:
            self._body = bytes(request.content)

    def added(self) -> tuple[Added, ...]:
        """What was added to the last request: to what follows the last reply in it, and to its system message."""
        try:
            body = json.loads(self._body or b"{}")
        except ValueError:
            return ()
        messages = body.get("messages") if isinstance(body, dict) else None
        if not isinstance(messages, list):
            return ()
        replies = [at for at, message in enumerate(messages) if message.get("role") == "assistant"]
        news = messages[replies[-1] + 1 if replies else 0 :]
        last = [message for message in news if message.get("role") in ("user", "tool")]
        starts = [message for message in messages if message.get("role") in ("system", "developer")]
        return tuple(
            Added(source="memory" if tag == MEMORY_TAG else "hook", text=_unescaped(text))
            for message in (*starts, *last)
            for part in _texts(message)
            for tag, text in _TAGGED.findall(part)
        )

    def provider(self) -> TracerProvider:
        """A provider whose last trace is noted: one of OpenTelemetry's own settings if there are any."""
        import os

        from opentelemetry import trace
        from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

        from ...telemetry import names

        wire = self

        class Noting(SpanProcessor):
            def on_start(self, span: Any, parent_context: Any = None) -> None:
                context = span.get_span_context()
                task = None
                with suppress(RuntimeError):
                    task = asyncio.current_task()
                if context is not None and context.is_valid and task not in wire._aside:
                    wire.trace_id = f"{context.trace_id:032x}"

            def on_end(self, span: Any) -> None:
                told = span.attributes or {}
                if names.HOOK_NAME in told:
                    gave = told.get(names.HOOK_OUTCOME) == "success" and bool(told.get(names.HOOK_OUTPUT_CHARS))
                    took = float(told.get(names.HOOK_DURATION_MS, 0))
                    wire.ran.append(Ran(name=str(told[names.HOOK_NAME]), milliseconds=took, gave=gave))

        provider: object = None
        if any(name.startswith("OTEL_EXPORTER_OTLP") for name in os.environ):
            from ... import telemetry

            telemetry.configure(service_name="firsthand-chat")
            provider = trace.get_tracer_provider()
        if not isinstance(provider, TracerProvider):
            provider = TracerProvider()
        provider.add_span_processor(Noting())
        return provider


def _texts(message: Mapping[str, Any]) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    return [text for part in parts if isinstance(part, dict) and isinstance(text := part.get("text"), str)]


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">")
