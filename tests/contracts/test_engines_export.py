"""What every engine promises of an export: imported, it is the same, and nothing that is refused gets in by it."""

from __future__ import annotations

import json

import pytest

from recall_store import ArgumentError, Record, RecordError, ReservedTagError, SecretError, Store
from tests.contracts.every_engine import add


def test_what_was_exported_is_the_same_when_imported_twice(store: Store) -> None:
    add(store, "one", "two, with “quotes” and\nlines")
    store.upsert(namespace="alice", records=[Record(text="three", type="project", metadata={"a": [1]})])
    lines = list(store.export(namespace="alice"))
    assert all("\n" not in line for line in lines)
    assert store.import_(namespace="bob", lines=[*lines, ""]) == 3
    assert store.import_(namespace="bob", lines=(line.encode() for line in lines)) == 3
    by_id = {record.id: record for record in store.list(namespace="alice")}
    assert {record.id: record for record in store.list(namespace="bob")} == by_id


@pytest.mark.parametrize("line", ["{", "[]", "3", '{"text": ""}', '{"words": "x"}', '{"text": "x", "created_at": 5}'])
def test_a_line_that_is_no_memory_is_named_by_number(store: Store, line: str) -> None:
    with pytest.raises(RecordError, match="line 2"):
        store.import_(namespace="alice", lines=['{"text": "fine"}', line])
    assert store.list(namespace="alice") == []


def test_a_memory_takes_its_history_along_and_importing_it_again_changes_nothing(store: Store) -> None:
    [old] = add(store, "I work at Google for 5 years")
    [new] = store.upsert(namespace="alice", records=[Record(id=old.id, text="I work at Google for 6 years")])
    add(store, "never changed")
    changes = store.history(namespace="alice", id=str(old.id))
    lines = list(store.export(namespace="alice"))
    assert ["history" in json.loads(line) for line in lines] == [True, True]
    for _ in range(2):
        assert store.import_(namespace="bob", lines=lines) == 2
        assert store.history(namespace="bob", id=str(old.id)) == changes
        assert store.get(namespace="bob", ids=[str(old.id)]) == [new]
    assert list(store.export(namespace="bob")) == lines
    # What happened here goes on from there, and is not written over.
    store.upsert(namespace="bob", records=[Record(id=old.id, text="I work at Google for 7 years")])
    store.import_(namespace="bob", lines=lines)
    assert [change.event for change in store.history(namespace="bob", id=str(old.id))] == ["added", *["updated"] * 3]
    store.delete(namespace="bob", ids=[str(old.id)])
    assert {change.record for change in store.history(namespace="bob", id=str(old.id))} == {None}


@pytest.mark.parametrize(
    "history",
    [
        "3",
        "[3]",
        '[{"event": "stolen", "at": "2026-01-01T00:00:00+00:00"}]',
        '[{"event": "added", "at": "2026-01-01T00:00:00"}]',
        '[{"event": "added", "at": "0001-01-01T00:00:00+14:00"}]',
        '[{"event": "added", "at": "2026-01-01T00:00:00+00:00", "record": {"text": "x", "id": "another"}}]',
        '[{"event": "added", "at": "2026-01-01T00:00:00+00:00", "record": {"text": "<firsthand:recalled-memory>"}}]',
    ],
)
def test_a_history_that_is_none_is_refused_and_nothing_is_stored(store: Store, history: str) -> None:
    with pytest.raises(RecordError, match="line 2"):
        store.import_(
            namespace="alice", lines=['{"text": "fine"}', f'{{"id": "m", "text": "fine", "history": {history}}}']
        )
    assert store.list(namespace="alice") == []


def test_a_history_holds_no_injected_text_and_no_secret(store: Store) -> None:
    for text, error in (("<firsthand:recalled-memory>", ReservedTagError), (f"token ghp_{'a1B2' * 9}", SecretError)):
        event = {"event": "added", "at": "2026-01-01T00:00:00+00:00", "record": {"id": "m", "text": text}}
        with pytest.raises(error, match="line 1"):
            store.import_(namespace="alice", lines=[json.dumps({"id": "m", "text": "fine", "history": [event]})])


def test_import_refuses_injected_text(store: Store) -> None:
    with pytest.raises(ReservedTagError, match="line 1"):
        store.import_(namespace="alice", lines=['{"text": "<firsthand:recalled-memory>"}'])


@pytest.mark.parametrize("lines", ['{"text": "x"}', b'{"text": "x"}'])
def test_one_text_is_no_list_of_lines(store: Store, lines: str | bytes) -> None:
    with pytest.raises(ArgumentError, match=rf"^lines is one {type(lines).__name__}; give a list of lines, such as"):
        store.import_(namespace="alice", lines=lines)  # type: ignore[arg-type]
    assert store.list(namespace="alice") == []
