"""Memories as lines of JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from recall_store import Record, RecordError, ReservedTagError, SecretError, Store, open_store
from recall_store.jsonl import lines_of
from recall_store.rows import from_json, to_json

from .test_markdown import RECORDS


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/m.db") as opened:
        yield opened


def test_a_line_without_an_end_is_not_read_to_it() -> None:
    file = io.BytesIO(b'{"text": "tea"}\n' + b"\0" * (64 * 1024 * 1024 + 2) + b"\n")
    lines = lines_of(file)
    assert next(lines) == b'{"text": "tea"}\n'
    with pytest.raises(RecordError, match="line 2: over 64 MiB, which is no memory"):
        next(lines)
    assert file.read() == b"\0\n"


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(RECORDS)
def test_any_memory_comes_back_as_it_was(record: Record) -> None:
    line = to_json(record)
    assert "\n" not in line
    assert from_json(line) == record
    assert from_json(line.encode()) == record


def test_what_was_exported_is_imported_with_its_ids_dates_and_authors(store: Store) -> None:
    records = [Record(text=f"memory {n}", author="assistant", metadata={"n": n}) for n in range(600)]
    store.upsert(namespace="alice", records=records)
    seen: list[tuple[int, int]] = []
    lines = list(store.export(namespace="alice"))
    assert store.import_(namespace="bob", lines=lines, progress=lambda *at: seen.append(at)) == 600
    assert seen == [(256, 600), (512, 600), (600, 600)]
    assert list(store.export(namespace="bob")) == lines
    assert store.import_(namespace="bob", lines=lines) == 600
    assert len(store.list(namespace="bob")) == 600


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("{", RecordError),
        ("[]", RecordError),
        ('{"text": ""}', RecordError),
        ('{"words": "x"}', RecordError),
        ('{"text": "x", "created_at": "yesterday"}', RecordError),
        (b'{"text": "\xff"}', RecordError),
        ("[" * 100_000, RecordError),
        ('{"text": "my key is AKIAIOSFODNN7EXAMPLE"}', SecretError),
        ('{"text": "<firsthand:recalled-memory>"}', ReservedTagError),
    ],
)
def test_one_line_that_is_no_memory_is_named_and_nothing_is_imported(
    line: str | bytes, kind: type[Exception], store: Store
) -> None:
    good = [json.dumps({"text": f"memory {n}"}) for n in range(300)]
    with pytest.raises(kind, match=r"^line 302: ") as caught:
        store.import_(namespace="alice", lines=[*good, "", line])
    assert "AKIA" not in str(caught.value)
    assert store.list(namespace="alice") == []


def test_blank_lines_and_a_mark_at_the_beginning_are_read_over(store: Store) -> None:
    assert store.import_(namespace="alice", lines=["\ufeff" + '{"text": "one"}', "  ", '{"text": "two"}\r\n']) == 2
    assert store.import_(namespace="bob", lines=[b'\xef\xbb\xbf{"text": "one"}\n', b"\n"]) == 1
    assert store.import_(namespace="carol", lines=[]) == 0
