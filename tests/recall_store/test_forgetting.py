"""Words that only a damaged history holds are forgotten with it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from recall_store import Record, open_store


def test_an_earlier_version_that_is_damaged_is_forgotten_by_the_words_that_stand_there(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    with open_store(url) as store:
        for text in ("quuxword is the first", "replaced now"):
            store.upsert(namespace="n", records=[Record(id="m", text=text)])
    with closing(sqlite3.connect(tmp_path / "m.db")) as db:
        db.execute("""UPDATE history SET record = '{"text": "quuxword' WHERE event = 'added'""")
        db.commit()
    with open_store(url) as store:
        assert store.holding(namespace="n", query="quuxword").earlier == {"m": 1}
        assert store.forget(namespace="n", query="quuxword") == 1
        assert [change.record is None for change in store.history(namespace="n", id="m")] == [True, False]
