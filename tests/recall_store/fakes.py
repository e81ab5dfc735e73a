"""Embedders written by hand for the tests, and a program that several of them run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_store.embedders.base import Embedder


class LetterEmbedder(Embedder):
    """How often each of 26 letters is in a text."""

    name = "letters"
    id = "letters/1"
    dimension = 26
    weight = 0.5
    floor = 0.99

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts], dtype=np.float32)


class CountingEmbedder(LetterEmbedder):
    """Keeps the texts it was given."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts.extend(texts)
        return super().embed(texts)


class BrokenEmbedder(Embedder):
    """NaN, zeros or infinity for texts that begin with these words."""

    name = "broken"
    id = "broken/1"
    dimension = 3
    weight = 0.5
    floor = 0.5

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = {"nan": [np.nan, 1, 2], "zero": [0, 0, 0], "infinite": [np.inf, 0, 0]}
        return np.array([rows.get(text.split()[0], [1, 2, 3]) for text in texts], dtype=np.float32)


class WrongShapeEmbedder(Embedder):
    """Says 4 dimensions and gives 2."""

    name = "wrong"
    id = "wrong/1"
    dimension = 4
    weight = 0.5
    floor = 0.5

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.ones((len(texts), 2), dtype=np.float32)


class Circle(LetterEmbedder):
    """A text "... 7" at 7 degrees of a circle of 3,600 tenths."""

    name = "circle"
    id = "circle/1"
    dimension = 2
    weight = 1.0
    floor = -1.0

    def embed(self, texts: Any) -> Any:
        turns = np.array([int(text.split()[-1]) for text in texts]) * (2 * np.pi / 3600)
        return np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float32)


class Fan(LetterEmbedder):
    """One of 26 directions by the number in the text."""

    id = "fan/1"

    def embed(self, texts: Any) -> Any:
        return np.eye(26, dtype=np.float32)[[int(text.split()[-1]) % 26 for text in texts]]


FORKED = """
import os, sys
from recall_store import Record, open_store
with open_store(sys.argv[1]) as store:
    store.upsert(namespace="n", records=[Record(text="probe alpha")])
    child = os.fork()
    if not child:
        store.upsert(namespace="n", records=[Record(text="probe beta")])
        os._exit(0 if len(store.search(namespace="n", query="probe")) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert len(store.search(namespace="n", query="probe")) == 2
"""
"""A program: a store that was open before a fork is used in the child too."""
