"""A search of one namespace in PostgreSQL: where the words are, what is near, and one order out of both."""

from __future__ import annotations

import numpy as np
from psycopg import Connection

from . import postgresql_vectors as near
from . import postgresql_view as views
from .bm25 import best
from .embedders.base import Embedder
from .postgresql_tables import Namespace
from .ranking import Ranked, fuse
from .searching import BY_WORDS
from .signs import Keys


def ranked(
    db: Connection,
    found: Namespace,
    view: views.View,
    stems: list[str],
    question: near.Question,
    *,
    embedder: Embedder,
    keywords: bool,
    top_k: int,
    only: Keys | None,
) -> list[Ranked]:
    """The best `top_k` memories: among the keys `only`, if given, and never one whose time has come.

    `stems` are those of the query, each once, in its order; `keywords` as in
    `ranking.is_answer`.
    """
    shared = views.lexical(view, views.places(db, found, stems), question.expired)
    hidden = view.among(question.expired) if only is None else ~view.among(only)
    by_words = best(shared.scores, hidden, max(BY_WORDS, 2 * top_k))
    keys = view.keys[by_words]
    close, cosines = near.nearest(db, found, question, keys)
    other = ~np.isin(close.keys, keys)
    rows = np.concatenate([by_words, view.positions(close.keys[other])[0]])
    return fuse(
        keys=view.keys[rows],
        shared=shared.of(rows),
        cosine=np.concatenate([cosines, close.cosines[other]]),
        keywords=keywords,
        weight=embedder.weight,
        floor=embedder.floor,
        top_k=top_k,
    )
