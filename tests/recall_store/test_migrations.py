"""A store that an older version wrote is brought up to date when it is opened."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from sqlite_utils import Database

from recall_store import Record, open_store
from recall_store.embedders import load
from recall_store.migrations import APPLICATION_ID, MIGRATIONS, first_schema
from recall_store.rows import COLUMNS, digest, embedding_text, to_row
from recall_store.signs import unit

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WRITTEN = [
    Record(id="a", text="The CI runner is called brontes.", source={"session": "s", "position": 1}),
    Record(id="b", text="It stands in the cellar.", source={"session": "s", "position": 2}),
    Record(id="c", text="हिन्दी में लिखो", title="भाषा"),
]


def version_1(path: Path) -> list[Record]:
    """A store as version 1 wrote it, with the checksums of its time."""
    connection = sqlite3.connect(path)
    first_schema(Database(connection))
    embedder = load("hash")
    connection.execute("INSERT INTO namespaces VALUES (1, 'n', 1, 3, 3, 12345)")
    connection.execute("INSERT INTO meta VALUES ('embedder', 'hash/1/256 (256)'), ('embedder_name', 'hash')")
    records = []
    for key, record in enumerate(WRITTEN, 1):
        full = Record(**{name: getattr(record, name) for name in COLUMNS if name != "created_at"}, created_at=NOON)
        marks = ", ".join("?" * (3 + len(COLUMNS)))
        connection.execute(
            f"INSERT INTO memories (key, namespace_id, digest, {', '.join(COLUMNS)}) VALUES ({marks})",
            (key, 1, digest(full), *to_row(full)),
        )
        vector = unit(embedder.embed([embedding_text(full)]), 256)[0]
        connection.execute("INSERT INTO vectors VALUES (?, 1, ?, 4711)", (key, vector.astype(np.float32).tobytes()))
        connection.execute("INSERT INTO words (rowid, title, description, body) VALUES (?, '', '', '1qold')", (key,))
        records.append(full)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()
    return records


def test_a_store_of_version_1_keeps_its_memories_and_finds_them_by_words_and_neighbours(tmp_path: Path) -> None:
    records = version_1(tmp_path / "memories.db")
    with open_store(f"sqlite:///{tmp_path}/memories.db") as store:
        assert {record.id: record for record in store.list(namespace="n")} == {one.id: one for one in records}
        found = store.search(namespace="n", query="what is the runner called?")
        assert [match.record.id for match in found] == ["a", "b"]
        assert [match.record.id for match in store.search(namespace="n", query="हिन्दी")] == ["c"]
        assert store.search(namespace="n", query="1qold old") == []
        assert store.delete(namespace="n", ids=["a", "b", "c"]) == 3
    db = sqlite3.connect(tmp_path / "memories.db")
    assert db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    db.close()


def test_a_store_of_version_2_finds_emoji_and_words_with_unseen_characters_after_it_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    texts = ["🎉🎉🎉", "the pass\u200bword is in the vault", "the boat is green"]
    with open_store(f"sqlite:///{path}") as store:
        store.upsert(namespace="n", records=[Record(id=str(i), text=text) for i, text in enumerate(texts)])
        store.search(namespace="n", query="boat")
    db = sqlite3.connect(path)
    db.execute("UPDATE words SET body = CASE rowid WHEN 1 THEN '' WHEN 2 THEN '1qpass 1qword 1qvault' ELSE body END")
    db.execute("UPDATE vectors SET length = 0, text_length = 0 WHERE key = 1")
    db.execute("PRAGMA user_version = 2")
    db.commit()
    db.close()
    for _ in range(2):
        with open_store(f"sqlite:///{path}") as store:
            for query, id in (("🎉🎉🎉", "0"), ("password vault", "1"), ("boat", "2")):
                assert [match.record.id for match in store.search(namespace="n", query=query)] == [id]
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA user_version").fetchone() == (3,)
    assert db.execute("SELECT length, text_length FROM vectors ORDER BY key").fetchall() == [(3, 3), (2, 2), (2, 2)]
    db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    db.close()
