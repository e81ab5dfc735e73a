"""Hashed words and character n-grams: no model, no dependency, and a typo still looks like its word.

A plain hashed count vector is sparse and never negative, so the signs of its components say nothing. Here each
feature's bucket is a fixed row of random signs instead, and a text is the weighted sum of its features' rows: that is
the count vector, centred and turned by a fixed random projection, without ever building it. All arithmetic up to the
sum is on integers, so that every machine draws the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ..text import is_symbol, words
from .base import Embedder

_BUCKETS = 4096
_DIMENSION = 256
_GRAMS = (3, 4)
_WORD_WEIGHT = 2.0
_MAX_CHARACTERS = 8192
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(64 - 12)


class HashEmbedder(Embedder):
    """256 dimensions; about 50 µs for a sentence. Reads the first 8,192 characters of a text."""

    name = "hash"
    id = "hash/1/256"
    dimension = _DIMENSION
    weight = 0.1
    floor = 0.59

    def __init__(self) -> None:
        self._rows = _sign_rows()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed`. Emoji count only in a text of no other words, and stop words in one without either."""
        out = np.zeros((len(texts), _DIMENSION), dtype=np.float32)
        for row, text in enumerate(texts):
            short = text[:_MAX_CHARACTERS]
            every = words(short)
            found = [word for word in every if not is_symbol(word)] or every or words(short, stop=False)
            if found:
                buckets, weights = _features(found)
                np.dot(weights, self._rows[buckets], out=out[row])
        return out


def create() -> Embedder:
    """A new `HashEmbedder`."""
    return HashEmbedder()


def _features(found: list[str]) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The distinct buckets of the words and their n-grams, and for each the square root of its summed weight."""
    values = [np.fromiter((crc32(word.encode()) for word in found), dtype=np.uint64, count=len(found))]
    codes = np.frombuffer(f" {' '.join(found)} ".encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    letter = codes != 32
    for size in _GRAMS:
        count = len(codes) - size + 1
        if count < 1:
            continue
        gram = codes[:count] + np.uint64(size)
        for offset in range(1, size):
            gram *= _MULTIPLIER
            gram += codes[offset : offset + count]
        inside = letter[1 : 1 + count]
        for offset in range(2, size - 1):
            inside = inside & letter[offset : offset + count]
        values.append(gram[inside])
    buckets = (_mix(np.concatenate(values)) >> _SHIFT).astype(np.intp)
    weights = np.ones(len(buckets))
    weights[: len(found)] = _WORD_WEIGHT
    sums = np.bincount(buckets, weights, minlength=_BUCKETS)
    used = np.flatnonzero(sums)
    return used, np.sqrt(sums[used]).astype(np.float32)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """splitmix64's finaliser: neighbouring integers end far apart (Steele, Lea and Flood 2014)."""
    mixed = values + _MULTIPLIER
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _sign_rows() -> NDArray[np.float32]:
    """The rows of random signs, shape (buckets, dimension): +1 and -1."""
    draws = _mix(np.arange(_BUCKETS * _DIMENSION // 64, dtype=np.uint64) * _MULTIPLIER)
    bits = np.unpackbits(draws.astype("<u8").view(np.uint8)).reshape(_BUCKETS, _DIMENSION)
    return bits.astype(np.float32) * np.float32(2) - np.float32(1)
