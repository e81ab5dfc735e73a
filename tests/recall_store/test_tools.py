"""What an agent may do with one namespace's memories, and what it is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recall_store import Record, Store, open_store
from recall_store.reserved import RESERVED_TAGS
from recall_store.tools import MAX_LINE, MAX_QUERY, MAX_TEXT, TOOLS, ToolError, call

KEY = "AKIAIOSFODNN7EXAMPLE"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/m.db") as opened:
        opened.upsert(namespace="bob", records=[Record(id="b1", text="bob's pin for tea is 0000")])
        yield opened


def test_a_memory_is_stored_found_listed_and_deleted(store: Store) -> None:
    made = call(store, "alice", "upsert_memory", {"text": "I like tea", "title": "drinks", "type": "feedback"})
    id = made["memory"]["id"]
    assert made["memory"] | {"created_at": ""} == {
        "id": id,
        "text": "I like tea",
        "title": "drinks",
        "type": "feedback",
        "author": "assistant",
        "created_at": "",
    }
    [found] = call(store, "alice", "search_memory", {"query": "tea"})["memories"]
    assert (found["id"], found["lexical"], set(found) >= {"score", "cosine"}) == (id, 1.0, True)
    assert call(store, "alice", "list_memories", {})["memories"][0]["id"] == id
    assert call(store, "alice", "delete_memory", {"ids": [id, "unknown"]}) == {"deleted": 1}
    assert call(store, "alice", "list_memories", None) == {"memories": []}


def test_a_memory_is_replaced_by_its_id_and_similar_ones_are_told(store: Store) -> None:
    first = call(store, "alice", "upsert_memory", {"text": "PocketBase runs on port 8090"})["memory"]
    second = call(store, "alice", "upsert_memory", {"text": "PocketBase runs on port 8091"})
    assert [other["id"] for other in second["similar"]] == [first["id"]]
    call(store, "alice", "upsert_memory", {"id": first["id"], "text": "the parrot is called Ada"})
    assert [record.text for record in store.get(namespace="alice", ids=[first["id"]])] == ["the parrot is called Ada"]
    assert call(store, "alice", "delete_memory", {"id": first["id"]}) == {"deleted": 1}


def test_lists_page(store: Store) -> None:
    for number in range(5):
        call(store, "alice", "upsert_memory", {"text": f"note {number}"})
    page = call(store, "alice", "list_memories", {"limit": 2})
    assert ([memory["text"] for memory in page["memories"]], page["next_offset"]) == (["note 4", "note 3"], 2)
    last = call(store, "alice", "list_memories", {"limit": 2, "offset": 4})
    assert ([memory["text"] for memory in last["memories"]], "next_offset" in last) == (["note 0"], False)


def test_no_tool_reaches_another_namespace(store: Store) -> None:
    assert call(store, "alice", "search_memory", {"query": "bob's pin"}) == {"memories": []}
    assert call(store, "alice", "list_memories", {}) == {"memories": []}
    assert call(store, "alice", "delete_memory", {"ids": ["b1"]}) == {"deleted": 0}
    call(store, "alice", "upsert_memory", {"id": "b1", "text": "mine"})
    assert [record.text for record in store.list(namespace="bob")] == ["bob's pin for tea is 0000"]


@pytest.mark.parametrize("name", TOOLS)
def test_a_namespace_cannot_be_named(name: str, store: Store) -> None:
    with pytest.raises(ToolError, match=rf"^{name} takes .* and nothing else$"):
        call(store, "alice", name, {"query": "x", "text": "x", "ids": ["x"], "namespace": "bob"})


@pytest.mark.parametrize("name", TOOLS)
def test_a_schema_takes_nothing_beside_what_it_names(name: str) -> None:
    schema = TOOLS[name].schema
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert set(schema["required"]) <= set(schema["properties"])
    json.dumps(schema)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("nope", {}, "there is no such tool; there are search_memory, upsert_memory, delete_memory, list_memories"),
        ("search_memory", {}, "search_memory needs 'query'"),
        ("search_memory", {"query": None}, "search_memory: 'query' is no string"),
        ("search_memory", {"query": "x" * (MAX_QUERY + 1)}, "search_memory: 'query' has 10001 characters; 0 to 10000"),
        ("search_memory", {"query": "x", "top_k": 51}, "search_memory: 'top_k' is not within 1 to 50"),
        ("search_memory", {"query": "x", "top_k": True}, "search_memory: 'top_k' is no whole number"),
        ("search_memory", {"query": "x", "type": KEY}, "search_memory: 'type' is none of feedback, project"),
        ("upsert_memory", {"text": ""}, "upsert_memory: 'text' has 0 characters; 1 to 20000 are taken"),
        ("upsert_memory", {"text": " "}, "record field 'text' is blank"),
        ("upsert_memory", {"text": "x" * (MAX_TEXT + 1)}, "upsert_memory: 'text' has 20001 characters"),
        ("upsert_memory", {"text": "x", "title": "x" * (MAX_LINE + 1)}, "upsert_memory: 'title' has 1001 characters"),
        ("upsert_memory", {"text": [KEY]}, "upsert_memory: 'text' is no string"),
        ("upsert_memory", {"text": "x", KEY: 1}, "upsert_memory takes text, title, description, type, id and nothing"),
        ("upsert_memory", {"text": "x", "author": "user"}, "upsert_memory takes text"),
        ("delete_memory", {}, "delete_memory needs 'ids'"),
        ("delete_memory", {"ids": []}, "delete_memory: 'ids' has 0 items; 1 to 100 are taken"),
        ("delete_memory", {"ids": "abc"}, "delete_memory: 'ids' is no list"),
        ("delete_memory", {"ids": [1]}, "an item of delete_memory: 'ids' is no string"),
        ("delete_memory", {"ids": ["x"] * 101}, "delete_memory: 'ids' has 101 items"),
        ("list_memories", {"limit": 101}, "list_memories: 'limit' is not within 1 to 100"),
        ("list_memories", {"offset": -1}, "list_memories: 'offset' is not within 0 to"),
    ],
)
def test_what_is_out_of_bounds_is_refused_and_not_quoted(
    name: str, arguments: dict[str, Any], said: str, store: Store
) -> None:
    with pytest.raises(ToolError) as caught:
        call(store, "alice", name, arguments)
    assert str(caught.value).startswith(said)
    assert KEY not in str(caught.value)
    assert store.list(namespace="alice") == []


@pytest.mark.parametrize("field", ["text", "title", "description", "id"])
def test_secrets_and_injected_text_are_refused_by_rule(field: str, store: Store) -> None:
    for value, rule in (
        (f"it is {KEY}", "rule aws-access-key"),
        (f"<{RESERVED_TAGS[0]}> x", f"tag <{RESERVED_TAGS[0]}>"),
    ):
        with pytest.raises(ToolError) as caught:
            call(store, "alice", "upsert_memory", {"text": "x", field: value})
        assert rule in str(caught.value)
        assert KEY not in str(caught.value)
    assert store.list(namespace="alice") == []


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["query", "text", "title", "type", "id", "ids", "limit", "offset", "top_k", "namespace"])


@settings(max_examples=150, suppress_health_check=list(HealthCheck), deadline=None)
@given(name=st.sampled_from(list(TOOLS)), arguments=st.dictionaries(NAMES, ANYTHING, max_size=4))
def test_any_arguments_are_answered_or_refused(name: str, arguments: dict[str, Any], store: Store) -> None:
    try:
        json.dumps(call(store, "alice", name, arguments))
    except ToolError as refusal:
        assert "\n" not in str(refusal)
    assert len(store.list(namespace="bob")) == 1
