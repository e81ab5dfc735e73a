"""WordLlama's token vectors (l2_supercat, 256 dimensions), averaged. Fast, small, and knows that a car is a vehicle.

The weights are read out of the wheel with numpy. WordLlama's own loader looks for its tokenizer in another folder than
the one the wheel has, and then downloads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import EmbedderError
from ..text import clean
from ..weights import package_files, read_safetensors
from .base import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

INSTALL = "pip install 'firsthand[semantic]'"
_FILES = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")
_MAX_CHARACTERS = 8192


class WordLlamaEmbedder(Embedder):
    """256 dimensions. Reads the first 8,192 characters of a text."""

    name = "wordllama"
    id = "wordllama/l2_supercat/256"
    dimension = 256
    weight = 0.8
    floor = 0.665

    def __init__(self) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise EmbedderError(f"this embedder needs the package tokenizers; run: {INSTALL}") from None
        weights, tokenizer = package_files("wordllama", _FILES, INSTALL)
        table = read_safetensors(weights).get("embedding.weight")
        if table is None or table.ndim != 2 or table.shape[1] != self.dimension:
            raise EmbedderError(f"the installed wordllama has other weights than we know; run: {INSTALL}")
        self._table: NDArray[np.float16] = table.astype(np.float16, copy=False)
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed`."""
        out = np.zeros((len(texts), self.dimension), np.float32)
        cut = [clean(text[:_MAX_CHARACTERS]) for text in texts]
        last = len(self._table) - 1
        for row, tokens in enumerate(self._tokenizer.encode_batch_fast(cut, add_special_tokens=False)):
            if tokens.ids:
                ids = np.minimum(np.array(tokens.ids, np.int64), last)
                self._table[ids].mean(axis=0, dtype=np.float32, out=out[row])
        return out


def create() -> Embedder:
    """A new `WordLlamaEmbedder`."""
    return WordLlamaEmbedder()
