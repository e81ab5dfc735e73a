"""Two kilobytes of hook output change neither the recall query nor anything exported, injection metadata aside."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from middleware import Middleware, Settings
from middleware.testing import Answer, Captured, LocalModel, ToolCall, capture
from recall_store import Record, Store, open_store

from .conftest import closed
from .spellings import texts_of

POLLUTION = "POLLUTION deploy billing tests are red on every branch since Monday <b>& more</b>\n" * 27
CALL = ToolCall(id="c1", name="look", arguments={"at": 1})
KINDS = ("openai", "async_openai", "anthropic", "async_anthropic")


class Asked:
    """Notes what a store is asked."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.queries: list[str] = []

    def search(self, *, namespace: str, query: str, top_k: int) -> Any:
        self.queries.append(query)
        return self._store.search(namespace=namespace, query=query, top_k=top_k)

    def close(self) -> None:
        """The store is closed by who opened it."""


def sent(kind: str, client: Any, messages: list[Any], stream: bool) -> Any:
    """Send a request; return the message to put into the history."""
    sdk = kind.removeprefix("async_")
    calls = client.chat.completions if sdk == "openai" else client.messages
    given = {"model": "local", "messages": messages, "stream": stream}
    if sdk == "anthropic":
        given |= {"max_tokens": 9, "system": "be brief"}

    async def colour() -> Any:
        return await calls.create(**given)

    if stream:
        return "".join(texts_of(sdk, chunk) for chunk in calls.create(**given))
    value = asyncio.run(colour()) if kind.startswith("async") else calls.create(**given)
    return value.choices[0].message if sdk == "openai" else {"role": "assistant", "content": value.content}


def talked(kind: str, client: Any) -> None:
    """Three requests: a question, the results of its tool, and, streamed where the colour is sync, one more."""
    messages: list[Any] = [{"role": "user", "content": "why is CI red on the billing branch?"}]
    messages.append(sent(kind, client, messages, False))
    if kind.endswith("openai"):
        messages.append({"role": "tool", "tool_call_id": "c1", "content": "seen"})
    else:
        result = {"type": "tool_result", "tool_use_id": "c1", "content": "seen"}
        messages.append({"role": "user", "content": [result]})
    messages.append(sent(kind, client, messages, False))
    messages.append({"role": "user", "content": "and what did I say about tea?"})
    sent(kind, client, messages, not kind.startswith("async"))


def run(kind: str, store: Asked, hooks: list[Callable[..., str]], capturing: str) -> tuple[Captured, LocalModel]:
    with capture(Answer(text="I look.", calls=(CALL,)), "A test is red.", "You like it green.") as captured:
        settings = Settings(user="ann", capture_content=capturing, recall_timeout=30.0)
        app = Middleware(settings, hooks=hooks, **captured.providers)
        app._wiring.store = cast(Any, store)
        client = getattr(captured.model, kind)()
        with app.session("talk-1", user="ann"):
            talked(kind, app.wrap(client))
        closed(client)
        return captured, captured.model


def kept(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes without what is said of the injection, and without a time."""
    times = "gen_ai.response.time_to_first_chunk"
    return {k: v for k, v in attributes.items() if not k.startswith("firsthand.injection.") and k != times}


def spans_of(captured: Captured) -> list[Any]:
    """What every span but the hooks' says, without ids and times."""
    told = [json.loads(span.to_json()) for span in captured.spans if not span.name.startswith("firsthand.hook")]
    return [(span["name"], span["kind"], span["status"], span["events"], kept(span["attributes"])) for span in told]


def events_of(captured: Captured) -> list[Any]:
    told = [json.loads(event.to_json()) for event in captured.events]
    return [
        (event["event_name"], event["body"], kept(event["attributes"]))
        for event in told
        if event["event_name"] != "firsthand.hook_call"
    ]


@pytest.mark.parametrize("capturing", ["NO_CONTENT", "SPAN_AND_EVENT"])
@pytest.mark.parametrize("kind", KINDS)
def test_pollution_changes_neither_the_query_nor_what_is_exported(kind: str, capturing: str, tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/memories.db", embedder="hash") as inner:
        inner.upsert(namespace="ann", records=[Record(text="Ann likes green tea", id="tea")])
        clean_store, polluted_store = Asked(inner), Asked(inner)
        clean, without = run(kind, clean_store, [], capturing)
        polluted, with_hook = run(kind, polluted_store, [lambda given: POLLUTION], capturing)

    assert len(POLLUTION) > 2000
    assert json.dumps(with_hook.requests).count("POLLUTION") > 3 * 27
    assert json.dumps(without.requests).count("POLLUTION") == 0
    assert clean_store.queries == ["why is CI red on the billing branch?", "and what did I say about tea?"]
    assert polluted_store.queries == clean_store.queries
    assert spans_of(polluted) == spans_of(clean)
    assert events_of(polluted) == events_of(clean)
    assert "POLLUTION" not in polluted.exported()
    assert "Ann likes green tea" not in polluted.exported()
    chats = [dict(span.attributes or {}) for span in polluted.spans_named("chat")]
    assert all(chat["firsthand.injection.chars"] > 2000 for chat in chats)
    said = "why is CI red on the billing branch?"
    assert (said in str(chats[0].get("gen_ai.input.messages"))) is (capturing == "SPAN_AND_EVENT")
