"""What the demo collects: the bytes that were sent, the spans that were exported, the transcript on disk.

Nothing here is worked out from what was typed: every field of a turn is read where it was left.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..injection import MEMORY_TAG, escape, tag_of
from ..telemetry import names

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

    from recall_store import Store

    from ..resume import Shown

__all__ = ["Send", "Trail", "Turn"]

_SHORT = 12
"""Characters up to which a line may stand in two texts by chance."""


@dataclass(slots=True, kw_only=True)
class Send:
    """One request of a turn.

    `parts` are the wire's content parts of the user's message, or, after a tool, of the tool's and of our own;
    `span_prompt` is the text of the last message in the chat span; `recall_query` is what the store was asked;
    `known` are memories that answer it too and were sent with an earlier message of the same request.
    """

    origin: str
    trace_id: str | None
    parts: list[dict[str, Any]]
    span_prompt: str | None
    recall_query: str | None
    recalled: list[str]
    known: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Turn:
    """One typed line and all that came of it; `displayed` and `rows` are what resuming the transcript shows."""

    typed: str
    sends: list[Send]
    answer: str
    displayed: str | None = None
    rows: list[Shown] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The turn as `firsthand demo --json` prints it: its first send, which carries what was typed."""
        first = self.sends[0]
        return {
            "typed": self.typed,
            "sent_parts": first.parts,
            "span_prompt": first.span_prompt,
            "recall_query": first.recall_query,
            "recalled": first.recalled,
            "displayed": self.displayed,
            "origin": first.origin,
            "trace_id": first.trace_id,
        }


class Trail:
    """Where the demo's requests and spans end up, in the order in which they came."""

    def __init__(self) -> None:
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        from opentelemetry.sdk.trace.sampling import ALWAYS_ON

        self._exported = InMemorySpanExporter()
        self.provider: TracerProvider = TracerProvider(sampler=ALWAYS_ON)
        self.provider.add_span_processor(SimpleSpanProcessor(self._exported))
        self._seen = 0
        self._body: Mapping[str, Any] = {}
        self.injected: list[str] = []

    def noted(self, body: Mapping[str, Any]) -> None:
        """Keep the body of the request that is being sent."""
        self._body = body

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """Every span that was exported."""
        return self._exported.get_finished_spans()

    def send(self, store: Store | None, namespace: str) -> Send:
        """What is known of the request that has just been answered."""
        spans, self._seen = self.spans[self._seen :], len(self.spans)
        by_name: dict[str, Mapping[str, Any]] = {}
        for span in spans:
            by_name[str((span.attributes or {}).get(names.OPERATION) or span.name)] = span.attributes or {}
        turn, chat, recall = (by_name.get(name, {}) for name in (names.SPAN_TURN, "chat", names.SPAN_RECALL))
        context = spans[-1].get_span_context() if spans else None
        ids = [entry["id"] for entry in json.loads(recall.get(names.MEMORY_RECORDS, "[]"))]
        held = store.get(namespace=namespace, ids=ids) if store is not None and ids else []
        asked = recall.get(names.MEMORY_QUERY_TEXT)
        messages = self._body.get("messages", [])
        parts = _news(messages)
        self.injected += [part["text"] for part in parts if tag_of(str(part.get("text"))) is not None]
        return Send(
            origin=str(turn.get(names.TURN_ORIGIN, "")),
            trace_id=f"{context.trace_id:032x}" if context is not None else None,
            parts=parts,
            span_prompt=_prompt(chat.get(names.INPUT_MESSAGES)),
            recall_query=asked,
            recalled=[record.text for record in held],
            known=_known(store, namespace, asked, messages) if store is not None and asked and not held else [],
        )

    def resumed(self, turns: Iterable[Turn], transcript: Path) -> list[Turn]:
        """The turns, with what a resumed screen shows of each."""
        from ..resume import display
        from ..transcript import read, walk

        branch, _ = walk(read(transcript).records)
        rows = display(branch)
        starts = [index for index, row in enumerate(rows) if row.type == "user"]
        found = list(turns)
        for turn, start, end in zip(found, starts, [*starts[1:], len(rows)], strict=False):
            turn.displayed, turn.rows = rows[start].text, rows[start:end]
        return found

    def leaks(self, turns: Sequence[Turn]) -> tuple[int, int]:
        """In how many places that remember an injected line is found, and how many places there are.

        Places are span attributes, recall queries and resumed rows, without what the model itself answered: that
        it may repeat what it was told is what it was told for.
        """
        # As it was sent, escaped, and as the hook printed it and the store holds it.
        lines = {line.strip() for text in self.injected for line in text.splitlines()}
        lines = {line for line in lines if len(line) > _SHORT}
        lines |= {line.replace("&lt;", "<").replace("&gt;", ">") for line in lines}
        answers = [row.text for turn in turns for row in turn.rows if row.type == "assistant"]
        answers += [json.dumps(answer, ensure_ascii=False)[1:-1] for answer in answers]
        places = [str(value) for span in self.spans for value in (span.attributes or {}).values()]
        for turn in turns:
            places += [row.text for row in turn.rows if row.type != "assistant"]
            places += [send.recall_query for send in turn.sends if send.recall_query is not None]
        found = 0
        for place in places:
            for answer in answers:
                place = place.replace(answer, "")
            found += any(line in place for line in lines)
        return found, len(places)


def _news(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The content parts of what this request adds: the messages since the model's last one."""
    added: list[dict[str, Any]] = []
    for message in reversed(messages):
        if message["role"] not in ("user", "tool"):
            break
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
        added = [*parts, *added]
    return added


def _known(store: Store, namespace: str, query: str, messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The memories that answer `query` and stand in a memory part of `messages`."""
    sent = [
        str(part.get("text"))
        for message in messages
        for part in (message.get("content") if isinstance(message.get("content"), list) else None) or ()
        if tag_of(str(part.get("text"))) == MEMORY_TAG
    ]
    found = [match.record.text for match in store.search(namespace=namespace, query=query)]
    return [text for text in found if any(escape(text) in part for part in sent)]


def _prompt(attribute: object) -> str | None:
    """The text of the last message in the JSON of `gen_ai.input.messages`."""
    messages = json.loads(attribute) if isinstance(attribute, str) else []
    if not messages:
        return None
    texts = []
    for part in messages[-1]["parts"]:
        text = part.get("content", part.get("response", part.get("result")))
        texts.append(text if isinstance(text, str) else json.dumps(text))
    return "\n".join(texts)
