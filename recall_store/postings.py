"""The words of memories in FTS5, and where a word is.

FTS5 stems, keeps and merges the postings. What they are worth is BM25 over the namespace's own numbers (see bm25.py).
Every index word begins with the number of its namespace: no query reads a word of another one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from .base import Record
from .signs import Keys
from .text import index_text, match_expression

# Python has cut the words; to FTS5 every character but a blank is part of one, whatever its Unicode tables know.
TOKENIZER = "porter unicode61 categories ''L* N* M* P* S* C*''"
CREATE = f"CREATE VIRTUAL TABLE words USING fts5 (title, description, body, tokenize = '{TOKENIZER}')"
CREATE_PLACES = "CREATE VIRTUAL TABLE places USING fts5vocab (words, instance)"
# In memory, a connection: it turns the words of a query into stems, which only FTS5's own tokenizer can.
CREATE_STEMS = (
    "PRAGMA temp_store = MEMORY",
    f"CREATE VIRTUAL TABLE temp.stems USING fts5 (word, tokenize = '{TOKENIZER}')",
    "CREATE VIRTUAL TABLE temp.stem_terms USING fts5vocab (temp, stems, instance)",
)
COLUMNS = 3
TEXT = 2
"""Which of `Places.columns` is a memory's text; 0 is its title, 1 its description."""


class Indexed(NamedTuple):
    """The three columns of a memory as FTS5 is given them; `lengths` in words, of all and of the text alone."""

    columns: tuple[str, str, str]
    lengths: tuple[int, int]


class Places(NamedTuple):
    """Every place of one word: the memory's key, ascending, and the column."""

    keys: Keys
    columns: Keys


def prefix(namespace_id: int) -> str:
    """What every index word of a namespace starts with: one namespace's words are other words than the next one's.

    Digits and a consonant only, so that the Porter stemmer treats the word as it would without.
    """
    return f"{namespace_id}q"


def indexed(namespace_id: int, record: Record) -> Indexed:
    """What `insert` writes of a record."""
    start = prefix(namespace_id)
    title, description, text = (
        index_text(part, start) if part else "" for part in (record.title, record.description, record.text)
    )
    counts = [column.count(" ") + 1 if column else 0 for column in (title, description, text)]
    return Indexed((title, description, text), (sum(counts), counts[TEXT]))


def insert(db: sqlite3.Connection, added: Iterable[tuple[int, Indexed]]) -> None:
    """Index memories by key."""
    db.executemany(
        "INSERT INTO words (rowid, title, description, body) VALUES (?, ?, ?, ?)",
        ((key, *one.columns) for key, one in added),
    )


def delete(db: sqlite3.Connection, keys: Iterable[int]) -> None:
    """Take memories out of the index."""
    db.executemany("DELETE FROM words WHERE rowid = ?", ((key,) for key in keys))


def places(db: sqlite3.Connection, namespace_id: int, query_words: Sequence[str]) -> list[Places]:
    """Where each word of a query is in a namespace, each stem once; a word that is nowhere has no places."""
    found = []
    for stem in stems(db, [prefix(namespace_id) + word for word in query_words]):
        # One text of all the numbers, read by numpy: a Python object a row is what takes the time.
        joined = db.execute(
            "SELECT group_concat(doc * 4 + CASE col WHEN 'body' THEN 2 WHEN 'title' THEN 0 ELSE 1 END)"
            " FROM places WHERE term = ?",
            (stem,),
        ).fetchone()[0]
        packed = np.fromstring(joined or "", dtype=np.int64, sep=",")
        found.append(Places(packed >> 2, packed & 3))
    return found


def with_every_word(db: sqlite3.Connection, namespace_id: int, query_words: Sequence[str]) -> list[int]:
    """The keys of the memories that hold every word; none for no words."""
    expression = match_expression(query_words, prefix(namespace_id), every=True)
    if not expression:
        return []
    return [key for (key,) in db.execute("SELECT rowid FROM words WHERE words MATCH ?", (expression,))]


def stems(db: sqlite3.Connection, words: Sequence[str]) -> list[str]:
    """The stems of `words`, each once, in order."""
    if not words:
        return []
    db.execute("INSERT INTO temp.stems (rowid, word) VALUES (1, ?)", (" ".join(words),))
    try:
        found = db.execute("SELECT term FROM temp.stem_terms ORDER BY offset").fetchall()
    finally:
        db.execute("DELETE FROM temp.stems")
    return list(dict.fromkeys(term for (term,) in found))


def optimize(db: sqlite3.Connection) -> None:
    """Merge the index into one, without what was deleted."""
    db.execute("INSERT INTO words (words) VALUES ('optimize')")
