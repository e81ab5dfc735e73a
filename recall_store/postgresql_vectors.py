"""Which memories of a namespace are near: exactly, or by an HNSW index of the namespace's own if it is large.

An index of one namespace, and not of a partition: one that is shared answers a filter with less than it was asked for,
and its graph, and so an answer, changes with what others store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from pgvector import Vector
from psycopg import Connection

from .filters import Filter
from .postgresql_tables import Namespace, alive, condition, run
from .signs import Floats, Keys

EXACT_BELOW = 20_000
"""Memories of a namespace, or of what a filter keeps of it, up to which every one is looked at."""
MOST_COMPONENTS = 4000
"""pgvector has no HNSW index for more."""
_WHOLE_COMPONENTS = 2000
# hnsw.ef_search: 0.986 of the exact top ten of 100,000 texts (bench_postgresql --hnsw); 200 give less in half the time.
_BREADTH = 400


class Near(NamedTuple):
    """Keys and exact cosines, best first."""

    keys: Keys
    cosines: Floats


class Question(NamedTuple):
    """What is asked of the vectors: `at_most` of those near `vector`, and not of an `expired` memory.

    `kept` is how many memories the filter `chosen` keeps.
    """

    vector: Floats
    at_most: int
    chosen: Filter
    kept: int
    expired: Keys
    now: int


def nearest(db: Connection, found: Namespace, asked: Question, also: Keys) -> tuple[Near, Floats]:
    """The `at_most` nearest memories, or all there are, never less; and the exact cosine of each of `also`.

    None are near a vector of zeros, and every cosine is 0 then.
    """
    if not asked.vector.any() or not asked.kept:
        return Near(np.zeros(0, np.int64), np.zeros(0, np.float32)), np.zeros(len(also), np.float32)
    text = Vector(asked.vector).to_text()
    beside = (
        f"SELECT key, vector <#> %s::vector, TRUE FROM vectors WHERE {found.rows} AND generation = %s"  # noqa: S608
        " AND key = ANY(%s::bigint[])"
    )
    index = index_of(db, found, len(asked.vector)) if asked.kept >= EXACT_BELOW else None
    if index is not None:
        by_index = _by_index(db, found, asked, text, index)
        if len(by_index.keys) >= min(asked.at_most, asked.kept):
            some = run(db, beside, (text, found.id, found.generation, also.tolist()))
            return by_index, _cosines(some, also)
    terms, values = _kept(found, asked, "vectors.key = ANY(ARRAY(SELECT key FROM memories WHERE {}))")
    statement = (
        f"(SELECT key, vector <#> %s::vector AS distance, FALSE FROM vectors WHERE {found.rows} AND generation = %s"  # noqa: S608
        f"{terms} ORDER BY distance, key DESC LIMIT %s) UNION ALL {beside}"
    )
    some = run(
        db,
        statement,
        (
            *(text, found.id, found.generation, *values, asked.at_most),
            *(text, found.id, found.generation, also.tolist()),
        ),
    )
    return _near([row for row in some if not row[2]]), _cosines([row for row in some if row[2]], also)


def index_name(found: Namespace) -> str:
    """The name of the HNSW index of a namespace."""
    return f"near_{found.bucket}_{found.id}_{found.generation}"


def index_cast(dimension: int) -> str:
    """The type that an index of so many components is of."""
    return f"{'vector' if dimension <= _WHOLE_COMPONENTS else 'halfvec'}({dimension})"


def index_of(db: Connection, found: Namespace, dimension: int) -> str | None:
    """The type that the namespace's HNSW index is of, or None if there is none that can be used."""
    valid = run(db, "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", (index_name(found),))
    return index_cast(dimension) if valid == [(True,)] else None


def _by_index(db: Connection, found: Namespace, asked: Question, text: str, index: str) -> Near:
    # Without sorts and joins of whole tables what is left is the index, asked for more until there is enough.
    db.execute(
        "SET LOCAL hnsw.iterative_scan = strict_order; SET LOCAL hnsw.max_scan_tuples = 2147483647;"
        " SET LOCAL hnsw.scan_mem_multiplier = 16; SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off;"
        " SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;"
        f" SET LOCAL hnsw.ef_search = {min(max(asked.at_most, _BREADTH), 1000)}"
    )
    # OFFSET 0 keeps it a look at one memory: as a join it may be one over all of them, for each.
    alone = "EXISTS (SELECT 1 FROM memories WHERE {} AND memories.key = vectors.key OFFSET 0)"
    terms, values = _kept(found, asked, alone)
    # Numbers and no values: the index is of this namespace alone, and a plan has to know that it is meant.
    statement = (
        f"SELECT key, vector <#> %s::vector FROM vectors WHERE bucket = {found.bucket}"  # noqa: S608
        f" AND namespace_id = {found.id} AND generation = {found.generation}{terms}"
        f" ORDER BY vector::{index} <#> %s::{index} LIMIT %s"
    )
    some = run(db, statement, (text, *values, text, asked.at_most), prepare=False)
    db.execute("RESET enable_seqscan; RESET enable_sort; RESET enable_hashjoin; RESET enable_mergejoin")
    return _near(some)


def _kept(found: Namespace, asked: Question, chosen: str) -> tuple[str, list[Any]]:
    """SQL that is true for the vectors of the memories that count, starting with AND, and its values.

    `chosen` says that a memory for which {} is true is this vector's.
    """
    if not asked.chosen.any:
        where, values = alive(found, asked.now)
        more, others = condition(asked.chosen)
        return f" AND {chosen.format(where + more)}", [*values, *others]
    if len(asked.expired):
        return " AND NOT key = ANY(%s::bigint[])", [asked.expired.tolist()]
    return "", []


def _near(some: Sequence[Any]) -> Near:
    order = sorted(some, key=lambda row: (row[1], -row[0]))
    return Near(np.array([row[0] for row in order], np.int64), np.array([-row[1] for row in order], np.float32))


def _cosines(some: Sequence[Any], keys: Keys) -> Floats:
    by_key = {row[0]: row[1] for row in some}
    return np.array([-by_key.get(key, 0.0) for key in keys.tolist()], np.float32)
